//! A repository in a temporary folder, with keys that this test made.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::samples::{bytes, sample};

/// When it all happens. The sample database is of 2026-09-01.
pub(super) const START: &str = "2026-10-01T00:00:00Z";
/// Who signs a publication.
pub(super) const PUBLISHERS: [&str; 3] = ["targets-1", "snapshot", "timestamp"];
/// Who signs a revocation.
pub(super) const REVOKERS: [&str; 3] = ["revoker-1", "snapshot", "timestamp"];
/// Who signs what is in root.
pub(super) const ROOTS: [&str; 5] = ["root-1", "root-2", "targets-1", "snapshot", "timestamp"];

pub(super) struct Rig {
    dir: tempfile::TempDir,
}

/// What the tool said.
pub(super) struct Said {
    pub(super) code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Said {
    pub(super) fn of(out: &Output) -> Self {
        Self {
            code: out.status.code().unwrap(),
            stdout: String::from_utf8_lossy(&out.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&out.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub(super) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{}{}", self.stdout, self.stderr);
        self
    }

    /// Refused, with these words.
    #[track_caller]
    pub(super) fn no(self, code: i32, words: &str) {
        let all = format!("{}{}", self.stdout, self.stderr);
        assert_eq!(self.code, code, "{all}");
        assert!(all.contains(words), "\"{words}\" is not in: {all}");
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }
}

impl Rig {
    /// Nothing but keys. They are not encrypted: that has a test of its own, and takes its time.
    pub(super) fn with_keys() -> Self {
        let rig = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        for name in [
            "root-1",
            "root-2",
            "root-3",
            "targets-1",
            "targets-2",
            "revoker-1",
            "revoker-2",
            "snapshot",
            "timestamp",
        ] {
            rig.key(name);
        }
        rig
    }

    /// A repository without a database.
    pub(super) fn new() -> Self {
        let rig = Self::with_keys();
        rig.run(&rig.init(&[])).ok();
        rig
    }

    /// A repository with the sample database, `seq` 7.
    pub(super) fn published() -> Self {
        let rig = Self::new();
        rig.publish(7, START).ok();
        rig
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(super) fn key(&self, name: &str) {
        self.run(&words(&format!("keys new {name} --online"))).ok();
    }

    pub(super) fn run(&self, args: &[String]) -> Said {
        let out = Command::new(env!("CARGO_BIN_EXE_compatdb"))
            .args(args)
            .current_dir(self.dir.path())
            .env_remove("COMPATDB_PASSPHRASE")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Said::of(&out)
    }

    /// `compatdb repo WORDS --yes --key ..`, at the start unless the words say otherwise.
    pub(super) fn repo(&self, say: &str, keys: &[&str]) -> Said {
        let mut args = words(&format!("repo {say} --yes"));
        if !say.contains("--now") {
            args.extend(words(&format!("--now {START}")));
        }
        for key in keys {
            args.extend(words(&format!("--key {key}")));
        }
        self.run(&args)
    }

    pub(super) fn check(&self, dir: &str, now: &str) -> Said {
        self.run(&words(&format!("repo check {dir} --now {now} --json")))
    }

    /// The arguments that make a repository; what is given replaces or adds.
    pub(super) fn init(&self, replaced: &[(&str, &str)]) -> Vec<String> {
        let mut args = words(&format!("repo init r --yes --now {START}"));
        for (role, keys) in [
            ("root", "root-1.pub root-2.pub root-3.pub"),
            ("targets", "targets-1.pub targets-2.pub"),
            ("revoker", "revoker-1.pub revoker-2.pub"),
            ("snapshot", "snapshot.pub"),
            ("timestamp", "timestamp.pub"),
        ] {
            let other = replaced.iter().find(|(r, _)| *r == role).map(|(_, k)| *k);
            args.extend(words(&format!("--{role} {}", other.unwrap_or(keys))));
        }
        for key in [
            "root-1",
            "root-2",
            "targets-1",
            "revoker-1",
            "snapshot",
            "timestamp",
        ] {
            args.extend(words(&format!("--key {key}")));
        }
        args
    }

    /// Writes the sample database with this `seq`.
    pub(super) fn database(&self, seq: u64) -> String {
        let mut records = sample();
        records.release.record.seq = seq;
        let name = format!("{seq}.sqlite");
        std::fs::write(self.path(&name), bytes(&records)).unwrap();
        name
    }

    pub(super) fn publish(&self, seq: u64, now: &str) -> Said {
        let database = self.database(seq);
        let say = format!("publish r --database {database} --now {now} --json");
        self.repo(&say, &PUBLISHERS)
    }

    pub(super) fn copy(&self, from: &str, to: &str) {
        let out = Command::new("cp")
            .args(["-R", from, to])
            .current_dir(self.dir.path())
            .status();
        assert!(out.unwrap().success());
    }

    /// All files of a folder and their bytes.
    pub(super) fn files(&self, dir: &str) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        for sub in ["metadata", "targets"] {
            for entry in std::fs::read_dir(self.path(dir).join(sub)).unwrap() {
                let path = entry.unwrap().path();
                files.push((path.clone(), std::fs::read(path).unwrap()));
            }
        }
        files.sort();
        files
    }
}

pub(super) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A python with the reference implementation; none, saying so, where it cannot be had.
pub(super) fn python() -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ci/tuf-python");
    let out = Command::new(script).output().unwrap();
    if out.status.success() {
        return Some(String::from_utf8(out.stdout).unwrap().trim().into());
    }
    let why = String::from_utf8_lossy(&out.stderr);
    #[allow(clippy::print_stderr)]
    {
        eprintln!(
            "skipped: no reference implementation of TUF: {}",
            why.trim()
        );
    }
    None
}
