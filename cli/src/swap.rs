//! Puts another version of the program in this one's place: the command and its library together.
//!
//! **Contract.** One rename decides, that of the command. Its library lies in a folder of its own
//! version before, so at any moment the command that is there finds the library that it came with;
//! a process killed between any two steps leaves the old pair or the new one. Nothing is written
//! into a file that is in use: each gets a new inode, which macOS wants for code that it has run.
//! The version before is kept whole.
//!
//! Below the prefix that the command's real path names:
//!
//! | file | what |
//! |---|---|
//! | `bin/metalshim` | the command |
//! | `libexec/libmetalshim.so` (`.dylib`) | the library of the version that was installed by hand |
//! | `libexec/metalshim/VERSION/` | library and command of a version |
//! | `libexec/metalshim/versions.json` | the version before, and one that was undone |
//! | `libexec/metalshim/lock` | held by whoever changes these |

mod unpack;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use semver::Version;
use serde::{Deserialize, Serialize};

use crate::error::{Error, plain};
use crate::install::{self, SHIM};
use crate::update::files::{Failed, Files, Step};
use crate::update::problem::Problem;
use crate::update::release::ours;
use crate::update::store::Store;
use crate::variables;

/// The command's name.
const COMMAND: &str = "metalshim";
/// Where the record of versions is.
const VERSIONS: &str = "versions.json";
/// How long a new command may take to answer.
const SMOKE: Duration = Duration::from_secs(30);

/// The versions that there are beside the one in use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Versions {
    /// The one before.
    previous: Option<Version>,
    /// One that was undone: it is not taken again by itself.
    undone: Option<Version>,
}

/// An installation that may be changed.
pub(crate) struct Installation {
    command: PathBuf,
    store: PathBuf,
    files: Files,
    /// The version that is installed, which need not be the one that runs.
    smoke: bool,
}

impl Installation {
    /// The one that the running command belongs to.
    ///
    /// # Errors
    /// Its own path cannot be found out.
    pub(crate) fn here() -> Result<Self, Error> {
        Self::of(install::command()?, Files::real())
    }

    fn of(command: PathBuf, files: Files) -> Result<Self, Error> {
        let prefix = command.parent().and_then(Path::parent).ok_or_else(|| {
            Error::machine(format!("{} is in no folder", command.display()))
                .hint("install metalshim again, as its archive lays it out")
        })?;
        Ok(Self {
            store: install::versions(prefix),
            command,
            files,
            smoke: true,
        })
    }

    /// The version that was undone here.
    ///
    /// # Errors
    /// What is kept about versions cannot be read.
    pub(crate) fn undone(&self) -> Result<Option<Version>, Error> {
        Ok(self.versions()?.undone)
    }

    /// Keeps others from changing it, and waits for those that do, at most until `deadline`.
    ///
    /// # Errors
    /// The folder cannot be written, or somebody else is at it for too long.
    pub(crate) fn lock(
        &self,
        deadline: Instant,
        waiting: impl FnOnce(&str),
    ) -> Result<File, Error> {
        let store = Store::new(self.store.clone(), Files::real());
        store
            .lock(deadline, waiting)
            .map_err(|problem| match problem {
                Problem::Disk(path, e) => self.failed((path, e)),
                other => other.error("this metalshim"),
            })
    }

    /// The version that is there now: another updater may have been faster.
    ///
    /// # Errors
    /// It does not answer.
    pub(crate) fn installed(&self) -> Result<Version, Error> {
        version_of(&self.command, &self.store)
    }

    /// Installs the release in `archive`. Hold the lock.
    ///
    /// # Errors
    /// The archive is not what it has to be, the new command does not work, or the disk is full:
    /// the version in use stays.
    pub(crate) fn install(&self, archive: &[u8], new: &Version) -> Result<(), Error> {
        let old = self.installed()?;
        // Before anything is written: what has no library is no installation of ours.
        self.library(&old)?;
        self.tidy(&[&old]);
        let staged = self.store.join(format!(".new-{}", std::process::id()));
        let made = self
            .stage(archive, new, &staged)
            .and_then(|[command, library]| {
                let folder = self.store.join(new.to_string());
                self.put(&folder.join(SHIM), &library, 0o644)?;
                self.put(&folder.join(COMMAND), &command, 0o755)?;
                self.keep(&old)?;
                self.record(&Versions {
                    previous: Some(old.clone()),
                    undone: None,
                })?;
                self.commit(&command)
            });
        // Nothing depends on it.
        let _ = self.files.remove(&staged);
        made?;
        self.tidy(&[new, &old]);
        Ok(())
    }

