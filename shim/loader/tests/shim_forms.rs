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

/// A Mach-O program that the library can be loaded into, as far as its header tells.
fn mach_o_program(arch: &str) -> Vec<u8> {
    const EXECUTE: u32 = 2;
    const LC_LOAD_DYLINKER: u32 = 0x0e;
    let (cpu, subtype) = match arch {
        "aarch64" => (0x0100_000c, 0),
        _ => (0x0100_0007, 3),
    };
    let command = [LC_LOAD_DYLINKER, 32, 12];
    let header = [0xfeed_facf, cpu, subtype, EXECUTE, 1, 32, 0, 0];
    let words = header.into_iter().chain(command);
    let mut bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    bytes.extend(b"/usr/lib/dyld\0\0\0\0\0\0\0");
    bytes
}

/// `POSIX_SPAWN_SETEXEC` is the process's own next image: followed in the process that `run` started,
/// and in no other, and by no list.
#[test]
fn a_spawn_that_replaces_the_image_is_followed_in_the_process_that_run_started_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("program");
    std::fs::write(&program, mach_o_program(std::env::consts::ARCH)).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("mode set");
    let good = ticket(|_| {});
    for form in forms::all().iter().filter(|form| !form.is_own()) {
        if form.is_emulated() {
            println!("skipped for {}: the emulator cannot be replaced", form.name);
            continue;
        }
        let run = |prefix: &str| {
            let run = built().run("reexec").arg("setexec").arg(&program);
            let run = run.shim(&good);
            let run = run.env("METALSHIM_LOADER_PROGRAM", built().program("envprint"));
            let translated = form.translate(&run.into_command());
            // The shell, which becomes the program, names the ticket for its own process.
            let script = "cp -p \"$TICKET\" \"$FOLDER/$PREFIX$$-1\" && LD_PRELOAD=\"$LOADER\" \
                          METALSHIM_TICKET=\"$FOLDER/$PREFIX$$-1\" exec \"$@\"";
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", script, "sh"]);
            shell
                .arg(translated.get_program())
                .args(translated.get_args());
            for (name, value) in translated.get_envs() {
                let name = if name == "LD_PRELOAD" {
                    "LOADER".as_ref()
                } else {
                    name
                };
                shell.envs(value.map(|value| (name, value)));
            }
            shell
                .env("TICKET", good.path())
                .env("FOLDER", folder.path());
            let output = shell.env("PREFIX", prefix).output().expect("a shell");
            String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr)
        };
        let own = run("");
        assert!(
            own.contains("env.METALSHIM_TICKET="),
            "{}: {own}",
            form.name
        );
        assert!(
            own.contains("env.DYLD_INSERT_LIBRARIES="),
            "{}: {own}",
            form.name
        );
        let other = run("1");
        assert!(other.contains("env."), "{}: {other}", form.name);
        assert!(
            !other.contains("env.METALSHIM_TICKET="),
            "{}: {other}",
            form.name
        );
    }
}
