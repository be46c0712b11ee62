//! The state folder: where it is, what is in it, and how it is written.
//!
//! **Contract.** Everything that persists goes through [`atomic::write`]: a process killed
//! at any moment, a full disk or a second process leaves the last good file. Tickets are
//! the exception: they need not survive a crash, and are renamed into place unsynced. What
//! another user owns or can write is refused: see `safe`.
//!
//! | file | what |
//! |---|---|
//! | `enabled.json` | what `enable` recorded |
//! | `host.json` | the host's attestation, copied from the share |
//! | `device.json` | the Metal device's stock answers, for one boot and build |
//! | `sip.json` | the state of System Integrity Protection, for one boot |
//! | `unverified.json` | what `--allow-unverified` covers, and until when |
//! | `drift.json` | that the shim found Metal other than recorded, under which record |
//! | `canary.json` | what the canary kernels said |
//! | `check.json` | the last automatic look for a newer database |
//! | `preference.json` | on a host: the preference's value before metalshim set it |
//! | `report-id.json` | a random number that tells two reports of this machine |
//! | `log` | what was allowed without a record, a line each |
//! | `tickets/<pid>-<start>` | a ticket, and beside it `.status`, what the shim decided |
//! | `lock` | held by whatever changes the files above |

pub mod atomic;
mod damage;
mod json;
mod safe;
mod trial;

pub use damage::Damage;

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use crate::error::{Error, plain};
use crate::variables::{self, Variables};

/// How long a command waits for another one that changes the state: one that was stopped, or hangs,
/// would be waited for without an end.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the start of a program waits for that.
pub const PATIENCE_OF_A_START: Duration = Duration::from_millis(500);
/// How often it is looked at.
const BETWEEN: Duration = Duration::from_millis(5);
/// How often a folder that a `disable --purge` removes at that moment is made again.
const ATTEMPTS: u32 = 20;

/// The JSON files that are kept in the state folder; `disable --purge` removes them.
pub const FILES: [&str; 8] = [
    crate::wish::FILE,
    crate::facts::share::FILE,
    crate::facts::DEVICE_FILE,
    "sip.json",
    crate::unverified::FILE,
    crate::drift::FILE,
    "canary.json",
    "check.json",
];

/// The state folder of this user. It need not exist before something is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateFolder {
    path: PathBuf,
    /// Whether a file that cannot be used counts as missing when it is read.
    tolerant: bool,
}

impl StateFolder {
    /// Where the variables put it. Without a home and without `METALSHIM_STATE_DIR` there is
    /// none, and the error names the variable.
    pub fn locate(variables: &Variables) -> Result<Self, Error> {
        if let Some(path) = &variables.state_dir {
            if !path.is_absolute() {
                return Err(Error::user(format!(
                    "{} is {}, which is not an absolute path",
                    variables::STATE_DIR,
                    path.display()
                ))
                .hint(format!(
                    "set {} to a path that starts with /",
                    variables::STATE_DIR
                )));
            }
            return Ok(Self::at(path.clone()));
        }
        let base = if cfg!(target_os = "macos") {
            variables
                .home
                .as_ref()
                .map(|home| home.join("Library/Application Support"))
        } else {
            let home = variables.home.as_ref();
            variables
                .xdg_state_home
                .clone()
                .or_else(|| home.map(|home| home.join(".local/state")))
        };
        match base {
            Some(base) => Ok(Self::at(base.join("metalshim"))),
            None => Err(Error::machine(format!(
                "there is no state folder: neither {} nor {} is set",
                variables::HOME,
                variables::STATE_DIR
            ))
            .hint(format!(
                "set {} to a folder that this user can write",
                variables::STATE_DIR
            ))),
        }
    }

    /// The one at `path`.
    pub(crate) const fn at(path: PathBuf) -> Self {
        Self {
            path,
            tolerant: false,
        }
    }

