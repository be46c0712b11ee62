//! Every change that an update makes on the disk, one step at a time.
//!
//! **Contract.** A file is written to a temporary name beside it, synced, renamed, and the
//! folder is synced: at any moment there is the old file or the new one. Tests let any one
//! step fail, or let everything end there as a killed process does.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// One step, told before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A folder is made.
    MakeFolder,
    /// A temporary file is filled.
    Fill,
    /// And synced.
    Sync,
    /// And renamed.
    Rename,
    /// And its folder is synced.
    SyncFolder,
    /// A file or folder is removed.
    Remove,
}

type Before = Box<dyn Fn(Step, &Path) -> io::Result<()> + Send + Sync>;

/// The disk.
pub(crate) struct Files {
    before: Option<Before>,
}

/// An error, and on which path.
pub(crate) type Failed = (PathBuf, io::Error);

impl Files {
    /// The disk as it is.
    pub(crate) const fn real() -> Self {
        Self { before: None }
    }

    /// With something that is asked before each step, and may fail it.
    #[cfg(test)]
    pub(crate) fn with(
        before: impl Fn(Step, &Path) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self {
            before: Some(Box::new(before)),
        }
    }

    /// Told before a step that is done elsewhere.
    pub(crate) fn step(&self, step: Step, path: &Path) -> io::Result<()> {
        self.before
            .as_ref()
            .map_or(Ok(()), |before| before(step, path))
    }

    /// Makes a folder and those above it.
    pub(crate) fn make_folder(&self, path: &Path) -> Result<(), Failed> {
        if path.is_dir() {
            return Ok(());
        }
        self.step(Step::MakeFolder, path)
            .and_then(|()| fs::create_dir_all(path))
            .map_err(|e| (path.to_owned(), e))
    }

    /// Replaces the file at `path`.
    pub(crate) fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Failed> {
        self.write_mode(path, bytes, 0o666)
    }

    /// The same with these permissions, less what the user's mask takes.
    pub(crate) fn write_mode(&self, path: &Path, bytes: &[u8], mode: u32) -> Result<(), Failed> {
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(path.file_name().unwrap_or_default());
        temporary.push(format!(".{}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        let done = self
            .fill(&temporary, bytes, mode)
            .and_then(|()| self.step(Step::Rename, path))
            .and_then(|()| fs::rename(&temporary, path));
        if let Err(e) = done {
            // A killed process does not tidy up either; this is for the others.
            let _ = self.remove(&temporary);
            return Err((path.to_owned(), e));
        }
        self.sync_folder(path.parent().unwrap_or(Path::new("/")))
    }

    fn fill(&self, temporary: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
        if let Err(e) = self.step(Step::Fill, temporary) {
            // As a full disk, or a killed process, leaves it.
            let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
            let _ = fs::write(temporary, half);
            return Err(e);
        }
        // What a killed process with our number left is in the way of `create_new`, which is
        // there so that nobody's link is followed.
        match fs::remove_file(temporary) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(temporary)?;
        file.write_all(bytes)?;
        self.step(Step::Sync, temporary)?;
        file.sync_all()
    }

    /// Syncs a folder: what was renamed in it stays so.
    pub(crate) fn sync_folder(&self, folder: &Path) -> Result<(), Failed> {
        self.step(Step::SyncFolder, folder)
            .and_then(|()| File::open(folder)?.sync_all())
            .map_err(|e| (folder.to_owned(), e))
    }

    /// Removes a file, or a folder with everything in it, if it is there.
    pub(crate) fn remove(&self, path: &Path) -> Result<(), Failed> {
        let remove = || {
            self.step(Step::Remove, path)?;
            if path.is_dir() {
                fs::remove_dir_all(path)
            } else {
                fs::remove_file(path)
            }
        };
        match remove() {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err((path.to_owned(), e)),
            _ => Ok(()),
        }
    }
}
