//! Whether the state folder can be written, without writing anything into it.
//!
//! **Contract.** Nothing is there afterwards that was not there before, and no time stamp
//! changes. On Linux a file without a name is made and filled (`O_TMPFILE`): it is gone when it
//! is closed, and meets whatever a ticket would meet: permissions, read-only file systems,
//! quotas, full disks. Where there is no such file the file system is asked instead.

use std::fs;
use std::io;
use std::path::Path;

use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};

use super::StateFolder;
use crate::error::Error;

impl StateFolder {
    /// Whether a ticket could be written.
    ///
    /// # Errors
    /// What is in the way, as the start of a program would meet it.
    pub fn could_write(&self) -> Result<(), Error> {
        self.check()?;
        let tickets = self.tickets();
        for folder in tickets.ancestors() {
            let there = match fs::metadata(folder) {
                Ok(there) => there,
                Err(e) if is_missing(&e) && fs::symlink_metadata(folder).is_err() => continue,
                // A link to nothing is in the way of a folder, too.
                Err(e) => return Err(self.unusable(folder, &e)),
            };
            let tried = if there.is_dir() {
                try_in(folder)
            } else {
                Err(io::ErrorKind::NotADirectory.into())
            };
            return tried.map_err(|e| self.unusable(folder, &e));
        }
        Err(self.unusable(&tickets, &io::ErrorKind::NotFound.into()))
    }
}

fn is_missing(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

fn try_in(folder: &Path) -> io::Result<()> {
    access(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK)?;
    #[cfg(target_os = "linux")]
    match nameless(folder) {
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR) => {}
        tried => return Ok(tried?),
    }
    let system = statvfs(folder)?;
    if system.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(io::ErrorKind::ReadOnlyFilesystem.into());
    }
    // Also what `/proc` and its kind say of themselves.
    if system.f_bavail == 0 {
        return Err(io::ErrorKind::StorageFull.into());
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn nameless(folder: &Path) -> Result<(), rustix::io::Errno> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR)?;
    rustix::io::write(&file, &[0; metalshim_ticket::MAX_LEN]).map(drop)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    fn state(path: &Path) -> StateFolder {
        StateFolder::at(path.to_owned())
    }

    #[test]
    fn a_try_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let times = || {
            let metadata = fs::metadata(dir.path()).unwrap();
            (metadata.mtime_nsec(), metadata.ctime_nsec())
        };
        let before = times();
        state(&dir.path().join("a/b")).could_write().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        assert_eq!(times(), before);
    }

    #[test]
    fn whatever_making_the_folder_would_meet_is_met() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "").unwrap();
        symlink("nowhere", at("link")).unwrap();
        fs::create_dir(at("state")).unwrap();
        fs::write(at("state/tickets"), "").unwrap();
        let mut folders = vec![at("file"), at("file/below"), at("link"), at("link/below")];
        folders.extend([at("state"), Path::new("/proc/nothing/here").to_owned()]);
        for folder in folders {
            let (tried, made) = (state(&folder).could_write(), state(&folder).ensure());
            assert!(made.is_err(), "{}", folder.display());
            assert!(tried.is_err(), "{}", folder.display());
        }
    }
}
