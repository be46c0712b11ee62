//! Errors, typed by who must act, and the exit codes.
//!
//! **Contract.** An error says what failed and on which path or value; each `hint` says
//! what to do next. [`Error::exit_code`] is the only place that turns an error into an
//! exit code.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Who has to do something about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Whoever typed the command: a flag, a variable, a file that was named, a program.
    User,
    /// Whoever looks after this machine: a folder, a permission, an installation.
    Machine,
    /// Whoever looks after the fleet's `policy.toml`.
    Fleet,
    /// The project: what should not happen.
    Project,
}

/// An error that a user can act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Who has to do something about it.
    pub who: Who,
    /// What failed, on which path or value.
    pub says: String,
    /// What to do next, one sentence each.
    pub hints: Vec<String>,
    /// The exit code of `run`: 125, or 126 and 127 where the program is the reason.
    run_code: u8,
}

impl Error {
    fn new(who: Who, says: impl Into<String>) -> Self {
        Self {
            who,
            says: says.into(),
            hints: Vec::new(),
            run_code: 125,
        }
    }

    /// The user's to mend.
    pub fn user(says: impl Into<String>) -> Self {
        Self::new(Who::User, says)
    }

    /// This machine's to mend.
    pub fn machine(says: impl Into<String>) -> Self {
        Self::new(Who::Machine, says)
    }

    /// The fleet's to mend.
    pub fn fleet(says: impl Into<String>) -> Self {
        Self::new(Who::Fleet, says)
    }

    /// The project's to mend; the hint to report it is added.
    pub fn project(says: impl Into<String>) -> Self {
        Self::new(Who::Project, says).hint(format!(
            "this should not happen: please report it with the command that you typed, at {}/issues",
            env!("CARGO_PKG_REPOSITORY")
        ))
    }

    /// The program to start was not found.
    pub fn program_missing(says: impl Into<String>) -> Self {
        Self {
            run_code: 127,
            ..Self::user(says)
        }
    }

    /// The program to start was found, and cannot be started.
    pub fn program_unusable(says: impl Into<String>) -> Self {
        Self {
            run_code: 126,
            ..Self::user(says)
        }
    }

    /// Could not `verb` the file or folder at `path` (`verb` like "read").
    pub fn file(verb: &str, path: &Path, error: &io::Error) -> Self {
        Self::machine(format!(
            "could not {verb} {}: {}",
            path.display(),
            plain(error)
        ))
    }

    /// The same error with one more next step.
    #[must_use]
    pub fn hint(mut self, says: impl Into<String>) -> Self {
        self.hints.push(says.into());
        self
    }

    /// The same error, for somebody else to mend.
    #[must_use]
    pub fn for_whom(self, who: Who) -> Self {
        Self { who, ..self }
    }

    /// 2 (could not tell, or wrong usage); in `run` 125, 126 or 127.
    pub fn exit_code(&self, in_run: bool) -> u8 {
        if in_run { self.run_code } else { 2 }
    }
}

/// The system's message without its error number.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.says)?;
        self.hints
            .iter()
            .try_for_each(|hint| write!(f, "\nhint: {hint}"))
    }
}

impl std::error::Error for Error {}

/// How a command that could tell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// 0: yes, or done.
    Yes,
    /// 1: refused, or findings.
    No,
    /// `run` only: this exact code (125 refused; with `--explain` the program's).
    Code(u8),
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Yes => 0,
            Outcome::No => 1,
            Outcome::Code(code) => code,
        })
    }
}
