//! What is known to have been reached, so that nothing older is taken again.
//!
//! **Contract.** Kept beside the metadata, because the library's own floors are gone when a
//! stored file is damaged. Each value is bound to the set of keys under which it was reached:
//! a thief's huge number ends with the thief's keys.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::verify::{Keys, Listed, Verified};

/// What was reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Floor {
    /// The targets keys' name.
    targets_keys: String,
    /// The highest `seq` of a database under them.
    seq: u64,
    /// The latest time that they signed.
    published_at: Option<Timestamp>,
    /// The revoker keys' name.
    revoker_keys: Option<String>,
    /// The highest `seq` of a deny list under them.
    deny_seq: u64,
    /// The timestamp keys' name.
    timestamp_keys: String,
    /// The latest time that they signed.
    signed_at: Option<Timestamp>,
}

impl Floor {
    /// The lowest `seq` of a database that may be taken under these keys.
    pub(crate) fn seq(&self, keys: &Keys) -> u64 {
        if self.targets_keys == keys.targets {
            self.seq
        } else {
            0
        }
    }

    /// The lowest `seq` of a deny list that may be taken under these keys.
    pub(crate) fn deny_seq(&self, keys: &Keys) -> u64 {
        if self.revoker_keys.is_some() && self.revoker_keys == keys.revoker {
            self.deny_seq
        } else {
            0
        }
    }

    /// The signed times that count under these keys.
    pub(crate) fn times(&self, keys: &Keys) -> impl Iterator<Item = Timestamp> {
        let published = (self.targets_keys == keys.targets).then_some(self.published_at);
        let signed = (self.timestamp_keys == keys.timestamp).then_some(self.signed_at);
        [published.flatten(), signed.flatten()]
            .into_iter()
            .flatten()
    }

    /// With what this set reached; `database` is the one that is used of it.
    #[must_use]
    pub(crate) fn raised(&self, verified: &Verified, database: Option<&Listed>) -> Self {
        let keys = &verified.keys;
        let times = |own: Option<Timestamp>, same: bool, new: Option<Timestamp>| {
            own.filter(|_| same).into_iter().chain(new).max()
        };
        let seq = database.map_or(0, |listed| listed.custom.seq);
        let published = database.map(|listed| listed.custom.published_at);
        let deny_seq = verified.deny_list.as_ref().map_or(0, |list| list.seq);
        Self {
            seq: self.seq(keys).max(seq),
            published_at: times(
                self.published_at,
                self.targets_keys == keys.targets,
                published,
            ),
            deny_seq: self.deny_seq(keys).max(deny_seq),
            signed_at: times(
                self.signed_at,
                self.timestamp_keys == keys.timestamp,
                verified.signed_at,
            ),
            targets_keys: keys.targets.clone(),
            revoker_keys: keys.revoker.clone(),
            timestamp_keys: keys.timestamp.clone(),
        }
    }
}
