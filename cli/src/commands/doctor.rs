//! `metalshim doctor`: will it work here, with this program, and if not, what to do.
//!
//! **Contract.** Everything that is looked at is gathered first; the checks are pure
//! functions of it, and text and JSON are made from the same findings. It changes nothing
//! of the user's; on a Mac it takes the device's reading and the host's attestation into the
//! state folder, as they are of this boot. What an update may mend sets a check off in the
//! background (never with `--json`). Exit code 0: the overrides are used here; 1: they
//! are not, or something is in the way; 2: could not tell.

use std::ffi::OsString;
use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use compatdb::{OsBuild, Told};

use crate::commands::update::automatic;
use crate::context::Context;
use crate::doctor::bundle::{self, Bundle};
use crate::doctor::report::{Checks, Diagnosis, Listed};
use crate::doctor::seen::Seen;
use crate::doctor::{self, CHECKS, Severity, check_name};
use crate::error::{Error, Outcome};
use crate::facts;
use crate::ready::{self, Answer, Ready, Wanted};
use crate::table::stdout_width;
use crate::update::automatic::By;

/// Checks everything, and says how to mend what is wrong. The first line is the answer.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metalshim doctor                 can programs have the overrides here?
  metalshim doctor llama-cli       and this one, and how far?
  metalshim doctor --check host    only one check; --list-checks names them all
  metalshim doctor --bundle FILE   all of it without personal data, to hand it on

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
    /// Show all that was seen without personal data, and write it to this file, to hand it on
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub bundle: Option<PathBuf>,
    /// Write the bundle without being asked
    #[arg(long, requires = "bundle")]
    pub yes: bool,
    /// Name all checks, and do nothing else
    #[arg(long, conflicts_with_all = ["program", "host_build", "check", "bundle"])]
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
    let (seen, answer) = gather(args, context)?;
    // Scripts that read JSON ask often, and for what is here.
    if !context.printer.json {
        automatic::seen(context, &seen.known, &seen.decision.verdict, By::Doctor);
    }
    let findings = doctor::findings(&seen, args.check);
    let has = |severity| findings.iter().any(|f| f.severity == severity);
    let ok = matches!(answer, Answer::Yes(_));
    let single = args.check.is_some();
    let outcome = match single {
        false if ok => Outcome::Yes,
        false => Outcome::No,
        true if has(Severity::Problem) => Outcome::No,
        true if has(Severity::Unknown) => Outcome::Code(2),
        true => Outcome::Yes,
    };
    let program = seen.program.as_ref();
    let diagnosis = Diagnosis {
        ok,
        verdict: seen.decision.verdict.clone(),
        in_the_way: match &answer {
            Answer::Error(error) => Some(error.clone().into()),
            Answer::Yes(_) | Answer::No(_) => None,
        },
        program: program.map(|program| program.looked.clone()),
        findings,
        named: program.map(|program| program.named.clone()),
        single,
        width: stdout_width(),
    };
    if let Some(path) = &args.bundle {
        let bundle = Bundle::new(&seen, &diagnosis)?;
        return hand_on(args, context, path, &bundle);
    }
    context.printer.report(&diagnosis)?;
    Ok(outcome)
}

fn gather(args: &Args, context: &Context) -> Result<(Seen, Answer), Error> {
    let missing = found_out(context, args)?;
    let words = args.program.as_slice();
    let asked = match words {
        [] => None,
        words => Some(ready::Program::find(words, &[], &context.variables)?),
    };
    let wanted = Wanted {
        program: asked.as_ref(),
        client: args.client.as_ref(),
        host_build: args.host_build.as_ref(),
        ..Wanted::default()
    };
    let strictly = Ready::look(context, &wanted);
    let answer = match &strictly {
        Ok(ready) => ready.without_writing(&context.variables),
        Err(error) => Answer::Error(error.clone()),
    };
    // What cannot be used is a finding, beside what can be seen without it.
    let mut ready = match strictly {
        Ok(ready) => ready,
        Err(_) => Ready::look(&context.tolerant_of_all(), &wanted)?,
    };
    ready.known.machine.warnings.extend(missing);
    let named = args
        .program
        .as_ref()
        .map(|name| name.to_string_lossy().into_owned());
    let seen = Seen::new(context, ready, named, matches!(answer, Answer::Yes(_)));
    Ok((seen, answer))
}

/// Shows the bundle, and writes it where somebody says so.
fn hand_on(args: &Args, context: &Context, path: &Path, bundle: &Bundle) -> Result<Outcome, Error> {
    let text = bundle::text(&context.printer.json_of(bundle)?, &context.variables)?;
    context.printer.out(&text)?;
    let shown = path.display();
    if !args.yes && !agreed(context, path) {
        return Err(Error::user(format!("nothing was written to {shown}"))
            .hint("what it would hold is above; --yes writes it"));
    }
    bundle::write(path, &text)?;
    context.printer.note(&format!(
        "written to {shown}; look through it before you hand it on"
    ));
    Ok(Outcome::Yes)
}

/// Asks, where somebody is there to answer.
fn agreed(context: &Context, path: &Path) -> bool {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return false;
    }
    let question = format!("Write this to {}? [y/N]", path.display());
    context.printer.line(&question);
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.is_ok() && ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}

/// Looks into the host's share and at the Metal device, as only commands that may take long
/// do, and keeps what is found, where it can be kept. What could not be found out is returned.
fn found_out(context: &Context, args: &Args) -> Result<Vec<String>, Error> {
    // What cannot be used is a finding of its own.
    let context = context.tolerant_of_all();
    let Ok(state) = context.state() else {
        return Ok(Vec::new());
    };
    let machine = context.machine(args.host_build.as_ref())?;
    Ok(facts::find_out(&state, &machine).unwrap_or_default())
}
