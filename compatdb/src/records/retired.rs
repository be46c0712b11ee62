//! Ids that are used up: an id is never given twice.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// The table `retired.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetiredIds {
    /// One row an id.
    #[serde(default)]
    pub retired: Vec<Retired>,
}

/// One used-up id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retired {
    /// The id that no record may have again.
    pub id: String,
    /// The day it was retired.
    pub on: Date,
    /// Why, and what took its place.
    pub reason: String,
}
