//! `metalshim run`: starts one program with the overrides, if this machine may have them.
//!
//! **Contract.** It never makes a Metal device, never waits for the network or a share, and
//! prints nothing of its own where the program is started with the overrides, but for a line on
//! stderr where nobody has verified the pair, and one where saying the client's version would
//! give more (neither with `--quiet`). Refused is 125
//! and the reason on stderr; with `--or-stock` whatever keeps the overrides away leaves the
//! program as it would be without metalshim, and that is said once. A program that is not
//! there (127) or cannot be started (126) is an error in either case.

mod dry_run;
mod explain;
mod plan;

use std::ffi::OsString;

use compatdb::{OsBuild, Profile, Told};

use crate::commands::run::plan::Plan;
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::launch::Start;
use crate::ready::Program;
use crate::{facts, refusal, variables};

/// Starts a program with the overrides, or tells why not. Everything after PROGRAM is the
/// program's.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "\
Examples:
  metalshim run -- llama-cli -m model.gguf -p Hello
  metalshim run --client llama.cpp@b10359 -- ./build/bin/llama-bench
  metalshim run --dry-run -- llama-cli     show what would happen, start nothing

The exit code is the program's; 125 refused or wrong usage, 126 not startable, 127 not found.
With --dry-run, --json prints the report as JSON; without, a refusal.")]
pub struct Args {
    /// What the program is, where its name does not tell: llama.cpp, or llama.cpp@b10359
    #[arg(long, value_name = "NAME[@VERSION]")]
    pub client: Option<Told>,
    /// Tell the program no more than this family and these bytes, like 1007/32768
    #[arg(long, value_name = "FAMILY/BYTES")]
    pub profile: Option<Profile>,
    /// The host's macOS build, like 25G76: `sw_vers -buildVersion` on the host prints it
    #[arg(long, value_name = "BUILD")]
    pub host_build: Option<OsBuild>,
    /// Try a pair that nobody has verified, for this guest build, for seven days
    #[arg(long, value_name = "BUILD")]
    pub allow_unverified: Option<OsBuild>,
    /// Children that get the overrides too: none, all, or a comma list of self and names
    #[arg(long, value_name = "LIST")]
    pub follow: Option<String>,
    /// A process that stays stock after all ends with code 78
    #[arg(long, conflicts_with = "or_stock")]
    pub require: bool,
    /// Where refused, start the program untouched, and say so once
    #[arg(long)]
    pub or_stock: bool,
    /// Say nothing but errors
    #[arg(long)]
    pub quiet: bool,
    /// Show the verdict, the variables and the ticket; start nothing
    #[arg(long, conflicts_with = "explain")]
    pub dry_run: bool,
    /// Stay, and tell at the end what the shim decided in the program
    #[arg(long, conflicts_with = "quiet")]
    pub explain: bool,
    /// Look into the shared folders for the host's attestation first (at most 200 ms); agents do
    #[arg(long)]
    pub read_share: bool,
    /// What is set in the program's environment besides
    #[arg(skip)]
    pub set: Vec<(OsString, OsString)>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Runs it. Returns only where the program was not started in our place.
///
/// # Errors
/// What a user has to act on; the exit codes are those of `run`.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    let program = Program::find(&args.program, &args.set, &context.variables)?;
    if context.variables.disable {
        return disabled(args, context, program);
    }
    if args.read_share {
        read_share(context);
    }
    if args.explain {
        return explain::run(args, context, &program);
    }
    let plan = Plan::make(args, context, &program);
    if args.dry_run {
        return dry_run::report(args, context, &program, plan);
    }
    let plan = match plan {
        Err(error) if args.or_stock => {
            return stock(context, program, &error.says);
        }
        plan => plan?,
    };
    match plan {
        Plan::Shimmed(shimmed) => {
            for note in shimmed.notes() {
                context.printer.note(&note);
            }
            let error = shimmed.start.exec();
            if args.or_stock {
                // Our variables may be what is too much, or the interpreter that we looked up.
                return stock(context, program, &error.says);
            }
            Err(error)
        }
        Plan::Refused(refused) if args.or_stock => {
            let refusal = refused.refusal;
            let why = format!("{}: {}", refusal.reason, refusal.says);
            stock(context, program, &why)
        }
        Plan::Refused(refused) => {
            if context.printer.json {
                context
                    .printer
                    .report(&dry_run::refused(&program, &refused))?;
            } else {
                let style = context.printer.err_style();
                context
                    .printer
                    .line(&refusal::text(&refused.refusal, style));
            }
            Ok(Outcome::Code(125))
        }
    }
}

/// Copies the host's attestation. What goes wrong here keeps no program from starting: the
/// verdict is made from what is known then.
pub(super) fn read_share(context: &Context) {
    let copy = || {
        let state = context.state()?;
        facts::copy_share(&state, &context.machine(None)?)
    };
    for says in copy().unwrap_or_else(|error| vec![error.says]) {
        context.printer.note(&says);
    }
}

/// Untouched, and said once.
fn stock(context: &Context, program: Program, why: &str) -> Result<Outcome, Error> {
    context.printer.note(&format!(
        "{} starts without the overrides: {why}",
        program.path.display()
    ));
    Err(program.become_untouched())
}

/// `METALSHIM_DISABLE=1`: somebody wants metalshim out of the way, so it says nothing.
fn disabled(args: &Args, context: &Context, program: Program) -> Result<Outcome, Error> {
    if args.require {
        return Err(Error::user(format!(
            "{}=1 keeps the overrides away, and --require asks for them",
            variables::DISABLE
        ))
        .hint(format!(
            "unset {}, or leave --require out",
            variables::DISABLE
        )));
    }
    if args.dry_run {
        return dry_run::disabled(context, &program);
    }
    Err(program.become_untouched())
}

impl Program {
    /// Becomes the program. Where that fails with what a wrapper sets, without: arguments and
    /// environment may be at the system's limit. Returns only where both failed.
    fn become_untouched(self) -> Error {
        let start = self.untouched();
        let error = start.exec();
        match start.variables.is_empty() {
            true => error,
            false => Start {
                variables: Vec::new(),
                ..start
            }
            .exec(),
        }
    }

    /// As it would be started without metalshim.
    fn untouched(self) -> Start {
        Start {
            path: self.path,
            name: self.name,
            arguments: self.arguments,
            clear: false,
            unset: Vec::new(),
            variables: self.set,
        }
    }
}
