//! Whose word the state is: what another user owns or can write is nobody's.
//!
//! **Contract.** Folder and files belong to the user that metalshim acts as, and nobody else can
//! write them. Whatever does not is an error wherever state is read or written; `status` and
//! `doctor` tell it as a finding. Root is no exception: under `sudo` that keeps `HOME`, root
//! would trust what a user can write, and leave files there that the user cannot change.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;

use super::StateFolder;
use crate::error::Error;
use crate::variables;

/// Writable by group or others.
const BY_OTHERS: u32 = 0o022;

impl StateFolder {
    /// Whether the folder, and the one of the tickets, are this user's alone. What is not there
    /// is no harm.
    ///
    /// # Errors
    /// Another user owns one of them, or can write it.
    pub fn check(&self) -> Result<(), Error> {
        for folder in [self.path().to_owned(), self.tickets()] {
            match folder.metadata() {
                // A file in its place: whoever wants to write will say so.
                Ok(metadata) if !metadata.is_dir() => {}
                Ok(metadata) => self.owned(&folder, &metadata)?,
                Err(e) if missing(&e) => {}
                Err(e) => return Err(self.unusable(&folder, &e)),
            }
        }
        Ok(())
    }

    /// Whether what is at `path` is this user's alone.
    pub(crate) fn owned(&self, path: &Path, metadata: &Metadata) -> Result<(), Error> {
        let (owner, us) = (metadata.uid(), geteuid().as_raw());
        let mode = metadata.mode() & 0o7777;
        let shown = path.display();
        if owner != us {
            let error = Error::machine(format!(
                "the state folder cannot be used: {shown} belongs to user {owner}, and metalshim runs as user {us}"
            ));
            return Err(error.hint(whose(self.path(), owner, us)));
        }
        if mode & BY_OTHERS != 0 {
            return Err(Error::machine(format!(
                "the state folder cannot be used: {shown} can be written by others (mode {mode:o})"
            ))
            .hint(format!("look at what is in it, then: chmod go-w {path:?}")));
        }
        Ok(())
    }
}

/// What to do about state of `owner` where `us` acts.
fn whose(folder: &Path, owner: u32, us: u32) -> String {
    let name = variables::STATE_DIR;
    match (owner, us) {
        (_, 0) => format!(
            "start metalshim without sudo; or, for a state of root's own, name a folder of root's in {name}"
        ),
        (0, us) => format!(
            "it was made by root, under sudo perhaps; to have it back: sudo chown -R {us} {folder:?}"
        ),
        _ => format!("name a folder of your own in {name}"),
    }
}

/// `ENOTDIR` is a missing file too: a file where its folder would be.
pub(super) fn missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    fn folder() -> (tempfile::TempDir, StateFolder) {
        let dir = tempfile::tempdir().unwrap();
        let state = StateFolder::at(dir.path().join("state"));
        state.ensure().unwrap();
        (dir, state)
    }

    #[test]
    fn a_folder_that_others_can_write_is_refused_wherever_it_is_used() {
        let (_dir, state) = folder();
        state.write_json("n.json", &7).unwrap();
        for folder in [state.path().to_owned(), state.tickets()] {
            fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
            for error in [
                state.check().unwrap_err(),
                state.ensure().unwrap_err(),
                state.lock().unwrap_err(),
                state.read_json::<u32>("n.json").unwrap_err(),
                state.write_json("n.json", &8).unwrap_err(),
            ] {
                assert!(error.says.contains("mode 777"), "{error}");
            }
            fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        }
        assert_eq!(state.read_json("n.json"), Ok(Some(7)));
    }

    #[test]
    fn a_file_that_others_can_write_is_refused() {
        let (_dir, state) = folder();
        state.write_json("n.json", &7).unwrap();
        fs::set_permissions(state.join("n.json"), Permissions::from_mode(0o660)).unwrap();
        let error = state.read_json::<u32>("n.json").unwrap_err();
        assert!(error.says.contains("n.json"), "{error}");
        assert_eq!(
            state.clone().tolerant().read_json::<u32>("n.json"),
            Ok(None)
        );
    }

    #[test]
    fn what_belongs_to_another_user_is_refused() {
        let (_dir, state) = folder();
        state.write_json("n.json", &7).unwrap();
        for path in [state.join("n.json"), state.path().to_owned()] {
            if chown(&path, Some(65_534), None).is_err() {
                eprintln!("skipped: only root can give a file away");
                return;
            }
            let error = state.read_json::<u32>("n.json").unwrap_err();
            assert!(error.says.contains("belongs to user 65534"), "{error}");
            assert!(error.hints[0].contains("without sudo"), "{error}");
            chown(&path, Some(0), None).unwrap();
        }
    }

    #[test]
    fn everybody_is_told_how_to_have_their_own() {
        let folder = Path::new("/home/u/state");
        assert!(whose(folder, 501, 0).contains("without sudo"));
        assert!(whose(folder, 0, 501).contains("sudo chown -R 501 \"/home/u/state\""));
        assert!(whose(folder, 502, 501).contains("METALSHIM_STATE_DIR"));
    }
}
