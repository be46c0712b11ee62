//! The program replaces itself: real commands, in a prefix of their own, from real repositories.
//!
//! The newer one is this build with another version number in its bytes.

use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::machine::{Ended, User, build_text};

const OLD: &str = env!("CARGO_PKG_VERSION");
const NEW: &str = "9.9.9";
const TARGET: &str = if cfg!(target_os = "macos") {
    "aarch64-apple-darwin"
} else if cfg!(target_arch = "x86_64") {
    "x86_64-unknown-linux-gnu"
} else {
    "aarch64-unknown-linux-gnu"
};
const SHIM: &str = if cfg!(target_os = "macos") {
    "libmetalshim.dylib"
} else {
    "libmetalshim.so"
};

/// A prefix with this build, a user, and a repository with a release.
struct Rig {
    folder: TempDir,
    made: TempDir,
    user: User,
}

/// This build, small, and the same as another version.
fn commands(folder: &Path) -> [PathBuf; 2] {
    let [old, new] = ["old", "new"].map(|name| folder.join(name));
    let stripped = Command::new("strip")
        .args([
            "-o".as_ref(),
            old.as_os_str(),
            env!("CARGO_BIN_EXE_metalshim").as_ref(),
        ])
        .status();
    if !stripped.is_ok_and(|status| status.success()) {
        std::fs::copy(env!("CARGO_BIN_EXE_metalshim"), &old).unwrap();
    }
    assert_eq!(OLD.len(), NEW.len(), "the number is replaced in place");
    let mut bytes = std::fs::read(&old).unwrap();
    let (from, to) = (OLD.as_bytes(), NEW.as_bytes());
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(from.len()).position(|w| w == from) {
        at += found;
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    assert!(at > 0);
    std::fs::copy(&old, &new).unwrap();
    std::fs::write(&new, bytes).unwrap();
    [old, new]
}

/// The library as it is built, and behind its end which version it came with: nothing reads that.
fn library(version: &str) -> Vec<u8> {
    let mut bytes = std::fs::read(metalshim_guest::built().shim()).unwrap();
    bytes.extend(format!("library {version}").into_bytes());
    bytes
}

/// An archive as `make dist` lays it out.
fn archive(folder: &Path, version: &str, command: &Path) -> PathBuf {
    let name = format!("metalshim-{version}-{TARGET}");
    let top = folder.join(&name);
    std::fs::create_dir_all(top.join("bin")).unwrap();
    std::fs::create_dir_all(top.join("libexec")).unwrap();
    std::fs::copy(command, top.join("bin/metalshim")).unwrap();
    std::fs::write(top.join("libexec").join(SHIM), library(version)).unwrap();
    std::fs::write(top.join("README.md"), "read me").unwrap();
    let path = folder.join(format!("{name}.tar.gz"));
    let packed = Command::new("tar")
        .args(["--use-compress-program=gzip -1", "-cf"])
        .args([
            path.as_os_str(),
            "-C".as_ref(),
            folder.as_os_str(),
            name.as_ref(),
        ])
        .status()
        .unwrap();
    assert!(packed.success());
    path
}

impl Rig {
    /// `more` are more arguments of the archive in the recipe.
    fn new(more: &str) -> Option<Self> {
        Self::at(tempfile::tempdir().unwrap(), more)
    }

    fn at(folder: TempDir, more: &str) -> Option<Self> {
        let [old, new] = commands(folder.path());
        let archive = archive(folder.path(), NEW, &new);
        let made = build_text(&format!(
            "r = Repository(databases)\nr.database(2)\nr.revoke(1)\n\
             r.archive({archive:?}, '{NEW}'{more})\nr.publish('first')\n"
        ))?;
        let user = User::new(&made.path().join("first/metadata/1.root.json")).with(
            "METALSHIM_REPOSITORY",
            made.path().join("first").display().to_string(),
        );
        let rig = Self { folder, made, user };
        rig.lay_out(&rig.prefix(), &old);
        Some(rig)
    }

    fn lay_out(&self, prefix: &Path, command: &Path) {
        std::fs::create_dir_all(prefix.join("bin")).unwrap();
        std::fs::create_dir_all(prefix.join("libexec")).unwrap();
        std::fs::copy(command, prefix.join("bin/metalshim")).unwrap();
        std::fs::write(prefix.join("libexec").join(SHIM), library(OLD)).unwrap();
    }

    fn prefix(&self) -> PathBuf {
        self.folder.path().join("prefix")
    }

    fn command(&self, program: &Path) -> Command {
        let plain = self.user.command(None).unwrap();
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(
                plain
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .current_dir(self.user.home.path())
            .stdin(Stdio::null());
        command
    }

    fn types(&self, arguments: &[&str]) -> Ended {
        let command = self.prefix().join("bin/metalshim");
        self.command(&command)
            .args(arguments)
            .output()
            .unwrap()
            .into()
    }

    /// The version that is there, which finds the library that it came with.
    #[track_caller]
    fn pair(&self) -> String {
        let said = self.types(&["--version"]);
        assert_eq!(said.code, 0, "{}", said.err);
        let version = said.out.lines().next().unwrap().replace("metalshim ", "");
        let doctor = self.types(&["doctor", "--check", "shim", "--json"]);
        let doctor: serde_json::Value = serde_json::from_str(&doctor.out).unwrap();
        let library = doctor["findings"][0]["says"]
            .as_str()
            .unwrap()
            .trim_end_matches('.');
        let there = std::fs::read(library).unwrap();
        assert!(there == self::library(&version), "{library}");
        version
    }
}

#[test]
fn a_newer_release_is_installed_undone_and_taken_again_when_told() {
    let Some(rig) = Rig::new("") else { return };
    assert_eq!(rig.pair(), OLD);
    let checked = rig.types(&["update", "--check"]);
    assert_eq!(checked.code, 1);
    assert!(
        checked.out.contains("metalshim 9.9.9 is out"),
        "{}",
        checked.out
    );
    let ended = rig.types(&["update", "--database-only"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(rig.pair(), OLD);
    let status = rig.types(&["status"]);
    assert!(
        status
            .out
            .contains("9.9.9 is out; this is 0.1.0: metalshim update"),
        "{}",
        status.out
    );
    let doctor = rig.types(&["doctor", "--check", "version"]);
    assert!(doctor.out.contains("9.9.9 is out"), "{}", doctor.out);
    // By the timer only the database, unless the configuration says more.
    let timer = ["update", "--automatic", "--jitter", "0"];
    let ended = rig.types(&timer);
    assert!(ended.out.contains("9.9.9 is out"), "{}", ended.out);
    assert_eq!(rig.pair(), OLD);
    // A relative link from a folder of its own leads to the real files.
    let link = rig.user.home.path().join("metalshim");
    let up = rig
        .user
        .home
        .path()
        .components()
        .skip(1)
        .map(|_| "..")
        .collect::<PathBuf>();
    symlink(
        up.join(rig.prefix().strip_prefix("/").unwrap())
            .join("bin/metalshim"),
        &link,
    )
    .unwrap();
    let inode = || {
        std::fs::metadata(rig.prefix().join("bin/metalshim"))
            .unwrap()
            .ino()
    };
    let before = inode();
    let ended: Ended = rig.command(&link).args(["update"]).output().unwrap().into();
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(
        ended
            .out
            .contains("metalshim 9.9.9 is installed (before: 0.1.0)"),
        "{}",
        ended.out
    );
    assert_eq!(rig.pair(), NEW);
    assert_ne!(inode(), before);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    let undone = rig.types(&["update", "--undo"]);
    assert_eq!(undone.code, 0, "{}", undone.err);
    assert!(
        undone.out.contains("metalshim 0.1.0 is back"),
        "{}",
        undone.out
    );
    assert_eq!(rig.pair(), OLD);
    let ended = rig.types(&["update"]);
    assert!(ended.out.contains("was undone here"), "{}", ended.out);
    assert_eq!(rig.pair(), OLD);
    let ended = rig.types(&["update", "--self-only"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(rig.pair(), NEW);
    // An older release than the one in use is none.
    let ended = rig.types(&["update", "--self-only"]);
    assert!(
        ended.out.starts_with("up to date: metalshim 9.9.9"),
        "{}",
        ended.out
    );
}

#[test]
fn the_timer_installs_it_where_the_configuration_says_so() {
    let Some(rig) = Rig::new("") else { return };
    let root = rig.made.path().join("first/metadata/1.root.json");
    rig.user
        .configure(&format!("trust_root = {root:?}\nautomatic = \"all\"\n"));
    let ended = rig.types(&["update", "--automatic", "--jitter", "0"]);
    assert_eq!(
        (ended.code, ended.out.lines().count()),
        (0, 1),
        "{}",
        ended.out
    );
    assert!(ended.out.contains("9.9.9 is installed"), "{}", ended.out);
    assert_eq!(rig.pair(), NEW);
}

#[test]
fn homebrew_is_told_after_a_day_or_at_once_where_this_version_was_taken_back() {
    let yesterday = "2026-11-01T00:00:00Z";
    for (more, told) in [
        ("", false),
        (&*format!(", published_at='{yesterday}'"), true),
        (&*format!(", revokes=['{OLD}']"), true),
    ] {
        let Some(rig) = Rig::new(more) else { return };
        let keg = rig.folder.path().join("brew/Cellar/metalshim/0.1.0");
        rig.lay_out(&keg, &rig.folder.path().join("old"));
        let link = rig.folder.path().join("brew/bin/metalshim");
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink("../Cellar/metalshim/0.1.0/bin/metalshim", &link).unwrap();
        let ended: Ended = rig.command(&link).arg("update").output().unwrap().into();
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert_eq!(
            ended.out.contains("brew upgrade metalshim"),
            told,
            "{more}: {}",
            ended.out
        );
        let version = rig.command(&link).arg("--version").output().unwrap();
        assert!(String::from_utf8_lossy(&version.stdout).contains(OLD));
        let undo: Ended = rig
            .command(&link)
            .args(["update", "--undo"])
            .output()
            .unwrap()
            .into();
        assert_eq!(undo.code, 2);
        assert!(undo.err.contains("brew upgrade metalshim"), "{}", undo.err);
    }
}

#[test]
fn what_is_not_what_was_signed_or_too_large_is_not_installed() {
    let Some(rig) = Rig::new("") else { return };
    let targets = rig.made.path().join("first/targets");
    for entry in std::fs::read_dir(targets).unwrap().flatten() {
        if entry.path().extension().is_some_and(|e| e == "gz") {
            let mut bytes = std::fs::read(entry.path()).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(entry.path(), bytes).unwrap();
        }
    }
    let ended = rig.types(&["update", "--self-only"]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.err.contains("other bytes than were signed"),
        "{}",
        ended.err
    );
    assert_eq!(rig.pair(), OLD);
    let Some(rig) = Rig::new(", length=64 * 1024 * 1024 + 1") else {
        return;
    };
    let ended = rig.types(&["update", "--self-only"]);
    assert_eq!(ended.code, 2, "{}", ended.out);
    assert_eq!(rig.pair(), OLD);
    // The database does not depend on it.
    assert_eq!(rig.types(&["update", "--database-only"]).code, 0);
}

#[test]
fn two_at_once_install_it_once() {
    let Some(rig) = Rig::new("") else { return };
    let start = || {
        let mut command = rig.command(&rig.prefix().join("bin/metalshim"));
        command
            .args(["update"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let both = [start(), start()];
    let outs = both.map(|child| Ended::from(child.wait_with_output().unwrap()));
    assert_eq!(rig.pair(), NEW);
    for ended in &outs {
        assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    }
    let installed = outs
        .iter()
        .filter(|e| e.out.contains("is installed (before"))
        .count();
    assert_eq!(installed, 1, "{}\n{}", outs[0].out, outs[1].out);
}

/// Killed by the system at its renames and syncs, here at some of them: `swap::tests` stops at each.
#[test]
fn killed_at_any_rename_or_sync_the_pair_fits() {
    let traced = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .status();
    if !traced.is_ok_and(|status| status.success()) {
        eprintln!("skipped: strace cannot be used here");
        return;
    }
    let Some(rig) = Rig::new("") else { return };
    let old = rig.folder.path().join("old");
    let mut killed = 0;
    for (calls, all) in [
        ("rename,renameat,renameat2", [2, 5, 7]),
        ("fsync", [3, 6, 9]),
    ] {
        for nth in all {
            std::fs::remove_dir_all(rig.prefix()).unwrap();
            rig.lay_out(&rig.prefix(), &old);
            let mut strace = rig.command(Path::new("strace"));
            let inject = format!("inject={calls}:signal=SIGKILL:when={nth}");
            let ended = strace
                .args([
                    "-qq",
                    "--seccomp-bpf",
                    "-f",
                    "-o",
                    "/dev/null",
                    "-e",
                    &inject,
                ])
                .arg(rig.prefix().join("bin/metalshim"))
                .args(["update", "--self-only"])
                .output()
                .unwrap();
            let there = rig.pair();
            if ended.status.success() {
                assert_eq!(there, NEW);
                break;
            }
            killed += 1;
            assert!([OLD, NEW].contains(&&*there));
        }
    }
    assert!(killed >= 4, "{killed}");
    // What the killed ones left is in nobody's way.
    let again = rig.types(&["update", "--self-only"]);
    assert_eq!(again.code, 0, "{}", again.err);
    assert_eq!(rig.pair(), NEW);
}

/// A file system of its own, with less room than the new version takes; needs root on Linux.
#[test]
fn a_full_disk_is_told_and_the_old_pair_stays() {
    let folder = tempfile::tempdir().unwrap();
    let Some(rig) = Rig::at(folder, "") else {
        return;
    };
    let size = std::fs::metadata(rig.folder.path().join("old"))
        .unwrap()
        .len();
    let small = rig.folder.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let options = format!("size={}", size * 2);
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
        .arg(&small)
        .output();
    if !mounted.is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: no tmpfs can be mounted here");
        return;
    }
    rig.lay_out(&small, &rig.folder.path().join("old"));
    let run = |arguments: &[&str]| -> Ended {
        rig.command(&small.join("bin/metalshim"))
            .args(arguments)
            .output()
            .unwrap()
            .into()
    };
    let ended = run(&["update", "--self-only"]);
    let version = run(&["--version"]);
    let shim = run(&["doctor", "--check", "shim"]);
    let unmounted = Command::new("umount").arg(&small).status().unwrap();
    assert!(unmounted.success());
    assert_eq!(ended.code, 2, "{}", ended.out);
    assert!(ended.err.contains("the disk is full"), "{}", ended.err);
    assert!(
        version.out.starts_with("metalshim 0.1.0"),
        "{}",
        version.out
    );
    assert_eq!(shim.code, 0, "{}", shim.out);
}
