//! What the shim costs a process: at its start, for each child, for each question, and once to
//! install.
//!
//! `make bench` builds what this needs and runs it. All that is compared runs in turn, so that
//! whatever else the machine does meets all of it alike. Figures are medians; `docs/benchmarks.md`
//! says how each is meant.
#![forbid(unsafe_code)]
#![allow(
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark that cannot be set up says so and ends; its table is for stdout"
)]

mod calls;
mod children;
mod install;
mod starts;

use std::path::PathBuf;

use metalshim_guest::{FactsFile, Kit, Run, TicketFile, built};

/// Starts of each kind, and spawns of each kind.
const STARTS: usize = 1000;

fn main() {
    let kit = built();
    assert!(
        bench(kit, "spawncost").exists(),
        "{} is missing: make -C shim/guest OUT={} bench",
        bench(kit, "spawncost").display(),
        kit.guest_dir().display()
    );
    let facts = FactsFile::sample();
    // Whoever follows children has the most to prepare.
    let ticket = TicketFile::new(&facts, |ticket| ticket.follow = "all");
    starts::measure(kit, &ticket);
    children::measure(kit, &facts, &ticket);
    calls::measure(kit, &ticket);
    install::measure(kit, &ticket);
}

/// A program or library that is built for benchmarks only.
fn bench(kit: &Kit, name: &str) -> PathBuf {
    kit.guest_dir().join("bench").join(name)
}

/// What a helper printed; one that fails ends the benchmark.
fn stdout(run: Run) -> String {
    let outcome = run.output();
    assert!(
        outcome.code == Some(0),
        "a helper ended with {:?}: {}",
        outcome.code,
        outcome.stderr
    );
    outcome.stdout
}

/// A number that a helper printed.
fn number(text: &str) -> f64 {
    match text.parse() {
        Ok(number) => number,
        Err(_) => panic!("a helper printed {text:?}, not a number"),
    }
}

/// The value of a line `key=value`, a number.
fn value(output: &str, key: &str) -> f64 {
    let found = output
        .lines()
        .filter_map(|line| line.split_once('='))
        .find(|(k, _)| *k == key);
    match found {
        Some((_, text)) => number(text),
        None => panic!("a helper printed no {key}"),
    }
}

/// The environment that puts a library of [`bench`] into a program.
fn inserting_bench(kit: &Kit, name: &str) -> String {
    inserting(&bench_library(kit, name))
}

/// A library that is built for benchmarks only.
fn bench_library(kit: &Kit, name: &str) -> PathBuf {
    let suffix = if cfg!(target_os = "macos") {
        "dylib"
    } else {
        "so"
    };
    bench(kit, &format!("lib{name}.{suffix}"))
}

/// The program that does nothing: `true`, or our own where the system's takes no libraries.
fn nothing(kit: &Kit) -> PathBuf {
    if cfg!(target_os = "macos") {
        bench(kit, "nothing")
    } else {
        PathBuf::from("/bin/true")
    }
}

/// The environment that puts a library into a program.
fn inserting(library: &std::path::Path) -> String {
    let name = if cfg!(target_os = "macos") {
        "DYLD_INSERT_LIBRARIES"
    } else {
        "LD_PRELOAD"
    };
    format!("{name}={}", library.display())
}

/// The environment that puts the shim and a ticket into a program.
fn shimmed(kit: &Kit, ticket: &TicketFile) -> String {
    format!(
        "{}\nMETALSHIM_TICKET={}",
        inserting(kit.shim()),
        ticket.path().display()
    )
}

/// Starts of one program in several environments.
#[derive(Clone, Default)]
struct Starts {
    /// Microseconds from before the start until the program has ended.
    whole: metalshim_guest::figures::Times,
    /// Microseconds of processor time that the program used.
    processor: metalshim_guest::figures::Times,
}

/// Starts `program` `times` times in each environment, from `parent`, which is `spawncost` with
/// whatever is to be in it. Adds what was measured to `all`, one for each environment.
fn start(parent: Run, times: usize, method: &str, environments: &[&str], all: &mut [Starts]) {
    let parent = parent
        .arg(times.to_string())
        .arg(method)
        .arg(nothing(built()))
        .args(environments);
    for line in stdout(parent).lines() {
        let mut fields = line.split(' ');
        let mut next = || number(fields.next().unwrap_or_default());
        let (way, whole, processor) = (next(), next(), next());
        let Some(starts) = all.get_mut(way as usize) else {
            panic!("spawncost printed {line:?}");
        };
        starts.whole.push(whole / 1000.0);
        starts.processor.push(processor / 1000.0);
    }
}
