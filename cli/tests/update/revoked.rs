//! A record is taken back while programs run that were started from it.

use std::process::Stdio;
use std::time::{Duration, Instant};

use metalshim_guest::built;

use crate::machine::{User, build_text};

const RECIPE: &str = "r = Repository(databases)\nr.database(2)\nr.revoke(1)\nr.publish('first')\n\
                      r.revoke(2, records=['P0001'])\nr.publish('second')\n";

#[test]
fn its_tickets_go_and_the_programs_are_named() {
    let Some(made) = build_text(RECIPE) else {
        return;
    };
    built();
    let user = User::new(&made.path().join("first/metadata/1.root.json"));
    let repository = |name: &str| made.path().join(name).display().to_string();
    assert_eq!(
        user.types(&["update", "--from", &repository("first")]).code,
        0
    );
    let mut program = user.command(None).unwrap();
    let mut program = program
        .args(["run", "--", "/bin/sleep", "60"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let tickets = user.state().join("tickets");
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir(&tickets).into_iter().flatten().flatten();
        let names = entries.map(|e| e.file_name().to_string_lossy().into_owned());
        names.filter(|name| !name.starts_with('.')).collect()
    };
    let end = Instant::now() + Duration::from_secs(10);
    while names().is_empty() {
        assert!(Instant::now() < end, "no ticket");
        std::thread::sleep(Duration::from_millis(10));
    }
    let ticket = names().remove(0);
    let ended = user.types(&["update", "--from", &repository("second")]);
    let named = format!("process {}", program.id());
    let status = user.types(&["status"]);
    let doctor = user.types(&["doctor", "--check", "processes"]);
    let kept = names();
    program.kill().unwrap();
    program.wait().unwrap();
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.contains("was revoked: "), "{}", ended.out);
    assert!(ended.out.contains("taken back: "), "{}", ended.out);
    for out in [&ended.out, &status.out] {
        assert!(out.contains(&named), "{out}");
        assert!(out.contains("P0001, which was taken back"), "{out}");
    }
    assert!(
        doctor.out.contains("P0001, which was taken back"),
        "{}",
        doctor.out
    );
    assert!(kept.iter().all(|name| *name != ticket), "{kept:?}");
    // The program has ended: nothing of it stays.
    let status = user.types(&["status"]);
    assert!(!status.out.contains(&named), "{}", status.out);
    assert_eq!(names(), Vec::<String>::new());
    // And what is started now is refused.
    let refused = user.types(&["run", "--", "/bin/true"]);
    assert_eq!(refused.code, 125);
    assert!(refused.err.contains("pair-revoked"), "{}", refused.err);
}
