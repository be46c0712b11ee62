//! `metalshim disable`: takes back what `enable` recorded.
//!
//! **Contract.** It removes exactly what `enable` wrote, and may be repeated. Programs that
//! run keep what they have; `metalshim run` still works, as it needs no `enable`. `--purge`
//! removes the state folder's other files too, and never a file that metalshim did not make.

use std::ffi::OsString;
use std::fs;

use serde::Serialize;

use crate::commands::enable::no_programs;
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::facts::share;
use crate::printer::{Report, Style};
use crate::state::StateFolder;
use crate::unverified::{self, By};
use crate::{tickets, wish};

/// Takes back what `metalshim enable` recorded.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Everything that is enabled (the same as naming no program)
    #[arg(long, conflicts_with = "programs")]
    pub all: bool,
    /// Remove everything else that metalshim keeps for this user, too
    #[arg(long)]
    pub purge: bool,
    /// Programs to unwrap (not in this version)
    #[arg(value_name = "PROGRAM")]
    pub programs: Vec<OsString>,
}

#[derive(Debug, Serialize)]
struct Disabled {
    /// Whether there was anything to take back.
    was_enabled: bool,
    /// What was removed.
    removed: Vec<String>,
}

/// Runs it.
///
/// # Errors
/// The state cannot be read or changed.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    no_programs(&args.programs)?;
    let state = context.state()?;
    let mut report = Disabled {
        was_enabled: false,
        removed: Vec::new(),
    };
    // Nothing was ever written: do not make a folder to find that out.
    if state.path().exists() {
        let _lock = state.lock()?;
        report.was_enabled = state.join(wish::FILE).exists();
        if report.was_enabled {
            for grant in unverified::take_back(&state, By::Enable)? {
                report
                    .removed
                    .push(format!("the grant for {}", grant.build));
            }
            for name in [share::FILE, crate::facts::DEVICE_FILE, wish::FILE] {
                remove(&state, name, &mut report.removed)?;
            }
        }
        if args.purge {
            purge(&state, &mut report.removed)?;
        }
    }
    context.printer.report(&report)?;
    Ok(Outcome::Yes)
}

fn remove(state: &StateFolder, name: &str, removed: &mut Vec<String>) -> Result<(), Error> {
    if state.join(name).exists() {
        state.remove(name)?;
        removed.push(state.join(name).display().to_string());
    }
    Ok(())
}

fn purge(state: &StateFolder, removed: &mut Vec<String>) -> Result<(), Error> {
    for name in [
        unverified::FILE,
        share::FILE,
        crate::facts::DEVICE_FILE,
        "log",
    ] {
        remove(state, name, removed)?;
    }
    tickets::remove_all(state);
    // Folders go where they are empty: what somebody else put there stays.
    let _ = fs::remove_dir(state.tickets());
    // Last of the files: from here on another may hold a lock, in a folder that it made again.
    remove(state, "lock", removed)?;
    let _ = fs::remove_dir(state.path());
    Ok(())
}

impl Report for Disabled {
    const SCHEMA: &'static str = "metalshim.disable/1";

    fn text(&self, _: Style) -> String {
        let mut text = match self.was_enabled {
            true => "disabled\n".to_owned(),
            false => "nothing was enabled\n".to_owned(),
        };
        for removed in &self.removed {
            text += &format!("removed {removed}\n");
        }
        text
    }
}
