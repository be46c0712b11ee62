//! What the user can do about each cause. Never anything that weakens System Integrity
//! Protection or signs somebody's program anew.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use compatdb::records::Client;
use compatdb::verdict::Remedy;

use super::code::Code;
use crate::shell::quoted;

/// What the database's client rows say of a program that may not be the one to start: another
/// build of it, the process that does the work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launcher {
    /// Base names of its executables, like `ollama`.
    pub names: Vec<String>,
    /// The Homebrew formula of it, if there is one.
    pub formula: Option<String>,
    /// Which of its processes to start and how, in a sentence or two. Only for programs that
    /// have others do their Metal work.
    pub advice: Option<String>,
}

impl From<&Client> for Launcher {
    fn from(client: &Client) -> Self {
        Self {
            names: client.recognise.executables.clone(),
            formula: client.recognise.formulae.first().cloned(),
            advice: client
                .advice
                .clone()
                .filter(|_| !client.children.is_empty()),
        }
    }
}

/// The row about a program, by its name or by the name of the app it lies in.
pub(super) fn launcher<'a>(path: &Path, launchers: &'a [Launcher]) -> Option<&'a Launcher> {
    let base = path.file_name()?.to_string_lossy().into_owned();
    let app = app(path).and_then(|app| Some(app.file_stem()?.to_string_lossy().into_owned()));
    let known = |name: &String| {
        *name == base
            || app
                .as_ref()
                .is_some_and(|app| name.eq_ignore_ascii_case(app))
    };
    launchers
        .iter()
        .find(|launcher| launcher.names.iter().any(known))
}

/// The innermost `.app` folder that a path lies in.
pub(super) fn app(path: &Path) -> Option<&Path> {
    path.ancestors()
        .find(|folder| folder.extension().is_some_and(|ext| ext == "app"))
}

fn do_this(says: impl Into<String>) -> Remedy {
    Remedy {
        says: says.into(),
        command: None,
    }
}

fn with(says: impl Into<String>, command: String) -> Remedy {
    Remedy {
        says: says.into(),
        command: Some(command),
    }
}

/// What decides about remedies besides the cause.
pub(super) struct Situation<'a> {
    /// The program that would really run, links followed.
    pub(super) program: &'a Path,
    /// The script the user named, if it is one.
    pub(super) script: Option<&'a Path>,
    /// The program that the script, a wrapper, starts in its own place.
    pub(super) wraps: Option<PathBuf>,
    pub(super) launcher: Option<&'a Launcher>,
}

