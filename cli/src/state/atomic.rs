//! Writing a file so that it is either the old one or the new one, whatever happens.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Whether a file has to survive a crash of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Synced, and its folder too.
    Synced,
    /// Renamed into place only: a crash of the system may lose it.
    Renamed,
}

/// Writes `bytes` to `path`, readable and writable by the owner only.
///
/// The bytes go to a temporary file beside it, which is renamed at the end; on an error the
/// temporary file is removed and the old file is as it was.
pub fn write(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let temporary = temporary_name(path)?;
    let result = fill(&temporary, bytes, durability).and_then(|()| fs::rename(&temporary, path));
    if result.is_err() {
        // The first error is the one to tell; this one follows from it.
        let _ = fs::remove_file(&temporary);
    }
    result?;
    match (durability, path.parent()) {
        (Durability::Synced, Some(folder)) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

fn temporary_name(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(temporary))
}

/// The process that writes, or wrote, the temporary file `name` of a state file or ticket.
pub fn writer(name: &str) -> Option<u32> {
    let (of, pid) = name
        .strip_prefix('.')?
        .strip_suffix(".tmp")?
        .rsplit_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let ticket = |(pid, start)| digits(pid) && digits(start);
    let ours = of.ends_with(".json") || of.split_once('-').is_some_and(ticket);
    ours.then(|| pid.parse().ok())?
}

fn fill(temporary: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    // What a killed process with our id left behind is in the way of `create_new`, which is
    // there so that nobody's link is followed.
    match fs::remove_file(temporary) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(temporary)?;
    file.write_all(bytes)?;
    match durability {
        Durability::Synced => file.sync_all(),
        Durability::Renamed => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_new_bytes_are_there_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for bytes in [b"one".as_slice(), b"two"] {
            write(&path, bytes, Durability::Synced).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_failed_rename_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::create_dir_all(path.join("in the way")).unwrap();
        assert!(write(&path, b"bytes", Durability::Renamed).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
