//! Checks that nobody typed.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use metalshim_guest::{FactsFile, SavedFacts};

use crate::machine::{NEW_GUEST, User, WITH_NEW_GUEST, build_text};
use crate::server::{Manner, Server};

const TWO: &str = "r = Repository(databases)\nr.database(2)\nr.revoke(1)\nr.publish('first')\n\
                   r.database(6)\nr.publish('second')\n";
const TIMER: [&str; 4] = ["update", "--automatic", "--jitter", "0"];

fn user(made: &Path, server: &Server) -> User {
    User::new(&made.join("first/metadata/1.root.json")).with("METALSHIM_REPOSITORY", server.url())
}

fn new_guest() -> SavedFacts {
    FactsFile::sample().with("guest.build", NEW_GUEST).save()
}

fn last(user: &User) -> Option<serde_json::Value> {
    let text = std::fs::read_to_string(user.state().join("check.json")).ok()?;
    serde_json::from_str(&text).ok()
}

/// What came of the check that `by` set off in the background; it is waited for.
fn awaited(user: &User, by: &str) -> serde_json::Value {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        match last(user) {
            Some(last) if last["by"] == by && last["outcome"] != "started" => return last,
            _ if Instant::now() > end => panic!("no check has ended: {:?}", last(user)),
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

#[test]
fn the_timers_check_says_one_line_and_keeps_what_came_of_it() {
    let Some(made) = build_text(TWO) else { return };
    let server = Server::start(&made.path().join("first"), Manner::Plain);
    let user = user(made.path(), &server);
    let ended = user.types(&TIMER);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    assert_eq!(ended.out.lines().count(), 1, "{}", ended.out);
    assert!(
        ended
            .out
            .contains("updated: signed database of this user, seq 2"),
        "{}",
        ended.out
    );
    assert_eq!(user.in_use(), (true, 2));
    let kept = last(&user).unwrap();
    assert_eq!(
        (&kept["by"], &kept["outcome"]),
        (&"timer".into(), &"updated".into())
    );
    let again = user.types(&TIMER);
    assert!(again.out.contains(" up to date: "), "{}", again.out);
    let status = user.types(&["status"]);
    assert!(
        status.out.contains("last check for updates: "),
        "{}",
        status.out
    );
    let doctor = user.types(&["doctor", "--check", "updates"]);
    assert!(doctor.out.contains("up to date"), "{}", doctor.out);
}

#[test]
fn a_check_that_fails_is_one_line_too_and_2() {
    let Some(made) = build_text(TWO) else { return };
    let server = Server::start(&made.path().join("first"), Manner::Page);
    let user = user(made.path(), &server);
    let ended = user.types(&TIMER);
    assert_eq!((ended.code, ended.err.as_str()), (2, ""));
    assert_eq!(ended.out.lines().count(), 1, "{}", ended.out);
    assert!(
        ended.out.contains("something else than the update source"),
        "{}",
        ended.out
    );
    let doctor = user.types(&["doctor", "--check", "updates"]);
    assert!(doctor.out.contains("failed"), "{}", doctor.out);
}

#[test]
fn whoever_opted_out_asks_nobody() {
    let Some(made) = build_text(TWO) else { return };
    let server = Server::start(&made.path().join("first"), Manner::Plain);
    let facts = new_guest();
    let facts = facts.path().display().to_string();
    for name in ["METALSHIM_NO_UPDATE_CHECK", "NO_UPDATE_NOTIFIER", "CI"] {
        let user = user(made.path(), &server)
            .with(name, "1")
            .with("METALSHIM_FACTS", &facts);
        let ended = user.types(&TIMER);
        assert_eq!(ended.code, 0);
        assert!(
            ended.out.contains(&format!("{name} is set")),
            "{}",
            ended.out
        );
        assert_eq!(user.types(&["enable"]).code, 1);
        assert_eq!(user.types(&["doctor"]).code, 1);
        assert_eq!(user.types(&["run", "--", "/bin/true"]).code, 125);
        assert!(last(&user).is_none());
    }
    let user = user(made.path(), &server).with("METALSHIM_FACTS", &facts);
    let offline = [&TIMER[..], &["--offline"]].concat();
    assert!(user.types(&offline).out.contains("--offline"));
    assert_eq!(user.types(&["enable", "--offline"]).code, 1);
    let root = made.path().join("first/metadata/1.root.json");
    user.configure(&format!("trust_root = {root:?}\nautomatic = \"off\"\n"));
    assert!(user.types(&TIMER).out.contains("config.toml"));
    assert_eq!(user.types(&["run", "--", "/bin/true"]).code, 125);
    // Nor do scripts.
    user.configure(&format!("trust_root = {root:?}\n"));
    assert_eq!(user.types(&["doctor", "--json"]).code, 1);
    assert_eq!(
        user.types(&["run", "--dry-run", "--", "/bin/true"]).code,
        125
    );
    assert_eq!(server.count().0, 0);
    assert!(last(&user).is_none());
}

#[test]
fn two_checks_never_run_at_once() {
    let Some(made) = build_text(TWO) else { return };
    let server = Server::start(&made.path().join("first"), Manner::Slow);
    let user = user(made.path(), &server);
    let mut first = user.command(None).unwrap();
    let mut first = first.args(TIMER).stdout(Stdio::null()).spawn().unwrap();
    while last(&user).is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let ended = user.types(&TIMER);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(ended.code, 0);
    assert!(
        ended.out.contains("another check is running"),
        "{}",
        ended.out
    );
    // One that was killed blocks nobody.
    let server = Server::start(&made.path().join("first"), Manner::Plain);
    let user = user.with("METALSHIM_REPOSITORY", server.url());
    assert!(user.types(&TIMER).out.contains("updated"));
}

#[test]
fn enable_looks_first_and_is_not_held_up_by_a_source_that_is_slow_or_gone() {
    let Some(made) = build_text(TWO) else { return };
    let facts = new_guest();
    let server = Server::start(&made.path().join("second"), Manner::Plain);
    let on_new =
        user(made.path(), &server).with("METALSHIM_FACTS", facts.path().display().to_string());
    let ended = on_new.types(&["enable"]);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("P9001"), "{}", ended.out);
    assert!(ended.err.contains("is now verified"), "{}", ended.err);
    let slow = Server::start(&made.path().join("second"), Manner::Slow);
    for source in [slow.url(), "http://127.0.0.1:9".to_owned()] {
        let user = user(made.path(), &slow).with("METALSHIM_REPOSITORY", source);
        let started = Instant::now();
        let ended = user.types(&["enable"]);
        assert!(
            started.elapsed() < Duration::from_secs(6),
            "{:?}",
            started.elapsed()
        );
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert!(ended.err.contains("what is here decides"), "{}", ended.err);
    }
}

#[test]
fn run_sets_a_check_off_and_an_earlier_enable_holds_again() {
    let Some(made) = build_text(TWO) else { return };
    let first = Server::start(&made.path().join("first"), Manner::Plain);
    let user = user(made.path(), &first);
    assert_eq!(user.types(&["enable"]).code, 0);
    // macOS is updated: nobody has verified the new build yet.
    let facts = new_guest();
    let second = Server::start(&made.path().join("second"), Manner::Plain);
    let user = user
        .with("METALSHIM_FACTS", facts.path().display().to_string())
        .with("METALSHIM_REPOSITORY", second.url());
    // `enable` has just looked: at most one an hour.
    assert_eq!(user.types(&["run", "--", "/bin/true"]).code, 125);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(user.in_use(), (true, 2));
    stamp(&user, "2001-01-01T00:00:00Z");
    let ended = user.types(&["run", "--", "/bin/true"]);
    assert_eq!(ended.code, 125);
    assert!(ended.err.contains("in the background"), "{}", ended.err);
    let check = awaited(&user, "run");
    assert_eq!(check["outcome"], "updated");
    assert_eq!(user.in_use(), (true, WITH_NEW_GUEST));
    assert_eq!(user.types(&["run", "--", "/bin/true"]).code, 0);
    let says = check["says"].as_str().unwrap();
    assert!(
        says.contains("what was enabled on guest 25F84 holds on 25G999"),
        "{says}"
    );
    let status = user.json(&["status"]);
    assert_eq!(status["enabled"]["guest_build"], NEW_GUEST);
    assert_eq!(status["enabled"]["record"], "P9001");
}

/// As if the last check had been then.
fn stamp(user: &User, at: &str) {
    let mut kept = last(user).unwrap();
    kept["at"] = at.into();
    std::fs::write(user.state().join("check.json"), kept.to_string()).unwrap();
}

#[test]
fn a_stamp_from_the_future_is_due_and_a_damaged_one_too() {
    let Some(made) = build_text(TWO) else { return };
    let server = Server::start(&made.path().join("first"), Manner::Plain);
    let facts = new_guest();
    let user =
        user(made.path(), &server).with("METALSHIM_FACTS", facts.path().display().to_string());
    assert_eq!(user.types(&TIMER).code, 0);
    let before = last(&user);
    assert_eq!(user.types(&["doctor"]).code, 1);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(last(&user), before, "an hour is not over");
    stamp(&user, "2099-01-01T00:00:00Z");
    assert_eq!(user.types(&["doctor"]).code, 1);
    assert_eq!(awaited(&user, "doctor")["outcome"], "up-to-date");
    std::fs::write(user.state().join("check.json"), "{").unwrap();
    assert_eq!(user.types(&["doctor"]).code, 1);
    assert_eq!(awaited(&user, "doctor")["outcome"], "up-to-date");
}

/// The check belongs to nobody: no child of the program, no terminal, no descriptor of the caller.
#[test]
#[cfg(target_os = "linux")]
fn the_check_in_the_background_holds_nothing_of_whoever_set_it_off() {
    let Some(made) = build_text(TWO) else { return };
    let server = Server::start(&made.path().join("first"), Manner::Slow);
    let facts = new_guest();
    let user =
        user(made.path(), &server).with("METALSHIM_FACTS", facts.path().display().to_string());
    let metalshim = env!("CARGO_BIN_EXE_metalshim");
    let mut shell = Command::new("/bin/sh");
    let plain = user.command(None).unwrap();
    let variables = plain
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    // Descriptor 9 is the pipe that `output` reads to its end.
    shell
        .args([
            "-c",
            "exec 9>&1; \"$0\" run --or-stock -- /bin/sleep 0.3; ps -o pid= --ppid $$",
            metalshim,
        ])
        .env_clear()
        .envs(variables)
        .stdin(Stdio::null());
    let started = Instant::now();
    let output = shell.output().unwrap();
    assert!(output.status.success());
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "the pipe is held open"
    );
    let check = processes_of(&user.state());
    assert_eq!(check.len(), 1, "{check:?}");
    let (pid, stat) = &check[0];
    // After the name: state, parent, group, session, terminal.
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let session_of_ours = std::fs::read_to_string("/proc/self/stat").unwrap();
    let ours: Vec<&str> = session_of_ours
        .rsplit_once(") ")
        .unwrap()
        .1
        .split(' ')
        .collect();
    assert_ne!(fields[3], ours[3], "a session of its own");
    assert_ne!(
        fields[3],
        pid.to_string(),
        "and not its leader: it cannot get a terminal"
    );
    assert_eq!(fields[4], "0", "no terminal");
    for entry in std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap() {
        let entry = entry.unwrap();
        let number: u32 = entry.file_name().to_str().unwrap().parse().unwrap();
        let to = std::fs::read_link(entry.path()).unwrap();
        let to = to.display().to_string();
        assert!(!to.starts_with("pipe:") || number > 9, "{number} is {to}");
        assert!(number > 2 || to == "/dev/null", "{number} is {to}");
    }
    let ended = Command::new("kill").arg(pid.to_string()).status().unwrap();
    assert!(ended.success());
}

