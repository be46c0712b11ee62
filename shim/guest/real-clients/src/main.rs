//! `real-clients check | watch | review`: llama.cpp's own Metal code on the simulated guest.
//!
//! # Contract
//!
//! The client's code is taken from registry packages when this runs, compiled against the
//! stand-in for Metal of this folder, and run by `metalshim run`: stock, with the record's whole
//! profile, and as its client row has it. Nothing of it is kept outside the build folder.
//!
//! `check` holds the versions of [`versions::PINNED`] to the published logs, to the claims that the
//! client rows rest on, and to what was reviewed (`reviewed/`). `watch` does the same with the
//! newest published version and says in plain words what changed since the last reviewed one.
//! `review` writes what it sees into `reviewed/`, for a maintainer to read before it is committed.
//!
//! Tables on stdout, everything else on stderr. Exit: 0 nothing to report, or the packages cannot
//! be had (printed as skipped, with the reason); 1 findings; 2 wrong usage, or something needed
//! is missing.
#![forbid(unsafe_code)]
// A program for terminals and CI logs.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod claims;
mod compile;
mod fetch;
mod observe;
mod rewrite;
mod run;
mod source;
mod summary;
mod table;
mod versions;
mod watch;

use std::process::ExitCode;

use observe::Observed;
use versions::Version;

/// Why nothing could be said of a version.
#[derive(Debug)]
enum Problem {
    /// Its package cannot be had here: a skip.
    Skipped(String),
    /// It cannot be compiled or run: a finding about the version.
    Broken(String),
    /// Something of this project or this machine is missing.
    Missing(String),
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let code = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["check"] => check(),
        ["watch"] => watch::newest().map_or_else(not_looked, |newest| watch::watch(&newest)),
        ["watch", version] => watch::watch(version),
        ["review"] => review(),
        _ => {
            eprintln!("usage: real-clients check | watch [VERSION] | review");
            2
        }
    };
    ExitCode::from(code)
}

fn not_looked(problem: Problem) -> u8 {
    let (code, says) = match problem {
        Problem::Skipped(says) => (0, format!("skipped: {says}")),
        Problem::Broken(says) => (1, says),
        Problem::Missing(says) => (2, says),
    };
    println!("{says}");
    code
}

/// Every pinned version; those that cannot be had are left out, and said.
fn pinned() -> Result<Vec<Observed>, u8> {
    let mut seen = Vec::new();
    let mut code = 0;
    for version in versions::PINNED {
        match look(version) {
            Ok(observed) => seen.push(observed),
            Err(problem) => code = code.max(not_looked(problem)),
        }
    }
    if code == 0 { Ok(seen) } else { Err(code) }
}

/// Fetches, compiles and runs one version.
fn look(version: &Version) -> Result<Observed, Problem> {
    eprintln!("{}: llama-cpp-sys-2 {}", version.says, version.package);
    let package = fetch::package(version.package)?;
    let client = compile::client(version.package, &package)?;
    observe::observe(version, &package, &client)
}

fn check() -> u8 {
    let seen = match pinned() {
        Ok(seen) => seen,
        Err(code) => return code,
    };
    if seen.is_empty() {
        println!("real clients: none of them was run");
        return 0;
    }
    print!("{}", table::all(&seen));
    let mut findings = Vec::new();
    for observed in &seen {
        findings.extend(claims::broken(observed));
        findings.extend(summary::unlike_reviewed(observed));
    }
    for finding in &findings {
        println!("FAILED: {finding}");
    }
    if findings.is_empty() {
        println!("real clients: {} versions, every claim held", seen.len());
    }
    u8::from(!findings.is_empty())
}

fn review() -> u8 {
    let seen = match pinned() {
        Ok(seen) => seen,
        Err(code) => return code,
    };
    for observed in &seen {
        if let Err(why) = summary::write(observed) {
            eprintln!("{why}");
            return 2;
        }
    }
    0
}
