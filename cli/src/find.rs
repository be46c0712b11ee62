//! Finds the program that `run` was given, as a shell would.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::error::Error;
use crate::{variables, wrappers};

/// Where a shell looks when `PATH` is not set.
const DEFAULT_PATH: &str = "/usr/bin:/bin";

/// The path of `program`: itself where it has a slash, else the first executable file of that
/// name in a folder of `path`. Wrappers of `enable PROGRAM` are passed over: they stand for
/// the program that is looked for.
///
/// # Errors
/// 127 if there is none, 126 if what is there cannot be started.
pub fn program(program: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, Error> {
    if program.is_empty() {
        return Err(Error::program_missing("the program's name is empty")
            .hint("put the program and its arguments after --"));
    }
    let shown = Path::new(program).display();
    if program.as_encoded_bytes().contains(&b'/') {
        let path = PathBuf::from(program);
        return match look(&path) {
            Found::Program => Ok(path),
            Found::Nothing => Err(Error::program_missing(format!(
                "{shown}: there is no such file"
            ))
            .hint("look whether the path is right")),
            found => Err(unusable(&path, found)),
        };
    }
    let folders = path.map_or_else(|| OsString::from(DEFAULT_PATH), OsStr::to_owned);
    let mut unusable_one = None;
    let wrappers = |folder: &PathBuf| folder.file_name() == Some(OsStr::new(wrappers::FOLDER));
    for folder in std::env::split_paths(&folders).filter(|folder| !wrappers(folder)) {
        // An empty entry is the current folder.
        let candidate = if folder.as_os_str().is_empty() {
            Path::new(".").join(program)
        } else {
            folder.join(program)
        };
        match look(&candidate) {
            Found::Program => return Ok(candidate),
            Found::Nothing => {}
            found => {
                unusable_one.get_or_insert((candidate, found));
            }
        }
    }
    Err(match unusable_one {
        Some((path, found)) => unusable(&path, found),
        None => Error::program_missing(format!(
            "{shown}: there is no such program in the folders of {}",
            variables::PATH
        ))
        .hint("look whether it is installed, or give its whole path"),
    })
}

enum Found {
    Nothing,
    Program,
    Folder,
    NotExecutable,
    Hidden,
}

fn look(path: &Path) -> Found {
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => Found::Folder,
        Ok(_) if access(path, Access::EXEC_OK).is_ok() => Found::Program,
        Ok(_) => Found::NotExecutable,
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => Found::Hidden,
        Err(_) => Found::Nothing,
    }
}

fn unusable(path: &Path, found: Found) -> Error {
    let shown = path.display();
    match found {
        Found::Folder => Error::program_unusable(format!("{shown} is a folder, not a program"))
            .hint("name the program in it"),
        Found::Hidden => Error::program_unusable(format!(
            "{shown} is in a folder that this user may not look into"
        ))
        .hint("look at the permissions of the folders on its path"),
        _ => Error::program_unusable(format!("{shown} is not executable by this user")).hint(
            format!("chmod +x {shown}, or start what runs it, with {shown} as its argument"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_first_executable_on_the_path_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let make = |folder: &str, mode| {
            let folder = dir.path().join(folder);
            fs::create_dir(&folder).unwrap();
            let file = folder.join("tool");
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            folder
        };
        let not = make("not", 0o644);
        let yes = make("yes", 0o755);
        let path = std::env::join_paths([&not, &yes]).unwrap();
        assert_eq!(program("tool".as_ref(), Some(&path)), Ok(yes.join("tool")));
        let only_not = program("tool".as_ref(), Some(not.as_os_str())).unwrap_err();
        assert_eq!(only_not.exit_code(true), 126);
        let none = program("no-such-tool".as_ref(), Some(&path)).unwrap_err();
        assert_eq!(none.exit_code(true), 127);
        let folder = program(dir.path().as_os_str(), None).unwrap_err();
        assert_eq!(folder.exit_code(true), 126);
    }
}
