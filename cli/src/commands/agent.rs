//! `metalshim agent`: programs that launchd starts, by `metalshim run`.
//!
//! **Contract.** What is made starts `metalshim run`, so that the check happens at every start,
//! and nothing of it is a property list of somebody else's: what `brew services` or a user
//! wrote is never edited. What counts as ours is a job whose program is metalshim.

mod create;
mod jobs;

pub(crate) use jobs::{Listed, all};

use clap::Subcommand;
use serde::Serialize;

use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::launchd;
use crate::printer::{Report, Style};

pub use create::{BREW, HELP};

/// Programs that launchd starts, with the overrides: LaunchAgents and LaunchDaemons whose
/// program is `metalshim run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make one, and start it
    Create(create::Args),
    /// Those that metalshim made, and whether they still hold
    List,
    /// End one, and remove it
    Remove(Remove),
}

/// End one, and remove it. Its log stays.
#[derive(Debug, clap::Args)]
struct Remove {
    /// Its label, as `metalshim agent list` has it
    label: String,
}

#[derive(Debug, Serialize)]
struct List {
    agents: Vec<Listed>,
}

#[derive(Debug, Serialize)]
struct Removed {
    label: String,
    /// The property list.
    file: String,
}

/// Runs it.
///
/// # Errors
/// What a user has to act on.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    match &args.command {
        Command::Create(args) => create::run(args, context),
        Command::List => {
            let agents = all(&context.home()?);
            context.printer.report(&List { agents })?;
            Ok(Outcome::Yes)
        }
        Command::Remove(args) => remove(&args.label, context),
    }
}

fn remove(label: &str, context: &Context) -> Result<Outcome, Error> {
    let home = context.home()?;
    let ours = all(&home).into_iter().find(|job| job.label == label);
    let Some(job) = ours else {
        return Err(
            Error::user(format!("{label}: metalshim made no such agent"))
                .hint("`metalshim agent list` has those that it made"),
        );
    };
    job.remove(&home)?;
    context.printer.report(&Removed {
        label: job.label.clone(),
        file: launchd::file(&job.folder(&home), label)
            .display()
            .to_string(),
    })?;
    Ok(Outcome::Yes)
}

impl Report for List {
    const SCHEMA: &'static str = "metalshim.agent-list/1";

    fn text(&self, style: Style) -> String {
        if self.agents.is_empty() {
            return "metalshim made no agent\n".to_owned();
        }
        let lines = self.agents.iter().map(|agent| agent.says(style) + "\n");
        lines.collect()
    }
}

impl Report for Removed {
    const SCHEMA: &'static str = "metalshim.agent-remove/1";

    fn text(&self, _: Style) -> String {
        format!("ended {} and removed {}\n", self.label, self.file)
    }
}