    /// Swaps back to the version before; both versions, the one that was used first.
    ///
    /// # Errors
    /// There is none, or it does not work any more.
    pub(crate) fn undo(&self) -> Result<(Version, Version), Error> {
        let now = self.installed()?;
        let versions = self.versions()?;
        let before = versions.previous.filter(|version| *version != now);
        let before = before.or_else(|| self.kept().into_iter().find(|version| *version != now));
        let Some(before) = before else {
            return Err(Error::user("there is no version before this one")
                .hint("only a version that `metalshim update` replaced is kept"));
        };
        let folder = self.store.join(before.to_string());
        let path = folder.join(COMMAND);
        let command = std::fs::read(&path).map_err(|e| {
            Error::file("read the version before", &path, &e).hint("install metalshim again")
        })?;
        if self.smoke && version_of(&path, &self.store)? != before || !folder.join(SHIM).is_file() {
            return Err(Error::machine(format!(
                "the version before, {before}, is not whole: {}",
                folder.display()
            ))
            .hint("install metalshim again"));
        }
        self.keep(&now)?;
        self.record(&Versions {
            previous: Some(now.clone()),
            undone: (now > before).then(|| now.clone()),
        })?;
        self.commit(&command)?;
        Ok((now, before))
    }

    /// Unpacks and tries the new pair: command, library.
    fn stage(&self, archive: &[u8], new: &Version, staged: &Path) -> Result<[Vec<u8>; 2], Error> {
        self.files.remove(staged).map_err(|f| self.failed(f))?;
        self.files.make_folder(staged).map_err(|f| self.failed(f))?;
        let pair = unpack::unpack(archive, new, staged).map_err(|e| match e {
            unpack::Problem::Disk(path, e) => self.failed((path, e)),
            unpack::Problem::Archive(why) => Error::machine(format!(
                "the archive of metalshim {new} cannot be used: {why}"
            ))
            .hint("report it to those who publish it; this metalshim stays"),
        })?;
        if self.smoke {
            smoke(&pair.command, new, staged)?;
        }
        let read = |path: &Path| std::fs::read(path).map_err(|e| self.failed((path.to_owned(), e)));
        Ok([read(&pair.command)?, read(&pair.library)?])
    }

    /// The library of the version in use.
    fn library(&self, version: &Version) -> Result<Vec<u8>, Error> {
        let own = self.store.join(version.to_string()).join(SHIM);
        if let Ok(bytes) = std::fs::read(&own) {
            return Ok(bytes);
        }
        let installed = self.store.with_file_name(SHIM);
        std::fs::read(&installed).map_err(|e| {
            Error::file("read the library in use", &installed, &e)
                .hint("install metalshim again, as its archive lays it out")
        })
    }

    /// Keeps the version in use whole, beside the new one.
    fn keep(&self, version: &Version) -> Result<(), Error> {
        let folder = self.store.join(version.to_string());
        self.put(&folder.join(SHIM), &self.library(version)?, 0o644)?;
        let command = std::fs::read(&self.command)
            .map_err(|e| Error::file("read the command in use", &self.command, &e))?;
        self.put(&folder.join(COMMAND), &command, 0o755)
    }

