//! What is known of this machine: the argument of the verdict.
//!
//! The same shapes are the sections of a facts file (`METALSHIM_FACTS`), so that any guest
//! can be described by hand. An unknown key is an error.

use serde::{Deserialize, Serialize};

use crate::{OsBuild, Profile};

/// Everything known of this machine. Time is not part of it: it is an argument of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// The system this runs on.
    pub guest: Guest,
    /// The system that runs the virtual machine; none when nothing is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// The Metal device; none when it has not been asked yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// What this machine has found out by itself.
    #[serde(default)]
    pub local: Local,
}

/// The system this runs on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guest {
    /// `kern.osversion`.
    pub build: OsBuild,
    /// `kern.osproductversion`, like `26.5.2`.
    pub version: String,
    /// `hw.model`, like `VirtualMac2,1`.
    pub model: String,
    /// `machdep.cpu.brand_string`, like `Apple M1 Ultra (Virtual)`.
    pub chip: String,
    /// `kern.hv_vmm_present`.
    pub vm: bool,
    /// System Integrity Protection.
    pub sip: Sip,
    /// `kern.bootsessionuuid`: another one after every start.
    pub boot_session: String,
}

/// System Integrity Protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sip {
    /// On.
    Enabled,
    /// Off.
    Disabled,
    /// Could not be told, or partly off.
    Unknown,
}

/// The system that runs the virtual machine. The guest cannot see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The host's `kern.osversion`.
    pub build: OsBuild,
    /// Like `26.6.1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The host's `hw.model`, like `Mac13,2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Like `Apple M1 Ultra`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chip: Option<String>,
    /// The highest Apple family of the real GPU, like 1007.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apple_family: Option<u16>,
    /// `com.apple.gpusw.ParavirtualizedGraphics ForceUnrestrictedDeviceFeatureLevel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature_level_preference: Option<bool>,
    /// How this is known.
    pub source: HostSource,
}

/// How the host's build is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostSource {
    /// Written by the host itself, since this guest started or within the last two hours.
    Attested,
    /// Said by a person, a variable, or an older file.
    Stated,
}

/// The Metal device's stock answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Objective-C class, like `AppleParavirtDevice`.
    pub class: String,
    /// Like `Apple Paravirtual device`.
    pub name: String,
    /// The highest Apple family answered yes to, like 1005.
    pub apple_family: u16,
    /// The highest Common family, like 3003.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common_family: Option<u16>,
    /// Whether `MTLGPUFamilyMetal3` (5001) is answered yes to.
    #[serde(default)]
    pub metal3: bool,
    /// `maxThreadgroupMemoryLength`, in bytes.
    pub max_threadgroup_memory: u32,
    /// LC_UUID of Metal's image, if read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metal_uuid: Option<String>,
    /// LC_UUID of the driver bundle's image, if read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_uuid: Option<String>,
}

/// The class of the paravirtual device, from public reports: see docs/shim.md.
pub const PARAVIRTUAL_CLASS: &str = "AppleParavirtDevice";

/// What this machine has found out by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Local {
    /// The shim found Metal other than recorded, on this build.
    #[serde(default)]
    pub drift: bool,
    /// What the canary kernels said, on this boot.
    #[serde(default)]
    pub canary: Canary,
    /// The most that they passed with, where more failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary_profile: Option<Profile>,
}

/// What the canary kernels said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Canary {
    /// All results were right.
    Passed,
    /// A result was wrong, or a kernel hung or crashed.
    Failed,
    /// Not run.
    #[default]
    None,
}
