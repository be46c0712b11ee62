//! `metalshim doctor`: will it work here, with this program, and if not, what to do.
//!
//! **Contract.** Everything that is looked at is gathered first; the checks are pure
//! functions of it, and text and JSON are made from the same findings. It changes nothing
//! of the user's; on a Mac it takes the device's reading and the host's attestation into the
//! state folder, as they are of this boot. Exit code 0: the overrides are used here; 1: they
//! are not, or something is in the way; 2: could not tell.

mod faults;
mod finding;
mod install;
mod machine;
mod pair;
mod program;
mod report;
mod seen;

use std::ffi::OsString;
use std::path::Path;

use compatdb::verdict::{Target, Verdict};
use compatdb::{OsBuild, Told};
use rustix::fs::{Access, access};

use self::finding::{Finding, Severity};
use self::report::{Checks, Diagnosis, Listed};
use self::seen::{Program, Seen};
use crate::context::Context;
use crate::decide::{Asked, Known, Question};
use crate::error::{Error, Outcome};
use crate::state::StateFolder;
use crate::table::stdout_width;
use crate::{facts, find, install as parts, program as preflight, tickets};

/// What a problem of the whole machine affects.
const STOCK: &str = "every program: all run stock";

/// Checks everything, and says how to mend what is wrong. The first line is the answer.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metalshim doctor                 can programs have the overrides here?
  metalshim doctor llama-cli       and this one, and how far?
  metalshim doctor --check host    only one check; --list-checks names them all

Exit codes: 0 yes; 1 no, or something is in the way; 2 could not tell.")]
pub struct Args {
    /// The program to look at: a name, or a path
    pub program: Option<OsString>,
    /// What the program is, where its name does not tell: llama.cpp, or llama.cpp@b10359
    #[arg(long, value_name = "NAME[@VERSION]", requires = "program")]
    pub client: Option<Told>,
    /// The host's macOS build, like 25G76: `sw_vers -buildVersion` on the host prints it
    #[arg(long, value_name = "BUILD")]
    pub host_build: Option<OsBuild>,
    /// Only this check
    #[arg(long, value_name = "NAME", value_parser = check_name)]
    pub check: Option<&'static str>,
    /// Name all checks, and do nothing else
    #[arg(long, conflicts_with_all = ["program", "host_build", "check"])]
    pub list_checks: bool,
}

type Run = fn(&Seen) -> Vec<Finding>;

/// All checks: name, what it looks at, and the function.
const CHECKS: [(&str, &str, Run); 18] = [
    ("guest", "is this a macOS virtual machine", machine::guest),
    (
        "device",
        "is the Metal device the paravirtual one",
        machine::device,
    ),
    (
        "stock-answers",
        "does the device answer as recorded",
        machine::stock_answers,
    ),
    (
        "guest-build",
        "is the guest's macOS build known",
        pair::guest_build,
    ),
    (
        "host",
        "is the host's macOS build known, how, and since when",
        pair::host,
    ),
    (
        "pair",
        "what the database says of this pair of builds",
        pair::pair,
    ),
    (
        "evidence",
        "what that rests on, and whether it is this chip",
        pair::evidence,
    ),
    (
        "faults",
        "known faults that bear on this guest, and what to do",
        faults::faults,
    ),
    (
        "client",
        "what the program is, and how far it may be told",
        program::client,
    ),
    (
        "program",
        "can the library be loaded into the program",
        program::program,
    ),
    ("sip", "System Integrity Protection", machine::sip),
    (
        "environment",
        "other shims, and other libraries to insert",
        program::environment,
    ),
    (
        "database",
        "which database is used, its signature and age",
        install::database,
    ),
    ("shim", "is the library there and readable", install::shim),
    ("state", "can the state folder be written", install::state),
    (
        "unverified",
        "what is allowed without a record, and until when",
        install::unverified,
    ),
    (
        "processes",
        "what running programs reported",
        install::processes,
    ),
    (
        "version",
        "is metalshim new enough for its database",
        install::version,
    ),
];

fn check_name(text: &str) -> Result<&'static str, String> {
    let mut names = CHECKS.iter().map(|(name, ..)| *name);
    names.clone().find(|name| *name == text).ok_or_else(|| {
        let all: Vec<&str> = names.by_ref().collect();
        format!("there is no such check; there are {}", all.join(", "))
    })
}

