//! Can this program be injected, and if not, why, and what can the user do?
//!
//! **Contract.** [`judge`] is a pure function over a file's bytes, what the file system says
//! of it, and System Integrity Protection: it answers the same on any operating system, reads
//! headers only (a large program costs no more than a small one), and no bytes make it panic
//! or read without bound. [`preflight`] is the thin layer that gathers those for a path: it
//! follows links, `#!` lines and `env` to the program that would really run. Nothing here
//! starts, changes or writes anything.
//!
//! **Honest scope.** A wrong no costs speed, a wrong yes ends the user's program at its
//! start: where it is not known which it is, the answer is no. What an Apple system does with
//! a program is taken from public sources and reports, see docs/programs.md; nothing of it
//! was tried on a Mac yet.
//!
//! **Layout.** [`bytes`](self) bounded reading · `macho`, `elf` headers · `signature`,
//! `entitlements` the code signature · `judge`, `judge_macho` the decision about one file · `shebang` first
//! lines and `env` · `follow` the file system · `advice` remedies · `code` the stable codes.

mod advice;
mod bytes;
mod code;
mod elf;
mod entitlements;
mod follow;
mod judge;
mod judge_macho;
mod library;
mod macho;
pub mod shebang;
mod signature;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use compatdb::facts::Sip;
use compatdb::verdict::Remedy;
use serde::{Serialize, Serializer};

pub use advice::Launcher;
pub use bytes::Bytes;
pub use code::Code;
pub use entitlements::Entitlements;
pub use judge::{Cause, Details, FileFacts, Judgement, SliceDetails, judge};
pub use library::is_library;
pub use signature::Signature;

/// The system that starts the programs: it decides how scripts are read, and whether ELF
/// programs run. Mach-O programs are always judged as an arm64 Mac would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// macOS.
    Mac,
    /// Linux, for the simulated guest.
    Linux,
}

impl System {
    /// This one.
    pub const fn here() -> Self {
        if cfg!(target_os = "macos") {
            Self::Mac
        } else {
            Self::Linux
        }
    }
}

/// What the answer depends on besides the program.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// The system that starts it.
    pub system: System,
    /// System Integrity Protection; unknown counts as on.
    pub sip: Sip,
    /// The working folder, which relative paths count from.
    pub folder: PathBuf,
    /// The environment variables: `PATH`, and what `env -S` may name.
    pub variables: BTreeMap<OsString, OsString>,
    /// What is known of launchers, from the database's client rows.
    pub launchers: &'a [Launcher],
}

impl<'a> Context<'a> {
    /// This process's own system, folder and variables.
    pub fn here(sip: Sip, launchers: &'a [Launcher]) -> Self {
        Self {
            system: System::here(),
            sip,
            // Without a working folder relative paths cannot be opened either.
            folder: std::env::current_dir().unwrap_or_default(),
            variables: std::env::vars_os().collect(),
            launchers,
        }
    }
}

/// The answer about one program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Preflight {
    /// The path that was asked about.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// Whether the library can be loaded into what would run.
    pub injectable: bool,
    /// Why, or why not: the first cause that applies.
    pub code: Code,
    /// The other causes that apply, in order.
    pub also: Vec<Code>,
    /// One sentence that names the program and the values that decided.
    pub says: String,
    /// What to do about it, the likeliest first.
    pub remedies: Vec<Remedy>,
    /// What to know and do even if it can be injected.
    pub notes: Vec<Remedy>,
    /// The program that would really run, where it is not the one at `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<Runs>,
    /// What the program that would run is made of, as far as it could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Details>,
    /// The libraries that the program that would run links, by the names it has for them.
    #[serde(skip)]
    pub libraries: Vec<String>,
}

/// The program that would really run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Runs {
    /// Its file, with all links followed.
    #[serde(serialize_with = "lossy")]
    pub program: PathBuf,
    /// How to start it directly with the same meaning; none where the path itself has to be
    /// started (a link, a program that replaces itself by the other).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
}

/// How to start a script's program directly: without the script's first line, and without
/// `env`, through which no variable of ours would come.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Start {
    /// What to start. Links are not followed: interpreters tell their environment by them.
    #[serde(serialize_with = "lossy")]
    pub program: PathBuf,
    /// The name to start it under, `argv[0]`.
    #[serde(serialize_with = "lossy")]
    pub arg0: OsString,
    /// Its arguments: those of the first line, the script, those of the user.
    #[serde(serialize_with = "lossy_all")]
    pub args: Vec<OsString>,
    /// Start without the variables of this process (before anything is set).
    pub clear: bool,
    /// Variables to take out.
    #[serde(serialize_with = "lossy_all")]
    pub unset: Vec<OsString>,
    /// Variables to set.
    #[serde(serialize_with = "lossy_pairs")]
    pub set: Vec<(OsString, OsString)>,
}

