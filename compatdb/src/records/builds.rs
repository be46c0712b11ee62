//! The table of macOS builds.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::common::Source;
use crate::OsBuild;

/// The table `builds.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Builds {
    /// Where rows can be looked up; rows point to the keys.
    #[serde(default)]
    pub sources: Vec<Source>,
    /// One row a build.
    #[serde(default)]
    pub build: Vec<Build>,
}

impl Builds {
    /// The row of a build.
    pub fn get(&self, build: &OsBuild) -> Option<&Build> {
        self.build.iter().find(|row| row.build == *build)
    }

    /// Rows by build.
    pub fn by_build(&self) -> BTreeMap<&OsBuild, &Build> {
        self.build.iter().map(|row| (&row.build, row)).collect()
    }
}

/// One macOS build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Like `25F84`.
    pub build: OsBuild,
    /// Like `26.5.2` or `27.0 beta 3`.
    pub version: String,
    /// The day it came out, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released: Option<Date>,
    /// A beta or a release candidate.
    pub beta: bool,
    /// Whether the source lists it for virtual Macs; left out where it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_mac: Option<bool>,
    /// Keys of its sources.
    pub sources: Vec<String>,
}
