//! Where the installed parts are: the shim, and the simulated guest's programs.
//!
//! **Contract.** They are found from the command's own real path, never from a variable:
//! what is put into other programs must not be a matter of the environment.

use std::path::{Path, PathBuf};

use crate::error::{Error, plain};
use crate::program::{self, System};
use crate::regular;
use crate::variables;

/// The shim's file name: its base name is how the shim finds its own entry in the list of
/// libraries to insert.
pub const SHIM: &str = if cfg!(target_os = "macos") {
    "libmetalshim.dylib"
} else {
    "libmetalshim.so"
};

/// Whether facts may be simulated, and with them a build folder stands for an installation.
const SIMULATE: bool = cfg!(any(feature = "simulate", not(target_os = "macos")));

/// Where `metalshim update` keeps versions: a folder each.
pub fn versions(prefix: &Path) -> PathBuf {
    prefix.join("libexec/metalshim")
}

/// How the shim comes to be there.
const AGAIN: &str = if SIMULATE {
    "make it with `make shim`, or install metalshim again"
} else {
    "install metalshim again"
};

/// Installed: `<bin>/../libexec/`, or where `metalshim update` put this version; with `simulate` also a build folder: `<bin>/../shim/`.
fn candidates(command: &Path) -> Vec<PathBuf> {
    let Some(prefix) = command.parent().and_then(Path::parent) else {
        return Vec::new();
    };
    let folders: &[&str] = if SIMULATE {
        &["libexec", "shim"]
    } else {
        &["libexec"]
    };
    let own = versions(prefix).join(env!("CARGO_PKG_VERSION")).join(SHIM);
    let folders = folders.iter().map(|f| prefix.join(f).join(SHIM));
    std::iter::once(own).chain(folders).collect()
}

/// The command's own path, with every link resolved.
///
/// # Errors
/// It cannot be found out.
pub fn command() -> Result<PathBuf, Error> {
    std::env::current_exe()
        .and_then(|path| path.canonicalize())
        .map_err(|e| {
            Error::machine(format!(
                "could not find metalshim's own path: {}",
                plain(&e)
            ))
        })
}

/// The prefix of the Homebrew installation that the command at `path`, with every link resolved,
/// belongs to.
pub fn homebrew(path: &Path) -> Option<PathBuf> {
    let mut folders = path.ancestors();
    let cellar = folders.find(|folder| folder.ends_with("Cellar/metalshim"))?;
    Some(cellar.parent()?.parent()?.to_owned())
}

/// The command's own path as it may be recorded in a file that outlives an upgrade: Homebrew's
/// `opt` path, which always leads to the version in use, else the path with every link resolved.
///
/// # Errors
/// The command's own path cannot be found out.
pub fn recorded() -> Result<PathBuf, Error> {
    let path = command()?;
    let opt = homebrew(&path).map(|prefix| prefix.join("opt/metalshim/bin/metalshim"));
    Ok(opt.filter(|opt| opt.exists()).unwrap_or(path))
}

/// The shim, looked at so far that it can be read and be named in the list of libraries.
///
/// # Errors
/// It is not there, cannot be read, or its path cannot be named in that list.
pub fn shim() -> Result<PathBuf, Error> {
    let candidates = candidates(&command()?);
    let path = candidates.iter().find(|path| path.exists());
    let Some(path) = path else {
        let looked: Vec<_> = candidates
            .iter()
            .skip(1)
            .map(|p| p.display().to_string())
            .collect();
        return Err(Error::machine(format!(
            "the shim is missing: there is no {}",
            looked.join(" and no ")
        ))
        .hint(AGAIN));
    };
    let file = regular::open(path).map_err(|e| {
        Error::file("read the shim", path, &e).hint(format!(
            "make {} readable for everybody, or install metalshim again",
            path.display()
        ))
    })?;
    // A loader that is given something else ends the program, or leaves it stock in silence.
    program::is_library(file, System::here()).map_err(|why| {
        Error::machine(format!(
            "the shim cannot be loaded: {} {why}",
            path.display()
        ))
        .hint(AGAIN)
    })?;
    listable(path).map(|()| path.clone())
}

/// The loader's list has no way to write a colon, and on Linux none to write a blank.
fn listable(path: &Path) -> Result<(), Error> {
    let bad: &[u8] = if cfg!(target_os = "macos") {
        b":"
    } else {
        b": \t\n"
    };
    let bytes = path.as_os_str().as_encoded_bytes();
    if bytes.iter().any(|b| bad.contains(b)) {
        return Err(Error::machine(format!(
            "the shim's path cannot be named in {}: {}",
            variables::INSERT_LIBRARIES,
            path.display()
        ))
        .hint("install metalshim in a folder without colons and blanks in its path"));
    }
    Ok(())
}

/// The folder of the simulated guest's programs: `<bin>/../guest/`.
///
/// # Errors
/// Only builds with the feature `simulate` have one, and only after `make guest`.
pub fn guest_programs() -> Result<PathBuf, Error> {
    let command = command()?;
    let folder = command
        .parent()
        .and_then(Path::parent)
        .map(|p| p.join("guest"));
    match folder {
        Some(folder) if SIMULATE && folder.is_dir() => Ok(folder),
        Some(folder) if SIMULATE => Err(Error::machine(format!(
            "the simulated guest is missing: there is no folder {}",
            folder.display()
        ))
        .hint("make it with `make guest`; `make demo` does all of it")),
        _ => Err(Error::user("this build has no simulated guest")
            .hint("in a checkout, `make demo` builds one with the feature `simulate`")),
    }
}

/// One of the simulated guest's programs.
///
/// # Errors
/// As [`guest_programs`], or this one is not there.
#[cfg(any(feature = "simulate", not(target_os = "macos")))]
pub fn guest_program(name: &str) -> Result<PathBuf, Error> {
    let path = guest_programs()?.join(name);
    if path.is_file() {
        return Ok(path);
    }
    Err(Error::machine(format!(
        "a program of the simulated guest is missing: there is no {}",
        path.display()
    ))
    .hint("make it with `make guest`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_installed_shim_comes_first() {
        let candidates = candidates(Path::new("/opt/m/bin/metalshim"));
        let own = Path::new("/opt/m/libexec/metalshim").join(env!("CARGO_PKG_VERSION"));
        assert_eq!(candidates[0], own.join(SHIM));
        assert_eq!(candidates[1], Path::new("/opt/m/libexec").join(SHIM));
    }

    #[test]
    fn homebrew_is_known_by_its_cellar() {
        let of = |path: &str| homebrew(Path::new(path));
        let brewed = "/opt/homebrew/Cellar/metalshim/0.1.0/bin/metalshim";
        assert_eq!(of(brewed), Some(PathBuf::from("/opt/homebrew")));
        assert_eq!(of("/opt/homebrew/Cellar/other/1/bin/metalshim"), None);
        assert_eq!(of("/usr/local/bin/metalshim"), None);
    }

    #[test]
    fn a_path_with_a_colon_is_refused() {
        assert!(listable(Path::new("/a:b/lib.so")).is_err());
        assert!(listable(Path::new("/ab/lib.so")).is_ok());
    }
}
