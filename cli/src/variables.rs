//! Every environment variable that metalshim reads or sets, in one list.
//!
//! **Contract.** No other file reads the environment by a name of its own: the names are
//! here with what they mean, and [`Variables`] is read once, at the start. Command-line
//! flags beat variables, variables beat `config.toml`, and a fleet's policy beats all.

use std::ffi::OsString;
use std::path::PathBuf;

/// One variable, for the manual and `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it does, and its valid values.
    pub says: &'static str,
}

/// Names the ticket for the shim. Set by `run`, never by hand.
pub const TICKET: &str = "METALSHIM_TICKET";
/// Set by `run --require`: a process that stays stock ends with exit code 78.
pub const REQUIRE: &str = "METALSHIM_REQUIRE";
/// A facts file instead of this machine (only with the feature `simulate`).
pub const FACTS: &str = "METALSHIM_FACTS";
/// The host's macOS build number.
pub const HOST_BUILD: &str = "METALSHIM_HOST_BUILD";
/// The state folder.
pub const STATE_DIR: &str = "METALSHIM_STATE_DIR";
/// Where updates come from.
pub const REPOSITORY: &str = "METALSHIM_REPOSITORY";
/// Anything but nothing: never look for updates by itself.
pub const NO_UPDATE_CHECK: &str = "METALSHIM_NO_UPDATE_CHECK";
/// `1`: `run` starts programs stock.
pub const DISABLE: &str = "METALSHIM_DISABLE";
/// Anything but nothing: no colour.
pub const NO_COLOR: &str = "NO_COLOR";
/// Anything but nothing: never look for updates by itself.
pub const NO_UPDATE_NOTIFIER: &str = "NO_UPDATE_NOTIFIER";
/// Anything but nothing: a build machine, so no check for updates.
pub const CI: &str = "CI";
/// The home folder.
pub const HOME: &str = "HOME";
/// Where state is kept, elsewhere than on a Mac.
pub const XDG_STATE_HOME: &str = "XDG_STATE_HOME";
/// Where configuration is kept, elsewhere than on a Mac.
pub const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// Where programs are looked for.
pub const PATH: &str = "PATH";
/// Set by a wrapper of `enable PROGRAM`: which program it started, so that none goes in circles.
pub const WRAPPED: &str = "METALSHIM_WRAPPED";
/// Who called sudo.
pub const SUDO_USER: &str = "SUDO_USER";
/// The login shell.
pub const SHELL: &str = "SHELL";
/// The kind of terminal: `dumb` has no colour.
pub const TERM: &str = "TERM";
/// How wide tables are where stdout is no terminal.
pub const COLUMNS: &str = "COLUMNS";
/// The loader's list of libraries to insert.
pub const INSERT_LIBRARIES: &str = if cfg!(target_os = "macos") {
    "DYLD_INSERT_LIBRARIES"
} else {
    "LD_PRELOAD"
};

/// All of them, as users read them.
pub const ALL: &[Variable] = &[
    Variable {
        name: HOST_BUILD,
        says: "the host's macOS build, like 25G76 (`sw_vers -buildVersion` on the host prints it); --host-build beats it",
    },
    Variable {
        name: DISABLE,
        says: "1: `run` starts the program stock; with --require it refuses",
    },
    Variable {
        name: STATE_DIR,
        says: "the state folder, an absolute path; for a service without a home",
    },
    Variable {
        name: FACTS,
        says: "a facts file (TOML) that stands for this machine; only in builds with the feature `simulate`",
    },
    Variable {
        name: REPOSITORY,
        says: "where updates of the database come from: an address, a folder or a tar file; --from beats it",
    },
    Variable {
        name: NO_UPDATE_CHECK,
        says: "set to anything: no check for updates by itself; `metalshim update` works as ever",
    },
    Variable {
        name: NO_UPDATE_NOTIFIER,
        says: "as METALSHIM_NO_UPDATE_CHECK",
    },
    Variable {
        name: CI,
        says: "as METALSHIM_NO_UPDATE_CHECK",
    },
    Variable {
        name: NO_COLOR,
        says: "set to anything: no colour",
    },
    Variable {
        name: TICKET,
        says: "the path of the ticket; set by `run` for the shim, never by hand",
    },
    Variable {
        name: REQUIRE,
        says: "1: a process that should have the overrides and stays stock ends with 78; set by `run --require`",
    },
    Variable {
        name: INSERT_LIBRARIES,
        says: "`run` puts the shim first in it and keeps the rest",
    },
    Variable {
        name: HOME,
        says: "the home folder, for the state and configuration folders",
    },
    Variable {
        name: XDG_STATE_HOME,
        says: "the folder of the state folder, elsewhere than on a Mac",
    },
    Variable {
        name: XDG_CONFIG_HOME,
        says: "the folder of the configuration folder, elsewhere than on a Mac",
    },
    Variable {
        name: PATH,
        says: "where `run` looks for programs",
    },
    Variable {
        name: WRAPPED,
        says: "which program a wrapper of `enable PROGRAM` started; set by it, never by hand",
    },
    Variable {
        name: SUDO_USER,
        says: "whom `agent create --daemon` makes the daemon run as, where none is named; set by sudo",
    },
    Variable {
        name: SHELL,
        says: "the shell that `shellenv` prints for, where none is named",
    },
    Variable {
        name: TERM,
        says: "`dumb`: no colour",
    },
    Variable {
        name: COLUMNS,
        says: "how wide tables are where stdout is no terminal; 100 without it",
    },
];

