//! From a path to the program that would really run: links, scripts, `env`, `PATH`. The only
//! part that looks at the file system.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::bytes::{Bytes, OpenFile};
use super::code::Code;
use super::judge::FileFacts;
use super::shebang::{self, EnvCall};
use super::{Context, Start, System};

/// How many scripts may stand in front of a program.
const MAX_HOPS: usize = 8;

/// Where the search for a program ends without a `PATH`.
const DEFAULT_PATH: &str = "/usr/bin:/bin";

/// Where a path led.
pub(super) struct Found {
    /// How it would be started directly.
    pub(super) start: Start,
    /// The scripts on the way, the first one first.
    pub(super) scripts: Vec<PathBuf>,
    /// The program that the last script, a wrapper, says it starts.
    pub(super) wraps: Option<PathBuf>,
    /// The program file, or why there is none.
    pub(super) end: Result<(OpenFile, FileFacts), (Code, String)>,
}

/// Follows `path`, started with `args`, to the end.
pub(super) fn follow(path: &Path, args: &[OsString], context: &Context<'_>) -> Found {
    let mut start = Start {
        program: path.to_owned(),
        arg0: path.as_os_str().to_owned(),
        args: args.to_vec(),
        clear: false,
        unset: Vec::new(),
        set: Vec::new(),
    };
    let mut scripts = Vec::new();
    let mut wraps = None;
    // Whether the program at hand was named by a `#!` line: macOS follows one, no more.
    let mut interpreting = false;
    let end = loop {
        let (file, facts) = match open(&start.program, context) {
            Ok(found) => found,
            Err(problem) if scripts.is_empty() => break Err(problem),
            Err((Code::NotFound, _)) => {
                let program = start.program.display();
                break Err((
                    Code::InterpreterMissing,
                    format!("needs {program}, which is not there"),
                ));
            }
            Err((code, says)) => break Err((code, says)),
        };
        let mut line =
            vec![0; shebang::LINE.min(usize::try_from(file.size()).unwrap_or(usize::MAX))];
        if let Err(error) = file.read_at(0, &mut line) {
            break Err((Code::Unreadable, format!("cannot be read: {error}")));
        }
        if !shebang::is_script(&line) {
            break Ok((file, facts));
        }
        let script = start.program.clone();
        if scripts.len() == MAX_HOPS || scripts.contains(&script) {
            let says = format!("names {} as its interpreter for ever", script.display());
            break Err((Code::ShebangLoop, says));
        }
        if interpreting && context.system == System::Mac {
            let says = format!(
                "has {} as its interpreter, which is a script itself: macOS does not start it",
                script.display()
            );
            break Err((Code::InterpreterIsScript, says));
        }
        if facts.mode & 0o111 == 0 {
            let says = format!("may not be executed by anybody (mode {:04o})", facts.mode);
            break Err((Code::NoPermission, says));
        }
        scripts.push(script);
        match step(&file, &line, &mut start, context) {
            Ok(next) => {
                wraps = next.wraps;
                interpreting = next.interpreting;
            }
            Err(problem) => break Err(problem),
        }
    };
    Found {
        start,
        scripts,
        wraps,
        end,
    }
}

/// What the step over one script found.
struct Step {
    interpreting: bool,
    wraps: Option<PathBuf>,
}

/// One script: `start` becomes what its first line asks for.
fn step(
    file: &OpenFile,
    line: &[u8],
    start: &mut Start,
    context: &Context<'_>,
) -> Result<Step, (Code, String)> {
    let found = shebang::parse(line, context.system).map_err(|code| (code, line_says(code)))?;
    let written = OsString::from_vec(found.interpreter);
    let mut arguments: Vec<OsString> = found
        .arguments
        .into_iter()
        .map(OsString::from_vec)
        .collect();
    arguments.push(start.program.clone().into_os_string());
    arguments.append(&mut start.args);
    let interpreter = context.folder.join(&written);
    let base = interpreter.file_name().unwrap_or_default().to_owned();

    if base == "env" {
        if !interpreter.exists() {
            let says = format!("needs {}, which is not there", interpreter.display());
            return Err((Code::InterpreterMissing, says));
        }
        return through_env(arguments, start, context).map(|()| Step {
            interpreting: false,
            wraps: None,
        });
    }
    let mut wraps = None;
    if ["sh", "bash", "zsh", "dash", "ksh"]
        .iter()
        .any(|shell| base == *shell)
    {
        let mut body = vec![0; usize::try_from(file.size().min(16 << 10)).unwrap_or(0)];
        // A shell with options of its own is meant to do something.
        let bare = arguments
            .first()
            .is_some_and(|first| start.program == Path::new(first));
        if file.read_at(0, &mut body).is_ok()
            && bare
            && let Some(real) = shebang::shell_in_front(&body)
        {
            let real = OsString::from_vec(real);
            start.arg0.clone_from(&real);
            start.program = real.into();
            start.args = arguments;
            return Ok(Step {
                interpreting: false,
                wraps: None,
            });
        }
        wraps = shebang::wrapped(&body).map(|path| OsString::from_vec(path).into());
    }
    start.arg0 = written;
    start.program = interpreter;
    start.args = arguments;
    Ok(Step {
        interpreting: true,
        wraps,
    })
}

fn line_says(code: Code) -> String {
    match code {
        Code::ShebangCrlf => {
            "has a first line that ends in CR LF, and the system looks for an interpreter whose \
             name ends in CR"
        }
        Code::ShebangTooLong => "has a first line that is longer than the system reads",
        _ => "has a `#!` line that names no interpreter",
    }
    .into()
}

