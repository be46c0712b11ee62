//! A deny range: builds on which the overrides are refused. Ranges may only deny.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::common::Source;
use super::pair::Status;
use crate::OsBuild;

/// A range of guest builds, of host builds, or of both together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deny {
    /// `D` and four digits; permanent.
    pub id: String,
    /// `broken` or `revoked`.
    pub status: Status,
    /// The day the record was first published.
    pub published: Date,
    /// The guest builds it covers; left out: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<BuildRange>,
    /// The host builds it covers; left out: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<BuildRange>,
    /// The fault that is the reason.
    pub fault: String,
    /// Why, in a sentence that a user can read.
    pub reason: String,
    /// Where it can be looked up.
    #[serde(default)]
    pub sources: Vec<Source>,
    /// What else a user should know, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl Deny {
    /// Whether it denies this guest build on this host build. An unknown host is covered
    /// only by a range that leaves the host open.
    pub fn covers(&self, guest: &OsBuild, host: Option<&OsBuild>) -> bool {
        let guest_is = self.guest.as_ref().is_none_or(|range| range.holds(guest));
        let host_is = match (&self.host, host) {
            (None, _) => true,
            (Some(range), Some(host)) => range.holds(host),
            (Some(_), None) => false,
        };
        guest_is && host_is
    }
}

/// Builds from one on, before another, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BuildRange {
    /// The first build of the range; left out: from the oldest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<OsBuild>,
    /// The first build after the range. `24A0` orders before every build of macOS 15.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<OsBuild>,
}

impl BuildRange {
    /// Whether the build is in it.
    pub fn holds(&self, build: &OsBuild) -> bool {
        self.from.as_ref().is_none_or(|from| from <= build)
            && self.before.as_ref().is_none_or(|before| build < before)
    }

    /// Whether no build can be in it.
    pub fn is_empty(&self) -> bool {
        matches!((&self.from, &self.before), (Some(from), Some(before)) if from >= before)
    }
}
