//! What `db`, `doctor` and `demo` show to users, by the command itself, started as users do.
#![allow(clippy::unwrap_used, reason = "a test whose set-up fails has failed")]

mod agree;
mod bench;
mod bundle;
mod db;
mod demo;
mod doctor;
mod pains;
mod report;
mod texts;

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use metalshim_guest::{FactsFile, SavedFacts};
use tempfile::TempDir;

const METALSHIM: &str = env!("CARGO_BIN_EXE_metalshim");

/// The command with a home of its own and nothing of this process's environment.
struct User {
    home: TempDir,
    facts: Option<SavedFacts>,
    variables: Vec<(&'static str, String)>,
}

/// How it ended.
struct Ended {
    code: i32,
    out: String,
    err: String,
}

impl User {
    fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            facts: None,
            variables: Vec::new(),
        }
    }

    /// On a machine of these facts.
    fn on(facts: FactsFile) -> Self {
        Self {
            facts: Some(facts.save()),
            ..Self::new()
        }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    fn state(&self) -> std::path::PathBuf {
        self.home.path().join("state")
    }

    fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ended {
        self.run_as(Path::new(METALSHIM), arguments)
    }

    fn run_as<S: AsRef<OsStr>>(
        &self,
        command: &Path,
        arguments: impl IntoIterator<Item = S>,
    ) -> Ended {
        let mut command = Command::new(command);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.home.path())
            .env("METALSHIM_STATE_DIR", self.state())
            .current_dir(self.home.path());
        if let Some(facts) = &self.facts {
            command.env("METALSHIM_FACTS", facts.path());
        }
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        Ended::new(command.output().unwrap())
    }

    /// What was written in this user's home, by base name.
    fn written(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.home.path()).unwrap();
        let name = |e: std::io::Result<std::fs::DirEntry>| e.unwrap().file_name();
        entries
            .map(|e| name(e).to_string_lossy().into_owned())
            .collect()
    }
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
}

/// A snapshot of all that a user sees, with what differs from machine to machine put aside.
fn shown(ended: &Ended) -> String {
    let mut text = format!("exit code {}\n----\n{}", ended.code, ended.out);
    if !ended.err.is_empty() {
        text.push_str("---- stderr\n");
        text.push_str(&ended.err);
    }
    text
}

/// Snapshot settings that put paths of this machine and hashes aside.
fn settings(user: &User) -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    let target = Path::new(METALSHIM).ancestors().nth(2).unwrap();
    for (path, name) in [(user.home.path(), "[HOME]"), (target, "[TARGET]")] {
        let real = path.canonicalize().unwrap();
        settings.add_filter(&regex(&real), name);
        settings.add_filter(&regex(path), name);
    }
    if let Some(facts) = &user.facts {
        settings.add_filter(&regex(&facts.path()), "[FACTS]");
    }
    settings.add_filter(env!("CARGO_PKG_REPOSITORY"), "[HOME-PAGE]");
    settings.add_filter("[0-9a-f]{64}", "[SHA256]");
    settings
}

fn regex(path: &Path) -> String {
    path.to_string_lossy().replace('.', "\\.")
}

macro_rules! snapshot {
    ($user:expr, $name:literal, $ended:expr) => {
        $crate::settings(&$user).bind(|| insta::assert_snapshot!($name, $crate::shown(&$ended)));
    };
}
pub(crate) use snapshot;
