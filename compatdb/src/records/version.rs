//! Versions of clients, each in the client's own way of counting.
//!
//! A client row names its schemes in order. A version as a user or Homebrew says it is
//! either a bare value (`b10360`, `10360`, `0.4.0`), which the first scheme that can read
//! it takes, or a scheme's name and a value (`ggml 0.24.0`, `ggml-0.24.0`), which is read
//! by that scheme alone. Text that no scheme can read is an unknown version: it never
//! counts as newer than anything.

use std::cmp::Ordering;
use std::fmt;

use semver::Version;
use serde::{Deserialize, Serialize};

/// One way in which a client counts its versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    /// Like `build`, `release` or `ggml`: small letters and digits.
    pub name: String,
    /// How a value of it is written.
    pub form: Form,
}

/// How a version is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A build number: `b10360` or `10360`.
    Number,
    /// `1.2.3` by the rules of semantic versions; a leading `v`, a missing minor or patch
    /// number and Homebrew's revision (`_1`) are understood.
    Semver,
}

/// A version that a scheme could read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientVersion {
    /// The name of the scheme.
    pub scheme: String,
    value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Number(u32),
    Semver(Version),
}

impl fmt::Display for ClientVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Number(number) => write!(f, "{} b{number}", self.scheme),
            Value::Semver(version) => write!(f, "{} {version}", self.scheme),
        }
    }
}

impl ClientVersion {
    /// Reads a version by the schemes of a client; none when no scheme can.
    pub fn parse(schemes: &[Scheme], text: &str) -> Option<Self> {
        let text = text.trim();
        let named = schemes.iter().find_map(|scheme| {
            let head = text.get(..scheme.name.len())?;
            let rest = text.get(scheme.name.len()..)?;
            let value = rest.strip_prefix([' ', '-', '@', ':', '='])?;
            head.eq_ignore_ascii_case(&scheme.name)
                .then_some((scheme, value))
        });
        match named {
            Some((scheme, value)) => scheme.read(value),
            None => schemes.iter().find_map(|scheme| scheme.read(text)),
        }
    }
}

impl Scheme {
    /// Reads a value of this scheme. What follows a blank is left aside: sources write
    /// `b10167 (ee3d1b54c)`.
    pub fn read(&self, text: &str) -> Option<ClientVersion> {
        let text = text.split_whitespace().next()?;
        let value = match self.form {
            Form::Number => Value::Number(number(text.strip_prefix('b').unwrap_or(text))?),
            Form::Semver => Value::Semver(semver(text.strip_prefix('v').unwrap_or(text))?),
        };
        Some(ClientVersion {
            scheme: self.name.clone(),
            value,
        })
    }
}

fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

fn semver(text: &str) -> Option<Version> {
    let text = match text.split_once('_') {
        Some((version, revision)) => number(revision).map(|_| version)?,
        None => text,
    };
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (core, rest) = text.split_at(end);
    let missing = match core.split('.').count() {
        // A bare number is a build number, not a version 10360.0.0.
        1 => return None,
        2 => ".0",
        _ => "",
    };
    Version::parse(&format!("{core}{missing}{rest}")).ok()
}

impl PartialOrd for ClientVersion {
    /// Versions of two schemes cannot be compared.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (&self.value, &other.value) {
            _ if self.scheme != other.scheme => None,
            (Value::Number(a), Value::Number(b)) => Some(a.cmp(b)),
            (Value::Semver(a), Value::Semver(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }
}

/// Versions of one scheme: from one on, and through or before another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionRange {
    /// The name of the scheme.
    pub of: String,
    /// The first version; left out: from the oldest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The last version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// The first version that is no longer in the range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.of)?;
        let ends = [
            (">=", &self.from),
            ("<=", &self.through),
            ("<", &self.before),
        ];
        for (sign, end) in ends {
            if let Some(end) = end {
                write!(f, " {sign} {end}")?;
            }
        }
        Ok(())
    }
}

