//! `metalshim update`: fetches the newest signed database, and says what changed here.
//!
//! **Contract.** Whatever goes wrong, the last good database stays in use, and the message says
//! so. Exit code 0: it is the newest now; 1: a newer one is there (`--check`), or one that
//! needs a newer metalshim; 2: there was no update, and why.

mod changes;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use compatdb::Meta;
use jiff::Timestamp;
use serde::Serialize;

use crate::context::Context;
use crate::database::{Loaded, Origin, Root};
use crate::decide::{Known, Question};
use crate::error::{Error, Outcome};
use crate::printer::{Report, Style};
use crate::update::trust::{self, TrustRoot};
use crate::update::{self, BUDGET, Place, Progress, Updates};
use crate::variables;

/// Fetches the newest signed database.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metalshim update                         from where the configuration says
  metalshim update --check                 is there a newer one? 0 no, 1 yes
  metalshim update --from /Volumes/stick   from a copied repository, without a network

Everything is verified before it is used, wherever it comes from. What goes wrong takes nothing
away: the last good database stays in use.
Exit codes: 0 newest; 1 a newer one is there; 2 there was no update.")]
pub struct Args {
    /// Only look whether there is a newer one
    #[arg(long)]
    pub check: bool,
    /// Leave the program as it is (this version never touches it)
    #[arg(long)]
    pub database_only: bool,
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

/// What an update did.
#[derive(Debug, Serialize)]
struct Updated {
    outcome: Kind,
    /// Where from; none where only what is here was verified.
    source: Option<String>,
    trust_root: Root,
    before: Database,
    database: Database,
    /// Until when the signatures vouch for the newest metadata.
    fresh_until: Option<Timestamp>,
    deny_list_seq: Option<u64>,
    requests: u64,
    bytes: u64,
    this_machine: String,
    warnings: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum Kind {
    Of(update::Outcome),
    Offline(Offline),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Offline {
    /// Nothing was fetched.
    Verified,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Database {
    origin: Origin,
    #[serde(flatten)]
    meta: Meta,
}

impl Database {
    fn of(loaded: &Loaded) -> Self {
        Self {
            origin: loaded.origin,
            meta: loaded.database.meta().clone(),
        }
    }

    fn says(&self) -> String {
        format!("{}, seq {}", self.origin.says(), self.meta.seq)
    }
}

/// Runs it.
///
/// # Errors
/// There was no update, and why.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    let place = place(args, context)?;
    apply(
        context,
        place,
        args.trust_root.as_deref(),
        args.timeout.map_or(BUDGET, Duration::from_secs),
        args.check,
    )
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
    let state = context.state()?;
    let trust = root(context, trust_root, state.path())?;
    let before = Known::gather(context, None)?;
    let question = || Question::default();
    let old = before.decide(question())?;
    let loaded = before
        .database
        .as_ref()
        .map_err(|e| Error::machine(e.clone()))?;
    let was = Database::of(loaded);
    let source = place.as_ref().map(ToString::to_string);
    let done = match place {
        Some(place) => {
            let waiting = |holder: &str| {
                context
                    .printer
                    .note(&format!("waiting for {holder}, which is updating"))
            };
            let updates = Updates::new(&trust, state.path());
            let done = updates.update(place, budget, check, progress(context), waiting);
            Some(done.map_err(|problem| problem.error(&loaded.says()))?)
        }
        None => None,
    };
    let after = Known::gather(context, None)?;
    let new = after.decide(question())?;
    let loaded = after
        .database
        .as_ref()
        .map_err(|e| Error::machine(e.clone()))?;
    let mut warnings = loaded.problems.clone();
    let in_force = loaded.root.as_ref();
    if !check && in_force.is_none_or(|root| root.sha256 != trust.sha256) {
        warnings.push(format!(
            "this root is not the one in force: set trust_root in config.toml to use the database for good ({})",
            trust.says()
        ));
    }
    let this_machine = if check
        && done
            .as_ref()
            .is_some_and(|d| d.outcome == update::Outcome::Available)
    {
        "not known before the database is taken in".to_owned()
    } else {
        changes::sentence(&after.machine.facts, &old.verdict, &new.verdict)
    };
    let (fresh_until, deny_list_seq, requests, bytes, kind) = match &done {
        Some(done) => {
            warnings.extend(done.warnings.iter().cloned());
            let kind = Kind::Of(done.outcome);
            (
                Some(done.fresh_until),
                done.deny_seq,
                done.requests,
                done.bytes,
                kind,
            )
        }
        None => (
            loaded.fresh_until,
            loaded.deny_list.as_ref().map(|list| list.seq),
            0,
            0,
            Kind::Offline(Offline::Verified),
        ),
    };
    context.printer.report(&Updated {
        outcome: kind,
        source,
        trust_root: Root {
            source: trust.source.clone(),
            sha256: trust.sha256.clone(),
            version: trust.version,
            newest: in_force.map_or(trust.version, |root| root.newest),
            says: trust.says(),
        },
        before: was,
        database: Database::of(loaded),
        fresh_until,
        deny_list_seq,
        requests,
        bytes,
        this_machine,
        warnings,
    })?;
    Ok(match kind {
        Kind::Of(update::Outcome::Available | update::Outcome::NeedsNewerMetalshim) => Outcome::No,
        _ => Outcome::Yes,
    })
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

impl Report for Updated {
    const SCHEMA: &'static str = "metalshim.update/1";

    fn text(&self, style: Style) -> String {
        let now = self.database.says();
        let mut lines = vec![match self.outcome {
            Kind::Of(update::Outcome::UpToDate) => format!("{} {now}", style.green("up to date:")),
            Kind::Of(update::Outcome::Updated) => {
                format!(
                    "{} {now} (before: {})",
                    style.green("updated:"),
                    self.before.says()
                )
            }
            Kind::Of(update::Outcome::Available) => {
                format!(
                    "{} `metalshim update` takes it in; in use: {now}",
                    style.yellow("a newer database is there:")
                )
            }
            Kind::Of(update::Outcome::NeedsNewerMetalshim) => {
                format!(
                    "{} in use: {now}",
                    style.yellow("the newest database needs a newer metalshim:")
                )
            }
            Kind::Offline(Offline::Verified) => {
                format!("{} {now}; nothing was fetched", style.green("verified:"))
            }
        }];
        if let Some(source) = &self.source {
            lines.push(format!("  from         {source}"));
        }
        lines.push(format!("  trust root   {}", self.trust_root.says));
        if let Some(until) = self.fresh_until {
            lines.push(format!("  fresh until  {}", until.strftime("%F %R UTC")));
        }
        lines.push(format!("  this machine {}", self.this_machine));
        let warnings = self.warnings.iter();
        lines.extend(warnings.map(|w| format!("{} {w}", style.yellow("warning:"))));
        lines.join("\n") + "\n"
    }
}
