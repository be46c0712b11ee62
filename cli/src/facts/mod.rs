//! The facts: what is known of this machine, and the time.
//!
//! **Contract.** The verdict never reads a machine or a clock; this does, once per command.
//! With the feature `simulate` (always on elsewhere than on a Mac) everything comes from a
//! facts file or the built-in sample, otherwise from sysctl and what `doctor` and `enable`
//! found out on this boot. Only the host's build has more than one source: see [`host`].

pub mod host;
#[cfg(all(target_os = "macos", not(feature = "simulate")))]
mod mac;
pub mod share;
#[cfg(all(target_os = "macos", not(feature = "simulate")))]
pub(crate) use mac::ask_device;
#[cfg(any(feature = "simulate", not(target_os = "macos")))]
mod simulate;

use std::path::PathBuf;

use compatdb::Facts;
use jiff::Timestamp;

use self::host::HostFrom;
use crate::error::Error;
use crate::state::StateFolder;
use crate::variables::Variables;

/// The Metal device's stock answers in the state folder, for one boot and build.
pub const DEVICE_FILE: &str = "device.json";

/// Everything known of this machine, at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// The argument of the verdict.
    pub facts: Facts,
    /// The time that counts: of the facts file, if it names one.
    pub now: Timestamp,
    /// When this guest started, where that is known.
    pub booted: Option<Timestamp>,
    /// Where the facts are from.
    pub source: Source,
    /// Where the host's build is from, unless a facts file says it.
    pub host_from: Option<HostFrom>,
    /// Where shared folders are.
    pub shares: PathBuf,
    /// What the user should know about how the host's build is known.
    pub warnings: Vec<String>,
}

/// Where facts are from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Read from this machine.
    ThisMachine,
    /// The built-in sample.
    Sample,
    /// The file that `METALSHIM_FACTS` names.
    File(PathBuf),
}

/// Reads the facts. `stated` is `--host-build`; `state` may be missing where there is no
/// home, and then what it would hold is not known.
pub fn load(
    variables: &Variables,
    state: Option<&StateFolder>,
    stated: Option<&compatdb::OsBuild>,
) -> Result<Machine, Error> {
    let mut machine = read(variables, state)?;
    host::settle(&mut machine, variables, state, stated)?;
    Ok(machine)
}

#[cfg(any(feature = "simulate", not(target_os = "macos")))]
fn read(variables: &Variables, _: Option<&StateFolder>) -> Result<Machine, Error> {
    simulate::read(variables.facts.as_deref())
}

#[cfg(all(target_os = "macos", not(feature = "simulate")))]
fn read(_: &Variables, state: Option<&StateFolder>) -> Result<Machine, Error> {
    mac::read(state)
}

/// Finds out what takes longer, and keeps it in the state folder: the host's attestation in
/// the share, and the Metal device's stock answers. For commands that may take seconds. What
/// could not be found out is returned, a sentence each.
///
/// # Errors
/// The state folder cannot be written.
pub fn find_out(state: &StateFolder, machine: &Machine) -> Result<Vec<String>, Error> {
    #[cfg_attr(
        any(feature = "simulate", not(target_os = "macos")),
        expect(unused_mut)
    )]
    let mut missing = copy_share(state, machine)?;
    #[cfg(all(target_os = "macos", not(feature = "simulate")))]
    if let Err(error) = mac::probe(state, machine) {
        missing.push(error.says);
    }
    Ok(missing)
}

/// Copies the host's attestation from the shared folders into the state folder; at most 200 ms.
/// What could not be used is returned, a sentence each.
///
/// # Errors
/// The state folder cannot be written.
pub fn copy_share(state: &StateFolder, machine: &Machine) -> Result<Vec<String>, Error> {
    let boot_session = &machine.facts.guest.boot_session;
    let looked = share::copy(&machine.shares, state, boot_session, machine.now)?;
    let says = |problem| format!("the host's attestation cannot be used: {problem}");
    Ok(looked.problems.into_iter().map(says).collect())
}