/// Whether the program at `path`, started with `args`, can be injected. `path` is a path, not
/// a name to look for. Whatever goes wrong is an answer with its code.
pub fn preflight(path: &Path, args: &[OsString], context: &Context<'_>) -> Preflight {
    let found = follow::follow(path, args, context);
    let script = found.scripts.first().map(PathBuf::as_path);
    let mut answer = Preflight {
        path: path.to_owned(),
        injectable: false,
        code: Code::Injectable,
        also: Vec::new(),
        says: String::new(),
        remedies: Vec::new(),
        notes: Vec::new(),
        runs: None,
        details: None,
        libraries: Vec::new(),
    };
    let (program, causes) = match found.end {
        Err((code, says)) => (found.start.program.clone(), vec![Cause { code, says }]),
        Ok((file, facts)) => {
            let judgement = judge(&file, &facts, context.sip, context.system);
            answer.details = Some(judgement.details);
            answer.libraries = judgement.libraries;
            let note = |says| Remedy {
                says: format!("{} {says}.", path.display()),
                command: None,
            };
            answer.notes.extend(judgement.notes.into_iter().map(note));
            if script.is_some() || facts.path != context.folder.join(path) {
                let start = script.map(|_| found.start.clone());
                answer.runs = Some(Runs {
                    program: facts.path.clone(),
                    start,
                });
            }
            let mut causes = judgement.causes;
            let hop = python_app(&facts.path).filter(|_| causes.is_empty());
            if let Some(hop) = hop {
                causes = after_hop(&hop, &mut answer, context);
            }
            (facts.path, causes)
        }
    };
    let launcher = advice::launcher(&program, context.launchers)
        .or_else(|| advice::launcher(path, context.launchers));
    let situation = advice::Situation {
        program: &program,
        script,
        wraps: found.wraps,
        launcher,
    };
    let mut causes = causes.into_iter();
    match causes.next() {
        None => {
            answer.injectable = true;
            answer.says = format!("{} can load the library.", program.display());
            let note = launcher.and_then(|it| advice::launcher_note(it, path, args));
            answer.notes.extend(note);
        }
        Some(first) => {
            answer.code = first.code;
            answer.remedies = advice::remedies(first.code, &situation);
            // What is wrong with the script itself is said of the script.
            let of_script = script.is_some() && answer.details.is_none();
            let subject = if of_script { path } else { &program };
            answer.says = format!("{} {}.", subject.display(), first.says);
            if let (Some(script), false) = (script, of_script) {
                answer.says = format!("{} is a script for {}", script.display(), answer.says);
            }
        }
    }
    answer.also = causes.map(|cause| cause.code).collect();
    answer.also.dedup();
    answer
}

/// The app that a framework build's Python replaces itself by, if `path` is such a stub.
fn python_app(path: &Path) -> Option<PathBuf> {
    let version = path.parent().filter(|bin| bin.ends_with("bin"))?.parent()?;
    let framework = version
        .parent()
        .filter(|it| it.ends_with("Versions"))?
        .parent()?;
    let named = framework
        .file_name()
        .is_some_and(|it| it == "Python.framework");
    let app = version.join("Resources/Python.app/Contents/MacOS/Python");
    (named && app.is_file()).then_some(app)
}

/// The causes against the program that a stub replaces itself by: the library is in the stub
/// already and passes itself on, if the next one can load it.
fn after_hop(next: &Path, answer: &mut Preflight, context: &Context<'_>) -> Vec<Cause> {
    let found = follow::follow(next, &[], context);
    let (file, facts) = match found.end {
        Ok(found) => found,
        Err((code, says)) => return vec![Cause { code, says }],
    };
    let judgement = judge(&file, &facts, context.sip, context.system);
    let start = answer.runs.take().and_then(|runs| runs.start);
    answer.runs = Some(Runs {
        program: facts.path,
        start,
    });
    answer.details = Some(judgement.details);
    answer.libraries = judgement.libraries;
    judgement.causes
}

/// The libraries that a Mach-O or ELF file links, by the names it has for them
/// (`LC_LOAD_DYLIB` and its kind; `DT_NEEDED`), at most 4,096: what tells a client. Of a fat
/// file, those of the slice that an arm64 Mac runs. Links are followed, scripts are not: they
/// link nothing.
///
/// # Errors
/// The file cannot be read.
pub fn linked_libraries(path: &Path) -> io::Result<Vec<String>> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "is no regular file",
        ));
    }
    let file = bytes::OpenFile::new(std::fs::File::open(path)?)?;
    let facts = FileFacts {
        path: path.to_owned(),
        ..FileFacts::default()
    };
    Ok(judge(&file, &facts, Sip::Unknown, System::here()).libraries)
}

fn lossy<S: Serializer>(
    text: &impl AsRef<std::ffi::OsStr>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text.as_ref().to_string_lossy())
}

fn lossy_all<S: Serializer>(all: &[OsString], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(all.iter().map(|text| text.to_string_lossy()))
}

fn lossy_pairs<S: Serializer>(
    all: &[(OsString, OsString)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(
        all.iter()
            .map(|(a, b)| (a.to_string_lossy(), b.to_string_lossy())),
    )
}
