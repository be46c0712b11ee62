//! `metalshim host`: for the Mac that runs the virtual machines.
//!
//! **Contract.** A guest cannot see its host. What is done here tells it, or changes the one
//! preference of the host that is said to matter; nothing here raises an answer. Inside a
//! virtual machine `attest` and `preference` are errors.

mod attest;
mod preference;
mod status;

use clap::Subcommand;

use crate::context::Context;
use crate::error::{Error, Outcome};

/// For the Mac that runs the virtual machines: tell its guests what it is.
///
/// A guest cannot see its host's macOS build, and the pair of builds is what decides. Nothing
/// has to be installed on the host: what `sw_vers -buildVersion` prints there can be given to
/// `metalshim enable --host-build` in the guest, or be written by hand, as {"build":"25G76"},
/// into a file metalshim-host.json in a folder that the host shares with the guest.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// What this host is, and what it would attest
    Status(status::Args),
    /// Write metalshim-host.json into a folder that is shared with the guests
    Attest(attest::Args),
    /// Set the host's preference for guests' GPUs, or put back what was there before
    Preference(preference::Args),
}

/// Runs it.
///
/// # Errors
/// What a user has to act on.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    match &args.command {
        Command::Status(args) => status::run(args, context),
        Command::Attest(args) => attest::run(args, context),
        Command::Preference(args) => preference::run(args, context),
    }
}
