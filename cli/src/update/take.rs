//! Takes a database in.
//!
//! **Contract.** Everything is verified in memory before the first byte is written: metadata,
//! length and hash, structure, schema, `seq`. A refusal leaves the disk as it was, but for what
//! is denied since: that is taken from any list that verifies.

use std::time::{Duration, Instant};

use compatdb::{Database, DenyList, schema};
use jiff::Timestamp;
use serde::Serialize;

use super::clock::Clock;
use super::floor::Floor;
use super::limits;
use super::problem::Problem;
use super::refresh::{Fetched, refresh};
use super::release::Release;
use super::store::{Event, Store, Stored, Which};
use super::transport::{Place, Progress, Transport};
use super::verify::{Keys, Listed};

/// What is asked for.
pub struct Wanted {
    /// From where.
    pub place: Place,
    /// How long everything may take.
    pub budget: Duration,
    /// Look only, write nothing.
    pub check: bool,
    /// Told how far a fetch is.
    pub progress: Option<Progress>,
    /// The database that this build embeds with signatures: its targets keys and `seq`.
    pub(crate) embedded: Option<(Keys, u64)>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Nothing is newer.
    UpToDate,
    /// A newer database is there (`--check`).
    Available,
    /// A newer database was taken in.
    Updated,
    /// A newer one is there that this metalshim cannot read; what is denied was taken in.
    NeedsNewerMetalshim,
}

/// What was done.
#[derive(Debug)]
pub struct Done {
    /// What came of it.
    pub outcome: Outcome,
    /// The newest database's `seq`.
    pub seq: u64,
    /// Its SHA-256.
    pub sha256: String,
    /// Until when the signatures vouch for it.
    pub fresh_until: Timestamp,
    /// The deny list's `seq`.
    pub deny_seq: Option<u64>,
    /// The program's releases for this system, the newest first.
    pub releases: Vec<Release>,
    /// Requests that it took.
    pub requests: u64,
    /// Bytes of answers.
    pub bytes: u64,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Refreshes, and takes in what is newer.
///
/// # Errors
/// Why there was no update; the last good database stays.
pub(crate) fn take(
    trust_root: &[u8],
    store: &Store,
    wanted: &Wanted,
    waiting: impl FnOnce(&str),
) -> Result<Done, Problem> {
    let deadline = Instant::now() + wanted.budget;
    let _lock = match wanted.check {
        true => None,
        false => Some(store.lock(deadline, waiting)?),
    };
    let mut warnings = Vec::new();
    let floor = store.floor()?;
    let stored = match store.load(trust_root, Which::Current) {
        Ok(stored) => stored,
        // The floor still holds; what is damaged is replaced by what is fetched.
        Err(problem) => {
            warnings.push(format!(
                "what was kept cannot be used, and is fetched again: {problem}"
            ));
            None
        }
    };
    let left = deadline.saturating_duration_since(Instant::now());
    let transport = Transport::new(wanted.place.clone(), left, wanted.progress.clone())?;
    let seeds = stored.as_ref().map(|s| (&s.metadata, &s.verified));
    let clock = |keys: &Keys| Clock::here(floor.times(keys));
    let fetched = refresh(trust_root, seeds, &transport, clock)?;
    let verified = &fetched.verified;
    let behind = clock(&verified.keys).behind();
    if let Some(seconds) = behind.filter(|s| *s > 3600) {
        warnings.push(format!(
            "this machine's clock is at least {} behind; the latest signed time is used instead",
            super::problem::words(seconds)
        ));
    }
    let newest = choose(&fetched, &floor, stored.as_ref(), wanted)?;
    let denied = denied(store, &floor, &fetched, newest.usable, stored.as_ref())?;
    if let Some(until) = verified
        .deny_fresh_until
        .filter(|u| *u < clock(&verified.keys).now())
    {
        warnings.push(format!(
            "the deny list's own signature ended on {}: what was denied since is not known",
            until.strftime("%F")
        ));
    }
    let unusable = match newest.held {
        Some(_) => Outcome::UpToDate,
        None => Outcome::NeedsNewerMetalshim,
    };
    let outcome = match newest.usable {
        _ if wanted.check => match newest.usable {
            Some(listed) if !same(stored.as_ref(), listed) => Outcome::Available,
            Some(_) => Outcome::UpToDate,
            None => unusable,
        },
        None => {
            store.deny(&denied)?;
            store.raise(&floor.raised(verified, None))?;
            unusable
        }
        Some(listed) => take_in(
            store,
            &fetched,
            listed,
            stored.as_ref(),
            &floor,
            &denied,
            wanted,
            &mut warnings,
        )?,
    };
    if let Some(newer) = &newest.too_new {
        warnings.push(format!(
            "database seq {} needs metalshim {} or later: update metalshim",
            newer.custom.seq, newer.custom.min_cli
        ));
    }
    if let Some(held) = newest.held {
        warnings.push(format!(
            "database seq {held} was rolled back here, and is not taken again by itself: `metalshim db rollback` swaps them back"
        ));
    }
    let used = newest.usable.or(stored.as_ref().map(|s| &s.listed));
    Ok(Done {
        outcome,
        seq: used.map_or(0, |l| l.custom.seq),
        sha256: used.map_or(String::new(), |l| l.sha256.clone()),
        fresh_until: verified.fresh_until,
        deny_seq: verified.deny_list.as_ref().map(|list| list.seq),
        releases: verified.releases.clone(),
        requests: transport
            .log
            .requests
            .load(std::sync::atomic::Ordering::Relaxed),
        bytes: transport
            .log
            .bytes
            .load(std::sync::atomic::Ordering::Relaxed),
        warnings,
    })
}

fn same(stored: Option<&Stored>, listed: &Listed) -> bool {
    stored.is_some_and(|s| s.listed.sha256 == listed.sha256)
}

/// The databases that matter among those that are listed.
struct Newest<'a> {
    /// The one to use; none where none may be used here.
    usable: Option<&'a Listed>,
    /// A newer one that this metalshim cannot use.
    too_new: Option<&'a Listed>,
    /// The `seq` of one that was rolled back here.
    held: Option<u64>,
}

