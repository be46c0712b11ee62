//! `metalshim disable`: takes back what `enable` recorded.
//!
//! **Contract.** It removes what `enable` wrote and ends every `--allow-unverified`, whichever
//! command gave it, and may be repeated. Programs that run keep what they have; `metalshim run`
//! still works, as it needs no `enable`. `--purge` removes the state folder's other files too,
//! whatever is in them, but for the fetched databases, which only the next one may replace, and
//! never a file that metalshim did not make.

use std::ffi::OsString;
use std::fs;

use compatdb::OsBuild;
use serde::Serialize;

use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::facts::share;
use crate::printer::{Report, Style};
use crate::state::FILES;
use crate::state::StateFolder;
use crate::{tickets, unverified, wish, wrappers};

/// Takes back what `metalshim enable` recorded, and ends every --allow-unverified.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Everything that is enabled, the wrappers too (the same as naming no program)
    #[arg(long, conflicts_with = "programs")]
    pub all: bool,
    /// Remove everything else that metalshim keeps for this user, too, even where it is damaged;
    /// the fetched databases stay
    #[arg(long, conflicts_with = "programs")]
    pub purge: bool,
    /// Programs to unwrap; everything else stays enabled
    #[arg(value_name = "PROGRAM")]
    pub programs: Vec<OsString>,
}

#[derive(Debug, Serialize)]
struct Disabled {
    /// Whether there was anything to take back.
    was_enabled: bool,
    /// The guest builds whose `--allow-unverified` was ended.
    ended: Vec<OsBuild>,
    /// The programs that were unwrapped.
    unwrapped: Vec<String>,
    /// The files that were removed.
    removed: Vec<String>,
}

/// Runs it.
///
/// # Errors
/// The state cannot be read or changed.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    let state = context.state()?;
    let mut report = Disabled {
        was_enabled: false,
        ended: Vec::new(),
        unwrapped: Vec::new(),
        removed: Vec::new(),
    };
    // Nothing was ever written: do not make a folder to find that out.
    if state.path().exists() {
        if !args.programs.is_empty() {
            let _lock = state.lock()?;
            report.unwrapped = wrappers::remove(&state, &args.programs)?;
        } else if args.purge {
            purge(&state.tolerant(), &mut report)?;
        } else {
            disable(&state, &mut report)?;
        }
    }
    context.printer.report(&report)?;
    Ok(Outcome::Yes)
}

fn disable(state: &StateFolder, report: &mut Disabled) -> Result<(), Error> {
    let _lock = state.lock()?;
    report.was_enabled = is_there(state, wish::FILE);
    report.end(unverified::end_all(state)?);
    report.unwrapped = wrappers::remove_all(state)?;
    if report.was_enabled {
        for name in [share::FILE, crate::facts::DEVICE_FILE, wish::FILE] {
            remove(state, name, &mut report.removed)?;
        }
    }
    Ok(())
}

fn is_there(state: &StateFolder, name: &str) -> bool {
    state.join(name).symlink_metadata().is_ok()
}

fn remove(state: &StateFolder, name: &str, removed: &mut Vec<String>) -> Result<(), Error> {
    if is_there(state, name) {
        state.remove(name)?;
        removed.push(state.join(name).display().to_string());
    }
    Ok(())
}

/// What cannot be read is removed all the same, and what cannot be removed keeps nothing else
/// from being removed.
fn purge(state: &StateFolder, report: &mut Disabled) -> Result<(), Error> {
    let _lock = state.lock_to_purge()?;
    report.was_enabled = is_there(state, wish::FILE);
    let mut failed = None;
    match unverified::end_all(state) {
        Ok(ended) => report.end(ended),
        Err(error) => failed = Some(error),
    }
    match wrappers::remove_all(state) {
        Ok(unwrapped) => report.unwrapped = unwrapped,
        Err(error) => drop(failed.get_or_insert(error)),
    }
    for name in FILES
        .into_iter()
        .chain(["log", crate::update::automatic::LOCK])
    {
        if let Err(error) = remove(state, name, &mut report.removed) {
            failed.get_or_insert(error);
        }
    }
    tickets::remove_all(state);
    // Folders go where they are empty: what somebody else put there stays.
    let _ = fs::remove_dir(state.tickets());
    // Last of the files: from here on another may hold a lock, in a folder that it made again.
    remove(state, "lock", &mut report.removed)?;
    let _ = fs::remove_dir(state.path());
    failed.map_or(Ok(()), Err)
}

impl Disabled {
    fn end(&mut self, grants: Vec<unverified::Grant>) {
        let builds = grants.into_iter().map(|grant| grant.build);
        self.ended.extend(builds);
    }
}

impl Report for Disabled {
    const SCHEMA: &'static str = "metalshim.disable/1";

    fn text(&self, _: Style) -> String {
        let mut text = match (self.was_enabled, self.unwrapped.as_slice()) {
            (true, _) => "disabled\n".to_owned(),
            (false, []) => "nothing was enabled\n".to_owned(),
            (false, _) => String::new(),
        };
        for name in &self.unwrapped {
            text += &format!("unwrapped {name}\n");
        }
        for build in &self.ended {
            text += &format!("ended --allow-unverified {build}\n");
        }
        for removed in &self.removed {
            text += &format!("removed {removed}\n");
        }
        text
    }
}
