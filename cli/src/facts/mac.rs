//! Facts of a Mac: sysctl, System Integrity Protection, and what was found out on this boot.
//!
//! **Contract.** Reading them makes no Metal device and starts no process, but for the state
//! of System Integrity Protection at the first command of a boot: it cannot change before the
//! next one, so it is kept. [`probe`] makes the device, in a process of its own.

use std::process::{Command, Stdio};
use std::time::Duration;

use compatdb::Facts;
use compatdb::facts::{Device, Guest, Local, Sip};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sysctl::{Ctl, CtlValue, Sysctl};

use super::{DEVICE_FILE, Machine, Source};
use crate::error::Error;
use crate::helper::Helper;
use crate::probe;
use crate::state::StateFolder;
use crate::state::atomic::{self, Durability};

const CSRUTIL: &str = "/usr/bin/csrutil";
const SIP_FILE: &str = "sip.json";
/// How long the child may take that makes the device.
const PROBE_PATIENCE: Duration = Duration::from_secs(30);

/// The device as a child found it.
#[derive(Serialize, Deserialize)]
struct Probed {
    boot_session: String,
    build: String,
    device: Device,
}

#[derive(Serialize, Deserialize)]
struct KnownSip {
    boot_session: String,
    sip: Sip,
}

/// Reads them.
pub(super) fn read(state: Option<&StateFolder>) -> Result<Machine, Error> {
    let build = text("kern.osversion")?;
    let boot_session = text("kern.bootsessionuuid")?;
    let guest = Guest {
        build: build.parse().map_err(|e| {
            Error::machine(format!("kern.osversion: {e}"))
                .hint("metalshim knows macOS only by its build number")
        })?,
        version: text("kern.osproductversion")?,
        model: text("hw.model")?,
        chip: text("machdep.cpu.brand_string")?,
        // Before macOS 11.3 there was no such value, and no such guest either.
        vm: text("kern.hv_vmm_present").is_ok_and(|v| v == "1"),
        sip: sip(state, &boot_session),
        boot_session,
    };
    let probed: Option<Probed> = match state {
        Some(state) => state.read_json(DEVICE_FILE)?,
        None => None,
    };
    let holds = |p: &Probed| p.boot_session == guest.boot_session && p.build == build;
    Ok(Machine {
        facts: Facts {
            device: probed.filter(holds).map(|p| p.device),
            guest,
            host: None,
            local: Local::default(),
        },
        now: Timestamp::now(),
        booted: booted(),
        source: Source::ThisMachine,
        host_from: None,
        shares: super::share::SHARES.into(),
        warnings: Vec::new(),
    })
}

fn text(name: &str) -> Result<String, Error> {
    let read = Ctl::new(name).and_then(|ctl| ctl.value_string());
    read.map_err(|e| {
        Error::machine(format!("sysctl {name} cannot be read: {e}"))
            .hint(format!("look what `sysctl {name}` says"))
    })
}

/// `kern.boottime`, a `struct timeval`: the seconds are its first eight bytes.
fn booted() -> Option<Timestamp> {
    let value = Ctl::new("kern.boottime").and_then(|ctl| ctl.value()).ok()?;
    let CtlValue::Struct(bytes) = value else {
        return None;
    };
    let seconds = bytes.first_chunk::<8>()?;
    Timestamp::from_second(i64::from_ne_bytes(*seconds)).ok()
}

fn sip(state: Option<&StateFolder>, boot_session: &str) -> Sip {
    // A file that cannot be used costs asking again, no more.
    let known: Option<KnownSip> = state.and_then(|s| s.read_json(SIP_FILE).ok().flatten());
    if let Some(known) = known.filter(|k| k.boot_session == boot_session) {
        return known.sip;
    }
    let output = Command::new(CSRUTIL)
        .arg("status")
        .stdin(Stdio::null())
        .output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    let sip = sip_from(&text.unwrap_or_default());
    let known = KnownSip {
        boot_session: boot_session.to_owned(),
        sip,
    };
    if let (Some(state), Ok(json)) = (state, serde_json::to_vec(&known)) {
        let _ = state.ensure().and_then(|()| {
            let path = state.join(SIP_FILE);
            atomic::write(&path, &json, Durability::Renamed).map_err(|e| state.unusable(&path, &e))
        });
    }
    sip
}

/// What `csrutil status` prints: "enabled.", "disabled.", or a custom configuration.
fn sip_from(text: &str) -> Sip {
    let first = text.lines().next().unwrap_or_default();
    if first.ends_with("status: enabled.") {
        Sip::Enabled
    } else if first.ends_with("status: disabled.") {
        Sip::Disabled
    } else {
        Sip::Unknown
    }
}

/// Has the device looked at by a child, and keeps what it found for this boot and build. A
/// child, as Metal may hang or crash, and as this process must stay without it.
pub(super) fn probe(state: &StateFolder, machine: &Machine) -> Result<(), Error> {
    let device = ask_device()?;
    let guest = &machine.facts.guest;
    let _lock = state.lock()?;
    state.write_json(
        DEVICE_FILE,
        &Probed {
            boot_session: guest.boot_session.clone(),
            build: guest.build.to_string(),
            device,
        },
    )
}

/// The system's default device, as a child of ours found it.
pub(crate) fn ask_device() -> Result<Device, Error> {
    let (_, answers) = probe::ask(Helper::Probe.stock()?, PROBE_PATIENCE)?;
    Ok(answers.into_device())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_answers_count() {
        let status = "System Integrity Protection status: ";
        assert_eq!(sip_from(&format!("{status}enabled.\n")), Sip::Enabled);
        assert_eq!(sip_from(&format!("{status}disabled.\n")), Sip::Disabled);
        let custom = format!("{status}unknown (Custom Configuration).\n");
        assert_eq!(sip_from(&custom), Sip::Unknown);
        assert_eq!(sip_from(""), Sip::Unknown);
    }
}
