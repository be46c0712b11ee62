//! The command line: one subcommand a file in [`crate::commands`].

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::commands::{
    agent, bench, canary, ci, completions, db, demo, disable, doctor, enable, host, man, probe,
    report, run, service, shellenv, status, tuf_client, update,
};

const AFTER_HELP: &str = "\
Start here:
  metalshim doctor                    is this machine ready, and if not, what to do
  metalshim run -- llama-cli -m ...   start one program with the overrides
  metalshim demo                      see what it does, on a simulated guest

Exit codes: 0 yes; 1 refused, or findings; 2 wrong usage, or could not tell.
`run` ends as the program does; 125 refused, 126 not startable, 127 not found.";

/// Raises two Metal answers inside one process of a macOS virtual machine, where the pair of
/// host and guest build is verified.
#[derive(Debug, Parser)]
#[command(
    name = "metalshim",
    version,
    after_help = AFTER_HELP,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Cli {
    /// What every command understands.
    #[command(flatten)]
    pub global: Global,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The hidden command that makes a Metal device and prints its answers.
#[cfg(all(target_os = "macos", not(feature = "simulate")))]
pub const PROBE_COMMAND: &str = "__probe";

/// The hidden command that runs kernels as it is told.
#[cfg(all(target_os = "macos", not(feature = "simulate")))]
pub const CANARY_COMMAND: &str = "__canary";

/// What every command understands.
#[derive(Debug, clap::Args)]
pub struct Global {
    /// Print one JSON object instead of text
    #[arg(long, global = true, display_order = 100)]
    pub json: bool,
    /// One more policy file beside the machine's; it can only forbid
    #[arg(long, global = true, value_name = "FILE", display_order = 100)]
    pub policy: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a program with the overrides, if this machine may have them
    Run(run::Args),
    /// Check this machine, and record that metalshim is wanted here
    Enable(enable::Args),
    /// Take back what enable recorded
    Disable(disable::Args),
    /// What is enabled, and what running programs reported
    Status(status::Args),
    /// Print what puts the wrapped programs on PATH
    Shellenv(shellenv::Args),
    /// Check everything, and say how to mend what is wrong; changes nothing
    Doctor(doctor::Args),
    /// Ask the Metal device, stock and with the overrides, and show what differs
    Probe(probe::Args),
    /// Measure what a program gains here
    Bench(Box<bench::Args>),
    /// Run small kernels with the overrides, and compare their results with the CPU
    Canary(canary::Args),
    /// Write down what this machine found out, for the project
    Report(report::Args),
    /// Look into the database of verified pairs
    Db(db::Args),
    /// Programs that launchd starts, with the overrides
    Agent(agent::Args),
    /// Print what a step of a pipeline needs
    Ci(ci::Args),
    /// For the Mac that runs the virtual machines: tell its guests what it is
    Host(host::Args),
    /// Fetch the newest signed database, and the newest metalshim
    Update(update::Args),
    /// Look for updates by itself
    Service(service::Args),
    /// The interface of the conformance suite for TUF clients
    #[command(hide = true)]
    TufClient(tuf_client::Args),
    /// Starts a check for updates that outlives whoever asked for it
    #[command(name = crate::detached::COMMAND, hide = true)]
    Detached(crate::detached::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Print the manual page, or write all pages into a folder
    Man(man::Args),
    /// See the overrides at work on a simulated guest
    Demo(demo::Args),
    /// The Metal device's answers: what `enable`, `doctor` and `probe` start as a child
    #[cfg(all(target_os = "macos", not(feature = "simulate")))]
    #[command(name = PROBE_COMMAND, hide = true)]
    MacProbe,
    /// Runs kernels as its stdin says: what `canary` and `enable` start as a child
    #[cfg(all(target_os = "macos", not(feature = "simulate")))]
    #[command(name = CANARY_COMMAND, hide = true)]
    MacCanary,
}
