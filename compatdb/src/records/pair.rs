//! One pair: an exact host build and an exact guest build.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::common::{Evidence, Source, VmSoftware, Workload};
use crate::{OsBuild, Profile};

/// A pair, its status and its evidence. The only kind of record that can allow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// `P` and four digits; permanent.
    pub id: String,
    /// What the record says of the pair.
    pub status: Status,
    /// The day the record was first published, never before its sources.
    pub published: Date,
    /// What the overrides were verified with: the most that is ever told on this pair.
    pub profile: Profile,
    /// The Objective-C class of the device.
    pub device_class: String,
    /// The oldest shim that may use the record, as `metalshim_ticket::SHIM_ABI` counts.
    pub min_shim_abi: u32,
    /// LC_UUID of the guest's Metal, where known: it must then match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metal_uuid: Option<String>,
    /// LC_UUID of the guest's driver bundle, where known: it must then match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_uuid: Option<String>,
    /// The host preference `ForceUnrestrictedDeviceFeatureLevel` during the measurement;
    /// left out where the source does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_preference: Option<bool>,
    /// The fault that makes the pair `broken`, where there is a record of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// For `broken` and `revoked`: why, in a sentence that a user can read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The system that ran the virtual machine.
    pub host: HostSystem,
    /// The system in it.
    pub guest: GuestSystem,
    /// What the device answered untouched.
    pub stock: StockAnswers,
    /// How far the record can be trusted.
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
    /// What else a user should know, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What a record says of a pair or of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The overrides were seen to work.
    Verified,
    /// The overrides give wrong results or crashes.
    Broken,
    /// The record was verified once and is taken back.
    Revoked,
}

/// The system that ran the virtual machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSystem {
    /// Exactly this build.
    pub build: OsBuild,
    /// Like `26.6.1`, as the table of builds has it.
    pub version: String,
    /// `hw.model` of the machines it was measured on, like `Mac13,2`; may be empty.
    #[serde(default)]
    pub models: Vec<String>,
    /// Chips it was measured on, like `Apple M1 Ultra`.
    #[serde(default)]
    pub chips: Vec<String>,
}

/// The system in the virtual machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestSystem {
    /// Exactly this build.
    pub build: OsBuild,
    /// Like `26.5.2`, as the table of builds has it.
    pub version: String,
    /// `hw.model`, like `VirtualMac2,1`, where the source says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// What the device answered untouched: other answers on a machine are drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StockAnswers {
    /// The highest Apple family answered yes to, like 1005.
    pub apple_family: u16,
    /// The highest Common family, like 3003.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common_family: Option<u16>,
    /// Whether Metal 3 (5001) was answered yes to; the paravirtual device says no.
    pub metal3: bool,
    /// `maxThreadgroupMemoryLength`, in bytes.
    pub max_threadgroup_memory: u32,
}
