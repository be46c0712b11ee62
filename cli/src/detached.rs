//! Starts a check for updates that outlives the command that asked for it.
//!
//! **Contract.** Whoever asks waits a few milliseconds and has no child afterwards: `run` becomes
//! the user's program, which must not find one that it never started. So there are two starts. The
//! command starts itself as [`COMMAND`] and waits; that one makes a session of its own (it never
//! leads a group, so it may), starts the check, and ends. The check belongs to nobody, has no
//! terminal and cannot get one, and no descriptor of the one who asked: stdin, stdout and stderr
//! are /dev/null, and all others close when it starts, so that nobody waits for the end of a pipe
//! that it would hold open.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use crate::error::Error;
use crate::install;

/// The hidden command in between.
pub const COMMAND: &str = "__detached";

/// What the command in between starts.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The arguments of the check.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Starts `metalshim` with these arguments, and does not wait for its end. Nothing depends on it:
/// what fails is not told.
pub fn start(arguments: &[&str]) {
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    let _ = quiet(&program)
        .arg(COMMAND)
        .arg("--")
        .args(arguments)
        .status();
}

/// The command in between.
///
/// # Errors
/// The check could not be started.
pub fn second(args: &Args) -> Result<(), Error> {
    let failed = |e: std::io::Error| Error::machine(format!("the check could not be started: {e}"));
    // What was inherited without being told to close; ours close anyway.
    close_fds::set_fds_cloexec(3, &[]);
    rustix::process::setsid().map_err(|e| failed(e.into()))?;
    let program = install::command()?;
    quiet(&program)
        .args(&args.arguments)
        .spawn()
        .map(|_| ())
        .map_err(failed)
}

fn quiet(program: &std::path::Path) -> Command {
    let mut command = Command::new(program);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}
