//! `metalshim completions SHELL`: the shell's completion script, on stdout.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::context::Context;
use crate::error::{Error, Outcome};

/// Prints a completion script for a shell. Homebrew's formula installs them by itself.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metalshim completions bash > ~/.local/share/bash-completion/completions/metalshim
  metalshim completions zsh > \"${fpath[1]}/_metalshim\"
  metalshim completions fish > ~/.config/fish/completions/metalshim.fish")]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Runs it.
///
/// # Errors
///
/// Stdout cannot be written.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "metalshim", &mut script);
    context.printer.out(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Yes)
}
