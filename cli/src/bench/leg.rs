//! One run of one side: started, listened to, and what the shim said of it.
//!
//! **Contract.** The stock side is started as if metalshim did not exist, the shimmed side by
//! this very executable's `run --require`, so that a program that stays stock after all never
//! counts as shimmed. Both inherit our environment. What a program prints is kept up to a limit.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::Instant;

use crate::error::{Error, plain};
use crate::state::StateFolder;
use crate::tickets::{self, Reported};
use crate::{launch, variables};

/// No benchmark prints more.
const MAX_OUTPUT: u64 = 16 << 20;
/// So many lines of what a program said go into an error.
const LAST_LINES: usize = 5;

/// What is run.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Where the program is.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// This executable.
    pub metalshim: PathBuf,
    /// Options for `metalshim run`, like `--client`.
    pub options: Vec<OsString>,
    /// Where tickets are.
    pub state: StateFolder,
}

/// Which side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// Untouched.
    Stock,
    /// With the overrides.
    Shimmed,
}

/// How it ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was printed on stdout.
    pub out: String,
    /// What was printed on stderr.
    pub err: String,
    /// From the start to the end, on the clock.
    pub seconds: f64,
    /// How it ended.
    pub status: ExitStatus,
    /// What the shim reported from the process and from its children.
    pub reported: Vec<Reported>,
}

/// A process that is listened to.
pub(super) struct Running {
    pub(super) child: Child,
    out: JoinHandle<String>,
    err: JoinHandle<String>,
    since: Instant,
}

impl Asked {
    /// The command that starts `arguments` of the program on this side.
    pub(super) fn command(&self, leg: Leg, arguments: &[OsString]) -> Command {
        let mut command = match leg {
            Leg::Stock => Command::new(&self.path),
            Leg::Shimmed => {
                let mut command = Command::new(&self.metalshim);
                command.args(["run", "--quiet", "--require"]);
                command.args(&self.options).arg("--").arg(&self.path);
                command
            }
        };
        command
            .args(arguments)
            .env_remove(variables::TICKET)
            .env_remove(variables::REQUIRE);
        command
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// It could not be started, or ended with an error.
    pub fn run(&self, leg: Leg) -> Result<Outcome, Error> {
        let mut command = self.command(leg, &self.arguments);
        let running = Running::start(&mut command, &self.path)?;
        let ended = running.end(&self.state)?;
        self.good(leg, &ended).map(|()| ended)
    }

    /// An error where it did not end well.
    pub(super) fn good(&self, leg: Leg, ended: &Outcome) -> Result<(), Error> {
        if ended.status.success() {
            return Ok(());
        }
        let said: Vec<&str> = ended.err.lines().rev().take(LAST_LINES).collect();
        let said: Vec<&str> = said.into_iter().rev().collect();
        let shown = self.path.display();
        let error = Error::user(format!(
            "{shown}, {}: it ended with {}{}{}",
            match leg {
                Leg::Stock => "stock",
                Leg::Shimmed => "with the overrides",
            },
            ended.status,
            if said.is_empty() {
                ""
            } else {
                "; the last that it said:\n    "
            },
            said.join("\n    ")
        ));
        Err(match (leg, ended.status.code()) {
            (Leg::Shimmed, Some(78)) => error.hint(format!(
                "the overrides were taken back in the program: `metalshim run --explain -- {shown}` says why"
            )),
            (Leg::Shimmed, _) => error.hint(format!(
                "it ends well stock: `metalshim run --explain -- {shown}` shows more"
            )),
            (Leg::Stock, _) => error.hint(format!("mend that first: {shown} ends so without metalshim")),
        })
    }
}

impl Running {
    pub(super) fn start(command: &mut Command, shown: &Path) -> Result<Self, Error> {
        let since = Instant::now();
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|e| {
            Error::user(format!(
                "{} could not be started: {}",
                shown.display(),
                plain(&e)
            ))
        })?;
        Ok(Self {
            out: listen(child.stdout.take()),
            err: listen(child.stderr.take()),
            child,
            since,
        })
    }

    /// Whether it has not ended yet; what ends it is told by [`Running::end`].
    pub(super) fn runs(&self) -> bool {
        !self.out.is_finished() || !self.err.is_finished()
    }

    /// Waits for its end, and reads its ticket's answers before its id can be another's.
    pub(super) fn end(mut self, state: &StateFolder) -> Result<Outcome, Error> {
        let failed =
            |e: &io::Error| Error::machine(format!("could not wait for a program: {}", plain(e)));
        launch::ended(&self.child).map_err(|e| failed(&e))?;
        let seconds = self.since.elapsed().as_secs_f64();
        let ticket = tickets::of(state, self.child.id());
        let reported = ticket.as_deref().map(tickets::reported);
        if let Some(ticket) = ticket {
            tickets::remove(&ticket);
        }
        let status = self.child.wait().map_err(|e| failed(&e))?;
        Ok(Outcome {
            out: self.out.join().unwrap_or_default(),
            err: self.err.join().unwrap_or_default(),
            seconds,
            status,
            reported: reported.unwrap_or_default(),
        })
    }
}

fn listen(stream: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            // What is beyond the limit is read all the same, so that the program can go on.
            let _ = stream.by_ref().take(MAX_OUTPUT).read_to_end(&mut bytes);
            let _ = io::copy(&mut stream, &mut io::sink());
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Whether `arguments` have this option, as `--name value` or `--name=value`.
pub(super) fn option_value<'a>(arguments: &'a [OsString], names: &[&str]) -> Option<&'a OsStr> {
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if names.iter().any(|name| argument == name) {
            return Some(rest.next().map_or(OsStr::new(""), OsString::as_os_str));
        }
        let text = argument.to_str().unwrap_or_default();
        let value = |name: &&str| text.strip_prefix(name)?.strip_prefix('=');
        if let Some(value) = names.iter().find_map(value) {
            return Some(OsStr::new(value));
        }
    }
    None
}
