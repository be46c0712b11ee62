//! `metalshim service`, against `launchctl` and `systemctl` programs that keep what they are told.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::machine::{Ended, User};

/// Keeps the loaded labels as files, as launchd does in memory. Where there is no `gui` file there
/// is no login session. The first `bootstrap` after a `bootout` fails, as a real one may.
const LAUNCHCTL: &str = r#"#!/bin/sh
echo "launchctl $*" >> "$HOME/calls"
case $1 in
print)
    case $2 in
    gui/*/*) test -e "$HOME/loaded-${2##*/}" ;;
    gui/*) test -e "$HOME/gui" ;;
    user/*/*) test -e "$HOME/loaded-${2##*/}" ;;
    esac ;;
enable) ;;
bootstrap)
    if test -e "$HOME/busy"; then rm "$HOME/busy"; echo "Bootstrap failed: 5: Input/output error" >&2; exit 5; fi
    label=$(basename "$3" .plist)
    if test -e "$HOME/loaded-$label"; then echo "service already loaded" >&2; exit 37; fi
    test -e "$3" && touch "$HOME/loaded-$label" ;;
bootout) rm "$HOME/loaded-${2##*/}" && touch "$HOME/busy" ;;
*) exit 64 ;;
esac
"#;

const SYSTEMCTL: &str = r#"#!/bin/sh
echo "systemctl $*" >> "$HOME/calls"
test "$1" = --user || exit 64
case $2 in
daemon-reload | restart) ;;
enable) touch "$HOME/active" ;;
disable) rm -f "$HOME/active" ;;
is-active) test -e "$HOME/active" ;;
*) exit 64 ;;
esac
"#;

struct Mac {
    user: User,
}

impl Mac {
    fn new() -> Self {
        let user = User::new(Path::new("/nowhere/root.json"));
        let bin = user.home.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        for (name, text) in [("launchctl", LAUNCHCTL), ("systemctl", SYSTEMCTL)] {
            let path = bin.join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        std::fs::write(user.home.path().join("gui"), "").unwrap();
        let path = format!("{}:/usr/bin:/bin", bin.display());
        Self {
            user: user.with("PATH", path),
        }
    }

    fn service(&self, words: &[&str]) -> Ended {
        self.user.types(&[&["service"], words].concat())
    }

    fn calls(&self) -> String {
        let path = self.user.home.path().join("calls");
        let calls = std::fs::read_to_string(&path).unwrap_or_default();
        let _ = std::fs::remove_file(path);
        calls
    }

    fn plist(&self) -> PathBuf {
        let folder = self.user.home.path().join("Library/LaunchAgents");
        folder.join("metalshim.update.plist")
    }
}

#[test]
fn a_launch_agent_comes_and_goes() {
    let mac = Mac::new();
    let ended = mac.service(&["status", "--kind", "launchd"]);
    assert_eq!(ended.code, 1);
    assert!(ended.out.contains("not installed"), "{}", ended.out);
    for _ in 0..2 {
        let ended = mac.service(&["install", "--kind", "launchd"]);
        assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    }
    let calls = mac.calls();
    let (bootstrap, bootout) = ("launchctl bootstrap gui/", "launchctl bootout gui/");
    // Twice, and once more where launchd was not done with the old one.
    assert_eq!(calls.matches(bootstrap).count(), 3, "{calls}");
    assert_eq!(calls.matches(bootout).count(), 1, "{calls}");
    assert_eq!(mac.service(&["status", "--kind", "launchd"]).code, 0);
    let ended = mac.service(&["uninstall", "--kind", "launchd"]);
    assert_eq!(ended.code, 0);
    assert!(!mac.plist().exists());
    let ended = mac.service(&["uninstall", "--kind", "launchd"]);
    assert_eq!(ended.code, 0);
    assert!(ended.out.contains("there was none"), "{}", ended.out);
    assert_eq!(mac.service(&["status", "--kind", "launchd"]).code, 1);
}

#[test]
fn pythons_plistlib_reads_what_is_written() {
    let mac = Mac::new();
    assert_eq!(mac.service(&["install", "--kind", "launchd"]).code, 0);
    let script =
        "import json, plistlib, sys\nprint(json.dumps(plistlib.load(open(sys.argv[1], 'rb'))))";
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(mac.plist())
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: there is no python3");
        return;
    };
    let job: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_metalshim"))
        .canonicalize()
        .unwrap();
    assert_eq!(job["Label"], "metalshim.update");
    let arguments = serde_json::json!([program, "update", "--automatic"]);
    assert_eq!(job["ProgramArguments"], arguments);
    assert_eq!(job["ProcessType"], "Background");
    assert_eq!(job["RunAtLoad"], false);
    let hours: Vec<_> = job["StartCalendarInterval"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["Hour"].as_u64().unwrap())
        .collect();
    assert_eq!(hours, [0, 6, 12, 18]);
    let log = mac.user.home.path().join("Library/Logs/metalshim.log");
    assert_eq!(job["StandardOutPath"], log.to_str().unwrap());
    assert!(log.parent().unwrap().is_dir());
    // launchd starts it without this environment.
    assert_eq!(
        job["EnvironmentVariables"]["METALSHIM_STATE_DIR"],
        mac.user.state().to_str().unwrap()
    );
    for unwanted in ["KeepAlive", "StartInterval"] {
        assert!(job.get(unwanted).is_none(), "{unwanted}");
    }
}

