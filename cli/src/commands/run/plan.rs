//! What `run` would do: looked at, decided, and the ticket written; nothing started yet.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use compatdb::Verdict;
use compatdb::verdict::{Refusal, Target};

use super::Args;
use crate::commands::update::automatic;
use crate::context::Context;
use crate::decide::{Asked, Decision, Known, Question};
use crate::error::Error;
use crate::launch::{self, Start};
use crate::unverified;
use crate::update::automatic::By;
use crate::variables::Variables;
use crate::{find, install, program, tickets};

/// The program as it was typed and found.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// What was typed.
    pub(super) name: OsString,
    /// Where it is.
    pub(super) path: PathBuf,
    /// Its arguments.
    pub(super) arguments: Vec<OsString>,
    /// What is set in its environment besides.
    pub(super) set: Vec<(OsString, OsString)>,
}

/// What `run` would do.
pub(super) enum Plan {
    Shimmed(Box<Shimmed>),
    Refused(Box<Refused>),
}

/// Start it with the shim.
pub(super) struct Shimmed {
    pub(super) known: Known,
    pub(super) decision: Decision,
    pub(super) start: Start,
    pub(super) ticket: PathBuf,
    pub(super) ticket_text: String,
}

/// Do not.
pub(super) struct Refused {
    pub(super) known: Known,
    pub(super) decision: Decision,
    pub(super) refusal: Refusal,
}

impl Program {
    pub(super) fn find(args: &Args, variables: &Variables) -> Result<Self, Error> {
        let (name, arguments) = args
            .program
            .split_first()
            .ok_or_else(|| Error::user("no program was given"))?;
        Ok(Self {
            path: find::program(name, variables.path.as_deref())?,
            name: name.clone(),
            arguments: arguments.to_vec(),
            set: args.set.clone(),
        })
    }
}

impl Plan {
    /// Looks at the program, asks for the verdict, and writes the ticket.
    pub(super) fn make(args: &Args, context: &Context, asked: &Program) -> Result<Self, Error> {
        let settings = context.settings()?;
        let known = Known::gather(context, args.host_build.as_ref())?;
        let launchers = known.launchers();
        let here = program::Context::here(known.machine.facts.guest.sip, &launchers);
        let looked = program::preflight(&asked.path, &asked.arguments, &here);
        let runs = looked.runs.as_ref().map(|runs| runs.program.clone());
        let resolved = runs.unwrap_or_else(|| resolved(&asked.path));
        let question = Question {
            profile: args.profile,
            at_most: settings.profile,
            allow_unverified: args.allow_unverified.as_ref(),
            program: Some(Asked {
                name: base_name(&asked.path),
                path: &resolved,
                libraries: looked.libraries.clone(),
                client: args.client.as_ref(),
                target: target(&looked),
            }),
        };
        let decision = known.decide(question)?;
        if !args.dry_run {
            automatic::seen(context, &known, &decision.verdict, By::Run);
        }
        let allow = match &decision.verdict {
            Verdict::Allow(allow) => allow.clone(),
            Verdict::Refuse(refusal) => {
                let refusal = refusal.clone();
                return Ok(Self::Refused(Box::new(Refused {
                    known,
                    decision,
                    refusal,
                })));
            }
        };
        let shim = install::shim()?;
        let state = context.state()?;
        let boot_session = &known.machine.facts.guest.boot_session;
        tickets::sweep(&state, boot_session);
        let follow = args.follow.clone().or(settings.follow);
        let follow = follow.unwrap_or_else(|| decision.follow());
        let (ticket, ticket_text) = decision.ticket(&known, allow.profile, &follow, |ticket| {
            tickets::write(&state, ticket)
        })?;
        let inserted = context.variables.insert_libraries.as_deref();
        let mut start = asked.directly(&looked);
        let shimmed = launch::with_shim(&shim, &ticket, inserted, args.require);
        start.variables.extend(shimmed);
        // Last, so that a start that failed has allowed nothing.
        if let (Some(build), None, false) = (&args.allow_unverified, &allow.record, args.dry_run) {
            let profile = args.profile.or(unverified::profile(None, settings.profile));
            unverified::grant(
                &state,
                build,
                profile,
                known.machine.now,
                unverified::By::Run,
            )?;
        }
        Ok(Self::Shimmed(Box::new(Shimmed {
            known,
            decision,
            start,
            ticket,
            ticket_text,
        })))
    }
}

impl Program {
    /// A script is started by its interpreter, as the variables do not come through its first
    /// line everywhere; anything else as it was typed.
    fn directly(&self, looked: &program::Preflight) -> Start {
        let direct = looked.runs.as_ref().and_then(|runs| runs.start.clone());
        match direct {
            None => self.clone().untouched(),
            Some(direct) => Start {
                path: direct.program,
                name: direct.arg0,
                arguments: direct.args,
                clear: direct.clear,
                unset: direct.unset,
                variables: self.set.iter().cloned().chain(direct.set).collect(),
            },
        }
    }
}

fn target(looked: &program::Preflight) -> Target {
    if looked.injectable {
        return Target::Injectable;
    }
    Target::NotInjectable {
        code: looked.code.as_str().to_owned(),
        says: looked.says.clone(),
        remedies: looked.remedies.clone(),
    }
}

fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn base_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
