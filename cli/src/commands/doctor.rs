//! `metalshim doctor`: will it work here, with this program, and if not, what to do.
//!
//! **Contract.** Everything that is looked at is gathered first; the checks are pure
//! functions of it, and text and JSON are made from the same findings. It changes nothing
//! of the user's; on a Mac it takes the device's reading and the host's attestation into the
//! state folder, as they are of this boot. What an update may mend sets a check off in the
//! background (never with `--json`). Exit code 0: the overrides are used here; 1: they
//! are not, or something is in the way; 2: could not tell.

use std::ffi::OsString;
use std::path::Path;

use compatdb::verdict::{Target, Verdict};
use compatdb::{OsBuild, Told};
use rustix::fs::{Access, access};

use crate::commands::update::automatic;
use crate::context::Context;
use crate::decide::{Asked, Known, Question};
use crate::doctor::report::{Checks, Diagnosis, Listed};
use crate::doctor::seen::{Program, Seen};
use crate::doctor::{self, CHECKS, Severity, check_name};
use crate::error::{Error, Outcome};
use crate::state::StateFolder;
use crate::table::stdout_width;
use crate::update::automatic::By;
use crate::{facts, find, install as parts, program as preflight, tickets};

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

/// Runs it.
///
/// # Errors
///
/// Facts, policy or configuration cannot be read, the program is not there, or `--client`
/// names no client: it could not tell.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    if args.list_checks {
        let checks = CHECKS.iter().map(|check| Listed {
            name: check.name,
            about: check.about,
        });
        context.printer.report(&Checks {
            checks: checks.collect(),
        })?;
        return Ok(Outcome::Yes);
    }
    let seen = gather(args, context)?;
    // Scripts that read JSON ask often, and for what is here.
    if !context.printer.json {
        automatic::seen(context, &seen.known, &seen.decision.verdict, By::Doctor);
    }
    let findings = doctor::findings(&seen, args.check);
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
