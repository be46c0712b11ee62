//! Who keeps this installation current: a package manager, or metalshim itself.

use std::path::Path;

use serde::Serialize;

use crate::error::Error;
use crate::install;

/// Who does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Manager {
    /// Homebrew.
    Homebrew,
    /// Nix.
    Nix,
    /// MacPorts.
    MacPorts,
    /// `cargo install`.
    Cargo,
    /// The system's own package manager.
    System,
    /// Somebody who builds it: a folder of `cargo build`.
    Checkout,
    /// Nobody else: an unpacked release archive.
    Own,
}

impl Manager {
    /// Who keeps the running command.
    ///
    /// # Errors
    /// Its own path cannot be found out.
    pub fn here() -> Result<Self, Error> {
        Ok(Self::of(&install::command()?))
    }

    /// Who keeps the command at `path`, with every link resolved.
    pub fn of(path: &Path) -> Self {
        let has = |part: &str| path.components().any(|c| c.as_os_str() == part);
        if install::homebrew(path).is_some() {
            Self::Homebrew
        } else if path.starts_with("/nix/store") {
            Self::Nix
        } else if path.starts_with("/opt/local") {
            Self::MacPorts
        } else if has(".cargo") {
            Self::Cargo
        } else if path.starts_with("/usr/bin") || path.starts_with("/usr/libexec") {
            Self::System
        } else if built(path) {
            Self::Checkout
        } else {
            Self::Own
        }
    }

    /// The command that updates it; none where metalshim does so itself.
    pub const fn command(&self) -> Option<&'static str> {
        match self {
            Self::Homebrew => Some("brew upgrade metalshim"),
            Self::Nix => Some("nix profile upgrade metalshim"),
            Self::MacPorts => Some("sudo port upgrade metalshim"),
            Self::Cargo => Some(concat!(
                "cargo install --locked --git ",
                env!("CARGO_PKG_REPOSITORY"),
                " metalshim"
            )),
            Self::System => Some("the system's package manager"),
            Self::Checkout => Some("git pull && make release shim"),
            Self::Own => None,
        }
    }

    /// As users read it.
    pub const fn says(&self) -> &'static str {
        match self {
            Self::Homebrew => "Homebrew",
            Self::Nix => "Nix",
            Self::MacPorts => "MacPorts",
            Self::Cargo => "cargo",
            Self::System => "the system's package manager",
            Self::Checkout => "a checkout",
            Self::Own => "metalshim itself",
        }
    }

    /// What to type where metalshim is too old: `metalshim update` does it by itself.
    pub fn update_command(&self) -> &'static str {
        match (self.command(), cfg!(feature = "self-update")) {
            (Some(command), _) => command,
            (None, true) => "metalshim update",
            (None, false) => "install the newest release in place of this one",
        }
    }
}

/// Whether cargo built it there: it leaves a lock file in the folder of a profile.
fn built(path: &Path) -> bool {
    let mut folders = path.ancestors().skip(1).take(2);
    folders.any(|folder| folder.join(".cargo-lock").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_installation_is_known_by_its_path() {
        for (path, manager) in [
            (
                "/opt/homebrew/Cellar/metalshim/0.1.0/bin/metalshim",
                Manager::Homebrew,
            ),
            (
                "/home/linuxbrew/.linuxbrew/Cellar/metalshim/1/bin/metalshim",
                Manager::Homebrew,
            ),
            ("/nix/store/abc-metalshim-0.1.0/bin/metalshim", Manager::Nix),
            ("/opt/local/bin/metalshim", Manager::MacPorts),
            ("/Users/a/.cargo/bin/metalshim", Manager::Cargo),
            ("/usr/bin/metalshim", Manager::System),
            ("/usr/local/bin/metalshim", Manager::Own),
            (
                "/Users/a/metalshim-0.1.0-aarch64-apple-darwin/bin/metalshim",
                Manager::Own,
            ),
        ] {
            assert_eq!(Manager::of(Path::new(path)), manager, "{path}");
        }
        let test = std::env::current_exe().unwrap();
        assert_eq!(Manager::of(&test), Manager::Checkout);
    }
}
