//! The rows of the database, as the queries give them and `--json` prints them.
//!
//! They are the records themselves, each kept whole beside the columns that it is looked
//! up by. **Contract.** These shapes are what one schema means: where one of them changes
//! so that an older command could not read it, [`crate::schema::VERSION`] counts up.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

pub use crate::records::{
    Build, BuildRange, Client, Deny, Fault, Gains, Lead, Pair, Status, StockAnswers, StockReport,
};
use crate::{OsBuild, Profile};

impl Status {
    /// As text, the same as in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Revoked => "revoked",
            Self::Broken => "broken",
            Self::Verified => "verified",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Status {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Verified, Self::Broken, Self::Revoked]
            .into_iter()
            .find(|s| s.as_str() == text)
            .ok_or_else(|| {
                format!(
                    "\"{}\" is not a status: it is verified, broken or revoked",
                    text.escape_default()
                )
            })
    }
}

/// The part of a pair that a list shows and a lookup of neighbours needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PairBrief {
    /// Like `P0001`.
    pub id: String,
    /// The guest's exact build.
    pub guest_build: OsBuild,
    /// The host's exact build.
    pub host_build: OsBuild,
    /// What is held about it.
    pub status: Status,
    /// 0 claimed, 1 measured on one machine, 2 on two independent ones, 3 repeated in CI.
    pub evidence_level: u8,
    /// What may be told at most.
    pub profile: Profile,
}

impl PairBrief {
    /// Whether one of its two builds is a beta's.
    pub(crate) fn has_beta(&self) -> bool {
        self.guest_build.is_beta() || self.host_build.is_beta()
    }
}

impl From<&Pair> for PairBrief {
    fn from(p: &Pair) -> Self {
        Self {
            id: p.id.clone(),
            guest_build: p.guest.build.clone(),
            host_build: p.host.build.clone(),
            status: p.status,
            evidence_level: p.evidence.level,
            profile: p.profile,
        }
    }
}

/// A pair without what the table's columns hold, so that pairs that share the rest share it
/// in the file, too.
pub(crate) fn without_columns(pair: &Pair) -> Pair {
    let mut rest = pair.clone();
    let nothing = PairBrief {
        id: String::new(),
        guest_build: OsBuild::none(),
        host_build: OsBuild::none(),
        status: Status::Verified,
        evidence_level: 0,
        profile: Profile::CAUTIOUS,
    };
    with_columns(&mut rest, nothing);
    rest
}

/// Puts back what [`without_columns`] took.
pub(crate) fn with_columns(pair: &mut Pair, columns: PairBrief) {
    pair.id = columns.id;
    pair.guest.build = columns.guest_build;
    pair.host.build = columns.host_build;
    pair.status = columns.status;
    pair.evidence.level = columns.evidence_level;
    pair.profile = columns.profile;
}
