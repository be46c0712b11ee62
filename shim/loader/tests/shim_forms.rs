//! Each form of the library that ships: it works at all, and it takes nothing that is not its own.
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
#[allow(dead_code, reason = "each test program uses its part")]
mod tickets;

use std::process::Command;

use metalshim_guest::built;
use tickets::ticket;

/// The table would show nothing if every form did nothing.
#[test]
fn the_library_that_ships_raises_both_answers() {
    for form in forms::all().iter().filter(|form| !form.is_own()) {
        let ticket = ticket(|_| {});
        let run = built().run("toy").shim(&ticket);
        let outcome = form.run(&run.into_command());
        assert_eq!(
            outcome.picked(),
            "1009/65536 fast_gpu_kernel",
            "{}: {outcome:?}",
            form.name
        );
        let stock = form.run(&built().run("toy").into_command());
        assert_eq!(
            stock.picked(),
            "1005/32768 cpu_fallback",
            "{}: {stock:?}",
            form.name
        );
    }
}

/// Descriptors 0 to 2 that are closed at the start stay closed. An emulator uses them itself.
#[test]
fn closed_descriptors_are_not_taken() {
    for form in forms::all().iter().filter(|form| !form.is_own()) {
        if form.is_emulated() {
            println!(
                "skipped for {}: the emulator opens descriptors of its own",
                form.name
            );
            continue;
        }
        let ticket = ticket(|_| {});
        let descriptors = |own: Command| {
            let translated = form.translate(&own);
            // The shell itself starts without the library.
            let mut wrapped = Command::new("/bin/sh");
            wrapped.args(["-c", "exec env \"$@\" 0<&- 2>&-", "sh"]);
            for (name, value) in translated.get_envs() {
                if let Some(value) = value {
                    let mut pair = name.to_owned();
                    pair.push("=");
                    pair.push(value);
                    wrapped.arg(pair);
                }
            }
            wrapped.arg(translated.get_program());
            let output = wrapped.output().expect("a shell");
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.lines()
                .find(|line| line.starts_with("fds="))
                .unwrap_or_default()
                .to_owned()
        };
        let stock = descriptors(built().run("corners").into_command());
        assert!(stock.starts_with("fds=1"), "{stock}");
        let shimmed = descriptors(built().run("corners").shim(&ticket).into_command());
        assert_eq!(shimmed, stock, "{}", form.name);
        assert!(
            ticket
                .status()
                .iter()
                .any(|line| line.contains("state=installed"))
        );
    }
}

/// Other entries of the variable stay, in their order, and so does everything else.
#[test]
fn other_entries_are_kept() {
    for form in forms::all().iter().filter(|form| !form.is_own()) {
        for (list, left) in [
            ("/a.dylib:SHIM:/b.dylib", Some("/a.dylib:/b.dylib")),
            ("SHIM:/b.dylib", Some("/b.dylib")),
            ("/a.dylib:SHIM", Some("/a.dylib")),
            ("SHIM", None),
        ] {
            let ticket = ticket(|_| {});
            let run = built()
                .run("corners")
                .arg("none")
                .shim(&ticket)
                .env("METALSHIM_OTHER", "kept");
            let outcome = form.run_inserted(&run.into_command(), list);
            let found = outcome.get("env.DYLD_INSERT_LIBRARIES");
            assert_eq!(found, left, "{}: {list}: {outcome:?}", form.name);
            assert_eq!(
                outcome.get("env.METALSHIM_OTHER"),
                Some("kept"),
                "{outcome:?}"
            );
            assert_eq!(outcome.get("env.METALSHIM_TICKET"), None, "{outcome:?}");
        }
    }
}
