//! What is built, and where it is.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::Run;

/// The folder that holds the workspace's `Cargo.toml`.
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The suffix of a shared library, without its dot.
const SUFFIX: &str = if cfg!(target_os = "macos") {
    "dylib"
} else {
    "so"
};

/// Where the simulated guest and the shim are.
#[derive(Debug)]
pub struct Kit {
    guest: PathBuf,
    shim: PathBuf,
}

/// Builds the simulated guest and the shim: `make guest shim` at the workspace's root, at the
/// first call in this process.
///
/// # Panics
///
/// When the build fails, with what it printed.
pub fn built() -> &'static Kit {
    static KIT: OnceLock<Kit> = OnceLock::new();
    KIT.get_or_init(|| build().unwrap_or_else(|why| panic!("{why}")))
}

fn build() -> Result<Kit, String> {
    let root = fs::canonicalize(WORKSPACE).map_err(|e| format!("{WORKSPACE}: {e}"))?;
    let target = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root.join(folder),
        None => root.join("target"),
    };
    fs::create_dir_all(&target).map_err(|e| format!("{}: {e}", target.display()))?;
    // Test programs run beside each other, and make does not lock.
    let lock = target.join(".guest.lock");
    let file = File::create(&lock).map_err(|e| format!("{}: {e}", lock.display()))?;
    file.lock()
        .map_err(|e| format!("{}: {e}", lock.display()))?;
    let output = Command::new("make")
        .args(["-s", "guest", "shim"])
        .current_dir(&root)
        .env("CARGO_TARGET_DIR", &target)
        // A make that runs the tests must not hand its flags and job slots down.
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .output()
        .map_err(|e| format!("make cannot be started: {e}"))?;
    if !output.status.success() {
        return Err(format!(
            "`make guest shim` failed in {}:\n{}{}",
            root.display(),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    Ok(Kit {
        guest: target.join("guest"),
        shim: target.join("shim").join(format!("libmetalshim.{SUFFIX}")),
    })
}

impl Kit {
    /// The folder of the simulated guest's libraries and programs.
    pub fn guest_dir(&self) -> &Path {
        &self.guest
    }

    /// The shim built for this system.
    pub fn shim(&self) -> &Path {
        &self.shim
    }

    /// A client or helper program by name: `toy`, `llama`, `corners`, `spawner`, ..
    pub fn program(&self, name: &str) -> PathBuf {
        self.guest.join(name)
    }

    /// A client as a library, for the program `interpreter` to load: `toy`, `corners`, ..
    pub fn plugin(&self, name: &str) -> PathBuf {
        self.guest.join(format!("{name}.{SUFFIX}"))
    }

    /// A library of the simulated guest by name: `Metal`, `AppleParavirtGPU`, `guestsystem`,
    /// `OtherShim`, `objcfault`.
    pub fn library(&self, name: &str) -> PathBuf {
        self.guest.join(format!("lib{name}.{SUFFIX}"))
    }

    /// A run of one of the programs, with nothing of metalshim in its environment.
    pub fn run(&self, name: &str) -> Run {
        Run::new(&self.program(name))
    }

    /// A run of a client that is loaded late: `interpreter CLIENT.so`.
    pub fn run_late(&self, name: &str) -> Run {
        self.run("interpreter").arg(self.plugin(name))
    }
}
