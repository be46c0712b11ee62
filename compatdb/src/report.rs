//! A report: what one machine found out about its pair of builds, as `metalshim report` writes
//! it and `compatdb ingest` takes it in.
//!
//! **Contract.** A report holds nothing personal, and nothing in it is believed: [`Report::read`]
//! takes any bytes up to [`MAX_LEN`] and refuses what has not this shape, or text that could be
//! markup, move a cursor or fill a page. Whether it is evidence is decided by [`crate::ingest`].

use std::collections::BTreeMap;

use jiff::Timestamp;
use semver::Version;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bench::Bench;
use crate::facts::{Host, Sip};
use crate::records::VmSoftware;
use crate::{OsBuild, Profile};

/// The schema's name in files.
pub const SCHEMA: &str = "metalshim.report/1";
/// No report is larger, in bytes.
pub const MAX_LEN: usize = 1 << 20;
/// No text in one is longer.
pub const MAX_TEXT: usize = 200;

/// What one machine found out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// When it was made.
    pub made_at: Timestamp,
    /// Made on a simulated guest: for trying things out.
    #[serde(default)]
    pub simulated: bool,
    /// 32 hexadecimal digits, drawn once on this machine and kept in its state folder: tells two
    /// reports of one machine, and nothing else.
    pub machine: String,
    /// SHA-256 of the boot session.
    pub boot: String,
    /// Who reports, by a public name of their choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reporter: Option<String>,
    /// The address of the CI run that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci_run: Option<String>,
    /// What runs the virtual machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm_software: Option<VmSoftware>,
    /// The program.
    pub metalshim: Versions,
    /// The database in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<DatabaseUsed>,
    /// The guest.
    pub guest: GuestSeen,
    /// The host, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// What was decided here.
    pub verdict: Decided,
    /// What the device said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
    /// What the kernels said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<CanaryRun>,
    /// What was measured.
    #[serde(default)]
    pub bench: Vec<Bench>,
    /// What could not be found out, a sentence each.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// The program that made the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Versions {
    /// Of the command.
    pub version: Version,
    /// SHA-256 of the shim as it is installed; none where it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shim_sha256: Option<String>,
    /// The shim's interface, as records count it.
    pub shim_abi: u32,
}

/// The database in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseUsed {
    /// Its number.
    pub seq: u64,
    /// Of its bytes.
    pub sha256: String,
    /// Where it is from.
    pub origin: String,
}

/// The guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestSeen {
    /// `kern.osversion`
    pub build: OsBuild,
    /// Like `26.5.2`.
    pub version: String,
    /// `hw.model`
    pub model: String,
    /// Like `Apple M1 Ultra (Virtual)`.
    pub chip: String,
    /// System Integrity Protection.
    pub sip: Sip,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decided {
    /// Whether the overrides are used here.
    pub allowed: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The record that allows; none on a pair that nobody verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// What programs are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
}

/// What the device said, stock and with the overrides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Untouched.
    pub stock: Answers,
    /// With the overrides.
    pub shimmed: Option<Answers>,
    /// What it was to tell.
    pub profile: Option<Profile>,
    /// What was not as it has to be, a sentence each.
    #[serde(default)]
    pub wrong: Vec<String>,
}

/// What one device said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answers {
    /// Like `Apple Paravirtual device`.
    pub name: String,
    /// Its Objective-C class.
    pub class: String,
    /// Every family that it answers yes to.
    pub families: Vec<u16>,
    /// In bytes.
    pub max_threadgroup_memory: u32,
    /// The highest Apple family of the host's GPU, where the device tells.
    pub host_family: Option<u16>,
    /// LC_UUID of Metal's image.
    pub metal_uuid: Option<String>,
    /// LC_UUID of the driver's image.
    pub driver_uuid: Option<String>,
    /// Other answers worth recording.
    #[serde(default)]
    pub features: BTreeMap<String, String>,
    /// How long it took to make the device, in microseconds.
    #[serde(default)]
    pub created_us: u64,
}

impl Answers {
    /// The highest family from `first` to `last`.
    pub fn highest(&self, first: u16, last: u16) -> Option<u16> {
        let within = |f: &&u16| (first..=last).contains(*f);
        self.families.iter().filter(within).max().copied()
    }
}

/// What the kernels said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CanaryRun {
    /// `passed`, `wrong`, `refused`, `hung` or `crashed`.
    pub outcome: String,
    /// What the device told.
    pub profile: Profile,
    /// How many cases were run.
    pub cases: u32,
}

impl Report {
    /// Reads one.
    ///
    /// # Errors
    /// A sentence that says what does not fit; it holds no control character.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > MAX_LEN {
            return Err(format!("it is larger than {} KB", MAX_LEN >> 10));
        }
        // The parser's own limit of depth is 128.
        let mut value: Value =
            serde_json::from_slice(bytes).map_err(|e| plain(&format!("it is no JSON: {e}")))?;
        let schema = value.as_object_mut().and_then(|o| o.remove("schema"));
        if schema.as_ref().and_then(Value::as_str) != Some(SCHEMA) {
            return Err(format!("its schema is not {SCHEMA}"));
        }
        if let Some(text) = not_plain(&value) {
            return Err(format!(
                "it holds text that is too long or could be markup: {}",
                plain(text)
            ));
        }
        serde_json::from_value(value).map_err(|e| plain(&format!("it has not the shape: {e}")))
    }

    /// The same without text that [`Report::read`] refuses.
    ///
    /// # Errors
    /// None that a report of ours gives.
    pub fn cleaned(&self) -> Result<Self, serde_json::Error> {
        let mut value = serde_json::to_value(self)?;
        clean(&mut value);
        serde_json::from_value(value)
    }
}

/// Text that is neither long nor markup, nor moves a cursor: printable ASCII without what
/// HTML, Markdown and TOML give a meaning to.
pub fn plain(text: &str) -> String {
    let plain = |c: char| if is_plain(c) { c } else { '?' };
    text.chars().take(MAX_TEXT).map(plain).collect()
}

fn is_plain(c: char) -> bool {
    (' '..='~').contains(&c) && !matches!(c, '<' | '>' | '`' | '|' | '[' | ']' | '\\' | '"' | '*')
}

fn not_plain(value: &Value) -> Option<&str> {
    let bad = |text: &str| text.len() > MAX_TEXT || !text.chars().all(is_plain);
    match value {
        Value::String(text) => bad(text).then_some(text.as_str()),
        Value::Array(values) => values.iter().find_map(not_plain),
        Value::Object(fields) => fields.iter().find_map(|(key, value)| match bad(key) {
            true => Some(key.as_str()),
            false => not_plain(value),
        }),
        _ => None,
    }
}

fn clean(value: &mut Value) {
    match value {
        Value::String(text) => *text = plain(text),
        Value::Array(values) => values.iter_mut().for_each(clean),
        Value::Object(fields) => {
            let old = std::mem::take(fields);
            fields.extend(old.into_iter().map(|(key, mut value)| {
                clean(&mut value);
                (plain(&key), value)
            }));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_made_plain() {
        assert_eq!(plain("a\x1b[31m<b>|é"), "a??31m?b???");
        assert_eq!(plain(&"x".repeat(999)).len(), MAX_TEXT);
    }
}
