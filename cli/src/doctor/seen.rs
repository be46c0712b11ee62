//! Everything that the checks look at, gathered before the first of them runs.

use std::ffi::OsString;
use std::path::PathBuf;

use compatdb::Profile;
use compatdb::records::{Fault, Pair};
use compatdb::rows::Status;
use compatdb::verdict::{Reason, Verdict};

use crate::context::{Context, Settings};
use crate::decide::{Decision, Known};
use crate::error::Error;
use crate::facts;
use crate::program::Preflight;
use crate::ready::Ready;
use crate::state::{Damage, StateFolder};
use crate::tickets::{self, Reported};

/// What the checks look at. They are pure functions of it.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Facts, policy, database, state.
    pub(crate) known: Known,
    /// The verdict, and what it was made from.
    pub(crate) decision: Decision,
    /// The program that was asked about.
    pub(crate) program: Option<Program>,
    /// All faults that the database knows.
    pub(crate) faults: Vec<Fault>,
    /// What the database calls the guest's build, where it knows it.
    pub(crate) guest_version: Option<String>,
    /// Whether a ticket can say what has to be said, and with which children to follow.
    pub(crate) follow: Result<String, Error>,
    /// What `enable` and the configuration say.
    pub(crate) settings: Settings,
    /// Whether programs are started with the overrides.
    pub(crate) ok: bool,
    /// What is wrong with config.toml.
    pub(crate) wrong_configuration: Option<Error>,
    /// What is wrong with the policy.
    pub(crate) wrong_policy: Option<Error>,
    /// What is wrong with what a variable says of the host.
    pub(crate) wrong_host: Option<Error>,
    /// What is wrong with the files of the state folder.
    pub(crate) damages: Vec<Damage>,
    /// The library to load, or why it cannot be.
    pub(crate) shim: Result<PathBuf, Error>,
    /// The state folder, or why it cannot be written.
    pub(crate) state: Result<StateFolder, Error>,
    /// The environment of this process.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// What processes that still run have reported.
    pub(crate) running: Vec<Reported>,
}

/// The program that was asked about.
#[derive(Debug)]
pub(crate) struct Program {
    /// As the user named it.
    pub(crate) named: String,
    /// What was seen of its file.
    pub(crate) looked: Preflight,
}

impl Seen {
    /// Adds what only the checks look at. `named` is the program as the user named it; `ok` is the answer.
    pub(crate) fn new(context: &Context, ready: Ready, named: Option<String>, ok: bool) -> Self {
        let follow = ready.ticket.map(|()| ready.follow);
        let known = ready.known;
        let loaded = known.database.as_ref().ok();
        let guest = &known.machine.facts.guest;
        let running = ready.state.as_ref();
        let running = running.map(|state| tickets::running(state, &guest.boot_session));
        Self {
            faults: loaded
                .and_then(|l| l.database.faults().ok())
                .unwrap_or_default(),
            guest_version: loaded
                .and_then(|l| l.database.build(&guest.build).ok().flatten())
                .map(|row| row.version),
            program: named
                .zip(ready.looked)
                .map(|(named, looked)| Program { named, looked }),
            environment: std::env::vars_os().collect(),
            running: running.unwrap_or_default(),
            settings: ready.settings,
            decision: ready.decision,
            ok,
            wrong_configuration: context.config().err(),
            wrong_policy: context.policy().err(),
            wrong_host: facts::host::stated_by_variable(&context.variables).err(),
            damages: ready
                .state
                .as_ref()
                .map_or_else(|_| Vec::new(), StateFolder::damages),
            shim: ready.shim,
            follow,
            state: ready
                .state
                .and_then(|state| state.could_write().map(|()| state)),
            known,
        }
    }

    /// The record that speaks about this pair: one that denies before one that allows.
    pub(crate) fn record(&self) -> Option<&Pair> {
        let lookup = self.decision.lookup.as_ref()?;
        let rank = |p: &&Pair| match p.status {
            Status::Revoked => 0,
            Status::Broken => 1,
            Status::Verified => 2,
        };
        lookup.pairs.iter().min_by_key(rank)
    }

    /// What the verdict says if it refuses for `reason`, be it the first or another.
    pub(crate) fn refused(&self, reason: Reason) -> Option<String> {
        let Verdict::Refuse(refusal) = &self.decision.verdict else {
            return None;
        };
        if refusal.reason == reason {
            return Some(refusal.says.clone());
        }
        let also = refusal.also.contains(&reason);
        also.then(|| format!("Besides, this is refused as {}.", reason.code()))
    }

    /// The profile that programs get; none where they run stock.
    pub(crate) fn profile(&self) -> Option<Profile> {
        match &self.decision.verdict {
            Verdict::Allow(allow) => Some(allow.profile),
            Verdict::Refuse(_) => None,
        }
    }
}
