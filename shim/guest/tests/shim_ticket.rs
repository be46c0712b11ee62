//! What the shim does with a ticket that it cannot use, and with none.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use metalshim_guest::{FactsFile, Outcome, TicketFile, built};

/// The bytes of a good ticket for the sample's guest.
#[allow(clippy::unwrap_used)]
fn good() -> Vec<u8> {
    let ticket = TicketFile::new(&FactsFile::sample(), |_| {});
    fs::read(ticket.path()).unwrap()
}

fn toy(ticket: &Path, required: bool) -> Outcome {
    let run = built().run("toy").preload(built().shim());
    let run = run.env("METALSHIM_TICKET", ticket);
    if required {
        run.env("METALSHIM_REQUIRE", "1").output()
    } else {
        run.output()
    }
}

fn last_status(ticket: &Path) -> String {
    let mut path = ticket.as_os_str().to_owned();
    path.push(".status");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().last().unwrap_or_default().to_owned()
}

/// Stock and silent with this ticket, with the reason in the status file; ended where required.
fn refused(ticket: &Path, reason: &str) {
    let run = toy(ticket, false);
    assert_eq!(run.picked(), "1005/32768 cpu_fallback", "{reason}: {run:?}");
    assert_eq!((run.stderr.as_str(), run.code), ("", Some(0)), "{reason}");
    let line = last_status(ticket);
    assert!(
        line.contains(&format!(" state=refused reason={reason} program=")),
        "{reason}: {line:?}"
    );
    let run = toy(ticket, true);
    assert_eq!(run.code, Some(78), "{reason}: {run:?}");
    assert_eq!(run.stdout, "", "{reason}");
    assert_eq!(run.stderr.lines().count(), 1, "{reason}: {run:?}");
    assert!(run.stderr.contains(reason), "{run:?}");
}

fn refused_bytes(bytes: &[u8], reason: &str) {
    refused(TicketFile::raw(bytes).path(), reason);
}

#[test]
fn a_ticket_in_order_raises_both_answers() {
    let ticket = TicketFile::new(&FactsFile::sample(), |_| {});
    let run = built().run("toy").shim(&ticket).output();
    assert_eq!(run.picked(), "1009/65536 fast_gpu_kernel");
    assert_eq!((run.stderr.as_str(), run.code), ("", Some(0)));
    let lines = ticket.status();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let program = built().program("toy");
    let end = format!(" state=installed reason=- program={}", program.display());
    assert!(
        lines[0].starts_with("pid=") && lines[0].ends_with(&end),
        "{lines:?}"
    );
}

#[test]
fn without_the_variable_nothing_is_touched() {
    let run = built().run("corners").preload(built().shim()).output();
    assert_eq!(run.get("apple_family"), Some("1005"));
    // Not even the library's own entry is taken out.
    let entry = format!("env.LD_PRELOAD={}", built().shim().display());
    assert!(run.stdout.lines().any(|line| line == entry), "{run:?}");
}

#[test]
fn content_that_is_not_a_ticket() {
    let good = good();
    let text = String::from_utf8(good.clone()).unwrap();
    refused_bytes(b"", "ticket-empty");
    refused_bytes(
        &[good.clone(), vec![b'\n'; 4096]].concat(),
        "ticket-too-long",
    );
    refused_bytes(&vec![b'x'; 1 << 20], "ticket-too-long");
    refused_bytes(
        text.replace("ticket 1", "ticket 2").as_bytes(),
        "ticket-version",
    );
    refused_bytes(text.replace("=1005", "=1004").as_bytes(), "ticket-hash");
    refused_bytes(&[good.clone(), b"x".to_vec()].concat(), "ticket-incomplete");
    refused_bytes(&[b"\xff".to_vec(), good].concat(), "ticket-not-ascii");
}

#[test]
fn cut_or_flipped_anywhere() {
    // The parser's own tests try every byte and bit; here some of each go through a process.
    let good = good();
    for len in (1..good.len()).step_by(41) {
        let ticket = TicketFile::raw(&good[..len]);
        assert_eq!(
            toy(ticket.path(), false).picked(),
            "1005/32768 cpu_fallback",
            "{len}"
        );
        assert!(
            last_status(ticket.path()).contains("reason=ticket-incomplete"),
            "{len}"
        );
    }
    for bit in (0..good.len() * 8).step_by(211) {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let ticket = TicketFile::raw(&bytes);
        assert_eq!(
            toy(ticket.path(), false).picked(),
            "1005/32768 cpu_fallback",
            "{bit}"
        );
        assert!(
            last_status(ticket.path()).contains("state=refused reason=ticket-"),
            "{bit}"
        );
    }
}

