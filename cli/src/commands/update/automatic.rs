//! Checks for updates that nobody typed: by the timer, before `enable`, and at once when `run` or
//! `doctor` sees something that a newer database may mend.
//!
//! **Contract.** None of them where somebody opted out. They say one line at the most, never run
//! two at once, and decide nothing by failing. The one of `run` and `doctor` is a process of its own
//! that neither waits for ([`crate::detached`]), at most one an hour.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::mpsc;
use std::time::Duration;

use compatdb::verdict::{Reason, Verdict};
use jiff::Timestamp;
use serde::Serialize;

use super::perform::{Job, perform};
use super::report::{Kind, Updated};
use super::{Args, place, program, root};
use crate::config::Automatic;
use crate::context::Context;
use crate::decide::Known;
use crate::detached;
use crate::error::{self, Error};
use crate::printer::{Report, Style};
use crate::state::StateFolder;
use crate::update;
use crate::update::automatic::{self, By, Check, Outcome};

/// How long the timer's check waits at the most, so that a fleet does not ask at one moment.
pub(super) const JITTER: u64 = 30 * 60;
/// How long `enable` waits for its check.
const BEFORE_ENABLE: Duration = Duration::from_secs(3);

/// The one line.
#[derive(Debug, Serialize)]
struct Line {
    at: Timestamp,
    by: By,
    outcome: Outcome,
    says: String,
}

impl Report for Line {
    const SCHEMA: &'static str = automatic::SCHEMA;

    fn text(&self, _: Style) -> String {
        let at = self.at.strftime("%FT%TZ");
        format!("{at} {}\n", self.says)
    }
}

/// `metalshim update --automatic`.
pub(super) fn run(args: &Args, context: &Context) -> Result<error::Outcome, Error> {
    let by = args.by.unwrap_or(By::Timer);
    let line = checked(args, context, by)?;
    let failed = line.outcome == Outcome::Failed;
    context.printer.report(&line)?;
    Ok(match failed {
        true => error::Outcome::Code(2),
        false => error::Outcome::Yes,
    })
}

fn checked(args: &Args, context: &Context, by: By) -> Result<Line, Error> {
    let line = |outcome, says: String| Line {
        at: Timestamp::now(),
        by,
        outcome,
        says,
    };
    let skipped = |why: String| line(Outcome::Skipped, format!("not looked for updates: {why}"));
    if let Some(why) = opted_out(context, args.offline)? {
        return Ok(skipped(why));
    }
    let asked = Timestamp::now();
    if by == By::Timer {
        std::thread::sleep(up_to(Duration::from_secs(args.jitter)));
    }
    let state = context.state()?;
    let Some(_lock) = automatic::lock(&state)? else {
        return Ok(skipped("another check is running".to_owned()));
    };
    let last = Check::last(&state);
    let now = Timestamp::now();
    let enough = match by {
        // What another one found while this one waited is as new.
        By::Timer => last
            .as_ref()
            .is_some_and(|last| last.at >= asked && last.at <= now),
        _ => !automatic::is_due(last.as_ref(), now),
    };
    if let Some(last) = last.filter(|_| enough) {
        return Ok(skipped(format!(
            "that was done at {}",
            last.at.strftime("%FT%TZ")
        )));
    }
    let check = check(args, context, &state, by, args.budget())?;
    Ok(line(check.outcome, check.says))
}

/// Looks, takes in, and keeps what came of it.
fn check(
    args: &Args,
    context: &Context,
    state: &StateFolder,
    by: By,
    budget: Duration,
) -> Result<Check, Error> {
    let guest = context.machine(None).ok();
    let mut check = Check::begins(by, guest.map(|machine| machine.facts.guest.build));
    // Kept before: one that is ended from outside counts as well.
    check.keep(state)?;
    let done = place(args, context).and_then(|place| {
        let mut updated = perform(
            context,
            Job {
                place: place.clone(),
                trust_root: args.trust_root.as_deref(),
                budget,
                check: false,
                progress: None,
                waiting: &|_| (),
            },
        )?;
        let all = context.config()?.automatic == Automatic::All;
        if let Some(place) = place.filter(|_| all && by == By::Timer && !args.database_only) {
            program::replace(args, context, &place, &mut updated)?;
        }
        Ok(updated)
    });
    match done {
        Ok(updated) => {
            check.outcome = outcome(&updated);
            check.says = says(&updated);
        }
        Err(e) => {
            check.outcome = Outcome::Failed;
            check.says = format!("no update: {}", e.says);
        }
    }
    // One line, whatever was in it.
    check.says = check.says.replace('\n', " ");
    check.keep(state)?;
    Ok(check)
}

fn outcome(updated: &Updated) -> Outcome {
    match updated.outcome {
        Kind::Of(update::Outcome::Updated) => Outcome::Updated,
        Kind::Of(update::Outcome::NeedsNewerMetalshim) => Outcome::NeedsNewerMetalshim,
        Kind::Of(_) | Kind::Offline(_) => Outcome::UpToDate,
    }
}