#[test]
fn over_ssh_it_goes_to_the_users_own_domain() {
    let mac = Mac::new();
    std::fs::remove_file(mac.user.home.path().join("gui")).unwrap();
    assert_eq!(mac.service(&["install", "--kind", "launchd"]).code, 0);
    let calls = mac.calls();
    assert!(calls.contains("launchctl bootstrap user/"), "{calls}");
    assert!(!calls.contains("bootstrap gui/"), "{calls}");
}

#[test]
fn a_systemd_timer_comes_and_goes() {
    let mac = Mac::new();
    assert_eq!(mac.service(&["status", "--kind", "systemd"]).code, 1);
    for _ in 0..2 {
        let ended = mac.service(&["install", "--kind", "systemd"]);
        assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    }
    let folder = mac.user.home.path().join(".config/systemd/user");
    let timer = std::fs::read_to_string(folder.join("metalshim-update.timer")).unwrap();
    assert!(
        timer.contains("OnCalendar=*-*-* 00/6:17:00\nPersistent=true\n"),
        "{timer}"
    );
    let service = std::fs::read_to_string(folder.join("metalshim-update.service")).unwrap();
    assert!(
        service.contains("\" \"update\" \"--automatic\"\n"),
        "{service}"
    );
    assert_eq!(mac.service(&["status", "--kind", "systemd"]).code, 0);
    assert_eq!(mac.service(&["uninstall", "--kind", "systemd"]).code, 0);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    assert_eq!(mac.service(&["status", "--kind", "systemd"]).code, 1);
}

#[test]
fn real_systemd_understands_the_units() {
    let verify = Command::new("systemd-analyze").arg("--version").output();
    if !verify.is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: there is no systemd-analyze");
        return;
    }
    let mac = Mac::new();
    assert_eq!(mac.service(&["install", "--kind", "systemd"]).code, 0);
    let folder = mac.user.home.path().join(".config/systemd/user");
    let output = Command::new("systemd-analyze")
        .args([
            "verify",
            "--user",
            "metalshim-update.service",
            "metalshim-update.timer",
        ])
        .current_dir(&folder)
        .output()
        .unwrap();
    let says = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!says.contains("metalshim-update"), "{says}");
}

/// As Homebrew lays it out: the command is reached through links.
#[test]
fn homebrew_is_pointed_to_its_own_services() {
    let mac = Mac::new();
    let prefix = mac.user.home.path().join("homebrew");
    let keg = prefix.join("Cellar/metalshim/0.1.0/bin");
    std::fs::create_dir_all(&keg).unwrap();
    std::fs::create_dir_all(prefix.join("bin")).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_metalshim"), keg.join("metalshim")).unwrap();
    let link = prefix.join("bin/metalshim");
    std::os::unix::fs::symlink("../Cellar/metalshim/0.1.0/bin/metalshim", &link).unwrap();
    let plain = mac.user.command(None).unwrap();
    let variables = plain
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    let output = Command::new(&link)
        .args(["service", "install", "--kind", "launchd"])
        .env_clear()
        .envs(variables)
        .output()
        .unwrap();
    let ended: Ended = output.into();
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert!(
        ended.out.contains("brew services start metalshim"),
        "{}",
        ended.out
    );
    assert!(!mac.plist().exists());
}

#[test]
fn what_systemd_refused_stayed_for_ever() {
    let mac = Mac::new();
    let systemctl = mac.user.home.path().join("bin/systemctl");
    let good = std::fs::read_to_string(&systemctl).unwrap();
    let bad = "#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n";
    let folder = mac.user.home.path().join(".config/systemd/user");
    std::fs::write(&systemctl, bad).unwrap();
    let ended = mac.service(&["install", "--kind", "systemd"]);
    assert_eq!(ended.code, 2, "{}", ended.out);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    std::fs::write(&systemctl, good).unwrap();
    assert_eq!(mac.service(&["install", "--kind", "systemd"]).code, 0);
    std::fs::write(&systemctl, bad).unwrap();
    let ended = mac.service(&["uninstall", "--kind", "systemd"]);
    assert_eq!(ended.code, 2, "{}", ended.out);
    assert!(ended.err.contains("files are removed"), "{}", ended.err);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_path_that_is_written_otherwise_in_the_file_was_taken_for_another_metalshim() {
    let mac = Mac::new();
    let bin = mac.user.home.path().join("50% <b> & $HOME");
    std::fs::create_dir(&bin).unwrap();
    let command = bin.join("metalshim");
    std::fs::copy(env!("CARGO_BIN_EXE_metalshim"), &command).unwrap();
    let plain = mac.user.command(None).unwrap();
    for kind in ["launchd", "systemd"] {
        for action in ["install", "status"] {
            let variables = plain.get_envs();
            let output = Command::new(&command)
                .args(["service", action, "--kind", kind])
                .env_clear()
                .envs(variables.filter_map(|(name, value)| Some((name, value?))))
                .output()
                .unwrap();
            let ended: Ended = output.into();
            assert_eq!(ended.code, 0, "{kind}: {}", ended.err);
            assert!(!ended.out.contains("warning"), "{kind}: {}", ended.out);
        }
    }
}
