//! What one release of the records is called.

use jiff::Timestamp;
use semver::Version;
use serde::{Deserialize, Serialize};

/// `release.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Counts up by one with every release; the highest wins.
    pub seq: u64,
    /// When it was published. Nothing in the records is dated later.
    pub published_at: Timestamp,
    /// The oldest command that understands the records.
    pub min_cli: Version,
}

impl Default for Release {
    fn default() -> Self {
        Self {
            seq: 0,
            published_at: Timestamp::UNIX_EPOCH,
            min_cli: Version::new(0, 0, 0),
        }
    }
}