    fn put(&self, path: &Path, bytes: &[u8], mode: u32) -> Result<(), Error> {
        if std::fs::read(path).is_ok_and(|there| there == bytes) {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(&self.store);
        let done = self.files.make_folder(folder);
        done.and_then(|()| self.files.write_mode(path, bytes, mode))
            .map_err(|failed| self.failed(failed))
    }

    /// The one step that decides.
    fn commit(&self, command: &[u8]) -> Result<(), Error> {
        let new = self.command.with_file_name(".metalshim.new");
        let step = |step| {
            let asked = self.files.step(step, &self.command);
            asked.map_err(|e| self.failed((self.command.clone(), e)))
        };
        self.files
            .write_mode(&new, command, 0o755)
            .map_err(|failed| self.failed(failed))?;
        step(Step::Rename)?;
        self_update::Move::from_source(&new)
            .to_dest(&self.command)
            .map_err(|e| {
                Error::machine(format!(
                    "{} could not be replaced: {e}",
                    self.command.display()
                ))
            })?;
        let folder = self.command.parent().unwrap_or(&self.store);
        self.files
            .sync_folder(folder)
            .map_err(|failed| self.failed(failed))
    }

    fn versions(&self) -> Result<Versions, Error> {
        let path = self.store.join(VERSIONS);
        let unusable = |why: String| {
            Error::machine(format!("{} cannot be used: {why}", path.display())).hint(format!(
                "remove {}: then it is not known which version was undone",
                path.display()
            ))
        };
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| unusable(e.to_string())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Versions::default()),
            Err(e) => Err(unusable(plain(&e))),
        }
    }

    fn record(&self, versions: &Versions) -> Result<(), Error> {
        let mut text = serde_json::to_vec_pretty(versions)
            .map_err(|e| Error::project(format!("{VERSIONS} could not be written: {e}")))?;
        text.push(b'\n');
        self.put(&self.store.join(VERSIONS), &text, 0o644)
    }

    /// The versions that are kept, the newest first.
    fn kept(&self) -> Vec<Version> {
        let entries = std::fs::read_dir(&self.store)
            .into_iter()
            .flatten()
            .flatten();
        let whole = entries.filter(|e| e.path().join(COMMAND).is_file());
        let mut kept: Vec<Version> = whole
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        kept.sort_by(|a, b| b.cmp(a));
        kept
    }

    /// Removes what neither of these versions needs. What cannot be removed is in nobody's way.
    fn tidy(&self, needed: &[&Version]) {
        let previous = self.versions().ok().and_then(|versions| versions.previous);
        let needed: Vec<String> = needed
            .iter()
            .map(ToString::to_string)
            .chain(previous.map(|version| version.to_string()))
            .collect();
        let entries = std::fs::read_dir(&self.store)
            .into_iter()
            .flatten()
            .flatten();
        for entry in entries {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let left = name.starts_with(".new-") || name.ends_with(".tmp");
            let other = name.parse::<Version>().is_ok() && !needed.iter().any(|n| *n == *name);
            if left || other {
                let _ = self.files.remove(&entry.path());
            }
        }
    }

    /// What a disk said.
    fn failed(&self, (path, e): Failed) -> Error {
        let prefix = self.store.ancestors().nth(2).unwrap_or(&self.store);
        let (path, prefix) = (path.display(), prefix.display());
        let error = match e.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Error::machine(format!("the disk is full: {path} could not be written"))
                    .hint(format!("make room for 100 MB below {prefix}"))
            }
            _ => Error::machine(format!(
                "this installation cannot be changed: {path}: {}",
                plain(&e)
            ))
            .hint(format!(
                "let whoever owns {prefix} run `metalshim update --self-only`"
            )),
        };
        error.hint("nothing is lost: the version in use stays")
    }
}

/// Whether the new command answers, as the version that it has to be, and finds its library.
fn smoke(command: &Path, new: &Version, staged: &Path) -> Result<(), Error> {
    let refuse = |why: String| {
        Error::machine(format!(
            "metalshim {new} does not work on this machine: {why}"
        ))
        .hint("report it with what `metalshim doctor --json` prints; this metalshim stays")
    };
    let said = version_of(command, staged).map_err(|e| refuse(e.says))?;
    if said != *new {
        return Err(refuse(format!("it calls itself {said}")));
    }
    let looked = answer(command, &["doctor", "--check", "shim", "--json"], staged);
    match looked {
        Ok((true, _)) => Ok(()),
        Ok((false, says)) => Err(refuse(format!(
            "it does not find its library: {}",
            says.trim()
        ))),
        Err(e) => Err(refuse(plain(&e))),
    }
}

/// What a command calls itself.
fn version_of(command: &Path, folder: &Path) -> Result<Version, Error> {
    let wrong = |why: String| {
        Error::machine(format!("{} does not answer: {why}", command.display()))
            .hint("install metalshim again")
    };
    let (ok, says) = answer(command, &["--version"], folder).map_err(|e| wrong(plain(&e)))?;
    let version = says
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("metalshim "));
    match version.and_then(|version| version.trim().parse().ok()) {
        Some(version) if ok => Ok(version),
        _ => Err(wrong(format!("`--version` says \"{}\"", says.trim()))),
    }
}

/// Whether it ended well, and what it said. It gets nothing of this process's environment, and a
/// state folder of its own below `folder`.
fn answer(command: &Path, arguments: &[&str], folder: &Path) -> io::Result<(bool, String)> {
    let state = folder.join(format!(".new-{}-state", std::process::id()));
    let mut child = Command::new(command)
        .args(arguments)
        .env_clear()
        .env(variables::HOME, folder)
        .env(variables::STATE_DIR, &state)
        .env(variables::CI, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let end = Instant::now() + SMOKE;
    let ended = loop {
        if let Some(status) = child.try_wait()? {
            break Ok(status);
        }
        if Instant::now() >= end {
            break Err(io::Error::other("it did not end within 30 seconds"));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    // A pipe holds 64 KB and nobody's answer here is longer; one that is has not ended.
    if ended.is_err() {
        let _ = child.kill();
    }
    let output = child.wait_with_output()?;
    let _ = std::fs::remove_dir_all(&state);
    Ok((
        ended?.success(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
    ))
}

/// Whether a version is newer than the one that runs.
pub(crate) fn is_newer(version: &Version) -> bool {
    *version > ours()
}

#[cfg(test)]
mod tests;
