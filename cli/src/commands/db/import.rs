//! `metalshim db import`: takes a copied repository in, for machines without a network.

use std::path::PathBuf;

use crate::commands::update;
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::update::{BUDGET, Place};

/// The arguments of `metalshim db import`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The folder that has `metadata` and `targets` in it, or a tar file of it
    #[arg(value_name = "DIR|TAR")]
    repository: PathBuf,
    /// The root to verify from, where this build has none
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
}

/// Runs it: the same as an update from there.
pub(super) fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    let place =
        Place::of_path(&args.repository).map_err(|problem| problem.error("the database"))?;
    update::apply(
        context,
        Some(place),
        args.trust_root.as_deref(),
        BUDGET,
        false,
    )
}
