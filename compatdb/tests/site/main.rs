//! The compatibility page: what it holds, and how it behaves in a real browser.
// A test that panics has failed; one that skips says so.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod browser;
mod hostile;
mod pages;
mod verdicts;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The site of the records as they are, or of a database, made by the tool.
fn site(from: Option<&Path>) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("site");
    let made = compatdb(&out, from);
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    (dir, out)
}

fn compatdb(out: &Path, from: Option<&Path>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_compatdb"));
    command.arg("site").arg(out);
    match from {
        Some(file) => command.arg("--database").arg(file),
        None => command.arg("--records").arg(records()),
    };
    command.output().unwrap()
}

fn records() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("records")
}

/// Every file of a folder and of its folders.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(files(&path)),
            false => all.push(path),
        }
    }
    all
}
