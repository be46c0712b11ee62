//! Reading files that somebody else may have put there.
//!
//! **Contract.** Only a regular file is opened (a link to one counts), so nothing waits on a
//! pipe or a device; and a file that is larger than its kind ever is, is an error: half of a
//! policy would allow what the other half forbids.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file for reading, without waiting.
///
/// # Errors
/// It cannot be opened, or is a folder, pipe, socket or device.
pub fn open(path: &Path) -> io::Result<File> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(nonblocking.cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// All of an open file, at most `max` bytes.
///
/// # Errors
/// It cannot be read, or is larger.
pub fn bytes(file: File, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        let says = format!("it is larger than {} KB", max >> 10);
        return Err(io::Error::other(says));
    }
    Ok(bytes)
}

/// The same as text.
///
/// # Errors
/// As [`bytes`], or it is not UTF-8.
pub fn text(file: File, max: u64) -> io::Result<String> {
    String::from_utf8(bytes(file, max)?).map_err(|_| io::Error::other("it is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        for path in [pipe.as_path(), folder.path(), Path::new("/dev/zero")] {
            let error = open(path).unwrap_err().to_string();
            assert_eq!(error, "it is not a regular file", "{}", path.display());
        }
    }

    #[test]
    fn a_file_that_is_too_large_is_not_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, [b'#'; 2048]).unwrap();
        let read = |max| text(open(&path).unwrap(), max).map(|t| t.len());
        assert_eq!(read(2048).unwrap(), 2048);
        assert_eq!(
            read(2047).unwrap_err().to_string(),
            "it is larger than 1 KB"
        );
    }
}