/// Runs it.
///
/// # Errors
///
/// Facts, policy or configuration cannot be read, the program is not there, or `--client`
/// names no client: it could not tell.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    if args.list_checks {
        let checks = CHECKS
            .iter()
            .map(|&(name, about, _)| Listed { name, about });
        context.printer.report(&Checks {
            checks: checks.collect(),
        })?;
        return Ok(Outcome::Yes);
    }
    let seen = gather(args, context)?;
    let findings: Vec<Finding> = CHECKS
        .iter()
        .filter(|(name, ..)| args.check.is_none_or(|wanted| wanted == *name))
        .flat_map(|(_, _, check)| check(&seen))
        .collect();
    let has = |severity| findings.iter().any(|f| f.severity == severity);
    let problem = has(Severity::Problem);
    let unknown = has(Severity::Unknown);
    let single = args.check.is_some();
    let refused = matches!(seen.decision.verdict, Verdict::Refuse(_));
    let (program, named) = match seen.program {
        Some(Program { named, looked }) => (Some(looked), Some(named)),
        None => (None, None),
    };
    context.printer.report(&Diagnosis {
        ok: !problem && !refused,
        verdict: seen.decision.verdict,
        program,
        findings,
        named,
        single,
        width: stdout_width(),
    })?;
    Ok(if problem || (refused && !single) {
        Outcome::No
    } else if unknown && single {
        Outcome::Code(2)
    } else {
        Outcome::Yes
    })
}

fn gather(args: &Args, context: &Context) -> Result<Seen, Error> {
    let missing = found_out(context, args)?;
    let mut known = Known::gather(context, args.host_build.as_ref())?;
    known.machine.warnings.extend(missing);
    let settings = context.settings()?;
    let program = match &args.program {
        Some(name) => {
            let path = find::program(name, context.variables.path.as_deref())?;
            let launchers = known.launchers();
            let here = preflight::Context::here(known.machine.facts.guest.sip, &launchers);
            Some(Program {
                named: name.to_string_lossy().into_owned(),
                looked: preflight::preflight(&path, &[], &here),
            })
        }
        None => None,
    };
    let asked = program.as_ref().map(|program| {
        let looked = &program.looked;
        let runs = looked.runs.as_ref().map(|runs| runs.program.clone());
        let resolved = runs.or_else(|| looked.path.canonicalize().ok());
        (resolved.unwrap_or_else(|| looked.path.clone()), looked)
    });
    let decision = known.decide(Question {
        profile: None,
        at_most: settings.profile,
        allow_unverified: None,
        program: asked.as_ref().map(|(resolved, looked)| Asked {
            name: base_name(&looked.path),
            path: resolved,
            libraries: looked.libraries.clone(),
            client: args.client.as_ref(),
            target: target(looked),
        }),
    })?;
    let loaded = known.database.as_ref().ok();
    let build = &known.machine.facts.guest.build;
    let state = context.state().and_then(writable);
    let running = state
        .as_ref()
        .map(|state| tickets::running(state, &known.machine.facts.guest.boot_session));
    Ok(Seen {
        faults: loaded
            .and_then(|l| l.database.faults().ok())
            .unwrap_or_default(),
        guest_version: loaded
            .and_then(|l| l.database.build(build).ok().flatten())
            .map(|row| row.version),
        shim: parts::shim(),
        environment: std::env::vars_os().collect(),
        running: running.unwrap_or_default(),
        state,
        program,
        decision,
        known,
    })
}

/// Looks into the host's share and at the Metal device, as only commands that may take long
/// do, and keeps what is found, where it can be kept. What could not be found out is returned.
fn found_out(context: &Context, args: &Args) -> Result<Vec<String>, Error> {
    let machine = context.machine(args.host_build.as_ref())?;
    let state = context.state();
    // A state folder that cannot be used is a finding of its own.
    Ok(state
        .and_then(|state| facts::find_out(&state, &machine))
        .unwrap_or_default())
}

fn target(looked: &preflight::Preflight) -> Target {
    if looked.injectable {
        return Target::Injectable;
    }
    Target::NotInjectable {
        code: looked.code.as_str().to_owned(),
        says: looked.says.clone(),
        remedies: looked.remedies.clone(),
    }
}

fn base_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Whether the folder, or the one that it would be made in, can be written. Nothing is.
fn writable(state: StateFolder) -> Result<StateFolder, Error> {
    let mut folders = state.path().ancestors();
    let there = folders.find(|folder| folder.exists());
    let there = there.unwrap_or(Path::new("/"));
    match access(there, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) if there.is_dir() => Ok(state),
        Ok(()) => Err(state.unusable(there, &std::io::ErrorKind::NotADirectory.into())),
        Err(e) => Err(state.unusable(there, &e.into())),
    }
}
