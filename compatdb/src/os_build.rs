//! macOS build numbers, as `sw_vers -buildVersion` prints them: `25F84`, `26A5378n`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An exact macOS build number.
///
/// Two digits (the Darwin major version: 23 is macOS 14, 24 is macOS 15, 25 is macOS 26),
/// a capital letter, one to five digits without leading zeros, and for betas a small
/// letter. Ordered by those four parts, which is the order of release within one branch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OsBuild(String);

/// Text that is not a build number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadBuild(String);

impl fmt::Display for BadBuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\"{}\" is not a macOS build number; it looks like 25F84, and `sw_vers -buildVersion` prints it",
            self.0.escape_default()
        )
    }
}

impl std::error::Error for BadBuild {}

impl OsBuild {
    /// The number as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The Darwin major version: 23 is macOS 14, 24 is macOS 15, 25 is macOS 26.
    pub fn darwin_major(&self) -> u8 {
        self.parts().0
    }

    /// Whether it is a beta's: its number ends in a small letter.
    pub fn is_beta(&self) -> bool {
        self.parts().3 != 0
    }

    /// The lowest of all, which no system has: a placeholder.
    pub(crate) fn none() -> Self {
        Self("00A0".to_owned())
    }

    pub(crate) fn parts(&self) -> (u8, u8, u32, u8) {
        split(&self.0).unwrap_or_default()
    }
}

fn split(text: &str) -> Option<(u8, u8, u32, u8)> {
    let bytes = text.as_bytes();
    let (&[tens, ones, letter], rest) = bytes.split_first_chunk::<3>()?;
    let number = rest
        .strip_suffix(&[*rest.last()?])
        .filter(|_| rest.last().is_some_and(u8::is_ascii_lowercase));
    let (digits, suffix) = match number {
        Some(digits) => (digits, *rest.last()?),
        None => (rest, 0),
    };
    let well_formed = tens.is_ascii_digit()
        && ones.is_ascii_digit()
        && letter.is_ascii_uppercase()
        && (1..=5).contains(&digits.len())
        && digits.iter().all(u8::is_ascii_digit)
        // One number, one text.
        && (digits.len() == 1 || !digits.starts_with(b"0"));
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    well_formed.then(|| ((tens - b'0') * 10 + (ones - b'0'), letter, number, suffix))
}

impl FromStr for OsBuild {
    type Err = BadBuild;

    fn from_str(text: &str) -> Result<Self, BadBuild> {
        match split(text) {
            Some(_) => Ok(Self(text.to_owned())),
            None => Err(BadBuild(text.chars().take(40).collect())),
        }
    }
}

impl TryFrom<String> for OsBuild {
    type Error = BadBuild;

    fn try_from(text: String) -> Result<Self, BadBuild> {
        text.parse()
    }
}

impl From<OsBuild> for String {
    fn from(build: OsBuild) -> Self {
        build.0
    }
}

impl fmt::Display for OsBuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Ord for OsBuild {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl PartialOrd for OsBuild {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_builds_parse_and_order() {
        let order = [
            "22A379", "22A380", "22A5266r", "23J631", "24A5", "24G830", "25F84", "25G76", "26A428",
            "26A5378j", "26A5378n",
        ];
        let builds: Vec<OsBuild> = order.iter().map(|b| b.parse().unwrap()).collect();
        assert!(builds.is_sorted());
        assert_eq!(builds[3].darwin_major(), 23);
    }

    #[test]
    fn other_text_is_refused() {
        for bad in [
            "",
            "25",
            "25F",
            "5F84",
            "25f84",
            "25F84x9",
            "25F123456",
            "25F084",
            "25F8 4",
            "25Fn",
            "26.5.2",
            "25F84\n",
            "２５F84",
        ] {
            assert!(bad.parse::<OsBuild>().is_err(), "{bad:?}");
        }
    }
}
