//! One run of a client on the simulated guest, by `metalshim run`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use metalshim_guest::FactsFile;

use crate::Problem;
use crate::fetch::{one_line, target};

/// How the client is started.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start<'a> {
    /// Through `metalshim run`, with the overrides turned off.
    Stock,
    /// With the record's whole profile: as a program that no client row knows.
    Whole,
    /// With the record's families, and no more memory than the hardware has.
    Low,
    /// As the client that it is.
    Client(&'a str),
    /// As the client, on a host whose GPU is of this Apple family.
    Host(&'a str, u16),
}

/// A run's data: the lines of `driver/driver.h`, and the log.
#[derive(Debug, Default)]
pub(crate) struct Run {
    lines: BTreeMap<String, Vec<Vec<String>>>,
    /// What the client logged.
    pub(crate) log: String,
}

impl Run {
    /// The lines of one kind, without their first word.
    pub(crate) fn lines(&self, kind: &str) -> &[Vec<String>] {
        self.lines.get(kind).map_or(&[], Vec::as_slice)
    }

    /// What the device said: `told("family")`, `told("memory")`.
    pub(crate) fn told(&self, what: &str) -> &str {
        self.lines("told")
            .iter()
            .find(|words| words.first().is_some_and(|word| word == what))
            .and_then(|words| words.get(1))
            .map_or("-", String::as_str)
    }

    /// Both answers, as `1009/65536`.
    pub(crate) fn profile(&self) -> String {
        format!("{}/{}", self.told("family"), self.told("memory"))
    }
}

/// The last word of a line as a number of bytes.
pub(crate) fn bytes(words: &[String]) -> u64 {
    words
        .last()
        .and_then(|word| word.parse().ok())
        .unwrap_or_default()
}

/// Runs the client; `short` leaves attention and tuning out.
pub(crate) fn run(client: &Path, start: Start<'_>, short: bool) -> Result<Run, Problem> {
    let mut facts = FactsFile::sample();
    if let Start::Host(_, family) = start {
        facts = facts.with("host.apple_family", i64::from(family));
    }
    let facts = facts.save();
    let state = tempfile::tempdir().map_err(|why| Problem::Missing(why.to_string()))?;
    let metalshim = target().join("release").join("metalshim");
    let mut command = Command::new(&metalshim);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("METALSHIM_") {
            command.env_remove(name);
        }
    }
    command
        .env("METALSHIM_FACTS", facts.path())
        .env("METALSHIM_STATE_DIR", state.path())
        .env("METALSHIM_NO_UPDATE_CHECK", "1")
        .args(["run", "--quiet"]);
    match start {
        Start::Stock => command.env("METALSHIM_DISABLE", "1"),
        Start::Whole => command.arg("--require"),
        Start::Low => command.args(["--require", "--profile", "1009/32768"]),
        Start::Client(name) | Start::Host(name, _) => command.args(["--require", "--client", name]),
    };
    command.arg("--").arg(client).args(short.then_some("short"));
    let output = command
        .output()
        .map_err(|why| Problem::Missing(format!("{}: {why}", metalshim.display())))?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let run = parse(&String::from_utf8_lossy(&output.stdout), log);
    if let [unknown, ..] = run.lines("unknown") {
        return Err(Problem::Broken(format!(
            "{}: it sends `{}`, which the stand-in for Metal does not know. Read what the client does with it, then teach it to shim/guest/real-clients/metal",
            client.display(),
            unknown.join(" ")
        )));
    }
    match output.status.code() {
        Some(0) => Ok(run),
        Some(125) => Err(Problem::Missing(format!(
            "metalshim run refused {start:?}: {}",
            one_line(&run.log)
        ))),
        _ => Err(Problem::Broken(format!(
            "{} ended with {}, {start:?}: {}",
            client.display(),
            output.status,
            run.log.lines().last().unwrap_or_default()
        ))),
    }
}

fn parse(stdout: &str, log: String) -> Run {
    let mut lines: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    for line in stdout.lines() {
        let mut words = line.split('\t').map(str::to_owned);
        if let Some(kind) = words.next() {
            lines.entry(kind).or_default().push(words.collect());
        }
    }
    Run { lines, log }
}
