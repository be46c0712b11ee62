//! A version's package made into a program of the simulated guest: `Makefile` of this folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fetch::target;
use crate::{Problem, rewrite};

/// Compiles what is not up to date; the path of the program.
pub(crate) fn client(version: &str, ggml: &Path) -> Result<PathBuf, Problem> {
    let out = target().join("real-clients").join(version);
    let rewritten = out.join("rewritten");
    let missing =
        |path: &Path, why: std::io::Error| Problem::Missing(format!("{}: {why}", path.display()));
    fs::create_dir_all(&rewritten).map_err(|why| missing(&rewritten, why))?;
    let out = fs::canonicalize(&out).map_err(|why| missing(&out, why))?;
    let guest = target().join("guest");
    let guest = fs::canonicalize(&guest).map_err(|why| missing(&guest, why))?;

    let files = objective_c(ggml);
    if files.is_empty() {
        return Err(Problem::Broken(format!(
            "llama-cpp-sys-2 {version}: no Objective-C file of the Metal backend in {}: its layout changed",
            ggml.display()
        )));
    }
    for file in files {
        let copy = rewritten.join(file.file_name().unwrap_or_default());
        let text = fs::read_to_string(&file).map_err(|why| missing(&file, why))?;
        let text = rewrite::for_gnu_runtime(&text);
        // Only what changed: make goes by the time.
        if fs::read_to_string(&copy).is_ok_and(|old| old == text) {
            continue;
        }
        fs::write(&copy, text).map_err(|why| missing(&copy, why))?;
    }

    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let variable = |name: &str, path: &Path| format!("{name}={}", path.display());
    let output = Command::new("make")
        .args(["--silent", "--no-print-directory", "-C"])
        .arg(env!("CARGO_MANIFEST_DIR"))
        .arg(format!("-j{jobs}"))
        .args([
            variable("GGML", ggml),
            variable("GUEST", &guest),
            variable("OUT", &out),
        ])
        // Not the flags and the job server of a make around this.
        .env_remove("MAKEFLAGS")
        .env_remove("MFLAGS")
        .output()
        .map_err(|why| Problem::Missing(format!("make: {why}")))?;
    if output.status.success() {
        return Ok(out.join("client"));
    }
    Err(Problem::Broken(format!(
        "llama-cpp-sys-2 {version} does not compile against the stand-in for Metal: it uses something that the stand-in does not have.\n{}",
        errors(&String::from_utf8_lossy(&output.stderr))
    )))
}

/// The Metal backend's Objective-C files: a folder of its own since the end of 2024.
fn objective_c(ggml: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = [ggml.join("src/ggml-metal"), ggml.join("src")]
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flat_map(|entries| entries.flatten().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "m"))
        .collect();
    files.sort();
    files
}

/// The first lines with an error, without what leads to them.
fn errors(text: &str) -> String {
    let mut lines: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("error") || line.contains("undefined"))
        .take(12)
        .collect();
    if lines.is_empty() {
        lines = text.lines().take(12).collect();
    }
    lines.join("\n")
}
