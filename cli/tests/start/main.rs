//! `run`, `enable`, `disable` and `status`, started as users do: real processes, against the
//! simulated guest and the shim as it is built.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test whose set-up fails has failed"
)]

mod agents;
mod bad_input;
mod ci;
mod combined;
mod drift;
mod enable;
mod help;
mod host;
mod output;
mod reference;
mod refusals;
mod remedies;
mod run;
mod state;
mod stubs;
mod wrappers;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use metalshim_guest::{FactsFile, Kit, SavedFacts, built};
use tempfile::TempDir;

const METALSHIM: &str = env!("CARGO_BIN_EXE_metalshim");

/// A user with a home of their own and nothing of this process's environment.
struct User {
    home: TempDir,
    facts: SavedFacts,
    variables: Vec<(String, String)>,
}

/// How the command ended.
struct Ended {
    code: i32,
    out: String,
    err: String,
}

impl User {
    /// On the machine of the sample: its pair is verified.
    fn new() -> Self {
        Self::on(FactsFile::sample())
    }

    /// On a machine of these facts.
    fn on(facts: FactsFile) -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            facts: facts.save(),
            variables: Vec::new(),
        }
    }

    /// The same user later, or on another machine.
    fn moves_to(mut self, facts: FactsFile) -> Self {
        self.facts = facts.save();
        self
    }

    fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    fn state(&self) -> PathBuf {
        self.home.path().join("state")
    }

    fn command(&self, command: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(command);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.home.path())
            .env("METALSHIM_STATE_DIR", self.state())
            .env("METALSHIM_FACTS", self.facts.path())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.home.path())
            .stdin(Stdio::null());
        command
    }

    /// `metalshim` and these words; `TOY` stands for the path of the sample client.
    fn types(&self, line: &str) -> Ended {
        let mut command = self.command(METALSHIM);
        command.args(words(line));
        Ended::new(command.output().unwrap())
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }
}

fn kit() -> &'static Kit {
    built()
}

fn words(line: &str) -> Vec<String> {
    let toy = kit().program("toy").to_string_lossy().into_owned();
    line.split(' ')
        .map(|word| word.replace("TOY", &toy))
        .collect()
}

impl Ended {
    fn new(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The one JSON object on stdout, of that schema.
    fn json(&self, schema: &str) -> serde_json::Value {
        let first = format!("{{\n  \"schema\": \"{schema}\"");
        assert!(self.out.starts_with(&first), "{}{}", self.out, self.err);
        serde_json::from_str(&self.out).unwrap()
    }

    /// What a sample client printed, like `kernel`.
    fn printed(&self, key: &str) -> &str {
        let value = |line| str::strip_prefix(line, key)?.strip_prefix('=');
        self.out.lines().find_map(value).unwrap_or_else(|| {
            panic!("no {key} in: {}{}", self.out, self.err);
        })
    }
}

/// A snapshot of all that a user sees, with what differs from machine to machine put aside.
fn snapshot(name: &str, user: &User, ended: &Ended) {
    let text = format!(
        "exit code {}\n---- stdout\n{}---- stderr\n{}",
        ended.code, ended.out, ended.err
    );
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path("snapshots");
    let target = Path::new(METALSHIM).ancestors().nth(2).unwrap();
    for (path, name) in [
        (user.facts.folder(), "[FACTS]"),
        (user.home.path(), "[HOME]"),
        (target, "[TARGET]"),
    ] {
        settings.add_filter(&regex(&path.canonicalize().unwrap()), name);
        settings.add_filter(&regex(path), name);
    }
    settings.add_filter(r"tickets/\d+-\d+", "tickets/[PID-START]");
    settings.add_filter(r"process \d+", "process [PID]");
    settings.add_filter(env!("CARGO_PKG_REPOSITORY"), "[HOME-PAGE]");
    settings.add_filter("[0-9a-f]{64}", "[SHA256]");
    settings.add_filter(r"database=(\d+):[0-9a-f]{16}", "database=$1:[SHA256]");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn regex(path: &Path) -> String {
    path.to_string_lossy().replace('.', "\\.")
}
