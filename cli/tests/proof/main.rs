//! `probe` and `canary`, started as users do: real processes, the simulated guest's device, and
//! the shim as it is built.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test whose set-up fails has failed"
)]

mod canary;
mod probe;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use metalshim_guest::{FactsFile, SavedFacts, built};
use serde_json::Value;
use tempfile::TempDir;

const METALSHIM: &str = env!("CARGO_BIN_EXE_metalshim");

/// A user with a home of their own and nothing of this process's environment.
struct User {
    home: TempDir,
    facts: SavedFacts,
    scenario: String,
    variables: Vec<(&'static str, String)>,
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
        built();
        Self {
            home: tempfile::tempdir().unwrap(),
            facts: facts.save(),
            scenario: String::new(),
            variables: Vec::new(),
        }
    }

    /// With a guest that plays these scenarios.
    fn playing(mut self, scenario: &str) -> Self {
        scenario.clone_into(&mut self.scenario);
        self
    }

    /// The same user on another boot, or another machine.
    fn moves_to(mut self, facts: FactsFile) -> Self {
        self.facts = facts.save();
        self
    }

    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    fn state(&self, name: &str) -> PathBuf {
        self.home.path().join("state").join(name)
    }

    /// `metalshim` and these words; `TOY` stands for the path of the sample client.
    fn types(&self, line: &str) -> Ended {
        let toy = built().program("toy");
        let words = line
            .split(' ')
            .map(|w| w.replace("TOY", &toy.to_string_lossy()));
        let mut command = Command::new(METALSHIM);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.home.path())
            .env("METALSHIM_STATE_DIR", self.home.path().join("state"))
            .env("METALSHIM_FACTS", self.facts.path())
            .env("METALSHIM_GUEST_SCENARIO", &self.scenario)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.home.path())
            .stdin(Stdio::null())
            .args(words);
        let output = command.output().unwrap();
        Ended {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ended {
    /// The one JSON object on stdout, of that schema.
    fn json(&self, schema: &str) -> Value {
        let first = format!("{{\n  \"schema\": \"{schema}\"");
        assert!(self.out.starts_with(&first), "{}{}", self.out, self.err);
        serde_json::from_str(&self.out).unwrap()
    }

    /// All that a user sees.
    fn shown(&self) -> String {
        format!(
            "exit code {}\n---- stdout\n{}---- stderr\n{}",
            self.code, self.out, self.err
        )
    }
}