/// What to do about `code`, the likeliest first.
pub(super) fn remedies(code: Code, situation: &Situation<'_>) -> Vec<Remedy> {
    let program = situation.program;
    let name = program
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let script = situation.script;
    let mut all = Vec::new();
    if let (Some(target), true) = (&situation.wraps, code != Code::Injectable) {
        all.push(with(
            "Start the program that this wrapper starts. Variables that the wrapper sets have \
             to be set by hand.",
            format!("metalshim run -- {}", quoted(target)),
        ));
    }
    match code {
        Code::Injectable => {}
        Code::NotFound => all.push(do_this("Check the name, or give the whole path.")),
        Code::Unreadable => all.push(with(
            "Make it readable for the user that starts it.",
            format!("ls -l {}", quoted(program)),
        )),
        Code::NotAFile if program.extension().is_some_and(|ext| ext == "app") => {
            let inside = program.join("Contents/MacOS");
            all.push(with(
                "Name the program inside the app.",
                format!("ls {}", quoted(&inside)),
            ));
        }
        Code::NotAFile => all.push(do_this("Name the program itself.")),
        Code::ShebangCrlf => all.push(with(
            "Give the script Unix line ends (this leaves the old one beside it).",
            format!(
                "perl -i.orig -pe 's/\\r$//' {}",
                quoted(script.unwrap_or(program))
            ),
        )),
        Code::ShebangBad
        | Code::ShebangTooLong
        | Code::ShebangLoop
        | Code::EnvOption
        | Code::InterpreterIsScript => all.push(do_this(format!(
            "Start the interpreter itself: metalshim run -- INTERPRETER {}",
            quoted(script.unwrap_or(program))
        ))),
        Code::InterpreterMissing => all.push(do_this(format!(
            "Install {name}, or start the script by an interpreter that is there: metalshim \
             run -- INTERPRETER {}",
            quoted(script.unwrap_or(program))
        ))),
        Code::UnknownFormat | Code::NotExecutable => {
            all.push(do_this(
                "Name the program that loads it or that it belongs to.",
            ));
        }
        Code::OtherSystem => all.push(do_this("Install the build of it for macOS.")),
        Code::Damaged => all.push(do_this("Install it again: the file is not whole.")),
        Code::SetId => all.push(do_this(
            "Start the program that it starts, as an ordinary user, if it starts one.",
        )),
        Code::NoPermission => all.push(with(
            "Make it executable.",
            format!("chmod +x {}", quoted(program)),
        )),
        Code::Quarantined => {
            other_build(situation, &mut all);
            all.push(do_this(
                "Or start it once by hand and approve it in System Settings, Privacy & Security.",
            ));
            all.push(with(
                "Or, if you trust where it comes from, take the mark off this one file.",
                format!("xattr -d com.apple.quarantine {}", quoted(program)),
            ));
        }
        Code::RestrictedPath | Code::PlatformBinary if script.is_some() => {
            if situation.wraps.is_none() {
                let script = script.unwrap_or(program);
                all.push(do_this(format!(
                    "Start the program that the script starts, or run the script by an \
                     interpreter that is not part of macOS (Homebrew has {name} or its like): \
                     metalshim run -- INTERPRETER {}",
                    quoted(script)
                )));
            }
        }
        Code::RestrictedPath | Code::PlatformBinary => {
            other_build(situation, &mut all);
        }
        Code::X86Only | Code::OtherCpu | Code::UnknownSubtype | Code::Arm64e => {
            other_build(situation, &mut all);
            all.push(do_this("Any build with a plain arm64 slice will do."));
        }
        Code::OtherCLibrary => all.push(do_this("Use a build of it for glibc.")),
        Code::RestrictSegment
        | Code::RestrictFlag
        | Code::Hardened
        | Code::LibraryValidation
        | Code::Static => other_build(situation, &mut all),
    }
    all
}

/// Another build of the same program.
fn other_build(situation: &Situation<'_>, all: &mut Vec<Remedy>) {
    let Some(formula) = situation
        .launcher
        .and_then(|launcher| launcher.formula.as_ref())
    else {
        let what = match app(situation.program) {
            Some(app) => format!("the command-line build of {}", quoted(app)),
            None => "another build of it".to_owned(),
        };
        all.push(do_this(format!(
            "Use {what}, from Homebrew or built from source: such builds are arm64 and not \
             hardened."
        )));
        return;
    };
    let program = situation
        .launcher
        .and_then(|launcher| launcher.names.first());
    let program = program.unwrap_or(formula);
    all.push(with(
        format!("Use Homebrew's build of {program}: it is arm64 and not hardened."),
        format!("brew install {formula}"),
    ));
}

/// What to know about a launcher that can be injected but may not be the right process. None
/// where the advice is to do what is being done.
pub(super) fn launcher_note(
    launcher: &Launcher,
    program: &Path,
    args: &[OsString],
) -> Option<Remedy> {
    let advice = launcher.advice.as_ref()?;
    let name = program.file_name()?.to_string_lossy();
    let started = args
        .first()
        .map(|first| format!("run -- {name} {}", first.to_string_lossy()));
    let meant = |started: &String| {
        let after = advice.split_once(started.as_str()).map(|(_, after)| after);
        after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '-'))
    };
    (!started.as_ref().is_some_and(meant)).then(|| do_this(advice))
}
