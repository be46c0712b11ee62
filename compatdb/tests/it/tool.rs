//! The maintainers' tool, as a process.

use std::path::Path;
use std::process::{Command, Output};

use crate::samples::{bytes, sample};

fn compatdb(args: &[&str], dir: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_compatdb"))
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap()
}

fn text(out: &Output) -> String {
    format!(
        "exit {}\n--- stdout\n{}--- stderr\n{}",
        out.status.code().unwrap(),
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    )
}

/// A folder of records that is right but for what the test puts in.
fn records_in(dir: &Path) {
    for folder in ["clients", "denies", "faults", "leads", "pairs"] {
        std::fs::create_dir_all(dir.join("records").join(folder)).unwrap();
    }
    for (file, content) in [
        ("retired.toml", ""),
        ("builds.toml", ""),
        ("stock-reports.toml", ""),
        (
            "release.toml",
            "seq = 1\npublished_at = \"2026-12-01T00:00:00Z\"\nmin_cli = \"0.1.0\"\n",
        ),
    ] {
        std::fs::write(dir.join("records").join(file), content).unwrap();
    }
}

#[test]
fn show_and_diff_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut new = sample();
    std::fs::write(dir.path().join("old.sqlite"), bytes(&new)).unwrap();
    new.release.record.seq = 8;
    new.pairs.remove(0);
    std::fs::write(dir.path().join("new.sqlite"), bytes(&new)).unwrap();
    let run = |args: &[&str]| text(&compatdb(args, dir.path()));
    insta::assert_snapshot!("show", run(&["show", "P0001", "--database", "old.sqlite"]));
    insta::assert_snapshot!(
        "show-json",
        run(&["show", "25F84", "--json", "--database", "old.sqlite"])
    );
    insta::assert_snapshot!(
        "show-nothing",
        run(&["show", "P9999", "--database", "old.sqlite"])
    );
    insta::assert_snapshot!("diff", run(&["diff", "old.sqlite", "new.sqlite"]));
    insta::assert_snapshot!(
        "diff-json",
        run(&["diff", "old.sqlite", "new.sqlite", "--json"])
    );
    insta::assert_snapshot!("diff-nothing", run(&["diff", "old.sqlite", "old.sqlite"]));
    insta::assert_snapshot!("diff-missing", run(&["diff", "old.sqlite", "gone.sqlite"]));
}

#[test]
fn lint_reports_findings_and_build_refuses_them() {
    let dir = tempfile::tempdir().unwrap();
    records_in(dir.path());
    let pair = dir.path().join("records/pairs/P0001.toml");
    std::fs::write(&pair, "id = 5\n").unwrap();
    let run = |args: &[&str]| text(&compatdb(args, dir.path()));
    insta::assert_snapshot!("lint", run(&["lint", "records"]));
    insta::assert_snapshot!("lint-json", run(&["lint", "records", "--json"]));
    let built = compatdb(
        &["build", "--records", "records", "--out", "x.sqlite"],
        dir.path(),
    );
    assert_eq!(built.status.code(), Some(1));
    assert!(!dir.path().join("x.sqlite").exists());
    insta::assert_snapshot!("lint-missing", run(&["lint", "nowhere"]));
}

#[test]
fn build_writes_the_same_bytes_twice_and_leaves_nothing_beside_them() {
    let dir = tempfile::tempdir().unwrap();
    records_in(dir.path());
    let out = |name: &str| {
        let args = [
            "build",
            "--records",
            "records",
            "--out",
            name,
            "--seq",
            "9",
            "--json",
        ];
        let out = compatdb(&args, dir.path());
        assert!(out.status.success(), "{}", text(&out));
        std::fs::read(dir.path().join(name)).unwrap()
    };
    let first = out("a.sqlite");
    assert_eq!(first, out("b.sqlite"));
    let db = compatdb::Database::open(first).unwrap();
    assert_eq!(db.seq(), 9);
    let mut names: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["a.sqlite", "b.sqlite", "records"]);
    let bad = compatdb(
        &["build", "--records", "records", "--out", "no/x.sqlite"],
        dir.path(),
    );
    assert_eq!(bad.status.code(), Some(2));
    assert!(text(&bad).contains("no/x.sqlite"), "{}", text(&bad));
}
