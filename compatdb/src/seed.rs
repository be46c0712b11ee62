//! `compatdb/seed/`: the signed repository that a release build embeds.
//!
//! It is a repository as docs/repository.md lays it out, and a file `repository` with the address
//! that updates come from. The build script of the command and its tests list it by this.

use std::io;
use std::path::{Path, PathBuf};

/// The files of a seed by their names below its folder, in the order of names; none where there is
/// no such folder. Archives of the program are left out: no build brings its successor along.
///
/// # Errors
/// A folder cannot be read, or a name is not text.
pub fn files(seed: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    for folder in ["", "metadata", "targets"] {
        let entries = match std::fs::read_dir(seed.join(folder)) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(e),
        };
        for entry in entries {
            let path = entry?.path();
            if !path.is_file() {
                continue;
            }
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.ok_or_else(|| {
                io::Error::other(format!("{} has no readable name", path.display()))
            })?;
            if folder == "targets" && name.ends_with(".tar.gz") {
                continue;
            }
            let name = Path::new(folder).join(name);
            files.push((name.to_string_lossy().into_owned(), path));
        }
    }
    files.sort();
    Ok(files)
}
