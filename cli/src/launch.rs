//! Starts the program: with the shim in it, or untouched.
//!
//! **Contract.** The program replaces this process, so its exit code, signals and terminal
//! are its own. Nothing of the environment changes but the three variables below; other
//! libraries in the list and their order stay. SIGPIPE is the default in the program, whatever
//! it was: Rust's runtime overwrites it before `main`, and `exec` sets the default.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::error::{Error, plain};
use crate::install;
use crate::variables;

/// Waits for the end of `child` and leaves it there: until it is waited for by its own method
/// its id is nobody else's, and so its ticket is not swept.
///
/// # Errors
/// It is no child of ours any more.
pub fn ended(child: &Child) -> io::Result<()> {
    if let Some(id) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        rustix::io::retry_on_intr(|| waitid(WaitId::Pid(id), ended))?;
    }
    Ok(())
}

/// What is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its path.
    pub path: PathBuf,
    /// What it sees as its own name.
    pub name: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Whether it starts without our environment, before the two below.
    pub clear: bool,
    /// What is taken out of its environment.
    pub unset: Vec<OsString>,
    /// What is set in its environment beyond our own.
    pub variables: Vec<(OsString, OsString)>,
}

/// What the environment of a program with the shim has beyond our own.
pub fn with_shim(
    shim: &Path,
    ticket: &Path,
    inserted: Option<&OsStr>,
    require: bool,
) -> Vec<(OsString, OsString)> {
    let mut set = vec![
        (variables::INSERT_LIBRARIES.into(), first(shim, inserted)),
        (variables::TICKET.into(), ticket.as_os_str().to_owned()),
    ];
    if require {
        set.push((variables::REQUIRE.into(), "1".into()));
    }
    set
}

/// The list of libraries with `shim` first. An entry of an older start goes: two shims in one
/// process would stack.
fn first(shim: &Path, inserted: Option<&OsStr>) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut list = shim.as_os_str().as_bytes().to_vec();
    let separates = |b: &u8| *b == b':' || (!cfg!(target_os = "macos") && *b == b' ');
    for entry in inserted
        .map(OsStr::as_bytes)
        .unwrap_or_default()
        .split(separates)
    {
        let is_shim =
            Path::new(OsStr::from_bytes(entry)).file_name() == Some(install::SHIM.as_ref());
        if !entry.is_empty() && !is_shim {
            list.push(b':');
            list.extend_from_slice(entry);
        }
    }
    OsString::from_vec(list)
}

impl Start {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.arg0(&self.name).args(&self.arguments);
        if self.clear {
            command.env_clear();
        }
        for name in &self.unset {
            command.env_remove(name);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Becomes the program. Returns only if that failed.
    pub fn exec(&self) -> Error {
        let error = self.command().exec();
        self.failed(&error)
    }

    fn failed(&self, error: &io::Error) -> Error {
        let says = format!(
            "{} could not be started: {}",
            self.path.display(),
            plain(error)
        );
        if error.kind() == io::ErrorKind::NotFound {
            // The file was there a moment ago: its interpreter is not.
            return Error::program_missing(says)
                .hint("look whether the interpreter that its first line names is installed");
        }
        Error::program_unusable(says)
            .hint("start it without metalshim: if that fails too, the program is the reason")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_libraries_and_their_order_stay() {
        let shim = Path::new("/new").join(install::SHIM);
        let old = format!("/a.so:/old/{}:/b.so:", install::SHIM);
        assert_eq!(
            first(&shim, Some(old.as_ref())),
            format!("/new/{}:/a.so:/b.so", install::SHIM).as_str()
        );
        assert_eq!(first(&shim, None), shim.as_os_str());
    }
}
