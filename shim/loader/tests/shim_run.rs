//! Runs what ships: the macOS libraries under the loader, in front of the simulated guest, at every
//! corner that needs no second process, against this system's own form of the shim. Tickets are
//! written by the real command line. `make shim-run` prints the table.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test"
)]
#![cfg(target_os = "linux")]

mod common;
#[path = "common/forms.rs"]
#[allow(dead_code, reason = "each test program uses its part")]
mod forms;
#[path = "common/tickets.rs"]
mod tickets;

use std::fs;
use std::path::Path;

use forms::Form;
use metalshim_guest::corners::ALL;
use metalshim_guest::faulty;
use metalshim_guest::{Outcome, built};
use tickets::{ticket, ticket_text};

/// What one form made of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Result {
    /// For the table: answers or exit code, and the status line's state and reason.
    short: String,
    stdout: Vec<String>,
    stderr: String,
    code: Option<i32>,
    /// Every status line, without the process id.
    status: Vec<String>,
}

/// A case: what it is called, and a run of it in a given form.
struct Case {
    name: String,
    run: Box<dyn Fn(&Form) -> Result + Sync>,
}

/// Puts together what a run left behind. `ticket` is the path that the variable named.
fn result(form: &Form, outcome: &Outcome, ticket: &Path) -> Result {
    let mut status = ticket.as_os_str().to_owned();
    status.push(".status");
    let text = fs::read_to_string(status).unwrap_or_default();
    let status: Vec<String> = text
        .lines()
        .map(|line| form.neutral(line.split_once(' ').map_or(line, |(_, rest)| rest)))
        .collect();
    let outcome_word = match (outcome.code, outcome.get("apple_family")) {
        (Some(0), Some(family)) => {
            format!(
                "{family}/{}",
                outcome.get("max_threadgroup_memory").unwrap_or("-")
            )
        }
        (Some(0), None) => "ran".to_owned(),
        (Some(code), _) => format!("exit {code}"),
        (None, _) => "killed".to_owned(),
    };
    let word = |key: &str| {
        let last = status.last().map(String::as_str).unwrap_or_default();
        last.split(' ')
            .find_map(|word| word.strip_prefix(key))
            .unwrap_or("-")
            .to_owned()
    };
    let folder = ticket
        .parent()
        .map(|folder| folder.display().to_string())
        .unwrap_or_default();
    let without_folder = |text: &str| {
        if folder.len() > 1 {
            text.replace(&folder, "FOLDER")
        } else {
            text.to_owned()
        }
    };
    let mut stdout: Vec<String> = outcome
        .stdout
        .lines()
        // Names of files that each run has its own of; descriptors that an emulator holds.
        .filter(|line| !line.starts_with("pid=") && !line.starts_with("env.METALSHIM_FACTS="))
        .filter(|line| !line.starts_with("fds=") && !line.starts_with("ppid="))
        .map(without_folder)
        .map(|line| whose_code(&line))
        .collect();
    // An emulator builds the environment anew: its order is not the shim's doing.
    stdout.sort_by_key(|line| {
        if line.starts_with("env.") {
            line.clone()
        } else {
            String::new()
        }
    });
    Result {
        short: match word("reason=").as_str() {
            "-" => format!("{outcome_word} {}", word("state=")),
            reason => format!("{outcome_word} {reason}"),
        },
        stdout,
        stderr: without_folder(&outcome.stderr),
        code: outcome.code,
        status,
    }
}

/// A library that the loader mapped has no file behind its code, as far as a program can ask.
/// Code of Metal or of its driver is told from both by its own file.
fn whose_code(line: &str) -> String {
    match line.split_once("_image=") {
        Some((method, "libmetalshim.so" | "none")) => format!("{method}_image=the shim's"),
        _ => line.to_owned(),
    }
}

/// The rows of the shared table: from the start and loaded late, required and not.
fn corner_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for corner in ALL {
        for (late, required) in [(false, false), (true, false), (false, true), (true, true)] {
            let words = [
                if late { ", late" } else { "" },
                if required { ", required" } else { "" },
            ];
            let run = move |form: &Form| {
                let prepared = corner.prepare();
                let ticket = ticket(corner.ticket);
                let mut run = prepared.client(late).shim(&ticket);
                if required {
                    run = run.env("METALSHIM_REQUIRE", "1");
                }
                result(form, &form.run(&run.into_command()), ticket.path())
            };
            cases.push(Case {
                name: format!("{}{}", corner.name, words.concat()),
                run: Box::new(run),
            });
        }
    }
    cases
}

