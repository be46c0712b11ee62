//! The work of an update, without a word to the user: whoever asked for it reports.
//!
//! **Contract.** After it, this machine's state fits the database that decides now: tickets of
//! records that were taken back are gone, and what `enable` recorded names the pair that holds.

use std::path::Path;
use std::time::Duration;

use compatdb::rows::Status;
use compatdb::verdict::{Reason, Verdict};

use super::report::{Database, Kind, Offline, Updated};
use super::{changes, program, root};
use crate::context::Context;
use crate::database::Root;
use crate::decide::{Decision, Known, Question};
use crate::error::Error;
use crate::state::StateFolder;
use crate::tickets::{self, Reported};
use crate::update::{self, Place, Progress, Updates};
use crate::wish::{self, Wish};

/// What is to be done.
pub(super) struct Job<'a> {
    /// From where; none only verifies what is here.
    pub(super) place: Option<Place>,
    /// `--trust-root`
    pub(super) trust_root: Option<&'a Path>,
    /// How long it may take.
    pub(super) budget: Duration,
    /// Look only, write nothing.
    pub(super) check: bool,
    /// Told how far a fetch is.
    pub(super) progress: Option<Progress>,
    /// Told who else is updating.
    pub(super) waiting: &'a dyn Fn(&str),
}

/// Does it.
///
/// # Errors
/// There was no update, and why.
pub(super) fn perform(context: &Context, job: Job<'_>) -> Result<Updated, Error> {
    let state = context.state()?;
    let trust = root(context, job.trust_root, state.path())?;
    let before = Known::gather(context, None)?;
    let old = before.decide(Question::default())?;
    let loaded = before
        .database
        .as_ref()
        .map_err(|e| Error::machine(e.clone()))?;
    let was = Database::of(loaded);
    let source = job.place.as_ref().map(ToString::to_string);
    let check = job.check;
    let done = match job.place {
        Some(place) => {
            let updates = Updates::new(&trust, state.path());
            let done = updates.update(place, job.budget, check, job.progress, job.waiting);
            Some(done.map_err(|problem| problem.error(&loaded.says()))?)
        }
        None => None,
    };
    let after = Known::gather(context, None)?;
    let new = after.decide(Question::default())?;
    let loaded = after
        .database
        .as_ref()
        .map_err(|e| Error::machine(e.clone()))?;
    let mut warnings = loaded.problems.clone();
    let in_force = loaded.root.as_ref();
    if !check && in_force.is_none_or(|root| root.sha256 != trust.sha256) {
        warnings.push(format!(
            "this root is not the one in force: set trust_root in config.toml to use the database for good ({})",
            trust.says()
        ));
    }
    let available = done
        .as_ref()
        .is_some_and(|d| d.outcome == update::Outcome::Available);
    let this_machine = match check && available {
        true => "not known before the database is taken in".to_owned(),
        false => changes::sentence(&after.machine.facts, &old.verdict, &new.verdict),
    };
    let (mut enabled, mut revoked) = (None, Vec::new());
    if !check {
        revoked = take_back(&state, &after, &new);
        enabled = renew(&state, &after, &new, &mut warnings);
    }
    let releases = match &done {
        Some(done) => &done.releases,
        None => &loaded.releases,
    };
    let program = program::look(releases)?;
    let (fresh_until, deny_list_seq, requests, bytes, outcome) = match &done {
        Some(done) => {
            warnings.extend(done.warnings.iter().cloned());
            let kind = Kind::Of(done.outcome);
            let until = Some(done.fresh_until);
            (until, done.deny_seq, done.requests, done.bytes, kind)
        }
        None => {
            let denied = loaded.deny_list.as_ref().map(|list| list.seq);
            let kind = Kind::Offline(Offline::Verified);
            (loaded.fresh_until, denied, 0, 0, kind)
        }
    };
    Ok(Updated {
        outcome,
        source,
        trust_root: Root {
            source: trust.source.clone(),
            sha256: trust.sha256.clone(),
            version: trust.version,
            newest: in_force.map_or(trust.version, |root| root.newest),
            says: trust.says(),
        },
        before: was,
        database: Database::of(loaded),
        fresh_until,
        deny_list_seq,
        requests,
        bytes,
        this_machine,
        enabled,
        revoked,
        program,
        self_only: false,
        warnings,
    })
}

/// Takes back the tickets of records that are denied now; the running programs that were started
/// from them.
fn take_back(state: &StateFolder, known: &Known, now: &Decision) -> Vec<Reported> {
    let Ok(loaded) = &known.database else {
        return Vec::new();
    };
    let is_deny = |reason: &Reason| matches!(reason, Reason::PairRevoked | Reason::PairBroken);
    let pair = match &now.verdict {
        Verdict::Refuse(refusal) => is_deny(&refusal.reason) || refusal.also.iter().any(is_deny),
        Verdict::Allow(_) => false,
    };
    let listed = |id: &str| {
        let list = loaded.deny_list.as_ref();
        list.is_some_and(|list| list.records.iter().any(|record| record.id == id))
    };
    let recorded = |id: &str| {
        let record = loaded.database.pair(id).ok().flatten();
        record.is_some_and(|record| record.status != Status::Verified)
    };
    let boot_session = &known.machine.facts.guest.boot_session;
    tickets::take_back(state, boot_session, |id| pair || listed(id) || recorded(id));
    let mut running = tickets::running(state, boot_session);
    running.retain(|program| program.revoked);
    running
}

/// What `enable` recorded holds for the pair of now again; a sentence about that.
fn renew(
    state: &StateFolder,
    known: &Known,
    now: &Decision,
    warnings: &mut Vec<String>,
) -> Option<String> {
    let Verdict::Allow(allow) = &now.verdict else {
        return None;
    };
    let guest = &known.machine.facts.guest.build;
    let record = allow.record.as_ref()?;
    let renewed = || -> Result<Option<String>, Error> {
        let stale =
            |wish: &Wish| wish.guest_build != *guest || wish.record.as_ref() != Some(record);
        if !state.read_json(wish::FILE)?.as_ref().is_some_and(stale) {
            return Ok(None);
        }
        let _lock = state.lock()?;
        let Some(wish) = state.read_json::<Wish>(wish::FILE)?.filter(stale) else {
            return Ok(None);
        };
        let says = format!(
            "what was enabled on guest {} holds on {guest} by itself: record {record}",
            wish.guest_build
        );
        state.write_json(
            wish::FILE,
            &Wish {
                checked: known.machine.now,
                guest_build: guest.clone(),
                record: Some(record.clone()),
                ..wish
            },
        )?;
        Ok(Some(says))
    };
    renewed().unwrap_or_else(|e| {
        warnings.push(e.says);
        None
    })
}
