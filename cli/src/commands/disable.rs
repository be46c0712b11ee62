//! `metalshim disable`.

use crate::context::Context;
use crate::error::{Error, Outcome};

/// The arguments of `metalshim disable`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs it.
pub fn run(_args: &Args, _context: &Context) -> Result<Outcome, Error> {
    Err(Error::project("this command is not written yet"))
}