fn choose<'a>(
    fetched: &'a Fetched,
    floor: &Floor,
    stored: Option<&Stored>,
    wanted: &Wanted,
) -> Result<Newest<'a>, Problem> {
    let verified = &fetched.verified;
    let cli: semver::Version = env!("CARGO_PKG_VERSION")
        .parse()
        .map_err(|_| Problem::Malformed("this build's own version".to_owned()))?;
    let reads = |l: &Listed| l.custom.schema == schema::VERSION && l.custom.min_cli <= cli;
    let Some(first) = verified.databases.first() else {
        return Err(Problem::Missing("database".to_owned()));
    };
    let usable = verified.databases.iter().find(|l| reads(l));
    let too_new = (!reads(first)).then_some(first);
    let held_back = stored.and_then(|s| s.pointer.held_back.as_ref());
    let held = usable.filter(|l| Some(&l.sha256) == held_back);
    if let Some(held) = held {
        let kept = verified.databases.iter().find(|l| same(stored, l));
        return Ok(Newest {
            usable: kept,
            too_new,
            held: Some(held.custom.seq),
        });
    }
    if let Some(listed) = usable {
        let seq = listed.custom.seq;
        let mut reached = floor.seq(&verified.keys);
        if let Some((keys, embedded)) = &wanted.embedded
            && keys.targets == verified.keys.targets
        {
            reached = reached.max(*embedded);
        }
        if let Some(stored) = stored.filter(|s| s.verified.keys.targets == verified.keys.targets) {
            reached = reached.max(stored.pointer.seq);
            if stored.pointer.seq == seq && !same(Some(stored), listed) {
                return Err(Problem::Rollback(format!(
                    "another database with seq {seq}, which has to count up"
                )));
            }
        }
        if seq < reached {
            return Err(Problem::Rollback(format!(
                "database seq {seq}, where seq {reached} is known"
            )));
        }
    }
    Ok(Newest {
        usable,
        too_new,
        held: None,
    })
}

/// What is denied from now on. A list alone never takes back what an earlier one denied under
/// the same keys: that takes a newer database, or other keys, which targets signs. So a thief
/// of the revoker's key can deny, and cannot allow.
fn denied(
    store: &Store,
    floor: &Floor,
    fetched: &Fetched,
    usable: Option<&Listed>,
    stored: Option<&Stored>,
) -> Result<DenyList, Problem> {
    let verified = &fetched.verified;
    let new = verified.deny_list.clone().unwrap_or_default();
    let reached = floor.deny_seq(&verified.keys);
    if new.seq < reached {
        return Err(Problem::Rollback(format!(
            "deny list seq {}, where seq {reached} is known",
            new.seq
        )));
    }
    let old = store.denied()?.unwrap_or_default();
    let newer_database = match (usable, stored) {
        (Some(listed), Some(stored)) => listed.custom.seq > stored.pointer.seq,
        _ => false,
    };
    let other_keys = stored.is_some_and(|s| s.verified.keys.revoker != verified.keys.revoker);
    if newer_database || other_keys {
        return Ok(new);
    }
    let mut all = new;
    for record in old.records {
        if !all.records.iter().any(|r| r.id == record.id) {
            all.records.push(record);
        }
    }
    for (all, old) in [
        (&mut all.guest_builds, old.guest_builds),
        (&mut all.host_builds, old.host_builds),
    ] {
        for build in old {
            if !all.iter().any(|b| b.build == build.build) {
                all.push(build);
            }
        }
    }
    Ok(all)
}

