//! A profile: the two values that the shim tells instead of the stock answers.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The two values, written `1009/65536`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The highest Apple GPU family to answer yes to, as Metal numbers them:
    /// `MTLGPUFamilyApple1` is 1001, `MTLGPUFamilyApple9` is 1009.
    pub apple_family_max: u16,
    /// What `maxThreadgroupMemoryLength` answers, in bytes.
    pub max_threadgroup_memory: u32,
}

/// Text or values that are not a profile metalshim may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadProfile(String);

impl fmt::Display for BadProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\"{}\" is not a profile: it is FAMILY/BYTES, with a family from 1001 to 1009 and 16 to 65536 bytes in steps of 16, like 1007/32768",
            self.0.escape_default()
        )
    }
}

impl std::error::Error for BadProfile {}

impl Profile {
    /// The Apple families that may be told. Family 10 and above never are: clients choose
    /// kernels by them that ask for more threadgroup memory than any Mac has.
    pub const FAMILIES: RangeInclusive<u16> = 1001..=1009;
    /// The most threadgroup memory that may be told, in bytes.
    pub const MEMORY_MAX: u32 = 65_536;
    /// What an unverified pair is told unless the user says more: every gate of llama.cpp
    /// opens at 1007, and 32,768 bytes is what the hardware has.
    pub const CAUTIOUS: Self = Self {
        apple_family_max: 1007,
        max_threadgroup_memory: 32_768,
    };
    /// The highest profile there is.
    pub const HIGHEST: Self = Self {
        apple_family_max: 1009,
        max_threadgroup_memory: Self::MEMORY_MAX,
    };

    /// Whether both values are within what metalshim may ever tell.
    pub fn is_allowed(self) -> bool {
        Self::FAMILIES.contains(&self.apple_family_max)
            && (16..=Self::MEMORY_MAX).contains(&self.max_threadgroup_memory)
            && self.max_threadgroup_memory.is_multiple_of(16)
    }

    /// The lower of both, value by value: what a cap leaves of a profile.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self {
            apple_family_max: self.apple_family_max.min(other.apple_family_max),
            max_threadgroup_memory: self
                .max_threadgroup_memory
                .min(other.max_threadgroup_memory),
        }
    }

    /// Whether neither value is above `other`'s.
    pub fn is_within(self, other: Self) -> bool {
        self.min(other) == self
    }
}

impl FromStr for Profile {
    type Err = BadProfile;

    fn from_str(text: &str) -> Result<Self, BadProfile> {
        let parse = || {
            let (family, memory) = text.split_once('/')?;
            let digits =
                |s: &str| (!s.is_empty() && s.bytes().all(|b| b.is_ascii_digit())).then_some(());
            digits(family).and(digits(memory))?;
            let profile = Self {
                apple_family_max: family.parse().ok()?,
                max_threadgroup_memory: memory.parse().ok()?,
            };
            profile.is_allowed().then_some(profile)
        };
        parse().ok_or_else(|| BadProfile(text.chars().take(40).collect()))
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{}",
            self.apple_family_max, self.max_threadgroup_memory
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_values_agree() {
        for text in ["1009/65536", "1007/32768", "1001/16"] {
            assert_eq!(text.parse::<Profile>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn nothing_beyond_the_two_answers_parses() {
        for bad in [
            "1010/65536",
            "1009/65537",
            "5001/32768",
            "1000/32768",
            "1009",
            "1009/",
            "/",
            "1009/0",
            "1009/8",
            "1009/-1",
            "+1009/32768",
            "1009/32768/1",
            "1009 / 32768",
        ] {
            assert!(bad.parse::<Profile>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_lower_of_two_is_taken_value_by_value() {
        let a: Profile = "1009/32768".parse().unwrap();
        let b: Profile = "1007/65536".parse().unwrap();
        assert_eq!(a.min(b), Profile::CAUTIOUS);
        assert!(!a.is_within(b) && Profile::CAUTIOUS.is_within(a));
    }
}