/// What the environment says, read once.
///
/// An empty value counts as not set, as shells have no easy way to unset one for a single
/// command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    /// [`FACTS`]
    pub facts: Option<PathBuf>,
    /// [`HOST_BUILD`], not yet parsed: commands that do not need it do not trip over it.
    pub host_build: Option<String>,
    /// [`STATE_DIR`]
    pub state_dir: Option<PathBuf>,
    /// [`REPOSITORY`]
    pub repository: Option<String>,
    /// Which of [`NO_UPDATE_CHECK`], [`NO_UPDATE_NOTIFIER`] and [`CI`] is set, the first of them.
    pub no_update_check: Option<&'static str>,
    /// [`DISABLE`] is `1`
    pub disable: bool,
    /// [`NO_COLOR`], or a terminal without colour
    pub no_color: bool,
    /// [`HOME`]
    pub home: Option<PathBuf>,
    /// [`XDG_STATE_HOME`], if absolute: the specification wants others ignored.
    pub xdg_state_home: Option<PathBuf>,
    /// [`XDG_CONFIG_HOME`], if absolute
    pub xdg_config_home: Option<PathBuf>,
    /// [`PATH`]
    pub path: Option<OsString>,
    /// [`WRAPPED`]
    pub wrapped: Option<OsString>,
    /// [`SUDO_USER`]
    pub sudo_user: Option<String>,
    /// [`SHELL`]
    pub shell: Option<PathBuf>,
    /// [`COLUMNS`], if a number
    pub columns: Option<usize>,
    /// [`INSERT_LIBRARIES`]
    pub insert_libraries: Option<OsString>,
}

impl Variables {
    /// Those of this process.
    pub fn of_this_process() -> Self {
        Self::read(|name| std::env::var_os(name))
    }

    /// Those that `get` gives.
    pub fn read(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let value = |name: &str| get(name).filter(|v| !v.is_empty());
        let text = |name: &str| value(name).map(|v| v.to_string_lossy().into_owned());
        let set = |name: &str| value(name).is_some();
        let absolute = |name: &str| {
            value(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        Self {
            facts: value(FACTS).map(PathBuf::from),
            host_build: text(HOST_BUILD),
            state_dir: value(STATE_DIR).map(PathBuf::from),
            repository: text(REPOSITORY),
            no_update_check: [NO_UPDATE_CHECK, NO_UPDATE_NOTIFIER, CI]
                .into_iter()
                .find(|name| set(name)),
            disable: value(DISABLE).is_some_and(|v| v == "1"),
            no_color: set(NO_COLOR) || value(TERM).is_some_and(|v| v == "dumb"),
            home: absolute(HOME),
            xdg_state_home: absolute(XDG_STATE_HOME),
            xdg_config_home: absolute(XDG_CONFIG_HOME),
            path: value(PATH),
            wrapped: value(WRAPPED),
            sudo_user: text(SUDO_USER),
            shell: value(SHELL).map(PathBuf::from),
            columns: text(COLUMNS).and_then(|columns| columns.parse().ok()),
            insert_libraries: value(INSERT_LIBRARIES),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_counts_as_not_set() {
        let read = Variables::read(|_| Some(OsString::new()));
        assert_eq!(read, Variables::default());
    }

    #[test]
    fn only_1_disables() {
        for (value, disables) in [("1", true), ("0", false), ("yes", false)] {
            let read = Variables::read(|name| (name == DISABLE).then(|| value.into()));
            assert_eq!(read.disable, disables, "{value}");
        }
    }

    #[test]
    fn every_name_is_listed_once() {
        let mut names: Vec<_> = ALL.iter().map(|v| v.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}
