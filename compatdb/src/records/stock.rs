//! What the device was seen to answer untouched, in public reports.

use serde::{Deserialize, Serialize};

use super::common::{Source, VmSoftware};
use super::lead::SeenSystem;

/// The table `stock-reports.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StockReports {
    /// One report each.
    #[serde(default)]
    pub report: Vec<StockReport>,
}

/// One public report of a device's answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StockReport {
    /// `S` and two digits; permanent.
    pub id: String,
    /// What was seen, in a sentence.
    pub says: String,
    /// Whether it was measured; `false` when somebody only says so.
    pub measured: bool,
    /// Whether there was no virtual machine: a reference.
    #[serde(default)]
    pub bare_metal: bool,
    /// The program that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Its version, as the source writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
    /// What is known of the host.
    #[serde(default)]
    pub host: SeenSystem,
    /// What is known of the guest.
    #[serde(default)]
    pub guest: SeenSystem,
    /// What ran the virtual machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm_software: Option<VmSoftware>,
    /// The answers.
    #[serde(default)]
    pub answers: StockSeen,
    /// Where it can be looked up.
    #[serde(default)]
    pub sources: Vec<Source>,
}

/// Answers, as far as they were reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StockSeen {
    /// The highest Apple family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apple_family: Option<u16>,
    /// The highest Common family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub common_family: Option<u16>,
    /// Whether Metal 3 was answered yes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metal3: Option<bool>,
    /// `maxThreadgroupMemoryLength`, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_threadgroup_memory: Option<u32>,
    /// The GPU architecture's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
}
