//! A lead: a public trial that does not state both builds. Shown, never allowing.

use serde::{Deserialize, Serialize};

use super::common::{Evidence, Source, VmSoftware, Workload};
use crate::{OsBuild, Profile};

/// A public trial without both builds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lead {
    /// `L` and four digits; permanent.
    pub id: String,
    /// What came of it, in a sentence.
    pub outcome: String,
    /// What is missing before it could become a pair, in a sentence.
    pub missing: String,
    /// The profile that was tried, where stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// The host preference during the trial, where stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_preference: Option<bool>,
    /// What is known of the host.
    #[serde(default)]
    pub host: SeenSystem,
    /// What is known of the guest.
    #[serde(default)]
    pub guest: SeenSystem,
    /// How far it can be trusted.
    pub evidence: Evidence,
    /// What ran the virtual machine.
    #[serde(default)]
    pub vm_software: Vec<VmSoftware>,
    /// What was measured.
    #[serde(default)]
    pub workloads: Vec<Workload>,
    /// Where it can be looked up.
    #[serde(default)]
    pub sources: Vec<Source>,
    /// What else a reader should know, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What a public report says of one of the two systems; every part may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SeenSystem {
    /// The build, where stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<OsBuild>,
    /// The version as the source writes it, like `26.4.1` or `15 or 26`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// `hw.model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Like `Apple M3 Pro`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chip: Option<String>,
}
