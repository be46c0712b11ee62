//! What the shim does with a ticket that it cannot use, and with none.

use std::fs;
use std::path::Path;
use std::process::Command;

use metalshim_guest::faulty::{self, Faulty};
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
fn refused(ticket: &Path, faulty: &Faulty) {
    let (name, reason) = (&faulty.name, faulty.reason);
    let run = toy(ticket, false);
    assert_eq!(run.picked(), "1005/32768 cpu_fallback", "{name}: {run:?}");
    assert_eq!((run.stderr.as_str(), run.code), ("", Some(0)), "{name}");
    // Without a path that can be used there is no status file either.
    let noted = reason != "ticket-path";
    let line = last_status(ticket);
    let told = line.contains(&format!(" state=refused reason={reason}"));
    assert_eq!(told, noted, "{name}: {line:?}");
    let run = toy(ticket, true);
    assert_eq!(run.code, Some(78), "{name}: {run:?}");
    assert_eq!(run.stdout, "", "{name}");
    assert_eq!(run.stderr.lines().count(), 1, "{name}: {run:?}");
    assert!(run.stderr.contains(reason), "{name}: {run:?}");
    assert_eq!(run.stderr.contains("noted in"), noted, "{name}: {run:?}");
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
fn every_faulty_ticket_is_refused_with_its_reason() {
    let good = good();
    for faulty in faulty::all(good.len()) {
        let folder = tempfile::tempdir().unwrap();
        let path = faulty.make(folder.path(), &good);
        refused(&path, &faulty);
    }
    assert!(!Path::new("Cargo.toml.status").exists());
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
