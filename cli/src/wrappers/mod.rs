//! Programs that stay enabled: links to metalshim, by the programs' names, in a folder of ours.
//!
//! **Contract.** A wrapper is a link to the command and nothing else: it is told by the name
//! that it was started by what to start, looks for that program in the other folders of `PATH`
//! at every start, and starts it as `run --or-stock --quiet` would. So an upgrade of either
//! changes nothing, and where metalshim is gone the link leads nowhere, which shells and
//! `execvp` pass over. [`start`] is what happens then; this is what `enable`, `disable`,
//! `status` and `doctor` do with the links.

pub mod start;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::context::Context;
use crate::decide::Known;
use crate::error::Error;
use crate::printer::Style;
use crate::state::{self, StateFolder};
use crate::variables::Variables;
use crate::{find, install, program, variables};

/// The folder's name, in the state folder: by it a wrapper knows that it is one, and by it
/// the folder is passed over where a real program is looked for.
pub const FOLDER: &str = "metalshim-wrappers";

/// The folder of the wrappers.
pub fn folder(state: &StateFolder) -> PathBuf {
    state.join(FOLDER)
}

/// One wrapper, as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wrapper {
    /// The program's name.
    pub name: String,
    /// The program that it would start; none where there is none on `PATH`.
    pub program: Option<String>,
    /// Why typing the name does not start the program by metalshim.
    pub problem: Option<String>,
    /// The command that mends it.
    pub mend: Option<String>,
}

/// Whether each of `names` can be wrapped: the program is there, and the library can be loaded
/// into it.
///
/// # Errors
/// One of them cannot; nothing was made.
pub fn check(names: &[OsString], context: &Context) -> Result<(), Error> {
    if names.is_empty() {
        return Ok(());
    }
    let known = Known::gather(context, None)?;
    for name in names {
        allowed(name)?;
        let path = find::program(name, context.variables.path.as_deref())?;
        injectable(&path, &[], &known)?;
    }
    Ok(())
}

/// An error where the library cannot be loaded into the program: it would be stock for ever.
///
/// # Errors
/// It cannot, with what to do about it.
pub fn injectable(path: &Path, arguments: &[OsString], known: &Known) -> Result<(), Error> {
    let launchers = known.launchers();
    let here = program::Context::here(known.machine.facts.guest.sip, &launchers);
    let looked = program::preflight(path, arguments, &here);
    if looked.injectable {
        return Ok(());
    }
    let code = looked.code.as_str();
    let mut error = Error::user(format!("it would only run stock ({code}): {}", looked.says));
    for remedy in looked.remedies {
        error = error.hint(match remedy.command {
            Some(command) => format!("{} {command}", remedy.says),
            None => remedy.says,
        });
    }
    Err(error)
}

/// A wrapper has a program's name, and no path: `PATH` says which program that is.
fn allowed(name: &OsStr) -> Result<(), Error> {
    let shown = name.to_string_lossy();
    let bytes = name.as_encoded_bytes();
    let bad = |says: &str| Error::user(format!("{shown}: {says}"));
    if bytes.contains(&b'/') {
        let base = Path::new(name).file_name().unwrap_or(name);
        return Err(
            bad("a wrapper goes by a program's name, not by its path").hint(format!(
                "have the program's folder on {}, and name it {}",
                variables::PATH,
                base.to_string_lossy()
            )),
        );
    }
    if bytes.is_empty() || bytes.starts_with(b"-") || bytes.starts_with(b".") {
        return Err(bad("no program has such a name").hint("name the program as you type it"));
    }
    if shown == "metalshim" {
        return Err(bad("metalshim does not wrap itself").hint("name the program to wrap"));
    }
    if name
        .to_str()
        .is_none_or(|name| name.chars().any(char::is_control))
    {
        return Err(bad("a wrapper's name is printable UTF-8").hint("name another program"));
    }
    Ok(())
}

/// Makes the wrappers of `names`. Hold the state's lock.
///
/// # Errors
/// The folder cannot be written, or something that metalshim did not make is in the way.
pub fn make(state: &StateFolder, names: &[OsString]) -> Result<(), Error> {
    if names.is_empty() {
        return Ok(());
    }
    let folder = folder(state);
    let to = install::recorded()?;
    // It stands first on `PATH`: whoever could write it would choose what this user starts.
    state::make_private(&folder)
        .and_then(|()| folder.metadata())
        .map_err(|e| state.unusable(&folder, &e))
        .and_then(|metadata| state.owned(&folder, &metadata))?;
    for name in names {
        let link = folder.join(name);
        if fs::symlink_metadata(&link).is_ok_and(|it| !it.is_symlink()) {
            return Err(Error::machine(format!(
                "{} is in the way, and metalshim did not make it",
                link.display()
            ))
            .hint("move it elsewhere, and type this again"));
        }
        put(&link, &to).map_err(|e| state.unusable(&link, &e))?;
    }
    Ok(())
}

