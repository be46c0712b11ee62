//! The host's build: the guest cannot see it, so somebody has to say it.
//!
//! **Contract.** In this order: `--host-build`, `METALSHIM_HOST_BUILD`, what `enable
//! --host-build` stored (for 30 days, its age shown): all three are "stated". An attestation
//! by the host itself beats them, as the host cannot be wrong about its own build; without
//! one of these, a file of the share that is too old to be an attestation counts as stated.

use compatdb::OsBuild;
use compatdb::facts::{Host, HostSource};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::Machine;
use crate::error::Error;
use crate::state::StateFolder;
use crate::variables::{self, Variables};

/// How long a build that `enable --host-build` stored is used.
pub const STORED_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The host's build as `enable --host-build` stored it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredHost {
    /// What was said.
    pub build: OsBuild,
    /// When.
    pub at: Timestamp,
}

/// Decides which of the sources counts, and says in `machine.warnings` what was put aside.
pub(super) fn settle(
    machine: &mut Machine,
    variables: &Variables,
    state: Option<&StateFolder>,
    flag: Option<&OsBuild>,
) -> Result<(), Error> {
    let stated = match (flag, &variables.host_build) {
        (Some(build), _) => Some((build.clone(), "--host-build".to_owned())),
        (None, Some(text)) => Some((from_variable(text)?, variables::HOST_BUILD.to_owned())),
        (None, None) => stored(machine, state)?,
    };
    let Some((build, by)) = stated else {
        return Ok(());
    };
    match &machine.facts.host {
        Some(host) if host.source == HostSource::Attested => {
            if host.build != build {
                machine.warnings.push(format!(
                    "{by} says that the host runs {build}, but the host itself attested {}, which counts",
                    host.build
                ));
            }
        }
        // The same build with more known about it.
        Some(host) if host.build == build => {}
        _ => {
            machine.facts.host = Some(Host {
                build,
                version: None,
                model: None,
                chip: None,
                apple_family: None,
                feature_level_preference: None,
                source: HostSource::Stated,
            });
        }
    }
    Ok(())
}

fn from_variable(text: &str) -> Result<OsBuild, Error> {
    text.parse().map_err(|e| {
        Error::user(format!("{}: {e}", variables::HOST_BUILD)).hint(format!(
            "set {} to what `sw_vers -buildVersion` prints on the host, or unset it",
            variables::HOST_BUILD
        ))
    })
}

fn stored(
    machine: &mut Machine,
    state: Option<&StateFolder>,
) -> Result<Option<(OsBuild, String)>, Error> {
    let Some(state) = state else { return Ok(None) };
    let Some(host) = state
        .read_json::<crate::wish::Wish>(crate::wish::FILE)?
        .and_then(|w| w.host)
    else {
        return Ok(None);
    };
    let age = machine.now.duration_since(host.at);
    let days = age.as_hours() / 24;
    if age > STORED_FOR {
        machine.warnings.push(format!(
            "the host's build {} was stored by `metalshim enable` {days} days ago and is no longer used; say it again with --host-build",
            host.build
        ));
        return Ok(None);
    }
    machine.warnings.push(format!(
        "the host's build {} is what `metalshim enable --host-build` stored {}",
        host.build,
        match days {
            ..=0 => "today".to_owned(),
            1 => "yesterday".to_owned(),
            _ => format!("{days} days ago"),
        }
    ));
    Ok(Some((
        host.build,
        "what `metalshim enable --host-build` stored".to_owned(),
    )))
}
