//! What `run` would do: looked at, decided, and the ticket written; nothing started yet.

use std::path::PathBuf;

use compatdb::Verdict;
use compatdb::verdict::Refusal;

use super::Args;
use crate::commands::update::automatic;
use crate::context::Context;
use crate::decide::{Decision, Known};
use crate::error::Error;
use crate::launch::{self, Start};
use crate::program::Preflight;
use crate::ready::{Answer, Program, Ready, Wanted};
use crate::tickets;
use crate::unverified;
use crate::update::automatic::By;

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

/// All that is looked at before anything is written or started.
pub(super) fn look(args: &Args, context: &Context, asked: &Program) -> Result<Ready, Error> {
    Ready::look(
        context,
        &Wanted {
            program: Some(asked),
            client: args.client.as_ref(),
            profile: args.profile,
            host_build: args.host_build.as_ref(),
            allow_unverified: args.allow_unverified.as_ref(),
            follow: args.follow.as_deref(),
        },
    )
}

impl Plan {
    /// Looks at the program, asks for the verdict, and writes the ticket.
    pub(super) fn make(args: &Args, context: &Context, asked: &Program) -> Result<Self, Error> {
        let ready = look(args, context, asked)?;
        if !args.dry_run {
            automatic::seen(context, &ready.known, &ready.decision.verdict, By::Run);
        }
        let allow = match ready.answer() {
            Answer::Error(error) => return Err(error),
            Answer::No(refusal) => {
                return Ok(Self::Refused(Box::new(Refused {
                    known: ready.known,
                    decision: ready.decision,
                    refusal,
                })));
            }
            Answer::Yes(allow) => allow,
        };
        let (known, mut decision) = (ready.known, ready.decision);
        let (shim, state) = (ready.shim?, ready.state?);
        let boot_session = &known.machine.facts.guest.boot_session;
        tickets::sweep(&state, boot_session);
        let (ticket, ticket_text) =
            decision.ticket(&known, allow.profile, &ready.follow, |ticket| {
                tickets::write(&state, ticket)
            })?;
        let inserted = context.variables.insert_libraries.as_deref();
        let mut start = asked.start(ready.looked.as_ref());
        let shimmed = launch::with_shim(&shim, &ticket, inserted, args.require);
        start.variables.extend(shimmed);
        // Last, so that a start that failed has allowed nothing.
        if let (Some(build), None, false) = (&args.allow_unverified, &allow.record, args.dry_run) {
            let profile = args
                .profile
                .or(unverified::profile(None, ready.settings.profile));
            let by = unverified::By::Run;
            let grant = unverified::grant(&state, build, profile, known.machine.now, by)?;
            decision.grant = Some(grant);
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

impl Shimmed {
    /// What the user is told on stderr although the program starts with the overrides: that
    /// nobody verified the pair, and that a version that is not known costs something.
    pub(super) fn notes(&self) -> Vec<String> {
        let Verdict::Allow(allow) = &self.decision.verdict else {
            return Vec::new();
        };
        let mut notes = Vec::new();
        if allow.record.is_none() {
            let facts = &self.known.machine.facts;
            let host = facts
                .host
                .as_ref()
                .map(|host| format!("host {}", host.build));
            let until = self.decision.grant.as_ref().map(|grant| grant.until);
            notes.push(format!(
                "nobody has verified guest {} on {}: results may be wrong. This is allowed until {}; `metalshim disable` ends it",
                facts.guest.build,
                host.as_deref().unwrap_or("a host that is not known"),
                until.map_or_else(|| "it is taken back".to_owned(), |until| until.to_string()),
            ));
        }
        let unknown = allow.capped_by.iter().filter(|cap| cap.version_unknown);
        notes.extend(unknown.map(|cap| format!("told {} only. {}", allow.profile, cap.says)));
        notes
    }
}

impl Program {
    /// A script is started by its interpreter, as the variables do not come through its first
    /// line everywhere; anything else as it was typed.
    fn start(&self, looked: Option<&Preflight>) -> Start {
        let runs = looked.and_then(|looked| looked.runs.as_ref());
        let direct = runs.and_then(|runs| runs.start.clone());
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
