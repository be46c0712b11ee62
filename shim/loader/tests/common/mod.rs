//! Builds what the tests need, by the scripts that also `make` uses.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test"
)]
#![allow(dead_code, reason = "each test program uses its part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Both processors, with the loader's form of each.
pub(crate) const PROCESSORS: [&str; 2] = ["x86_64", "aarch64"];
/// Both linkers of `shim/macos`: classic opcodes, and chained fixups.
pub(crate) const LINKERS: [&str; 2] = ["zig", "lld"];

/// Runs a script of the checkout and gives the last line that it printed.
pub(crate) fn script(name: &str, arguments: &[&str]) -> String {
    let output = Command::new(Path::new(WORKSPACE).join(name))
        .args(arguments)
        .stderr(Stdio::inherit())
        // Cargo's own, which would reach the Cargo that the script calls.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTUP_TOOLCHAIN")
        .output()
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    assert!(
        output.status.success(),
        "{name} {arguments:?} failed: {}",
        output.status
    );
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().last().unwrap_or_default().to_owned()
}

/// The shim's macOS library, built by `shim/macos/build`.
pub(crate) fn dylib(arch: &str, linker: &str) -> PathBuf {
    script("shim/macos/build", &[arch, linker]).into()
}

/// How a Linux program of this processor is started here; `None` (and a line that says
/// so) where it cannot be.
pub(crate) fn runner(arch: &str) -> Option<Command> {
    if arch == std::env::consts::ARCH {
        return Some(Command::new("env"));
    }
    if arch != "aarch64" {
        eprintln!(
            "skipped: no way to run {arch} programs on {}",
            std::env::consts::ARCH
        );
        return None;
    }
    script(".ci/need", &["qemu-aarch64"]);
    let mut command = Command::new("qemu-aarch64");
    command.args(["-L", "/usr/aarch64-linux-gnu"]);
    Some(command)
}

/// A program with variables of its own: for qemu they must not reach qemu itself.
pub(crate) fn with_variables(command: &mut Command, arch: &str, variables: &[(&str, &str)]) {
    for (name, value) in variables {
        if arch != std::env::consts::ARCH {
            command.arg("-E");
        }
        command.arg(format!("{name}={value}"));
    }
}
