//! Tickets and status files, as real programs leave them.

use std::fs;
use std::io::{Read, Write};

use metalshim_guest::FactsFile;

use crate::{METALSHIM, User, kit};

fn tickets(user: &User) -> usize {
    fs::read_dir(user.state().join("tickets")).unwrap().count()
}

/// The sample client, started by `run`, standing still after it asked its device: nobody
/// reads its full stdout.
fn standing(user: &User) -> (std::process::Child, std::io::PipeReader) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&[b'\n'; 64 << 10]).unwrap();
    let mut command = user.command(METALSHIM);
    command.args(["run", "--"]).arg(kit().program("toy"));
    (command.stdout(writer).spawn().unwrap(), reader)
}

fn programs(user: &User) -> Vec<serde_json::Value> {
    let json = user.types("status --json").json("metalshim.status/1");
    json["programs"].as_array().unwrap().clone()
}

#[test]
#[cfg(target_os = "linux")]
fn status_tells_what_running_programs_reported_and_forgets_those_that_ended() {
    let user = User::new();
    let (mut child, mut reader) = standing(&user);
    // It reports before it prints, and stays until its output is read.
    let reported = loop {
        let programs = programs(&user);
        if !programs.is_empty() {
            break programs;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
    };
    assert_eq!(reported[0]["pid"], child.id());
    assert_eq!(reported[0]["state"], "installed");
    assert_eq!(reported[0]["record"], "P0001");
    let text = user.types("status").out;
    let line = format!("process {} {}", child.id(), kit().program("toy").display());
    assert!(text.contains(&line), "{text}");
    // Another start keeps what is in use.
    assert_eq!(user.types("run -- true").code, 0);
    assert_eq!(programs(&user).len(), 1);
    let mut out = String::new();
    reader.read_to_string(&mut out).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(programs(&user).is_empty());
    assert_eq!(tickets(&user), 0);
}

#[test]
fn the_next_start_removes_tickets_of_processes_that_ended() {
    let user = User::new();
    for _ in 0..3 {
        user.types("run -- TOY");
    }
    // Its own, and the report of the one before is gone.
    assert!(tickets(&user) <= 2, "{}", tickets(&user));
    user.types("status");
    assert_eq!(tickets(&user), 0);
}

#[test]
fn tickets_of_another_boot_go() {
    let user = User::new();
    user.types("run --dry-run -- TOY");
    let facts = FactsFile::sample();
    let other = "00000000-8A51-4C1B-9E27-5B1D0A6C2F44";
    let user = user.moves_to(facts.with("guest.boot_session", other));
    user.types("status");
    assert_eq!(tickets(&user), 0);
}