#[test]
fn a_file_that_is_not_to_be_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, good()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    };
    let plain = file("plain");
    assert_eq!(toy(&plain, false).picked(), "1009/65536 fast_gpu_kernel");
    for mode in [0o620, 0o602, 0o666] {
        let path = file(&format!("mode-{mode:o}"));
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        refused(&path, "ticket-mode");
    }
    let link = folder.path().join("link");
    symlink(&plain, &link).unwrap();
    refused(&link, "ticket-link");
    refused(folder.path(), "ticket-not-regular");
    let fifo = folder.path().join("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    refused(&fifo, "ticket-not-regular");
    refused(&folder.path().join("gone"), "ticket-gone");
    // A path that would move with the program is none; without one there is no status file either.
    let relative = Path::new("Cargo.toml");
    assert_eq!(toy(relative, true).code, Some(78));
    assert!(!Path::new("Cargo.toml.status").exists());
    let empty = Path::new("");
    assert_eq!(toy(empty, false).picked(), "1005/32768 cpu_fallback");
    let run = toy(empty, true);
    assert_eq!((run.code, run.stdout.as_str()), (Some(78), ""), "{run:?}");
    assert!(
        run.stderr.contains("ticket-path") && !run.stderr.contains("noted"),
        "{run:?}"
    );
}

/// The line cannot be written where no status file can be; the answer is the same.
#[test]
fn a_status_file_that_cannot_be_written_changes_nothing() {
    let ticket = TicketFile::new(&FactsFile::sample(), |_| {});
    let mut status = ticket.path().as_os_str().to_owned();
    status.push(".status");
    fs::create_dir(&status).unwrap();
    let run = built().run("toy").shim(&ticket).output();
    assert_eq!(run.picked(), "1009/65536 fast_gpu_kernel");
    assert_eq!((run.stderr.as_str(), run.code), ("", Some(0)));
}

#[test]
fn an_owner_that_is_another() {
    let ticket = TicketFile::new(&FactsFile::sample(), |_| {});
    let own = std::os::unix::fs::chown(ticket.path(), Some(12_345), None);
    if let Err(why) = own {
        println!("skipped: giving a file away needs root here: {why}");
        return;
    }
    refused(ticket.path(), "ticket-owner");
}

#[test]
fn required_without_metal_runs_on() {
    let run = built()
        .run("envprint")
        .preload(built().shim())
        .env("METALSHIM_TICKET", "/nowhere/ticket")
        .env("METALSHIM_REQUIRE", "1")
        .output();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    assert!(!run.stdout.contains("METALSHIM_"), "{run:?}");
    assert!(!run.stdout.contains("LD_PRELOAD"), "{run:?}");
}

#[test]
fn required_and_refused_ends_when_metal_comes_late() {
    let late = |ticket: &str| {
        let run = built().run_late("toy").preload(built().shim());
        run.env("METALSHIM_TICKET", ticket)
            .env("METALSHIM_REQUIRE", "1")
            .output()
    };
    let run = late("/nowhere/ticket");
    assert_eq!((run.code, run.stdout.as_str()), (Some(78), ""), "{run:?}");
    assert!(run.stderr.contains("ticket-gone"), "{run:?}");
}

/// Descriptors 0 to 2 that are closed at the start stay closed, and no other stays open.
#[test]
fn closed_descriptors_are_not_taken() {
    let descriptors = |preload: &str, ticket: &TicketFile| {
        let run = Command::new("/bin/sh")
            .arg("-c")
            .arg("LD_PRELOAD=\"$1\" exec \"$0\" 0<&- 2>&-")
            .args([built().program("corners").as_os_str(), preload.as_ref()])
            .env("METALSHIM_TICKET", ticket.path())
            .output()
            .unwrap();
        let text = String::from_utf8(run.stdout).unwrap();
        let line = text.lines().find(|line| line.starts_with("fds="));
        line.unwrap_or_default().to_owned()
    };
    for (status, ticket) in [
        (
            "state=installed",
            TicketFile::new(&FactsFile::sample(), |_| {}),
        ),
        ("state=refused", TicketFile::raw(b"")),
    ] {
        let stock = descriptors("", &ticket);
        assert!(stock.starts_with("fds=1"), "{stock}");
        let shim = built().shim().to_str().unwrap();
        assert_eq!(descriptors(shim, &ticket), stock, "{status}");
        assert!(last_status(ticket.path()).contains(status), "{status}");
    }
}