#[allow(
    clippy::too_many_arguments,
    reason = "one caller, which has them all in hand"
)]
fn take_in(
    store: &Store,
    fetched: &Fetched,
    listed: &Listed,
    stored: Option<&Stored>,
    floor: &Floor,
    denied: &DenyList,
    wanted: &Wanted,
    warnings: &mut Vec<String>,
) -> Result<Outcome, Problem> {
    let raised = floor.raised(&fetched.verified, Some(listed));
    if let Some(stored) = stored.filter(|s| s.listed.sha256 == listed.sha256) {
        let known = store.denied()?;
        if stored.metadata == fetched.metadata && known.as_ref() == Some(denied) && raised == *floor
        {
            return Ok(Outcome::UpToDate);
        }
        if stored.pointer.held_back.is_some() {
            // The set stays the one that lists the older database.
            store.deny(denied)?;
            store.raise(&raised)?;
            return Ok(Outcome::UpToDate);
        }
        store.commit(&fetched.metadata, listed, &stored.bytes, denied, &raised)?;
        return Ok(Outcome::UpToDate);
    }
    let bytes = match store.database(&listed.sha256) {
        Some(bytes) => bytes,
        None => fetched.target(&listed.name)?,
    };
    check(&bytes, listed)?;
    store.commit(&fetched.metadata, listed, &bytes, denied, &raised)?;
    let event = Event {
        at: Timestamp::now(),
        what: "taken-in".to_owned(),
        seq: listed.custom.seq,
        sha256: listed.sha256.clone(),
        from: wanted.place.to_string(),
    };
    if let Err(problem) = store.remember(event) {
        warnings.push(format!("the history could not be written: {problem}"));
    }
    Ok(Outcome::Updated)
}

/// Structure, schema, and that it is the database that was signed for.
fn check(bytes: &[u8], listed: &Listed) -> Result<(), Problem> {
    let unusable = |why: String| Problem::Database(format!("{}: {why}", listed.name));
    if bytes.len() as u64 > limits::TARGET {
        return Err(Problem::TooLong(listed.name.clone(), limits::TARGET));
    }
    let database = Database::open(bytes).map_err(|e| unusable(e.to_string()))?;
    database
        .quick_check()
        .map_err(|e| unusable(e.to_string()))?;
    let (meta, custom) = (database.meta(), &listed.custom);
    if meta.sha256 != listed.sha256 {
        return Err(Problem::Swapped(listed.name.clone()));
    }
    if (meta.seq, meta.published_at) != (custom.seq, custom.published_at) {
        return Err(unusable(format!(
            "it says seq {} of {}, and is signed as seq {} of {}",
            meta.seq, meta.published_at, custom.seq, custom.published_at
        )));
    }
    Ok(())
}

/// Swaps back to the database before this one, if that may still be used.
///
/// # Errors
/// There is none, or it may not be used, and why.
pub(crate) fn roll_back(
    trust_root: &[u8],
    store: &Store,
    embedded: Option<(Keys, u64)>,
) -> Result<(u64, u64), Problem> {
    let _lock = store.lock(Instant::now() + Duration::from_secs(10), |_| ())?;
    let refuse =
        |why: String| Problem::Usage(why, "`metalshim db history` shows what is kept".to_owned());
    let current = store.load(trust_root, Which::Current)?;
    let previous = store.load(trust_root, Which::Previous)?;
    let (Some(current), Some(previous)) = (current, previous) else {
        return Err(refuse(
            "there is no database before the one in use".to_owned(),
        ));
    };
    let newest = match current.verified.root_version >= previous.verified.root_version {
        true => &current.verified.keys,
        false => &previous.verified.keys,
    };
    let seq = previous.pointer.seq;
    if previous.verified.keys.targets != newest.targets {
        return Err(refuse(format!(
            "database seq {seq} may not be used any more: the keys that signed it were taken back"
        )));
    }
    if let Some((keys, reached)) = embedded
        && keys.targets == newest.targets
        && seq < reached
    {
        return Err(refuse(format!(
            "database seq {seq} may not be used any more: this metalshim comes with seq {reached}"
        )));
    }
    store.roll_back()?;
    let event = Event {
        at: Timestamp::now(),
        what: "rolled-back".to_owned(),
        seq,
        sha256: previous.listed.sha256.clone(),
        from: "the database before".to_owned(),
    };
    // The history decides nothing.
    let _ = store.remember(event);
    Ok((current.pointer.seq, seq))
}
