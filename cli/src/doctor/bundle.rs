//! The support bundle: all that doctor saw, without personal data.
//!
//! **Contract.** One JSON object. What is in it is shown before it is written; it is written
//! whole or not at all, for this user only, never over a file that is there, and sent nowhere.
//! Arguments of programs and values of variables are never in it.

use std::ffi::OsString;
use std::path::Path;

use compatdb::{Facts, Meta, Policy, Profile};
use serde::Serialize;
use serde_json::Value;

use super::anonymous::Anonymous;
use super::report::Diagnosis;
use super::seen::Seen;
use crate::database::{Origin, Root};
use crate::error::{Error, plain};
use crate::printer::{Report, Style};
use crate::regular;
use crate::state::atomic::{self, Durability};
use crate::tickets::Reported;
use crate::variables::Variables;

/// No library is larger.
const MAX_SHIM: u64 = 64 << 20;

/// What the bundle holds beside what doctor reports.
#[derive(Debug, Serialize)]
pub(crate) struct Bundle {
    metalshim: &'static str,
    system: &'static str,
    processor: &'static str,
    facts: Facts,
    /// The time that counted.
    now: jiff::Timestamp,
    settings: Settings,
    policy: Policy,
    database: Option<Database>,
    shim: Option<Shim>,
    /// What running programs reported.
    programs: Vec<Reported>,
    /// Names of variables that are set and bear on metalshim; no values.
    variables: Vec<String>,
    /// `doctor --json`, the same values.
    doctor: Value,
}

#[derive(Debug, Serialize)]
struct Settings {
    profile: Option<Profile>,
    follow: Option<String>,
}

#[derive(Debug, Serialize)]
struct Database {
    origin: Origin,
    #[serde(flatten)]
    meta: Meta,
    fresh_until: Option<jiff::Timestamp>,
    trust_root: Option<Root>,
    problems: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Shim {
    path: String,
    bytes: usize,
    sha256: String,
}

impl Bundle {
    /// Of what was seen and what is reported.
    ///
    /// # Errors
    /// None that a report of ours gives.
    pub(crate) fn new(seen: &Seen, diagnosis: &Diagnosis) -> Result<Self, Error> {
        let mut doctor = serde_json::to_value(diagnosis)
            .map_err(|e| Error::project(format!("could not write the report as JSON: {e}")))?;
        without_starts(&mut doctor);
        let machine = &seen.known.machine;
        let loaded = seen.known.database.as_ref().ok();
        Ok(Self {
            metalshim: env!("CARGO_PKG_VERSION"),
            system: std::env::consts::OS,
            processor: std::env::consts::ARCH,
            facts: machine.facts.clone(),
            now: machine.now,
            settings: Settings {
                profile: seen.settings.profile,
                follow: seen.settings.follow.clone(),
            },
            policy: seen.known.policy.clone(),
            database: loaded.map(|loaded| Database {
                origin: loaded.origin,
                meta: loaded.database.meta().clone(),
                fresh_until: loaded.fresh_until,
                trust_root: loaded.root.clone(),
                problems: loaded.problems.clone(),
            }),
            shim: seen.shim.as_ref().ok().and_then(|path| shim(path)),
            programs: seen.running.clone(),
            variables: named(&seen.environment),
            doctor,
        })
    }
}

/// Whatever starts by itself is told with its arguments.
fn without_starts(doctor: &mut Value) {
    let findings = doctor.get_mut("findings").and_then(Value::as_array_mut);
    for finding in findings.into_iter().flatten() {
        let about = finding["check"] == "wrappers";
        if let Some(Value::String(says)) = finding.get_mut("says")
            && let Some(at) = says.find(" starts ").filter(|_| about)
        {
            says.truncate(at);
            says.push_str(" starts <program and arguments>.");
        }
    }
}

fn shim(path: &Path) -> Option<Shim> {
    let bytes = regular::bytes(regular::open(path).ok()?, MAX_SHIM).ok()?;
    Some(Shim {
        path: path.to_string_lossy().into_owned(),
        bytes: bytes.len(),
        sha256: compatdb::sha256_hex(&bytes),
    })
}

fn named(environment: &[(OsString, OsString)]) -> Vec<String> {
    let bears = [
        "METALSHIM_",
        "DYLD_",
        "LD_PRELOAD",
        "LUME_METAL_",
        "TART_METAL_",
        "VEERTU_ANKA_",
        "MTL_",
        "GGML_",
    ];
    let names = environment.iter().map(|(name, _)| name.to_string_lossy());
    let mut names: Vec<String> = names
        .filter(|name| bears.iter().any(|start| name.starts_with(start)))
        .map(std::borrow::Cow::into_owned)
        .collect();
    names.sort();
    names
}

impl Report for Bundle {
    const SCHEMA: &'static str = "metalshim.bundle/1";

    fn text(&self, _: Style) -> String {
        String::new()
    }
}

/// The bundle as it would be written: with nothing personal in it.
///
/// # Errors
/// None that a report of ours gives.
pub(crate) fn text(json: &str, variables: &Variables) -> Result<String, Error> {
    let failed = |e| Error::project(format!("could not write the bundle as JSON: {e}"));
    let mut value: Value = serde_json::from_str(json).map_err(failed)?;
    Anonymous::here(variables).value(&mut value);
    let mut text = serde_json::to_string_pretty(&value).map_err(failed)?;
    text.push('\n');
    Ok(text)
}

/// Writes it to `path`.
///
/// # Errors
/// There is something already, or it cannot be written.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    if path.symlink_metadata().is_ok() {
        return Err(Error::user(format!("{} is there already", path.display()))
            .hint("name a file that is not there yet"));
    }
    std::path::absolute(path)
        .and_then(|path| atomic::write(&path, text.as_bytes(), Durability::Synced))
        .map_err(|e| {
            Error::user(format!("could not write {}: {}", path.display(), plain(&e)))
                .hint("name a file in a folder that you can write")
        })
}
