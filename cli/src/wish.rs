//! What `enable` recorded: the wish that metalshim acts for what starts by itself.

use compatdb::{OsBuild, Profile};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::facts::host::StoredHost;

/// Its file in the state folder. `disable` removes exactly this file.
pub const FILE: &str = "enabled.json";

/// What `enable` recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// Since when; kept when `enable` is repeated.
    pub since: Timestamp,
    /// When the checks were passed last.
    pub checked: Timestamp,
    /// The guest build that was checked.
    pub guest_build: OsBuild,
    /// The record that allowed it; none for `--allow-unverified`.
    pub record: Option<String>,
    /// `--profile`, if it was given: the most that programs are told.
    pub profile: Option<Profile>,
    /// `--host-build`, if it was given.
    pub host: Option<StoredHost>,
    /// `--image`: others start this system on any host, so what one boot stored of its host
    /// is nothing to the next.
    #[serde(default)]
    pub image: bool,
}
