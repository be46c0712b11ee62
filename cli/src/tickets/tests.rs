use super::*;
use crate::variables::Variables;

const BOOT: &str = "3F0C5D6E-8A51-4C1B-9E27-5B1D0A6C2F44";
const OTHER_BOOT: &str = "00000000-8A51-4C1B-9E27-5B1D0A6C2F44";

fn state() -> (tempfile::TempDir, StateFolder) {
    let dir = tempfile::tempdir().unwrap();
    let variables = Variables {
        state_dir: Some(dir.path().to_owned()),
        ..Variables::default()
    };
    (dir, StateFolder::locate(&variables).unwrap())
}

fn ticket(boot_session: &str) -> Ticket<'_> {
    Ticket {
        guest_build: "25F84",
        boot_session,
        device_class: "AppleParavirtDevice",
        stock_apple_family: 1005,
        stock_max_threadgroup_memory: 32768,
        apple_family_max: 1009,
        max_threadgroup_memory: 65536,
        metal_uuid: None,
        driver_uuid: None,
        record: "P0001",
        database: "1:0123456789abcdef",
        follow: "none",
    }
}

#[test]
fn a_path_that_is_not_text_hides_no_other_line() {
    let (dir, _) = state();
    let ticket = dir.path().join("1-1");
    let lines = b"pid=1 state=installed reason=- program=/k\xff\npid=2 state=refused reason=drift-family program=/b\n";
    fs::write(status_path(&ticket), lines).unwrap();
    let pids: Vec<u32> = reported(&ticket).iter().map(|line| line.pid).collect();
    assert_eq!(pids, [1, 2]);
}

#[test]
fn a_ticket_of_this_process_stays_and_says_who_reported() {
    let (_dir, state) = state();
    let (path, text) = write(&state, &ticket(BOOT)).unwrap();
    assert!(Ticket::parse(text.as_bytes()).is_ok());
    let own = std::process::id();
    let lines =
        format!("pid={own} state=refused reason=drift-class program=/bin/with space\npid=x\n");
    fs::write(status_path(&path), lines).unwrap();
    sweep(&state, BOOT);
    let running = running(&state, BOOT);
    assert_eq!(running.len(), 1);
    assert_eq!(running[0].program, "/bin/with space");
    assert_eq!(running[0].reason.as_deref(), Some("drift-class"));
    assert_eq!(running[0].record.as_deref(), Some("P0001"));
}

#[test]
fn tickets_of_processes_that_are_gone_are_removed() {
    let (_dir, state) = state();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let (own, _) = write(&state, &ticket(BOOT)).unwrap();
    let gone = state.tickets().join(format!("{}-1", child.id()));
    fs::rename(&own, &gone).unwrap();
    fs::write(status_path(&gone), "").unwrap();
    sweep(&state, BOOT);
    assert_eq!(fs::read_dir(state.tickets()).unwrap().count(), 0);
}

#[test]
fn a_ticket_stays_as_long_as_a_child_runs_under_it() {
    let (_dir, state) = state();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let (own, _) = write(&state, &ticket(BOOT)).unwrap();
    let gone = state.tickets().join(format!("{}-1", child.id()));
    fs::rename(&own, &gone).unwrap();
    let line = format!(
        "pid={} state=installed reason=- program=/x\n",
        std::process::id()
    );
    fs::write(status_path(&gone), line).unwrap();
    sweep(&state, BOOT);
    assert!(gone.exists());
}

#[test]
fn a_path_that_is_not_utf8_hides_no_report_and_no_running_child() {
    let (_dir, state) = state();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let (own, _) = write(&state, &ticket(BOOT)).unwrap();
    let gone = state.tickets().join(format!("{}-1", child.id()));
    fs::rename(&own, &gone).unwrap();
    let mut lines = b"pid=1 state=installed reason=- program=/\xff\n".to_vec();
    let own = std::process::id();
    lines.extend(format!("pid={own} state=installed reason=- program=/x\n").bytes());
    fs::write(status_path(&gone), lines).unwrap();
    assert_eq!(reported(&gone).len(), 2);
    let line = format!("pid={own} state=installed reason=- program=/");
    let line = [line.as_bytes(), b"\xff\n"].concat();
    fs::write(status_path(&gone), line).unwrap();
    sweep(&state, BOOT);
    assert!(gone.exists());
    assert_eq!(running(&state, BOOT)[0].program, "/\u{fffd}");
}

#[test]
fn of_a_process_that_reported_twice_the_last_line_counts() {
    let (_dir, state) = state();
    let (path, _) = write(&state, &ticket(BOOT)).unwrap();
    let own = std::process::id();
    let lines = format!(
        "pid={own} state=installed reason=- program=/x\n\
         pid={own} state=refused reason=drift-memory program=/x\n"
    );
    fs::write(status_path(&path), lines).unwrap();
    let running = running(&state, BOOT);
    assert_eq!(running.len(), 1);
    assert_eq!(running[0].reason.as_deref(), Some("drift-memory"));
}

#[test]
fn temporary_files_of_killed_processes_are_removed() {
    let (_dir, state) = state();
    state.ensure().unwrap();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let (gone, own) = (child.id(), std::process::id());
    let left = [
        state.join(&format!(".host.json.{gone}.tmp")),
        state.tickets().join(format!(".{gone}-1.{gone}.tmp")),
        state.tickets().join(format!(".{own}-1.{own}.tmp")),
    ];
    let being_written = state.tickets().join(format!(".{own}-2.{own}.tmp"));
    let foreign = state.join(&format!(".notes.{gone}.tmp"));
    for path in left.iter().chain([&being_written, &foreign]) {
        fs::write(path, "").unwrap();
    }
    let earlier = std::time::SystemTime::now() - Duration::from_secs(3700);
    let old = fs::File::options().write(true).open(&left[2]).unwrap();
    old.set_modified(earlier).unwrap();
    sweep(&state, BOOT);
    assert!(left.iter().all(|path| !path.exists()));
    assert!(being_written.exists() && foreign.exists());
}

#[test]
fn tickets_of_another_boot_are_removed() {
    let (_dir, state) = state();
    let (path, _) = write(&state, &ticket(OTHER_BOOT)).unwrap();
    sweep(&state, BOOT);
    assert!(!path.exists());
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_id_that_was_used_again_does_not_keep_a_ticket() {
    let (_dir, state) = state();
    let (path, _) = write(&state, &ticket(BOOT)).unwrap();
    let earlier = path.with_file_name(format!("{}-1", std::process::id()));
    fs::rename(&path, &earlier).unwrap();
    sweep(&state, BOOT);
    assert!(!earlier.exists());
}
