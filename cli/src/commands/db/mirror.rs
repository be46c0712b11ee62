//! `metalshim db mirror`: copies the update repository, verified, for a web server to serve.

use std::path::PathBuf;

use serde::Serialize;

use crate::commands::update;
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::printer::{Report, Style};
use crate::update::{self as updates, BUDGET, Place, Updates};
use crate::variables;

/// The arguments of `metalshim db mirror`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The folder to fill; `metadata` and `targets` come into it
    folder: PathBuf,
    /// Where from: an http(s) or file address, a folder, or a tar file of one
    #[arg(long, value_name = "URL|DIR|FILE")]
    from: Option<String>,
    /// The root to verify from, where this build has none
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
}

/// What `db mirror` did.
#[derive(Debug, Serialize)]
struct Mirrored {
    folder: PathBuf,
    source: String,
    /// Files that were written.
    written: usize,
    /// Files that were there already.
    kept: usize,
}

/// Runs it.
pub(super) fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    let state = context.state()?;
    let trust = update::root(context, args.trust_root.as_deref(), state.path())?;
    let named = args
        .from
        .clone()
        .or_else(|| context.variables.repository.clone());
    let named = match named {
        Some(named) => Some(named),
        None => context
            .config()?
            .repository
            .or_else(updates::embedded_repository),
    };
    let source = named.ok_or_else(|| {
        Error::user("there is nothing to mirror").hint(format!(
            "name it: --from URL, {}, or `repository` in config.toml",
            variables::REPOSITORY
        ))
    })?;
    let loaded = context.database()?;
    let kept = |problem: updates::problem::Problem| problem.error(&loaded.says());
    let place = Place::parse(&source).map_err(kept)?;
    let (written, kept) = Updates::new(&trust, state.path())
        .mirror(place, BUDGET, &args.folder)
        .map_err(kept)?;
    context.printer.report(&Mirrored {
        folder: args.folder.clone(),
        source,
        written,
        kept,
    })?;
    Ok(Outcome::Yes)
}

impl Report for Mirrored {
    const SCHEMA: &'static str = "metalshim.db-mirror/1";

    fn text(&self, style: Style) -> String {
        format!(
            "{} {} from {}: {} files written, {} were there\n",
            style.green("mirrored:"),
            self.folder.display(),
            self.source,
            self.written,
            self.kept
        )
    }
}
