//! `metalshim update`: fetches the newest signed database, and says what changed here.
//!
//! **Contract.** Whatever goes wrong, the last good database stays in use, and the message says
//! so. Exit code 0: it is the newest now; 1: a newer one is there (`--check`), or one that
//! needs a newer metalshim; 2: there was no update, and why.

pub(crate) mod automatic;
mod changes;
mod perform;
pub(crate) mod program;
mod report;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use self::perform::{Job, perform};
use self::report::{Kind, Updated};
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::update::automatic::By;
use crate::update::trust::{self, TrustRoot};
use crate::update::{self, BUDGET, Place, Progress};
use crate::variables;

/// Fetches the newest signed database, and the newest metalshim where nobody else keeps it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metalshim update                         from where the configuration says
  metalshim update --check                 is there a newer one? 0 no, 1 yes
  metalshim update --from /Volumes/stick   from a copied repository, without a network
  metalshim update --undo                  back to the metalshim before

The program is updated as well where nobody else keeps it; with Homebrew that is
`brew upgrade metalshim`, and it is said. Everything is verified before it is used, wherever it comes from. What goes wrong takes nothing
away: the last good database stays in use.
Exit codes: 0 newest; 1 a newer one is there; 2 there was no update.")]
pub struct Args {
    /// Only look whether there is a newer one
    #[arg(long)]
    pub check: bool,
    /// Leave the program as it is
    #[arg(long)]
    pub database_only: bool,
    /// Leave the database as it is; also takes a version that was undone
    #[arg(long, conflicts_with_all = ["database_only", "automatic"])]
    pub self_only: bool,
    /// Swap the program back to the version before
    #[arg(
        long,
        conflicts_with_all = ["check", "database_only", "self_only", "automatic", "from", "offline"]
    )]
    pub undo: bool,
    /// As a timer does it: wait a random time first, say one line; not where somebody opted out
    #[arg(long, conflicts_with = "check")]
    pub automatic: bool,
    /// How long --automatic waits at the most
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "automatic",
        default_value_t = automatic::JITTER,
        value_parser = clap::value_parser!(u64).range(..=86_400)
    )]
    pub jitter: u64,
    /// Who asked for it
    #[arg(long, hide = true, requires = "automatic", value_enum)]
    pub by: Option<By>,
    /// No network: only a folder or a file is read, or what is here is verified again
    #[arg(long)]
    pub offline: bool,
    /// Where from: an http(s) or file address, a folder, or a tar file of one
    #[arg(long, value_name = "URL|DIR|FILE")]
    pub from: Option<String>,
    /// The root to verify from, where this build has none
    #[arg(long, value_name = "FILE")]
    pub trust_root: Option<PathBuf>,
    /// How long it may take
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: Option<u64>,
}

/// Runs it.
///
/// # Errors
/// There was no update, and why.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    // Here there is time to ask what the host has written; `run` takes none.
    super::run::read_share(context);
    if args.automatic {
        return automatic::run(args, context);
    }
    if args.undo {
        return program::undo(context);
    }
    let place = place(args, context)?;
    let mut updated = perform(
        context,
        Job {
            place: place.clone(),
            trust_root: args.trust_root.as_deref(),
            budget: args.budget(),
            check: args.check || args.self_only,
            progress: progress(context),
            waiting: &waiting(context),
        },
    )?;
    updated.self_only = args.self_only;
    if let Some(place) = place.filter(|_| !args.check && !args.database_only) {
        program::replace(args, context, &place, &mut updated)?;
    }
    report(context, &updated)
}

impl Args {
    fn budget(&self) -> Duration {
        self.timeout.map_or(BUDGET, Duration::from_secs)
    }
}

/// Where to look; none for `--offline` without a folder or file.
fn place(args: &Args, context: &Context) -> Result<Option<Place>, Error> {
    let configured = context.config()?.repository;
    let named = args.from.clone();
    let text = named
        .clone()
        .or_else(|| context.variables.repository.clone())
        .or(configured)
        .or_else(update::embedded_repository);
    let Some(text) = text else {
        if args.offline {
            return Ok(None);
        }
        return Err(
            Error::user("there is no place that updates come from").hint(format!(
                "name one: --from URL, {}, or `repository` in config.toml",
                variables::REPOSITORY
            )),
        );
    };
    let place = Place::parse(&text).map_err(|problem| problem.error("the database"))?;
    match (args.offline && place.is_remote(), named) {
        (true, Some(url)) => Err(Error::user(format!("--offline, and --from {url}"))
            .hint("leave one of them out, or name a folder or a tar file")),
        (true, None) => Ok(None),
        _ => Ok(Some(place)),
    }
}

/// The root in force, or what to do where there is none.
///
/// # Errors
/// There is none, or it cannot be used.
pub(crate) fn root(
    context: &Context,
    flag: Option<&Path>,
    state: &Path,
) -> Result<TrustRoot, Error> {
    let configured = context.config()?.trust_root;
    trust::in_force(flag, configured.as_deref(), Some(state))?.ok_or_else(|| {
        Error::user("this is a development build: it has no trust root to verify an update from")
            .hint("name one: --trust-root FILE, or `trust_root` in config.toml")
    })
}

/// Updates from `place`, or only verifies what is here, and reports.
///
/// # Errors
/// There was no update, and why.
pub(crate) fn apply(
    context: &Context,
    place: Option<Place>,
    trust_root: Option<&Path>,
    budget: Duration,
    check: bool,
) -> Result<Outcome, Error> {
    let updated = perform(
        context,
        Job {
            place,
            trust_root,
            budget,
            check,
            progress: progress(context),
            waiting: &waiting(context),
        },
    )?;
    report(context, &updated)
}

fn report(context: &Context, updated: &Updated) -> Result<Outcome, Error> {
    context.printer.report(updated)?;
    Ok(match updated.outcome {
        // Somebody else has to install it, or it was only looked for.
        _ if updated.self_only => match updated.program.is_behind() {
            true => Outcome::No,
            false => Outcome::Yes,
        },
        Kind::Of(update::Outcome::Available | update::Outcome::NeedsNewerMetalshim) => Outcome::No,
        _ => Outcome::Yes,
    })
}

fn waiting(context: &Context) -> impl Fn(&str) {
    |holder| {
        context
            .printer
            .note(&format!("waiting for {holder}, which is updating"));
    }
}

/// A line that is written over, on a terminal only.
fn progress(context: &Context) -> Option<Progress> {
    let mut stderr = std::io::stderr();
    if context.printer.json || context.printer.quiet || !stderr.is_terminal() {
        return None;
    }
    // Small files are there before anybody can read of them.
    const WORTH_TELLING: u64 = 512 << 10;
    let told = move |url: &str, so_far: u64, all: Option<u64>| {
        let Some(all) = all.filter(|all| *all >= WORTH_TELLING) else {
            return;
        };
        let name = url.rsplit('/').next().unwrap_or(url);
        let name = name.split_once('.').map_or(name, |(_, rest)| rest);
        let end = if so_far >= all { "\r\x1b[K" } else { "\r" };
        // Nothing can be said about a stderr that is gone.
        let _ = write!(std::io::stderr(), "{name}: {} %{end}", so_far * 100 / all);
    };
    let _ = stderr.flush();
    Some(Arc::new(told))
}