    /// The same folder, in which a file that cannot be used counts as missing when it is read.
    /// Only for commands that tell [`StateFolder::damages`], and start nothing.
    #[must_use]
    pub fn tolerant(self) -> Self {
        Self {
            tolerant: true,
            ..self
        }
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file or folder `name` in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Where tickets are.
    pub fn tickets(&self) -> PathBuf {
        self.join("tickets")
    }

    /// Makes the folder and `tickets/` in it, for this user only.
    pub fn ensure(&self) -> Result<(), Error> {
        let tickets = self.tickets();
        make_private(&tickets).map_err(|e| self.unusable(&tickets, &e))?;
        self.check()
    }

    /// Waits until no other metalshim changes the state, and keeps others waiting until the
    /// returned file is dropped. It waits for 30 seconds at the most.
    pub fn lock(&self) -> Result<File, Error> {
        self.lock_within(PATIENCE)
    }

    /// The same for `patience` at the most.
    pub fn lock_within(&self, patience: Duration) -> Result<File, Error> {
        self.lock_after(patience, || self.ensure())
    }

    /// The same for `disable --purge`, which cleans up what it can reach, whoever can write it.
    pub fn lock_to_purge(&self) -> Result<File, Error> {
        let tickets = self.tickets();
        self.lock_after(PATIENCE, || {
            make_private(&tickets).map_err(|e| self.unusable(&tickets, &e))
        })
    }

    /// Opens the file `name` to hold a lock on it, making it where there is none.
    pub(crate) fn lock_file(&self, name: &str) -> io::Result<File> {
        File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            // Never somebody else's file, nor a pipe that has no reader.
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
            .open(self.join(name))
    }

    fn lock_after(
        &self,
        patience: Duration,
        ensure: impl Fn() -> Result<(), Error>,
    ) -> Result<File, Error> {
        let path = self.join("lock");
        let until = Instant::now() + patience;
        let lock = || -> io::Result<File> {
            let file = self.lock_file("lock")?;
            loop {
                match file.try_lock() {
                    Ok(()) => break,
                    Err(TryLockError::WouldBlock) if Instant::now() < until => {
                        std::thread::sleep(BETWEEN);
                    }
                    Err(e) => return Err(e.into()),
                }
            }
            // `disable --purge` removes the file while it holds it: what we waited for may be
            // no lock any more.
            let (ours, there) = (file.metadata()?, fs::symlink_metadata(&path)?);
            if (ours.dev(), ours.ino()) != (there.dev(), there.ino()) {
                return Err(io::ErrorKind::NotFound.into());
            }
            Ok(file)
        };
        let mut attempts = 0..ATTEMPTS;
        loop {
            ensure()?;
            match lock() {
                Err(e) if e.kind() == io::ErrorKind::NotFound && attempts.next().is_some() => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    return Err(Error::machine(format!(
                        "another metalshim changes the state: it holds {}",
                        path.display()
                    ))
                    .hint("wait until it is done, or end it, and type this again"));
                }
                Err(e) if fs::symlink_metadata(&path).is_ok_and(|it| !it.is_file()) => {
                    return Err(Error::machine(format!(
                        "the state folder cannot be used: {} is no file: {}",
                        path.display(),
                        plain(&e)
                    ))
                    .hint("metalshim did not make that: move it elsewhere"));
                }
                result => return result.map_err(|e| self.unusable(&path, &e)),
            }
        }
    }

    /// The one error for a state folder that cannot be read or written.
    pub fn unusable(&self, path: &Path, error: &io::Error) -> Error {
        Error::machine(format!(
            "the state folder cannot be used: {}: {}",
            path.display(),
            plain(error)
        ))
        .hint(format!(
            "make {} a folder that this user can read and write, or name another one in {}",
            self.path.display(),
            variables::STATE_DIR
        ))
    }
}

/// Makes a folder, and those above it, for this user only.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    match builder.create(path) {
        // A `disable --purge` removed the parent in between.
        Err(e) if e.kind() == io::ErrorKind::NotFound => builder.create(path),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        Variables::read(|name| {
            let value = pairs.iter().find(|(n, _)| *n == name);
            value.map(|(_, v)| (*v).into())
        })
    }

    #[test]
    fn the_variable_beats_the_home() {
        let both = variables(&[("METALSHIM_STATE_DIR", "/a"), ("HOME", "/h")]);
        assert_eq!(StateFolder::locate(&both).unwrap().path(), Path::new("/a"));
    }

    #[test]
    fn a_lock_that_was_removed_while_one_waited_for_it_is_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateFolder::at(dir.path().join("state"));
        let purging = state.lock().unwrap();
        let waiting = std::thread::spawn({
            let state = state.clone();
            move || state.lock().unwrap()
        });
        std::thread::sleep(std::time::Duration::from_millis(200));
        fs::remove_dir_all(state.path()).unwrap();
        drop(purging);
        let held = waiting.join().unwrap().metadata().unwrap();
        let there = fs::metadata(state.join("lock")).unwrap();
        assert_eq!(held.ino(), there.ino());
    }

    #[test]
    fn a_lock_that_another_never_lets_go_was_waited_for_without_an_end() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateFolder::at(dir.path().join("state"));
        let _stopped = state.lock().unwrap();
        let error = state.lock_within(Duration::from_millis(20)).unwrap_err();
        assert!(error.says.contains("state/lock"), "{error}");
        assert!(!error.hints.is_empty());
    }

    #[test]
    fn what_is_in_the_place_of_a_file_was_said_to_be_somebody_elses() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateFolder::at(dir.path().join("state"));
        for name in ["lock", "n.json"] {
            fs::create_dir_all(state.join(name)).unwrap();
        }
        for error in [
            state.lock().unwrap_err(),
            state.remove("n.json").unwrap_err(),
        ] {
            assert!(error.hints[0].contains("move it elsewhere"), "{error}");
        }
    }

    #[test]
    fn no_home_names_the_variable() {
        let error = StateFolder::locate(&variables(&[])).unwrap_err();
        assert!(error.to_string().contains("METALSHIM_STATE_DIR"), "{error}");
        assert_eq!(error.exit_code(false), 2);
    }

    #[test]
    fn a_relative_folder_is_refused() {
        let error = StateFolder::locate(&variables(&[("METALSHIM_STATE_DIR", "a")])).unwrap_err();
        assert!(error.says.contains("not an absolute path"), "{error}");
    }
}
