//! One run of a program, and what came of it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{SavedFacts, TicketFile, built};

/// The variable that puts libraries into a process.
const INSERT: &str = if cfg!(target_os = "macos") {
    "DYLD_INSERT_LIBRARIES"
} else {
    "LD_PRELOAD"
};

/// A program to be run. Its environment is this process's, without anything of metalshim.
#[derive(Debug)]
pub struct Run {
    command: Command,
    preload: Vec<PathBuf>,
}

/// What a program printed, and how it ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// All of stdout.
    pub stdout: String,
    /// All of stderr.
    pub stderr: String,
    /// The exit code; none when a signal ended it.
    pub code: Option<i32>,
}

impl Run {
    /// A run of the program at this path.
    pub fn new(program: &Path) -> Self {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).env_remove(INSERT);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("METALSHIM_") {
                command.env_remove(name);
            }
        }
        Self {
            command,
            preload: Vec::new(),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Uses these facts instead of the sample's.
    #[must_use]
    pub fn facts(self, facts: &SavedFacts) -> Self {
        self.env("METALSHIM_FACTS", facts.path())
    }

    /// Plays a scenario, or several with commas between (`shim/guest/README.md` lists them).
    /// Brings what the scenario needs preloaded.
    #[must_use]
    pub fn scenario(mut self, names: &str) -> Self {
        let faulty = ["second-add-fails", "slow-add"];
        if names.split(',').any(|name| faulty.contains(&name)) {
            self = self.preload(&built().library("objcfault"));
        }
        self.env("METALSHIM_GUEST_SCENARIO", names)
    }

    /// Puts a library into the process, behind those named before.
    #[must_use]
    pub fn preload(mut self, library: &Path) -> Self {
        self.preload.push(library.to_owned());
        self
    }

    /// Puts the shim into the process, with this ticket.
    #[must_use]
    pub fn shim(self, ticket: &TicketFile) -> Self {
        self.preload(built().shim())
            .env("METALSHIM_TICKET", ticket.path())
    }

    /// The command, for a test that wants to start it in its own way.
    pub fn into_command(mut self) -> Command {
        if !self.preload.is_empty() {
            let list: Vec<OsString> = self
                .preload
                .into_iter()
                .map(PathBuf::into_os_string)
                .collect();
            self.command.env(INSERT, list.join(OsStr::new(":")));
        }
        self.command
    }

    /// Runs it to its end.
    ///
    /// # Panics
    ///
    /// When it cannot be started.
    pub fn output(self) -> Outcome {
        let mut command = self.into_command();
        match command.output() {
            Ok(output) => Outcome {
                stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
                stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
                code: output.status.code(),
            },
            Err(why) => panic!("{command:?} cannot be started: {why}"),
        }
    }
}

impl Outcome {
    /// The value of the first line `key=value` on stdout.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.pairs().find(|(k, _)| *k == key).map(|(_, v)| v)
    }

    /// Every line `key=value` of stdout, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.stdout.lines().filter_map(|line| line.split_once('='))
    }

    /// The two answers and the kernel, as `1005/32768 cpu_fallback`: what most tests compare.
    pub fn picked(&self) -> String {
        let get = |key| self.get(key).unwrap_or("-");
        format!(
            "{}/{} {}",
            get("apple_family"),
            get("max_threadgroup_memory"),
            get("kernel")
        )
    }
}
