//! A fleet's own rules: `policy.toml`. They can only subtract.

use serde::{Deserialize, Serialize};

use crate::{OsBuild, Profile};

/// A fleet's own rules. Every key narrows what would be allowed without it; the default
/// narrows nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Guest builds that stay stock.
    pub deny_guest_builds: Vec<OsBuild>,
    /// Host builds whose guests stay stock.
    pub deny_host_builds: Vec<OsBuild>,
    /// The least evidence level of a record, 1 to 3.
    #[serde(deserialize_with = "level")]
    pub min_evidence_level: Option<u8>,
    /// Refuse to enable from a database whose signed freshness is over.
    pub require_fresh_database: bool,
    /// Refuse `--allow-unverified`.
    pub forbid_unverified: bool,
    /// Demand that the host attested its build itself.
    pub require_attested_host: bool,
    /// The highest profile, as `1007/32768`.
    #[serde(with = "profile_text")]
    pub max_profile: Option<Profile>,
}

impl Policy {
    /// Both together: whatever either denies is denied.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.deny_guest_builds.extend(other.deny_guest_builds);
        self.deny_host_builds.extend(other.deny_host_builds);
        self.min_evidence_level = self.min_evidence_level.max(other.min_evidence_level);
        self.require_fresh_database |= other.require_fresh_database;
        self.forbid_unverified |= other.forbid_unverified;
        self.require_attested_host |= other.require_attested_host;
        self.max_profile = match (self.max_profile, other.max_profile) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self
    }
}

/// 0 and 4 would say nothing, or deny everything, without saying so.
fn level<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u8>, D::Error> {
    let number = i64::deserialize(deserializer)?;
    let level = u8::try_from(number).ok();
    match level.filter(|level| (1..=3).contains(level)) {
        Some(level) => Ok(Some(level)),
        None => Err(serde::de::Error::custom(format!(
            "{number} is no evidence level: it is 1, 2 or 3"
        ))),
    }
}

mod profile_text {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use crate::Profile;

    pub(super) fn serialize<S: Serializer>(p: &Option<Profile>, s: S) -> Result<S::Ok, S::Error> {
        p.map(|p| p.to_string()).serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        d: D,
    ) -> Result<Option<Profile>, D::Error> {
        let text = Option::<String>::deserialize(d)?;
        text.map(|t| t.parse().map_err(D::Error::custom))
            .transpose()
    }
}