/// `env` and its arguments: the program that it would start, and the variables it changes.
fn through_env(
    arguments: Vec<OsString>,
    start: &mut Start,
    context: &Context<'_>,
) -> Result<(), (Code, String)> {
    let variable = |name: &[u8]| {
        start
            .variable(OsStr::from_bytes(name), context)
            .map(OsString::into_vec)
    };
    let raw = arguments.into_iter().map(OsString::into_vec).collect();
    let call: EnvCall = shebang::env(raw, &variable).map_err(|option| {
        let says = format!("needs `env` with {option}, which cannot be done without `env`");
        (Code::EnvOption, says)
    })?;
    let text = OsString::from_vec;
    if call.clear {
        start.clear = true;
        start.unset.clear();
        start.set.clear();
    }
    for name in call.unset {
        let name = text(name);
        start.set.retain(|(known, _)| *known != name);
        start.unset.push(name);
    }
    for (name, value) in call.set {
        let name = text(name);
        start.set.retain(|(known, _)| *known != name);
        start.unset.retain(|known| *known != name);
        start.set.push((name, text(value)));
    }
    let mut command = call.command.into_iter().map(text);
    let Some(name) = command.next() else {
        return Err((
            Code::ShebangBad,
            "has a `#!` line whose `env` starts nothing".into(),
        ));
    };
    start.args = command.collect();
    let path = call
        .search
        .map(text)
        .or_else(|| start.variable(OsStr::new("PATH"), context));
    let Some(program) = find(&name, path.as_deref(), &context.folder) else {
        start.program = PathBuf::from(&name);
        let says = format!("needs {}, which is not on PATH", Path::new(&name).display());
        return Err((Code::InterpreterMissing, says));
    };
    start.arg0 = call.arg0.map_or(name, text);
    start.program = program;
    Ok(())
}

impl Start {
    /// The value that a variable has when the program starts.
    fn variable(&self, name: &OsStr, context: &Context<'_>) -> Option<OsString> {
        if let Some((_, value)) = self.set.iter().rev().find(|(known, _)| known == name) {
            return Some(value.clone());
        }
        if self.clear || self.unset.iter().any(|known| known == name) {
            return None;
        }
        context.variables.get(name).cloned()
    }
}

/// The file that a program's name stands for, as `execvp` finds it: a name with a slash is a
/// path (from `folder`), any other is looked for in the folders of `path` (`/usr/bin:/bin`
/// where there is none).
fn find(name: &OsStr, path: Option<&OsStr>, folder: &Path) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    if name.as_bytes().contains(&b'/') {
        return Some(folder.join(name));
    }
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
    // A wrapper of ours stands for the program of that name further on.
    let wrappers = |place: &PathBuf| place.file_name() == Some(OsStr::new(crate::wrappers::FOLDER));
    std::env::split_paths(path)
        .filter(|place| !wrappers(place))
        .map(|place| folder.join(place).join(name))
        .find(|candidate| {
            let metadata = fs::metadata(candidate);
            metadata.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
        })
}

/// Opens a regular file without waiting for anything, and asks what the file system says.
fn open(path: &Path, context: &Context<'_>) -> Result<(OpenFile, FileFacts), (Code, String)> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            (Code::NotFound, "is not there".to_owned())
        }
        _ => (Code::Unreadable, format!("cannot be read: {error}")),
    };
    let path = context.folder.join(path);
    let real = fs::canonicalize(&path).map_err(failed)?;
    // Asked before it is opened: opening a pipe or a device can wait or do something.
    let kind = fs::metadata(&real).map_err(failed)?.file_type();
    if !kind.is_file() {
        let what = if kind.is_dir() {
            "is a folder"
        } else {
            "is no regular file"
        };
        return Err((Code::NotAFile, what.into()));
    }
    let flags = rustix::fs::OFlags::NONBLOCK.bits();
    let flags = i32::try_from(flags).unwrap_or_default();
    let file = File::options()
        .read(true)
        .custom_flags(flags)
        .open(&real)
        .map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let facts = facts(real, &metadata);
    Ok((OpenFile::new(file).map_err(failed)?, facts))
}

fn facts(path: PathBuf, metadata: &Metadata) -> FileFacts {
    FileFacts {
        mode: metadata.mode() & 0o7777,
        owner: metadata.uid(),
        restricted: restricted(metadata),
        quarantine: attribute(&path, "com.apple.quarantine")
            .map(|value| String::from_utf8_lossy(&value).into_owned()),
        capabilities: cfg!(target_os = "linux")
            && attribute(&path, "security.capability").is_some(),
        path,
    }
}

#[cfg(target_os = "macos")]
fn restricted(metadata: &Metadata) -> bool {
    /// From the system's `sys/stat.h`.
    const SF_RESTRICTED: u32 = 0x0008_0000;
    std::os::macos::fs::MetadataExt::st_flags(metadata) & SF_RESTRICTED != 0
}

#[cfg(not(target_os = "macos"))]
fn restricted(_: &Metadata) -> bool {
    false
}

/// An extended attribute of at most 256 bytes; none if it is not there or there are none.
fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = [0_u8; 256];
    let size = rustix::fs::getxattr(path, name, &mut value[..]).ok()?;
    value.get(..size).map(<[u8]>::to_vec)
}