fn says(updated: &Updated) -> String {
    let head = match outcome(updated) {
        Outcome::Updated => format!(
            "updated: {}; {}",
            updated.database.says(),
            updated.this_machine
        ),
        Outcome::NeedsNewerMetalshim => format!(
            "the newest database needs a newer metalshim; in use: {}",
            updated.database.says()
        ),
        _ => format!("up to date: {}", updated.database.says()),
    };
    let revoked = updated.revoked.iter();
    let revoked = revoked.map(|program| format!("taken back: {}", program.says(Style::PLAIN)));
    let rest = updated.enabled.clone().into_iter();
    let rest = rest.chain(updated.program.says()).chain(revoked);
    rest.fold(head, |all, one| format!("{all}; {one}"))
}

/// Why nothing is looked for by itself; none where it may be.
fn opted_out(context: &Context, offline: bool) -> Result<Option<String>, Error> {
    if offline {
        return Ok(Some("--offline".to_owned()));
    }
    if let Some(name) = context.variables.no_update_check {
        return Ok(Some(format!("{name} is set")));
    }
    let off = context.config()?.automatic == Automatic::Off;
    Ok(off.then(|| "automatic = \"off\" in config.toml".to_owned()))
}

/// A random part of `most`.
fn up_to(most: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish();
    // The upper half of the bits: a number from 0 to 1, small enough for a float to hold.
    let part = f64::from(u32::try_from(random >> 32).unwrap_or(0)) / f64::from(u32::MAX);
    most.mul_f64(part)
}

/// Whether this build and configuration name a place and a root at all.
fn is_configured(context: &Context, state: &StateFolder) -> bool {
    place(&Args::nothing(), context).is_ok() && root(context, None, state.path()).is_ok()
}

/// Before `enable`: for three seconds at the most. What it found is in use when this returns.
pub(crate) fn before_enable(context: &Context, offline: bool) {
    let (Ok(None), Ok(state)) = (opted_out(context, offline), context.state()) else {
        return;
    };
    if !is_configured(context, &state) {
        return;
    }
    // A resolver that hangs is not bounded by any time-out of ours: the thread is left behind.
    let (done, end) = mpsc::channel();
    let own = context.clone();
    std::thread::spawn(move || {
        let found = (|| match automatic::lock(&state)? {
            None => Ok(None),
            Some(_lock) => {
                let args = Args::nothing();
                check(&args, &own, &state, By::Enable, BEFORE_ENABLE).map(Some)
            }
        })();
        // Nobody listens any more: the time was over.
        let _ = done.send(found);
    });
    let note = |says: &str| {
        context
            .printer
            .note(&format!("{says}; what is here decides"))
    };
    match end.recv_timeout(BEFORE_ENABLE) {
        Ok(Ok(Some(check))) if check.outcome == Outcome::Failed => note(&check.says),
        Ok(Ok(Some(check))) if check.outcome == Outcome::Updated => {
            context.printer.note(&check.says)
        }
        Ok(Ok(_)) => {}
        Ok(Err(e)) => note(&format!("no update: {}", e.says)),
        Err(_) => note("no update: it took longer than 3 seconds"),
    }
}

/// Told what `run` or `doctor` saw: starts a check in the background where one may mend it.
pub(crate) fn seen(context: &Context, known: &Known, verdict: &Verdict, by: By) {
    let Some(state) = known.state.as_ref() else {
        return;
    };
    if !matches!(opted_out(context, false), Ok(None)) {
        return;
    }
    let last = Check::last(state);
    let guest = &known.machine.facts.guest.build;
    let before = last.as_ref().and_then(|last| last.guest_build.as_ref());
    let new_build = before.is_some_and(|before| before != guest);
    let wanted = new_build || may_mend(verdict);
    if !wanted
        || !automatic::is_due(last.as_ref(), Timestamp::now())
        || !is_configured(context, state)
    {
        return;
    }
    let by = match by {
        By::Doctor => "doctor",
        _ => "run",
    };
    detached::start(&["update", "--automatic", "--by", by]);
    if matches!(verdict, Verdict::Refuse(_)) {
        context
            .printer
            .note("looking for a newer database in the background; `metalshim status` tells what came of it");
    }
}

/// Whether a newer database, or a newer metalshim, may turn the refusal.
fn may_mend(verdict: &Verdict) -> bool {
    let Verdict::Refuse(refusal) = verdict else {
        return false;
    };
    matches!(
        refusal.reason,
        Reason::DatabaseInvalid
            | Reason::CliTooOld
            | Reason::ShimTooOld
            | Reason::PairRevoked
            | Reason::PairBroken
            | Reason::ClientBlocked
            | Reason::PairUnknown
            | Reason::DatabaseStale
            | Reason::Drift
    )
}

impl Args {
    /// As if nothing was typed.
    fn nothing() -> Self {
        Self {
            check: false,
            database_only: true,
            self_only: false,
            undo: false,
            automatic: true,
            jitter: 0,
            by: None,
            offline: false,
            from: None,
            trust_root: None,
            timeout: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_random_and_bounded() {
        let most = Duration::from_secs(JITTER);
        let waits: Vec<Duration> = (0..64).map(|_| up_to(most)).collect();
        assert!(waits.iter().all(|wait| *wait <= most));
        let spread = waits
            .iter()
            .max()
            .unwrap()
            .abs_diff(*waits.iter().min().unwrap());
        assert!(spread > most / 4, "{spread:?}");
        assert_eq!(up_to(Duration::ZERO), Duration::ZERO);
    }
}
