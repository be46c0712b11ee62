//! What starting a program costs: through `metalshim run`, and with the shim in it.
//!
//! Each line compares two ways to start the same program. They are started in turn, so that
//! whatever else the machine does meets both alike; the figures are medians. Give the number
//! of starts as the argument (500 if none is given). It wants `make shim guest` first, which
//! `make bench` sees to.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot be set up says so and ends; its table is for stdout"
)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const METALSHIM: &str = env!("CARGO_BIN_EXE_metalshim");
const INSERT: &str = metalshim_cli::variables::INSERT_LIBRARIES;

/// A way to start something.
type Way<'a> = Box<dyn Fn() -> Command + 'a>;

fn main() {
    let starts = std::env::args()
        .filter_map(|a| a.parse().ok())
        .next()
        .unwrap_or(500);
    let home = tempfile::tempdir().unwrap();
    let target = Path::new(METALSHIM).ancestors().nth(2).unwrap();
    let shim = target.join("shim").join(metalshim_cli::install::SHIM);
    assert!(shim.exists(), "there is no {}: make shim", shim.display());
    let clean = |program: &str| {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", home.path())
            .env("METALSHIM_STATE_DIR", home.path().join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    };
    let plain: Way<'_> = Box::new(|| clean("true"));
    let run: Way<'_> = Box::new(|| {
        let mut command = clean(METALSHIM);
        command.args(["run", "--", "true"]);
        command
    });
    let without_ticket: Way<'_> = Box::new(|| {
        let mut command = clean("true");
        command.env(INSERT, &shim);
        command
    });
    let ticket = ticket(&home.path().join("other"));
    let with_ticket: Way<'_> = Box::new(|| {
        let mut command = clean("true");
        command.env(INSERT, &shim).env("METALSHIM_TICKET", &ticket);
        command
    });
    let again: Way<'_> = Box::new(|| clean("true"));
    println!("{starts} starts of each, in turn; medians in milliseconds\n");
    println!(
        "{:<44} {:>8} {:>8} {:>8} {:>7}",
        "", "plain", "this", "added", "ratio"
    );
    line("metalshim run -- true", &plain, &run, starts);
    line(
        "true with the shim, no ticket",
        &plain,
        &without_ticket,
        starts,
    );
    line(
        "true with the shim and a ticket",
        &plain,
        &with_ticket,
        starts,
    );
    line("true again (what is noise)", &plain, &again, starts);
}

/// A ticket in a state folder of its own, so that no start here removes it.
fn ticket(state: &Path) -> String {
    let mut dry = Command::new(METALSHIM);
    dry.args(["run", "--dry-run", "--json", "--", "true"])
        .env("METALSHIM_STATE_DIR", state)
        .env_remove("METALSHIM_FACTS");
    let output = dry.output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    json["ticket"].as_str().unwrap().to_owned()
}

fn line(name: &str, plain: &Way<'_>, this: &Way<'_>, starts: usize) {
    let mut times = [Vec::with_capacity(starts), Vec::with_capacity(starts)];
    for _ in 0..starts {
        for (way, times) in [plain, this].into_iter().zip(&mut times) {
            let mut command = way();
            let start = Instant::now();
            let status = command.status().unwrap();
            times.push(start.elapsed());
            assert!(status.success(), "{name}: {status}");
        }
    }
    let [plain, this] = times.map(median);
    println!(
        "{name:<44} {plain:>8.3} {this:>8.3} {:>8.3} {:>7.2}",
        this - plain,
        this / plain
    );
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times
        .get(times.len() / 2)
        .map_or(0.0, |t| t.as_secs_f64() * 1000.0)
}
