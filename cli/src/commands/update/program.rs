//! The program beside its database: is a newer one out, and who installs it.

#[cfg(feature = "self-update")]
mod replace;

#[cfg(feature = "self-update")]
pub(super) use replace::{replace, undo};

use jiff::Timestamp;
use semver::Version;
use serde::Serialize;

use crate::error::Error;
use crate::managed::Manager;
use crate::update::release::{self, Release};

/// What is known of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Program {
    /// This one.
    pub(crate) installed: Version,
    /// Whether this one must not be used any more.
    pub(crate) revoked: bool,
    /// The newest that is told of; none where none is newer.
    pub(crate) newer: Option<Version>,
    /// When that one was published.
    pub(crate) published_at: Option<Timestamp>,
    /// Who keeps this installation current.
    pub(crate) manager: Manager,
    /// What to type for it; none where nothing is newer.
    pub(crate) command: Option<String>,
    /// The version that was installed in this one's place just now.
    pub(crate) updated_to: Option<Version>,
}

/// Looks at what is listed.
///
/// # Errors
/// The command's own path cannot be found out.
pub(crate) fn look(releases: &[Release]) -> Result<Program, Error> {
    let manager = Manager::here()?;
    let held = manager != Manager::Own;
    let found = release::newer(releases, held, Timestamp::now());
    Ok(Program {
        installed: release::ours(),
        revoked: found.is_some_and(|(_, revoked)| revoked),
        newer: found.map(|(release, _)| release.version.clone()),
        published_at: found.map(|(release, _)| release.published_at),
        command: found.map(|_| manager.update_command().to_owned()),
        manager,
        updated_to: None,
    })
}

impl Program {
    /// Whether a newer one is out, and was not installed just now.
    pub(crate) fn is_behind(&self) -> bool {
        self.newer.is_some() && self.updated_to.is_none()
    }

    /// As users read it; none where there is nothing to say.
    pub(crate) fn says(&self) -> Option<String> {
        let ours = &self.installed;
        if let Some(new) = &self.updated_to {
            return Some(format!(
                "metalshim {new} is installed (before: {ours}); `metalshim update --undo` swaps them back"
            ));
        }
        let (newer, command) = (self.newer.as_ref()?, self.command.as_ref()?);
        let revoked = match self.revoked {
            true => ", which was taken back",
            false => "",
        };
        Some(format!(
            "metalshim {newer} is out; this is {ours}{revoked}: {command}"
        ))
    }
}

/// Without the feature nothing is replaced.
#[cfg(not(feature = "self-update"))]
mod without {
    use super::super::report::Updated;
    use super::super::{Args, Place};
    use crate::context::Context;
    use crate::error::{Error, Outcome};
    use crate::managed::Manager;

    /// Somebody else keeps this build.
    pub(in super::super) fn replace(
        args: &Args,
        _: &Context,
        _: &Place,
        updated: &mut Updated,
    ) -> Result<(), Error> {
        if args.self_only && updated.program.newer.is_none() {
            updated.warnings.push(not_here()?);
        }
        Ok(())
    }

    /// There is nothing that it could have replaced.
    pub(in super::super) fn undo(_: &Context) -> Result<Outcome, Error> {
        Err(Error::user("this build never replaces itself").hint(not_here()?))
    }

    fn not_here() -> Result<String, Error> {
        let manager = Manager::here()?;
        Ok(format!(
            "{} keeps it: {}",
            manager.says(),
            manager.update_command()
        ))
    }
}

#[cfg(not(feature = "self-update"))]
pub(super) use without::{replace, undo};
