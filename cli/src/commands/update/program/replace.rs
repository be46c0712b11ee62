//! Replaces the program by a newer release, where nobody else keeps it, and takes that back.

use std::time::{Duration, Instant};

use semver::Version;
use serde::Serialize;

use super::super::report::{Kind, Updated};
use super::super::{Args, Place, progress, root, waiting};
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::managed::Manager;
use crate::printer::{Report, Style};
use crate::swap::{Installation, is_newer};
use crate::update::{self, Updates};

/// How long `--undo` waits for others.
const UNDO: Duration = Duration::from_secs(10);

/// Installs the newest release, if there is a newer one that may be taken; into `updated` goes
/// what came of it.
pub(in super::super) fn replace(
    args: &Args,
    context: &Context,
    place: &Place,
    updated: &mut Updated,
) -> Result<(), Error> {
    let Some(newest) = updated.program.newer.clone() else {
        return Ok(());
    };
    if updated.program.manager != Manager::Own {
        return Ok(());
    }
    let installation = Installation::here()?;
    if !args.self_only && installation.undone()?.as_ref() == Some(&newest) {
        updated.warnings.push(format!(
            "metalshim {newest} was undone here, and is not taken again by itself: `metalshim update --self-only` takes it"
        ));
        return Ok(());
    }
    let deadline = Instant::now() + args.budget();
    let _lock = installation.lock(deadline, waiting(context))?;
    let installed = installation.installed()?;
    if installed >= newest {
        updated.warnings.push(format!(
            "metalshim {installed} was installed meanwhile: the next start is that one"
        ));
        updated.program.newer = None;
        return Ok(());
    }
    let state = context.state()?;
    let trust = root(context, args.trust_root.as_deref(), state.path())?;
    let updates = Updates::new(&trust, state.path());
    let left = deadline.saturating_duration_since(Instant::now());
    let choose = |releases: &[update::release::Release]| {
        let mut all = releases.iter();
        all.find(|r| r.version == newest && is_newer(&r.version))
            .cloned()
    };
    let fetched = updates
        .release(place.clone(), left, progress(context), choose)
        .map_err(|problem| problem.error("this metalshim"))?;
    let Some((release, archive)) = fetched else {
        return Err(
            Error::machine(format!("metalshim {newest} is not offered any more"))
                .hint("try again later"),
        );
    };
    installation.install(&archive, &release.version)?;
    updated.program.updated_to = Some(release.version);
    if updated.outcome == Kind::Of(update::Outcome::NeedsNewerMetalshim) {
        updated.warnings.push(
            "the new metalshim reads the newest database: run `metalshim update` again".to_owned(),
        );
    }
    Ok(())
}

/// What `update --undo` did.
#[derive(Debug, Serialize)]
struct Undone {
    /// The version before.
    from: Version,
    /// The version that is there now.
    to: Version,
}

/// `metalshim update --undo`.
pub(in super::super) fn undo(context: &Context) -> Result<Outcome, Error> {
    let manager = Manager::here()?;
    if let Some(command) = manager.command() {
        return Err(Error::user(format!(
            "{} keeps this installation, and takes versions back",
            manager.says()
        ))
        .hint(format!("a newer one comes by: {command}")));
    }
    let installation = Installation::here()?;
    let _lock = installation.lock(Instant::now() + UNDO, waiting(context))?;
    let (from, to) = installation.undo()?;
    context.printer.report(&Undone { from, to })?;
    Ok(Outcome::Yes)
}

impl Report for Undone {
    const SCHEMA: &'static str = "metalshim.update-undo/1";

    fn text(&self, style: Style) -> String {
        format!(
            "{} metalshim {} is back (before: {}); the same command swaps them again\n",
            style.green("undone:"),
            self.to,
            self.from
        )
    }
}
