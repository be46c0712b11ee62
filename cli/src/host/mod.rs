//! The Mac that runs the virtual machines, as its own tools tell it.
//!
//! **Contract.** Everything comes from programs of macOS on `PATH` (`sw_vers`, `sysctl`,
//! `defaults`), so that stand-ins for them make all of it run elsewhere; only the GPU's family
//! is asked of Metal where there is one. What cannot be told is left out, but for the build.
//!
//! **Layout.** `tool` starts those programs · [`family`] the GPU's family · [`preference`]
//! the host's preference for paravirtual devices.

pub mod family;
pub mod preference;
mod tool;

use compatdb::OsBuild;
use jiff::Timestamp;
use serde::Serialize;

use crate::error::Error;
use crate::facts::share::Attestation;

/// What is known of this Mac as a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThisHost {
    /// `sw_vers -buildVersion`
    pub build: OsBuild,
    /// `sw_vers -productVersion`
    pub version: Option<String>,
    /// `hw.model`
    pub model: Option<String>,
    /// `machdep.cpu.brand_string`
    pub chip: Option<String>,
    /// The GPU's highest Apple family.
    pub apple_family: Option<u16>,
    /// `kern.bootsessionuuid`
    pub boot_session: Option<String>,
    /// `kern.hv_vmm_present`: this is itself a virtual machine.
    pub vm: bool,
    /// The preference, as it is now.
    pub preference: preference::Value,
}

impl ThisHost {
    /// Asks the tools.
    ///
    /// # Errors
    /// `sw_vers` cannot be started or says no build, or the preference cannot be read.
    pub fn read() -> Result<Self, Error> {
        let text = tool::line("sw_vers", &["-buildVersion"]).map_err(not_a_host)?;
        let build = text.parse().map_err(|e| {
            Error::machine(format!("sw_vers -buildVersion: {e}"))
                .hint("look what `sw_vers -buildVersion` prints")
        })?;
        let sysctl = |name| tool::line("sysctl", &["-n", name]).ok();
        let chip = sysctl("machdep.cpu.brand_string");
        Ok(Self {
            build,
            version: tool::line("sw_vers", &["-productVersion"]).ok(),
            model: sysctl("hw.model"),
            apple_family: family::of_this_mac(chip.as_deref()),
            chip,
            boot_session: sysctl("kern.bootsessionuuid"),
            vm: sysctl("kern.hv_vmm_present").is_some_and(|value| value == "1"),
            preference: preference::Value::read()?,
        })
    }

    /// The same, and an error where this is itself a virtual machine: what it says of itself
    /// would be taken for its host's.
    ///
    /// # Errors
    /// As [`Self::read`]; or this is a virtual machine.
    pub fn read_real() -> Result<Self, Error> {
        let host = Self::read()?;
        if host.vm {
            return Err(
                Error::user("this is a virtual machine, and not the host of one")
                    .hint("type it on the Mac that runs the virtual machine"),
            );
        }
        Ok(host)
    }

    /// What it attests to its guests. `seq` is that of the database in use.
    pub fn attestation(&self, seq: Option<u64>, now: Timestamp) -> Attestation {
        Attestation {
            build: self.build.clone(),
            version: self.version.clone(),
            model: self.model.clone(),
            chip: self.chip.clone(),
            apple_family: self.apple_family,
            feature_level_preference: Some(self.preference.is_on()),
            written_at: Some(now),
            boot_session: self.boot_session.clone(),
            metalshim: Some(env!("CARGO_PKG_VERSION").to_owned()),
            seq,
        }
    }
}

fn not_a_host(error: Error) -> Error {
    error
        .hint("this is for the Mac that runs the virtual machines")
        .hint(format!(
            "nothing needs to be installed there: `sw_vers -buildVersion` prints its build, and {{\"build\":\"25G76\"}}, with that number, in a file {} in the shared folder is enough",
            crate::facts::share::NAME
        ))
}
