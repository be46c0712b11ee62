//! The source of a version: the crate `llama-cpp-sys-2`, unpacked by cargo into its own registry
//! folder through a throw-away project. Nothing is compiled by it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Problem;

/// The crate that carries llama.cpp's source.
pub(crate) const CRATE: &str = "llama-cpp-sys-2";

/// The workspace's target folder.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target"),
    }
}

/// Where the package's source is, once cargo has it.
pub(crate) fn package(version: &str) -> Result<PathBuf, Problem> {
    let project = target().join("real-clients").join("fetch").join(version);
    let written = fs::create_dir_all(project.join("src")).and_then(|()| {
        // A workspace of its own: it lies inside this one.
        let manifest = format!(
            "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[dependencies]\n{CRATE} = \"={version}\"\n\n[workspace]\n"
        );
        fs::write(project.join("Cargo.toml"), manifest)?;
        fs::write(project.join("src/lib.rs"), "")
    });
    written.map_err(|why| Problem::Missing(format!("{}: {why}", project.display())))?;

    // Without the network first: most often it is there already.
    let mut why = String::new();
    for offline in [true, false] {
        match metadata(&project, offline) {
            Ok(text) => return source_in(&text, version),
            Err(says) => why = says,
        }
    }
    Err(Problem::Skipped(format!(
        "{CRATE} {version} cannot be fetched: {why}"
    )))
}

/// `cargo metadata`, which fetches what it needs.
fn metadata(project: &Path, offline: bool) -> Result<String, String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["metadata", "--format-version", "1", "--quiet"])
        .args(offline.then_some("--offline"))
        .current_dir(project);
    let output = command.output().map_err(|why| format!("cargo: {why}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(one_line(&String::from_utf8_lossy(&output.stderr)))
}

fn source_in(metadata: &str, version: &str) -> Result<PathBuf, Problem> {
    let broken = |what: &str| Problem::Broken(format!("{CRATE} {version}: {what}"));
    let metadata: serde_json::Value =
        serde_json::from_str(metadata).map_err(|why| broken(&why.to_string()))?;
    let packages = metadata["packages"].as_array();
    let manifest = packages
        .into_iter()
        .flatten()
        .find(|package| package["name"] == CRATE)
        .and_then(|package| package["manifest_path"].as_str())
        .ok_or_else(|| broken("not among the packages that cargo fetched"))?;
    let source = Path::new(manifest).with_file_name("llama.cpp").join("ggml");
    if source.join("src").is_dir() {
        Ok(source)
    } else {
        Err(broken(&format!("no ggml source in {}", source.display())))
    }
}

/// An error of another program on one line, and not all of it when it is long.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(300) {
        Some((end, _)) => format!("{} ..", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