/// Processes of the command with this state folder, and their `/proc/<pid>/stat`.
#[cfg(target_os = "linux")]
fn processes_of(state: &Path) -> Vec<(u32, String)> {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else {
                continue;
            };
            let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
            let line = String::from_utf8_lossy(&read("cmdline")).into_owned();
            let environment = String::from_utf8_lossy(&read("environ")).into_owned();
            if line.contains("--automatic") && environment.contains(state.to_str().unwrap()) {
                found.push((pid, String::from_utf8_lossy(&read("stat")).into_owned()));
            }
        }
        if !found.is_empty() || Instant::now() > end {
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_database_that_needs_a_newer_metalshim_is_told_with_the_command() {
    let Some(made) = build_text(
        "r = Repository(databases)\nr.database(2)\nr.revoke(1)\nr.publish('first')\n\
         r.database(3, min_cli='99.0.0')\nr.publish('second')\n",
    ) else {
        return;
    };
    let first = Server::start(&made.path().join("first"), Manner::Plain);
    let user = user(made.path(), &first);
    assert_eq!(user.types(&TIMER).code, 0);
    let second = Server::start(&made.path().join("second"), Manner::Plain);
    let user = user.with("METALSHIM_REPOSITORY", second.url());
    let ended = user.types(&TIMER);
    assert_eq!(ended.code, 0);
    assert!(
        ended.out.contains("needs a newer metalshim"),
        "{}",
        ended.out
    );
    assert_eq!(last(&user).unwrap()["outcome"], "needs-newer-metalshim");
    assert_eq!(user.in_use(), (true, 2));
    let doctor = user.types(&["doctor", "--check", "updates"]);
    assert!(doctor.out.contains("metalshim update"), "{}", doctor.out);
}
