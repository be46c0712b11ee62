//! A client: a program that asks Metal, how it is recognised, and what it may be told.
//!
//! A program is recognised as told by `--client`, else by its executable's name, else by
//! the Homebrew formula it is in, else by the libraries it links. The linter sees to it
//! that no name, formula or pattern belongs to two clients.

use serde::{Deserialize, Serialize};

use super::common::Source;
use super::version::{ClientVersion, Scheme, VersionRange};
use crate::Profile;

/// A program that asks Metal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// The slug that `--client` takes, like `llama.cpp`; permanent.
    pub id: String,
    /// The name to show.
    pub title: String,
    /// Whether the overrides make it faster.
    pub gains: Gains,
    /// What it gains and why, in a sentence or two.
    pub gains_says: String,
    /// What to tell a user before the program is started, where there is something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// How it counts its versions, the usual one first. Empty: versions change nothing.
    #[serde(default)]
    pub schemes: Vec<Scheme>,
    /// How it is recognised.
    #[serde(default)]
    pub recognise: Recognise,
    /// The default of `follow` for it: names of children, and `self` for its own executable.
    #[serde(default)]
    pub children: Vec<String>,
    /// Limits below the record's profile. All that apply count; the lowest wins.
    #[serde(default)]
    pub caps: Vec<Cap>,
    /// Versions that must not be told anything but the stock answers.
    #[serde(default)]
    pub blocked: Vec<Blocked>,
    /// Where it can be looked up.
    #[serde(default)]
    pub sources: Vec<Source>,
    /// What else a reader should know, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Whether the overrides make a client faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gains {
    /// It was measured, or its source says so.
    Yes,
    /// The overrides change nothing in it, or nothing for the better.
    No,
    /// It was measured, without a clear difference.
    Flat,
}

/// How a client is recognised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recognise {
    /// Names of executables, exactly.
    pub executables: Vec<String>,
    /// Patterns over the base names of linked libraries; `*` stands for any text.
    pub libraries: Vec<String>,
    /// Names of Homebrew formulae, as in `Cellar/NAME/VERSION`.
    pub formulae: Vec<String>,
}

impl Recognise {
    /// Whether an executable of this base name is this client.
    pub fn executable(&self, name: &str) -> bool {
        self.executables.iter().any(|known| known == name)
    }

    /// Whether a program of this formula is this client.
    pub fn formula(&self, name: &str) -> bool {
        self.formulae.iter().any(|known| known == name)
    }

    /// Whether a program that links a library of this base name is this client.
    pub fn library(&self, name: &str) -> bool {
        self.libraries.iter().any(|known| glob(known, name))
    }
}

/// Whether `*` in the pattern can be filled so that it is the name.
pub(crate) fn glob(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(rest) = name.strip_prefix(head) else {
        return false;
    };
    (0..=rest.len())
        .filter_map(|start| rest.get(start..))
        .any(|rest| glob(tail, rest))
}

/// A limit for one client, below the record's profile.
///
/// It applies to the versions in its ranges; with `unknown_version`, when the version is
/// not known; with neither, always.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cap {
    /// The versions it is about.
    #[serde(default)]
    pub versions: Vec<VersionRange>,
    /// Whether it applies when the version is not known.
    #[serde(default)]
    pub unknown_version: bool,
    /// The highest Apple family to tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apple_family_max: Option<u16>,
    /// The real family of the host's GPU is the highest to tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_family: Option<HostFamilyCeiling>,
    /// The most threadgroup memory to tell it, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_threadgroup_memory: Option<u32>,
    /// Why, in a sentence that a user can read.
    pub says: String,
    /// The `key` of the source it rests on.
    pub source: String,
}

/// The host's real family as a ceiling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostFamilyCeiling {
    /// The ceiling when the host's family is not known; left out: the record's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<u16>,
}

impl Cap {
    /// Whether it applies to a version; none stands for one that is not known.
    pub fn applies(&self, schemes: &[Scheme], version: Option<&ClientVersion>) -> bool {
        match version {
            _ if self.versions.is_empty() && !self.unknown_version => true,
            None => self.unknown_version,
            Some(version) => self
                .versions
                .iter()
                .any(|range| range.holds(schemes, version)),
        }
    }

    /// What it leaves of a profile; never more than that profile.
    #[must_use]
    pub fn lower(&self, profile: Profile, host_family: Option<u16>) -> Profile {
        let family = profile.apple_family_max;
        let by_host = self
            .host_family
            .and_then(|ceiling| host_family.or(ceiling.unknown))
            // A host below family 1 is a mistake in the facts, not a profile.
            .map(|host| host.max(*Profile::FAMILIES.start()));
        let capped = Profile {
            apple_family_max: family
                .min(self.apple_family_max.unwrap_or(family))
                .min(by_host.unwrap_or(family)),
            max_threadgroup_memory: self
                .max_threadgroup_memory
                .unwrap_or(profile.max_threadgroup_memory),
        };
        profile.min(capped)
    }
}

/// Versions that must not be told anything but the stock answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocked {
    /// The versions; empty: all, known or not.
    #[serde(default)]
    pub versions: Vec<VersionRange>,
    /// Why, in a sentence that a user can read.
    pub says: String,
    /// The `key` of the source it rests on.
    pub source: String,
}

/// What a client row says about one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matched<'a> {
    /// The version, where a scheme of the client could read it.
    pub version: Option<ClientVersion>,
    /// The row that blocks it.
    pub blocked: Option<&'a Blocked>,
    /// Every cap that applies, in the order of the file.
    pub caps: Vec<&'a Cap>,
}

impl Client {
    /// What applies to a version as a user, Homebrew or a file name says it.
    pub fn matched(&self, version: Option<&str>) -> Matched<'_> {
        let version = version.and_then(|text| ClientVersion::parse(&self.schemes, text));
        let blocked = self.blocked.iter().find(|row| {
            row.versions.is_empty()
                || version.as_ref().is_some_and(|version| {
                    let holds = |range: &VersionRange| range.holds(&self.schemes, version);
                    row.versions.iter().any(holds)
                })
        });
        let caps = self
            .caps
            .iter()
            .filter(|cap| cap.applies(&self.schemes, version.as_ref()))
            .collect();
        Matched {
            version,
            blocked,
            caps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        assert!(glob("libggml-metal*", "libggml-metal.0.dylib"));
        assert!(glob("lib*.dylib", "libMNN.dylib"));
        assert!(glob("*", "") && glob("a*b*c", "a--b--c") && glob("exact", "exact"));
        assert!(!glob("libMNN", "libMNN.dylib") && !glob("a*b", "a--") && !glob("", "x"));
        assert!(glob("*é", "aéé") && !glob("*é", "e"));
    }

    #[test]
    fn a_cap_lowers_and_never_raises() {
        let cap: Cap = toml::from_str(
            "apple_family_max = 1009\nhost_family = { unknown = 1007 }\nmax_threadgroup_memory = 65536\nsays = 's'\nsource = 's'",
        )
        .unwrap();
        let record = Profile::HIGHEST;
        assert_eq!(cap.lower(record, Some(1008)).to_string(), "1008/65536");
        assert_eq!(cap.lower(record, Some(1010)).to_string(), "1009/65536");
        assert_eq!(cap.lower(record, Some(0)).to_string(), "1001/65536");
        assert_eq!(cap.lower(record, None).to_string(), "1007/65536");
        assert_eq!(cap.lower(Profile::CAUTIOUS, Some(1009)), Profile::CAUTIOUS);
    }
}