impl VersionRange {
    /// Whether the version is in it. A version of another scheme never is, and neither is
    /// any when an end of the range cannot be read.
    pub fn holds(&self, schemes: &[Scheme], version: &ClientVersion) -> bool {
        let Some(scheme) = schemes.iter().find(|s| s.name == self.of) else {
            return false;
        };
        let ends = [
            (&self.from, [Ordering::Less, Ordering::Equal].as_slice()),
            (&self.through, &[Ordering::Greater, Ordering::Equal]),
            (&self.before, &[Ordering::Greater]),
        ];
        version.scheme == self.of
            && ends.into_iter().all(|(end, wanted)| match end {
                None => true,
                Some(end) => scheme
                    .read(end)
                    .and_then(|end| end.partial_cmp(version))
                    .is_some_and(|order| wanted.contains(&order)),
            })
    }

    /// Its ends that can be read: first, last, and whether the last is still in it.
    pub fn ends(
        &self,
        schemes: &[Scheme],
    ) -> (Option<ClientVersion>, Option<(ClientVersion, bool)>) {
        let read = |end: &Option<String>| {
            let scheme = schemes.iter().find(|s| s.name == self.of)?;
            scheme.read(end.as_deref()?)
        };
        let last = match read(&self.through) {
            Some(last) => Some((last, true)),
            None => read(&self.before).map(|last| (last, false)),
        };
        (read(&self.from), last)
    }

    /// Whether no version can be in it.
    pub fn is_empty(&self, schemes: &[Scheme]) -> bool {
        match self.ends(schemes) {
            (Some(first), Some((last, true))) => first > last,
            (Some(first), Some((last, false))) => first >= last,
            _ => false,
        }
    }

    /// Whether a version could be in both.
    pub fn overlaps(&self, schemes: &[Scheme], other: &Self) -> bool {
        let ends_before = |a: &Self, b: &Self| match (a.ends(schemes).1, b.ends(schemes).0) {
            (Some((last, true)), Some(first)) => last < first,
            (Some((last, false)), Some(first)) => last <= first,
            _ => false,
        };
        self.of == other.of && !ends_before(self, other) && !ends_before(other, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schemes() -> Vec<Scheme> {
        let scheme = |name: &str, form| Scheme {
            name: name.to_owned(),
            form,
        };
        vec![
            scheme("build", Form::Number),
            scheme("release", Form::Semver),
            scheme("ggml", Form::Semver),
        ]
    }

    #[test]
    fn a_version_is_read_by_the_scheme_that_fits() {
        for (text, read) in [
            ("b10360", "build b10360"),
            ("10360", "build b10360"),
            ("b10167 (ee3d1b54c)", "build b10167"),
            ("0.4.0", "release 0.4.0"),
            ("v0.4", "release 0.4.0"),
            ("0.4.0_1", "release 0.4.0"),
            ("0.33.0-rc1", "release 0.33.0-rc1"),
            ("ggml 0.24.0", "ggml 0.24.0"),
            ("ggml-0.24.0", "ggml 0.24.0"),
            ("GGML@0.24.0", "ggml 0.24.0"),
            ("build 10360", "build b10360"),
        ] {
            let version = ClientVersion::parse(&schemes(), text);
            assert_eq!(version.map(|v| v.to_string()).as_deref(), Some(read));
        }
        for unknown in [
            "",
            " ",
            "b",
            "latest",
            "master",
            "ggml",
            "ggml ",
            "ggml 24",
            "b-5",
            "b10360x",
            "99999999999",
            "0.4.0_x",
            "1.2.3.4",
            "build 0.4.0",
            "bé1",
            "é",
        ] {
            assert_eq!(
                ClientVersion::parse(&schemes(), unknown),
                None,
                "{unknown:?}"
            );
        }
    }

    #[test]
    fn ranges_hold_their_ends_and_only_their_scheme() {
        let range = VersionRange {
            of: "build".to_owned(),
            from: Some("b2800".to_owned()),
            through: Some("b6300".to_owned()),
            before: None,
        };
        let holds =
            |text| range.holds(&schemes(), &ClientVersion::parse(&schemes(), text).unwrap());
        assert!(holds("b2800") && holds("b4321") && holds("6300"));
        assert!(!holds("b2799") && !holds("b6301") && !holds("0.4.0") && !holds("ggml 0.9.0"));
        let ggml = VersionRange {
            of: "ggml".to_owned(),
            from: None,
            through: None,
            before: Some("0.19.0".to_owned()),
        };
        let holds = |text| ggml.holds(&schemes(), &ClientVersion::parse(&schemes(), text).unwrap());
        assert!(holds("ggml 0.18.9") && !holds("ggml 0.19.0") && !holds("0.1.0"));
    }
}
