//! Unpacks a release archive.
//!
//! **Contract.** What comes out is bounded before any of it is written, however well it was packed:
//! two regular files, found by the names that docs/self-update.md fixes. Everything else in the
//! archive stays there.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use semver::Version;

use crate::install::SHIM;
use crate::update::limits;
use crate::update::release::TARGET;

/// The two files, unpacked.
pub(super) struct Pair {
    pub(super) command: PathBuf,
    pub(super) library: PathBuf,
}

/// Why not.
#[derive(Debug)]
pub(super) enum Problem {
    /// It is not what it has to be.
    Archive(String),
    /// It could not be written.
    Disk(PathBuf, io::Error),
}

/// Unpacks the release `version` into `folder`, in the layout of the archive: below `bin` and
/// `libexec`, so that the command finds its library there as well.
pub(super) fn unpack(bytes: &[u8], version: &Version, folder: &Path) -> Result<Pair, Problem> {
    let target = TARGET.unwrap_or("this system");
    let top = PathBuf::from(format!("metalshim-{version}-{target}"));
    let [command, library] = [top.join("bin/metalshim"), top.join("libexec").join(SHIM)];
    bounded(bytes, [&command, &library])?;
    let archive = folder.join("archive.tar.gz");
    let disk = |e: io::Error| Problem::Disk(archive.clone(), e);
    fs::write(&archive, bytes).map_err(disk)?;
    for name in [&command, &library] {
        self_update::Extract::from_source(&archive)
            .extract_file(folder, name)
            .map_err(|e| match e {
                self_update::errors::Error::Io(e) => Problem::Disk(folder.join(name), e),
                other => Problem::Archive(other.to_string()),
            })?;
        let path = folder.join(name);
        let found = fs::symlink_metadata(&path).map_err(|e| Problem::Disk(path.clone(), e))?;
        if !found.is_file() {
            return Err(Problem::Archive(format!("{} is no file", name.display())));
        }
    }
    Ok(Pair {
        command: folder.join(command),
        library: folder.join(library),
    })
}

/// Reads it through once: how much there is in it, and that the two are regular files.
fn bounded(bytes: &[u8], needed: [&PathBuf; 2]) -> Result<(), Problem> {
    let wrong = |e: io::Error| Problem::Archive(format!("it is no .tar.gz: {e}"));
    let too_much = || {
        Problem::Archive(format!(
            "unpacked it has more than {} MB",
            limits::UNPACKED >> 20
        ))
    };
    // Whatever the sizes in it say, no more is read.
    let unpacked = GzDecoder::new(bytes).take(2 * limits::UNPACKED);
    let mut archive = tar::Archive::new(unpacked);
    let mut missing: Vec<&PathBuf> = needed.to_vec();
    let mut room = limits::UNPACKED;
    for entry in archive.entries().map_err(wrong)? {
        let mut entry = entry.map_err(wrong)?;
        let name = entry.path().map_err(wrong)?.into_owned();
        if let Some(at) = missing.iter().position(|needed| **needed == name) {
            if !entry.header().entry_type().is_file() {
                return Err(Problem::Archive(format!("{} is no file", name.display())));
            }
            missing.remove(at);
        }
        room = room.checked_sub(entry.size()).ok_or_else(too_much)?;
        io::copy(&mut entry, &mut io::sink()).map_err(wrong)?;
    }
    match missing.first() {
        Some(name) => Err(Problem::Archive(format!("it has no {}", name.display()))),
        None => Ok(()),
    }
}
