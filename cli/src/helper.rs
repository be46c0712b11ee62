//! Child processes of our own that make a Metal device: the probe and the canary.
//!
//! **Contract.** On a Mac they are this executable with a hidden command, with simulated facts
//! programs of the simulated guest. Each is started stock or with the shim and a ticket of its
//! own, has a time limit, and is killed when that is over. Where even that does not end it,
//! as with a GPU that hangs, it is left behind: we never hang with it.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use compatdb::Profile;

use crate::decide::{Decision, Known};
use crate::error::{Error, plain};
use crate::state::StateFolder;
use crate::tickets::{self, Reported};
use crate::variables::{self, Variables};
use crate::{install, launch};

/// How long a child that was killed is waited for.
const AFTER_KILL: Duration = Duration::from_secs(2);
/// No probe prints more.
const MAX_OUTPUT: u64 = 64 << 10;

/// Which child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Helper {
    /// Asks the device, prints the answers and ends.
    Probe,
    /// Runs kernels as it is told, until its stdin ends.
    Canary,
}

impl Helper {
    /// The child, stock.
    ///
    /// # Errors
    /// It is not there.
    pub fn stock(self) -> Result<Command, Error> {
        let mut command = self.command()?;
        command
            .env_remove(variables::TICKET)
            .env_remove(variables::REQUIRE);
        Ok(command)
    }

    #[cfg(any(feature = "simulate", not(target_os = "macos")))]
    fn command(self) -> Result<Command, Error> {
        let program = match self {
            Self::Probe => "probe",
            Self::Canary => "canary-device",
        };
        install::guest_program(program).map(Command::new)
    }

    #[cfg(all(target_os = "macos", not(feature = "simulate")))]
    fn command(self) -> Result<Command, Error> {
        let mut command = Command::new(install::command()?);
        command.arg(match self {
            Self::Probe => crate::args::PROBE_COMMAND,
            Self::Canary => crate::args::CANARY_COMMAND,
        });
        Ok(command)
    }

    /// What it is called in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Probe => "the probe",
            Self::Canary => "the canary",
        }
    }
}

/// A ticket for one child, gone with this value.
#[derive(Debug)]
pub struct Ticket {
    path: std::path::PathBuf,
    set: Vec<(OsString, OsString)>,
}

impl Ticket {
    /// Writes one that tells `profile`.
    ///
    /// # Errors
    /// The shim is missing, the state folder cannot be written, or the stock answers are not
    /// known.
    pub fn new(
        known: &Known,
        decision: &Decision,
        profile: Profile,
        state: &StateFolder,
        variables: &Variables,
    ) -> Result<Self, Error> {
        let shim = install::shim()?;
        let write = |ticket: &metalshim_ticket::Ticket<'_>| tickets::write(state, ticket);
        let (path, _) = decision.ticket(known, profile, "none", write)?;
        let inserted = variables.insert_libraries.as_deref();
        let set = launch::with_shim(&shim, &path, inserted, false);
        Ok(Self { path, set })
    }

    /// Puts the shim and this ticket into the environment of `command`.
    pub fn give(&self, command: &mut Command) {
        command.envs(self.set.iter().map(|(name, value)| (name, value)));
    }

    /// What the shim reported from the process `pid` last.
    pub fn reported(&self, pid: u32) -> Option<Reported> {
        tickets::reported(&self.path)
            .into_iter()
            .rfind(|r| r.pid == pid)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        tickets::remove(&self.path);
    }
}

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself: its exit code.
    Code(i32),
    /// By a signal, as a crash does.
    Signal(i32),
    /// Not within its time: it was killed.
    Late(Duration),
}

impl Ended {
    fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, signal) => Self::Signal(signal.unwrap_or_default()),
        }
    }

    /// The end of a sentence: "it ended with code 1".
    pub fn says(&self) -> String {
        match self {
            Self::Code(code) => format!("it ended with code {code}"),
            Self::Signal(signal) => format!("signal {signal} ended it"),
            Self::Late(limit) => format!("it gave no answer in {} s", limit.as_secs_f32()),
        }
    }
}

/// Waits until `child` has ended, no longer than `limit`; then kills it.
pub fn wait(child: &mut Child, limit: Duration) -> Ended {
    let until = Instant::now() + limit;
    let mut pause = Duration::from_micros(500);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ended::of(status),
            // It cannot be asked any more, which never happens to a child of ours.
            Err(_) => return Ended::Code(-1),
            Ok(None) if Instant::now() >= until => {
                kill(child);
                return Ended::Late(limit);
            }
            Ok(None) => std::thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// Kills `child`, and waits a moment for its end.
pub fn kill(child: &mut Child) {
    // It may have ended a moment ago.
    let _ = child.kill();
    let until = Instant::now() + AFTER_KILL;
    while Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs a child to its end: its process id, what it printed on stdout, and how it ended.
///
/// # Errors
/// It could not be started.
pub fn output(mut command: Command, limit: Duration) -> Result<(u32, String, Ended), Error> {
    let program = command.get_program().to_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| could_not_start(Path::new(&program), &e))?;
    let pid = child.id();
    // Read beside, so that one that prints too much does not wait for us; not joined, as one
    // that could not be killed keeps its end open.
    let (send, read) = std::sync::mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // What was read so far is what there is.
            let _ = stdout.take(MAX_OUTPUT).read_to_end(&mut bytes);
            let _ = send.send(bytes);
        });
    }
    let ended = wait(&mut child, limit);
    let bytes = read.recv_timeout(AFTER_KILL).unwrap_or_default();
    Ok((pid, String::from_utf8_lossy(&bytes).into_owned(), ended))
}

/// The one error for a child that could not be started.
pub fn could_not_start(program: &Path, error: &std::io::Error) -> Error {
    Error::machine(format!(
        "could not start {}: {}",
        program.display(),
        plain(error)
    ))
    .hint("look at its permissions, or install metalshim again")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration) -> (String, Ended) {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let (_, out, ended) = output(command, limit).unwrap();
        (out, ended)
    }

    #[test]
    fn ends_are_told_apart() {
        let long = Duration::from_secs(20);
        assert_eq!(
            sh("echo hello", long),
            ("hello\n".to_owned(), Ended::Code(0))
        );
        assert_eq!(sh("exit 3", long).1, Ended::Code(3));
        assert_eq!(sh("kill -SEGV $$", long).1, Ended::Signal(11));
        let short = Duration::from_millis(100);
        let begun = Instant::now();
        let (out, ended) = sh("echo hello; exec sleep 30", short);
        assert_eq!((out.as_str(), ended), ("hello\n", Ended::Late(short)));
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn one_that_prints_too_much_is_cut_and_not_waited_for() {
        let (out, ended) = sh("exec yes", Duration::from_secs(20));
        assert_eq!(out.len() as u64, MAX_OUTPUT);
        assert!(
            matches!(ended, Ended::Signal(_) | Ended::Code(_)),
            "{ended:?}"
        );
    }
}
