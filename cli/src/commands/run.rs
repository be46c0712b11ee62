//! `metalshim run`.

use crate::context::Context;
use crate::error::{Error, Outcome};

/// The arguments of `metalshim run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Say nothing but errors
    #[arg(long)]
    pub quiet: bool,
}

/// Runs it.
pub fn run(_args: &Args, _context: &Context) -> Result<Outcome, Error> {
    Err(Error::project("this command is not written yet"))
}