/// Tickets that cannot be used.
fn ticket_cases() -> Vec<Case> {
    let good = ticket_text().as_bytes();
    let mut cases = Vec::new();
    for faulty in faulty::all(good.len()) {
        let name = faulty.name.clone();
        let run = move |form: &Form| {
            let folder = tempfile::tempdir().expect("folder");
            let path = faulty.make(folder.path(), good);
            let mut all: Vec<Result> = Vec::new();
            for required in [false, true] {
                let mut run = built()
                    .run("toy")
                    .preload(built().shim())
                    .env("METALSHIM_TICKET", &path);
                if required {
                    run = run.env("METALSHIM_REQUIRE", "1");
                }
                all.push(result(form, &form.run(&run.into_command()), &path));
            }
            // Both starts as one: the second shows in the table by its exit code only.
            let required = all.pop().expect("two");
            let mut both = all.pop().expect("two");
            if required.code != Some(0) {
                both.short += &format!("; required: exit {}", required.code.unwrap_or(-1));
            }
            both.stdout.extend(required.stdout);
            both.stderr += &required.stderr;
            both.status = required.status;
            both
        };
        cases.push(Case {
            name: format!("ticket: {name}"),
            run: Box::new(run),
        });
    }
    cases
}

/// Clients, threads, and a start without anything.
fn other_cases() -> Vec<Case> {
    let client = |name: &'static str, arguments: &'static [&'static str]| Case {
        name: [&["client:", name], arguments].concat().join(" "),
        run: Box::new(move |form| {
            let ticket = ticket(|_| {});
            let run = built().run(name).args(arguments).shim(&ticket);
            result(form, &form.run(&run.into_command()), ticket.path())
        }),
    };
    vec![
        client("toy", &[]),
        client("llama", &[]),
        client("mlx", &[]),
        client("wgpu", &[]),
        client("corners", &["threads", "64"]),
        client("corners", &["none"]),
        client("envprint", &[]),
        Case {
            name: "no ticket: nothing is touched".into(),
            run: Box::new(|form| {
                let run = built().run("corners").preload(built().shim());
                result(
                    form,
                    &form.run(&run.into_command()),
                    Path::new("/nowhere/ticket"),
                )
            }),
        },
        Case {
            name: "descriptors are given back".into(),
            run: Box::new(|form| {
                let ticket = ticket(|_| {});
                let run = built().run("corners").shim(&ticket);
                let outcome = form.run(&run.into_command());
                let stock = form.run(&built().run("corners").into_command());
                let mut result = result(form, &outcome, ticket.path());
                result.stdout = vec![format!("same={}", outcome.get("fds") == stock.get("fds"))];
                result
            }),
        },
    ]
}

#[test]
#[ignore = "takes a minute: make shim-run, which prints the table"]
fn every_form_does_what_this_systems_own_does() {
    let forms = forms::all();
    assert!(
        forms.len() > 1,
        "no form but this system's own can be run here"
    );
    assert!(forms[0].is_own());
    let cases: Vec<Case> = corner_cases()
        .into_iter()
        .chain(ticket_cases())
        .chain(other_cases())
        .collect();
    let results: Vec<Vec<Result>> = std::thread::scope(|scope| {
        let running: Vec<_> = forms
            .iter()
            .map(|form| scope.spawn(|| cases.iter().map(|case| (case.run)(form)).collect()))
            .collect();
        running
            .into_iter()
            .map(|one| one.join().expect("a form's runs"))
            .collect()
    });

    let width = cases.iter().map(|case| case.name.len()).max().unwrap_or(0);
    print!("{:width$}  {:50}", "case", forms[0].name);
    forms[1..]
        .iter()
        .for_each(|form| print!("  {:15}", form.name));
    println!();
    let mut different = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let own = &results[0][number];
        print!("{:width$}  {:50}", case.name, own.short);
        for (form, results) in forms.iter().zip(&results).skip(1) {
            let other = &results[number];
            let word = if other == own {
                "same"
            } else if other.short != own.short {
                &other.short
            } else {
                "DIFFERENT"
            };
            print!("  {word:15}");
            if other != own {
                different.push(format!(
                    "{} ({})\n  linux {own:?}\n  {other:?}",
                    case.name, form.name
                ));
            }
        }
        println!();
    }
    println!(
        "{} cases, {} forms, {} differences",
        cases.len(),
        forms.len(),
        different.len()
    );
    assert!(different.is_empty(), "{}", different.join("\n"));
}
