//! What a wrapper does when it is started.
//!
//! **Contract.** It starts the program of its own name that is in the other folders of `PATH`,
//! as `run --or-stock --quiet` would. The program is told its whole path as its name, so that
//! one that looks itself up by name (Python does) does not find the wrapper.
//!
//! It never goes round in circles. The folder of the wrappers and whatever leads to metalshim
//! are passed over. A program found may be a script that starts the next program of the same
//! name on `PATH`; it finds the wrapper again. `METALSHIM_WRAPPED` remembers which program
//! this process became, so that the search goes on behind it, and how many wrappers led here:
//! no more than 64.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::FOLDER;
use crate::commands::run;
use crate::context::{Context, Tolerant};
use crate::error::Error;
use crate::printer::Printer;
use crate::variables::{self, Variables};
use crate::{find, install};

/// How many wrappers may lead to one another.
const MOST: u32 = 64;

/// The name of the program that this process was started as, if it was started as a wrapper.
pub fn invoked(arguments: &[OsString]) -> Option<OsString> {
    let typed = Path::new(arguments.first()?);
    // Nearly always, and then nothing else is looked at.
    if typed.file_name() == Some(OsStr::new("metalshim")) && !by_wrapper(typed) {
        return None;
    }
    // A shell hands the name as it was typed; the system knows which file that was. As a
    // script's interpreter it is the other way round.
    let files = [started_file(), Some(typed.to_owned())];
    let wrapper = files.into_iter().flatten().find(|path| by_wrapper(path))?;
    Some(wrapper.file_name()?.to_owned())
}

/// Whether the path is in a folder of wrappers.
fn by_wrapper(path: &Path) -> bool {
    let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) else {
        return false;
    };
    let is_ours = |path: &Path| path.file_name() == Some(OsStr::new(FOLDER));
    is_ours(folder) || folder.canonicalize().is_ok_and(|folder| is_ours(&folder))
}

/// The file that this process was started from, links not followed.
#[cfg(target_os = "linux")]
fn started_file() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let name = rustix::param::linux_execfn();
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// The file that this process was started from, links not followed.
#[cfg(not(target_os = "linux"))]
fn started_file() -> Option<PathBuf> {
    std::env::current_exe().ok()
}

/// Becomes the program. Returns only where that failed.
pub fn start(name: &OsStr, arguments: Vec<OsString>, variables: Variables) -> ExitCode {
    let printer = Printer::new(false, true, &variables);
    let started = args(name, &arguments, &variables).and_then(|args| {
        let context = Context {
            printer,
            variables,
            arguments,
            extra_policy: None,
            tolerant: Tolerant::OfNothing,
        };
        run::run(&args, &context)
    });
    match started {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            let code = error.exit_code(true);
            printer.error(&error, code);
            code.into()
        }
    }
}

/// `run --or-stock --quiet -- PROGRAM ARGS..`
fn args(name: &OsStr, arguments: &[OsString], variables: &Variables) -> Result<run::Args, Error> {
    let trail = Trail::read(variables.wrapped.as_deref());
    let program = program(name, variables, &trail)?;
    let next = trail.next(&program, name)?;
    let mut words = vec![program.into_os_string()];
    words.extend(arguments.iter().skip(1).cloned());
    Ok(run::Args {
        or_stock: true,
        quiet: true,
        program: words,
        set: vec![(variables::WRAPPED.into(), next)],
        ..run::Args::default()
    })
}

/// The program of that name which is no wrapper of ours.
fn program(name: &OsStr, variables: &Variables, trail: &Trail) -> Result<PathBuf, Error> {
    let path = variables.path.clone();
    let folders: Vec<PathBuf> = path.iter().flat_map(std::env::split_paths).collect();
    let behind = trail.here.as_ref().and_then(|here| {
        let place = here.parent()?;
        let is_it = here.file_name() == Some(name);
        folders.iter().position(|dir| is_it && dir == place)
    });
    if let Some(behind) = behind
        && let Ok(found) = search(name, &folders[behind + 1..])
    {
        return Ok(found);
    }
    // Not set, PATH has a default.
    let found = match path {
        None => find::program(name, None),
        Some(_) => search(name, &folders),
    };
    found.map_err(|error| {
        let name = name.to_string_lossy();
        error.hint(format!(
            "metalshim wraps {name}; to end that: metalshim disable {name}"
        ))
    })
}

/// As a shell looks for it, but for what leads to metalshim itself.
fn search(name: &OsStr, folders: &[PathBuf]) -> Result<PathBuf, Error> {
    let identity = |path: &Path| path.metadata().ok().map(|m| (m.dev(), m.ino()));
    let own = install::command().ok().and_then(|path| identity(&path));
    let mut rest = folders;
    loop {
        let path = std::env::join_paths(rest)
            .map_err(|_| Error::project("PATH cannot be put together again"))?;
        let found = find::program(name, Some(&path))?;
        if own.is_none() || identity(&found) != own {
            return Ok(found);
        }
        let place = found.parent();
        let position = rest.iter().position(|dir| Some(dir.as_path()) == place);
        rest = &rest[position.map_or(rest.len(), |it| it + 1)..];
    }
}

/// What `METALSHIM_WRAPPED` says: `<pid>:<how many>:<program>`.
struct Trail {
    /// How many wrappers led here.
    many: u32,
    /// The program that this very process became before.
    here: Option<PathBuf>,
}

impl Trail {
    fn read(text: Option<&OsStr>) -> Self {
        let read = || {
            let bytes = text?.as_encoded_bytes();
            let mut parts = bytes.splitn(3, |byte| *byte == b':');
            let number = |part: Option<&[u8]>| str::from_utf8(part?).ok()?.parse::<u32>().ok();
            let pid = number(parts.next())?;
            let many = number(parts.next())?;
            let program = PathBuf::from(os(parts.next()?));
            Some(Self {
                many,
                here: (pid == std::process::id()).then_some(program),
            })
        };
        read().unwrap_or(Self {
            many: 0,
            here: None,
        })
    }

    /// The same with `program` as the next.
    fn next(&self, program: &Path, name: &OsStr) -> Result<OsString, Error> {
        if self.many >= MOST {
            let name = name.to_string_lossy();
            return Err(Error::program_unusable(format!(
                "{} starts {name} by its name again and again",
                program.display()
            ))
            .hint(format!(
                "have it start the program that it means by its whole path, or end the wrapper: metalshim disable {name}"
            )));
        }
        let mut text = OsString::from(format!("{}:{}:", std::process::id(), self.many + 1));
        text.push(program);
        Ok(text)
    }
}

fn os(bytes: &[u8]) -> &OsStr {
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(bytes)
}
