//! The folder of a repository, with what is about to be written laid over it.
//!
//! **Contract.** What is laid over is what a check sees and what `write` writes, in the same
//! order, each by temporary file, sync and rename. Two publishers never work at once.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::Failure;

/// A folder, and files that are not written yet.
pub(super) struct Files {
    dir: PathBuf,
    staged: Vec<(String, Vec<u8>)>,
    /// How many of them count: a client may come between any two.
    visible: usize,
    /// Held as long as this lives.
    _lock: Option<File>,
}

impl Files {
    /// For reading only.
    pub(super) fn read_only(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            staged: Vec::new(),
            visible: 0,
            _lock: None,
        }
    }

    /// For changing it: locks the folder itself, so that nothing has to lie in it.
    pub(super) fn locked(dir: &Path) -> Result<Self, Failure> {
        let lock = File::open(dir)
            .map_err(|e| Failure(format!("cannot open the repository {}: {e}", dir.display())))?;
        if let Err(e) = lock.try_lock() {
            return Err(Failure(format!(
                "{}: {e}: another compatdb is changing this repository; try again when it is done",
                dir.display()
            )));
        }
        Ok(Self {
            _lock: Some(lock),
            ..Self::read_only(dir)
        })
    }

    /// The bytes of a file, if it is there and not longer than `max` bytes.
    pub(super) fn get(&self, name: &str, max: u64) -> Result<Option<Vec<u8>>, Failure> {
        let too_long = || {
            Failure(format!(
                "{name} has more than the {max} bytes that a client reads"
            ))
        };
        let staged = self.staged.iter().take(self.visible).rev();
        if let Some((_, bytes)) = staged.into_iter().find(|(n, _)| n == name) {
            return match bytes.len() as u64 > max {
                true => Err(too_long()),
                false => Ok(Some(bytes.clone())),
            };
        }
        let path = self.dir.join(name);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Failure(format!("cannot read {}: {e}", path.display()))),
        };
        let mut bytes = Vec::new();
        file.take(max + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| Failure(format!("cannot read {}: {e}", path.display())))?;
        match bytes.len() as u64 > max {
            true => Err(too_long()),
            false => Ok(Some(bytes)),
        }
    }

    /// As [`Files::get`], for a file that must be there.
    pub(super) fn need(&self, name: &str, max: u64) -> Result<Vec<u8>, Failure> {
        self.get(name, max)?.ok_or_else(|| {
            Failure(format!(
                "{} is missing; is this a repository, and is it complete?",
                self.dir.join(name).display()
            ))
        })
    }

    /// What is to be written, in this order.
    pub(super) fn stage(&mut self, files: Vec<(String, Vec<u8>)>) {
        self.staged = files;
        self.visible = self.staged.len();
    }

    /// Shows what a client sees after so many writes.
    pub(super) fn after(&mut self, writes: usize) {
        self.visible = writes;
    }

    /// Writes what is staged; what it wrote.
    pub(super) fn write(&self) -> Result<Vec<String>, Failure> {
        for (name, bytes) in &self.staged {
            let path = self.dir.join(name);
            if let Some(parent) = path.parent() {
                // Its name lives in the repository's folder.
                std::fs::create_dir_all(parent)
                    .and_then(|()| File::open(&self.dir)?.sync_all())
                    .map_err(|e| {
                        Failure(format!("cannot make the folder {}: {e}", parent.display()))
                    })?;
            }
            compatdb::write_file(&path, bytes)?;
        }
        Ok(self.staged.iter().map(|(name, _)| name.clone()).collect())
    }
}
