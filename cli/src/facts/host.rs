//! The host's build: the guest cannot see it, so somebody has to say it.
//!
//! **Contract.** In this order: `--host-build`, `METALSHIM_HOST_BUILD`, what `enable
//! --host-build` stored (for 30 days, its age shown): all three are "stated". An attestation
//! by the host itself beats them, as the host cannot be wrong about its own build; without
//! one of these, a file of the share that is too old to be an attestation counts as stated,
//! but not in an image (`enable --image`): it may have been started on any host.

use compatdb::OsBuild;
use compatdb::facts::{Host, HostSource};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Machine, share};
use crate::age::{self, Age};
use crate::error::Error;
use crate::state::StateFolder;
use crate::variables::{self, Variables};
use crate::wish::{self, Wish};

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

/// Where the host's build is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFrom {
    /// A file's path, or who said it.
    pub what: String,
    /// When it was written or stored, where that is known.
    pub at: Option<Timestamp>,
    /// The `seq` of the host's database, where the host wrote it.
    pub seq: Option<u64>,
}

/// Decides which of the sources counts, and says in `machine.warnings` what was put aside.
pub(super) fn settle(
    machine: &mut Machine,
    variables: &Variables,
    state: Option<&StateFolder>,
    flag: Option<&OsBuild>,
) -> Result<(), Error> {
    let stated = match (flag, &variables.host_build) {
        (Some(build), _) => Some(Stated {
            build: build.clone(),
            by: "--host-build",
            at: None,
            warning: None,
        }),
        (None, Some(text)) => Some(Stated {
            build: from_variable(text)?,
            by: variables::HOST_BUILD,
            at: None,
            warning: None,
        }),
        (None, None) => stored(machine, state)?,
    };
    let copied = match (&machine.facts.host, state) {
        // The facts file says what the share would.
        (Some(_), _) | (_, None) => None,
        (None, Some(state)) => state.read_json::<share::Copy>(share::FILE)?,
    };
    if let Some(copy) = copied {
        let wish: Option<Wish> = state.map_or(Ok(None), |state| state.read_json(wish::FILE))?;
        let image = wish.is_some_and(|wish| wish.image);
        let boot_session = &machine.facts.guest.boot_session;
        let (host, warning) = copy.host(boot_session, machine.booted, machine.now, image);
        // Where somebody says something newer, the old file is not worth a warning.
        if stated.is_none() {
            machine.warnings.extend(warning);
        }
        if host.is_some() {
            machine.host_from = Some(HostFrom {
                what: copy.from.display().to_string(),
                at: Some(copy.written),
                seq: copy.attestation.seq,
            });
            machine.facts.host = host;
        }
    }
    let Some(Stated {
        build,
        by,
        at,
        warning,
    }) = stated
    else {
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
        Some(host) if host.build == build => machine.warnings.extend(warning),
        _ => {
            machine.warnings.extend(warning);
            machine.host_from = Some(HostFrom {
                what: by.to_owned(),
                at,
                seq: None,
            });
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

/// What the variable says, if it is set.
///
/// # Errors
/// It is not a build.
pub(crate) fn stated_by_variable(variables: &Variables) -> Result<Option<OsBuild>, Error> {
    variables
        .host_build
        .as_deref()
        .map(from_variable)
        .transpose()
}

fn from_variable(text: &str) -> Result<OsBuild, Error> {
    text.parse().map_err(|e| {
        Error::user(format!("{}: {e}", variables::HOST_BUILD)).hint(format!(
            "set {} to what `sw_vers -buildVersion` prints on the host, or unset it",
            variables::HOST_BUILD
        ))
    })
}

/// The host's build as somebody stated it.
struct Stated {
    build: OsBuild,
    /// Where.
    by: &'static str,
    /// When, where that is known.
    at: Option<Timestamp>,
    /// What to know if it is used.
    warning: Option<String>,
}

fn stored(machine: &mut Machine, state: Option<&StateFolder>) -> Result<Option<Stated>, Error> {
    let Some(state) = state else { return Ok(None) };
    let wish: Option<Wish> = state.read_json(wish::FILE)?;
    let Some(StoredHost { build, at }) = wish.and_then(|wish| wish.host) else {
        return Ok(None);
    };
    let days = machine.now.duration_since(at).as_hours() / 24;
    match age::of(at, machine.now, STORED_FOR) {
        Age::Holds => {}
        Age::Over => {
            machine.warnings.push(format!(
                "the host's build {build} was stored by `metalshim enable` {days} days ago and is no longer used; say it again: metalshim enable --host-build BUILD"
            ));
            return Ok(None);
        }
        Age::Ahead => {
            machine.warnings.push(format!(
                "the host's build {build} was stored at {at}, by a clock that is ahead of this one ({}), and is not used; say it again: metalshim enable --host-build BUILD",
                machine.now
            ));
            return Ok(None);
        }
    }
    let age = match days {
        ..=0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        _ => format!("{days} days ago"),
    };
    Ok(Some(Stated {
        warning: Some(format!(
            "the host's build {build} is what `metalshim enable --host-build` stored {age}"
        )),
        build,
        by: "what `metalshim enable --host-build` stored",
        at: Some(at),
    }))
}
