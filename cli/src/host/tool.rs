//! Starts the programs of macOS that tell what is needed.

use std::process::{Command, Stdio};

use crate::error::{Error, plain};

/// How a program ended.
pub(super) struct Ended {
    /// Whether with 0.
    pub(super) ok: bool,
    /// Its stdout, without blanks around it.
    pub(super) out: String,
    /// Its stderr, or how it ended where that is empty.
    pub(super) says: String,
}

/// Starts `program`, from `PATH`, and waits for it.
pub(super) fn run(program: &str, arguments: &[&str]) -> Result<Ended, Error> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| Error::machine(format!("{program} cannot be started: {}", plain(&e))))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let says = text(&output.stderr);
    Ok(Ended {
        ok: output.status.success(),
        out: text(&output.stdout),
        says: match says.is_empty() {
            true => output.status.to_string(),
            false => says,
        },
    })
}

/// The one line that it prints.
pub(super) fn line(program: &str, arguments: &[&str]) -> Result<String, Error> {
    let ended = run(program, arguments)?;
    if ended.ok && !ended.out.is_empty() {
        return Ok(ended.out);
    }
    let typed = format!("{program} {}", arguments.join(" "));
    Err(Error::machine(format!("{typed}: {}", ended.says)))
}