/// Puts the link in place whole, over an older one.
fn put(link: &Path, to: &Path) -> io::Result<()> {
    if fs::read_link(link).is_ok_and(|there| there == to) {
        return Ok(());
    }
    let temporary = link.with_file_name(format!(".{}.tmp", std::process::id()));
    match fs::remove_file(&temporary) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    symlink(to, &temporary)?;
    fs::rename(&temporary, link)
}

/// Removes the wrappers of `names`; those that were there. Hold the state's lock.
///
/// # Errors
/// One cannot be removed.
pub fn remove(state: &StateFolder, names: &[OsString]) -> Result<Vec<String>, Error> {
    names.iter().try_for_each(|name| allowed(name))?;
    remove_links(state, names)
}

fn remove_links(state: &StateFolder, names: &[OsString]) -> Result<Vec<String>, Error> {
    let mut removed = Vec::new();
    for name in names {
        let link = folder(state).join(name);
        if !fs::symlink_metadata(&link).is_ok_and(|it| it.is_symlink()) {
            continue;
        }
        fs::remove_file(&link)
            .map_err(|e| Error::file("remove", &link, &e).hint("look who owns its folder"))?;
        removed.push(name.to_string_lossy().into_owned());
    }
    Ok(removed)
}

/// Removes all of them, and the folder if nothing else is in it. Hold the state's lock.
///
/// # Errors
/// One cannot be removed.
pub fn remove_all(state: &StateFolder) -> Result<Vec<String>, Error> {
    let names: Vec<OsString> = links(state).into_iter().map(|(name, _)| name).collect();
    // Whatever they are called: a name that is refused now may be there all the same.
    let removed = remove_links(state, &names)?;
    let _ = fs::remove_dir(folder(state));
    Ok(removed)
}

/// The links, by name, with what they lead to.
fn links(state: &StateFolder) -> Vec<(OsString, PathBuf)> {
    let entries = fs::read_dir(folder(state)).into_iter().flatten().flatten();
    let link = |entry: fs::DirEntry| Some((entry.file_name(), fs::read_link(entry.path()).ok()?));
    let mut links: Vec<_> = entries
        .filter_map(link)
        .filter(|(name, _)| !name.as_encoded_bytes().starts_with(b"."))
        .collect();
    links.sort();
    links
}

/// All wrappers, and whether they still hold.
pub fn list(state: &StateFolder, variables: &Variables) -> Vec<Wrapper> {
    let folder = folder(state);
    let path = variables.path.as_deref();
    let look = |(name, to): (OsString, PathBuf)| {
        let found = find::program(&name, path).ok();
        let shown = name.to_string_lossy().into_owned();
        let (problem, mend) = match &found {
            _ if !to.exists() => (
                Some(format!(
                    "metalshim is not at {} any more, so the program starts without it",
                    to.display()
                )),
                Some(format!("metalshim enable {shown}")),
            ),
            None => (
                Some(format!("there is no such program on {}", variables::PATH)),
                Some(format!("metalshim disable {shown}")),
            ),
            Some(program) => match first(&folder, program, path) {
                First::Wrapper => (None, None),
                First::Program(dir) => (
                    Some(format!(
                        "{} is before the wrappers on {}",
                        dir.display(),
                        variables::PATH
                    )),
                    Some(SHELLENV.to_owned()),
                ),
                First::NotThere => (
                    Some(format!(
                        "{} is not on {}",
                        folder.display(),
                        variables::PATH
                    )),
                    Some(SHELLENV.to_owned()),
                ),
            },
        };
        Wrapper {
            name: shown,
            program: found.map(|path| path.display().to_string()),
            problem,
            mend,
        }
    };
    links(state).into_iter().map(look).collect()
}

impl Wrapper {
    /// As a person reads it.
    pub fn says(&self, style: Style) -> String {
        let program = self.program.as_deref().unwrap_or("nothing");
        let name = style.bold(&self.name);
        match (&self.problem, &self.mend) {
            (Some(problem), Some(mend)) => format!(
                "wrapped {name}: {program}; {} {problem}\n    {mend}",
                style.yellow("but")
            ),
            _ => format!("wrapped {name}: {program}"),
        }
    }
}

/// What puts the folder on `PATH`, in bash and zsh.
pub const SHELLENV: &str = "eval \"$(metalshim shellenv)\"";

/// What typing a name finds first.
enum First {
    Wrapper,
    Program(PathBuf),
    NotThere,
}

fn first(folder: &Path, program: &Path, path: Option<&OsStr>) -> First {
    let place = program.parent();
    for dir in path.iter().flat_map(std::env::split_paths) {
        if dir == folder {
            return First::Wrapper;
        }
        if Some(dir.as_path()) == place {
            return First::Program(dir);
        }
    }
    First::NotThere
}
