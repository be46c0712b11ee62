//! State files are JSON, each with a schema number of its own as its first key.

use std::fs;
use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::StateFolder;
use super::atomic::{self, Durability};
use super::safe::missing;
use crate::error::{Error, plain};
use crate::regular;

/// No state file is larger.
const MAX_LEN: u64 = 1 << 20;

impl StateFolder {
    /// What is in the file `name`; none when there is no such file. A file that is there and
    /// cannot be understood is an error: it is never taken for nothing, but where
    /// [`StateFolder::tolerant`] says so.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Error> {
        match self.read_strictly(name) {
            Err(_) if self.tolerant => Ok(None),
            read => read,
        }
    }

    fn read_strictly<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Error> {
        self.check()?;
        let path = self.join(name);
        let unusable = |e: &io::Error| self.unusable(&path, e);
        let file = match regular::open(&path) {
            Ok(file) => file,
            // A link that leads nowhere is not nothing.
            Err(e) if missing(&e) && !path.is_symlink() => return Ok(None),
            Err(e) => return Err(unusable(&e)),
        };
        self.owned(&path, &file.metadata().map_err(|e| unusable(&e))?)?;
        let text = regular::text(file, MAX_LEN).map_err(|e| unusable(&e))?;
        match serde_json::from_str(&text) {
            Ok(value) => Ok(Some(value)),
            Err(e) => Err(Error::machine(format!(
                "{} is not what metalshim writes there: {e}",
                path.display()
            ))
            .hint(format!(
                "remove {}, which the command that writes it makes again; or everything that is kept: metalshim disable --purge",
                path.display()
            ))),
        }
    }

    /// Replaces the file `name`, synced. Hold [`StateFolder::lock`] from the read on that the
    /// value was made from.
    pub fn write_json<T: Serialize>(&self, name: &str, value: &T) -> Result<(), Error> {
        self.check()?;
        let path = self.join(name);
        let mut text = serde_json::to_string_pretty(value)
            .map_err(|e| Error::project(format!("could not write {}: {e}", path.display())))?;
        text.push('\n');
        atomic::write(&path, text.as_bytes(), Durability::Synced)
            .map_err(|e| self.unusable(&path, &e))
    }

    /// Removes the file `name`, if it is there.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        let path = self.join(name);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::machine(format!(
                "could not remove {}: {}",
                path.display(),
                plain(&e)
            ))
            .hint(match path.is_dir() {
                true => "metalshim did not make that folder: move it elsewhere",
                false => "look who owns it and its folder",
            })),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::Variables;

    fn folder() -> (tempfile::TempDir, StateFolder) {
        let dir = tempfile::tempdir().unwrap();
        let variables = Variables {
            state_dir: Some(dir.path().join("state")),
            ..Variables::default()
        };
        let state = StateFolder::locate(&variables).unwrap();
        (dir, state)
    }

    #[test]
    fn what_was_written_is_read() {
        let (_dir, state) = folder();
        assert_eq!(state.read_json::<u32>("n.json"), Ok(None));
        let _lock = state.lock().unwrap();
        state.write_json("n.json", &7).unwrap();
        assert_eq!(state.read_json("n.json"), Ok(Some(7)));
        state.remove("n.json").unwrap();
        state.remove("n.json").unwrap();
        assert_eq!(state.read_json::<u32>("n.json"), Ok(None));
    }

    #[test]
    fn a_cut_file_is_an_error_and_stays() {
        let (_dir, state) = folder();
        state.ensure().unwrap();
        fs::write(state.join("n.json"), "{").unwrap();
        let error = state.read_json::<u32>("n.json").unwrap_err();
        assert!(error.says.contains("n.json"), "{error}");
        assert!(state.join("n.json").exists());
    }
}
