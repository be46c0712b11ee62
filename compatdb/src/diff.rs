//! What a new database changes for users.
//!
//! **Contract.** Compared is what a user meets: for each pair whether it is allowed and with
//! which profile, for each range whether it denies, for each client what it may be told.
//! A record that changes only its notes changes nothing here.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::query::QueryError;
use crate::records::{Cap, VersionRange};
use crate::rows::{BuildRange, Client, Deny, Pair, Status};
use crate::{Database, OsBuild, PairFilter, Profile};

/// All changes from one database to another, pairs first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    /// `seq` of the old and of the new database.
    pub seq: (u64, u64),
    /// The changes; empty when users meet the same.
    pub changes: Vec<Change>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// What happens to it.
    pub what: What,
    /// A pair as `GUEST on HOST`, the id of a range, or the slug of a client.
    pub of: String,
    /// The record that decides now, else the one that decided before.
    pub record: String,
    /// In a sentence.
    pub says: String,
}

/// Kinds of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A pair was unknown, or denied, and is allowed.
    PairAllowed,
    /// A pair was allowed, or unknown, and is broken, or not verified any more.
    PairDenied,
    /// A pair is taken back.
    PairRevoked,
    /// An allowed pair's profile is higher in one value at least, and lower in none.
    PairRaised,
    /// An allowed pair's profile is lower in one value at least.
    PairLowered,
    /// An allowed pair has another evidence level.
    PairEvidence,
    /// A range denies that did not.
    RangeAdded,
    /// A range denies other builds, or for another reason.
    RangeChanged,
    /// A range that denied is gone.
    RangeRemoved,
    /// A client is known now.
    ClientAdded,
    /// A client is recognised, limited or followed differently.
    ClientChanged,
    /// A client is not known any more: it gets the record's whole profile.
    ClientRemoved,
}

/// What a user of a pair meets.
#[derive(Clone, Debug, PartialEq)]
enum State {
    Allowed {
        profile: Profile,
        level: u8,
    },
    Broken(String),
    Revoked(String),
    /// A record, but no evidence.
    Claimed,
}

type Pairs = BTreeMap<(OsBuild, OsBuild), (State, String)>;

/// What `new` changes for users of `old`.
///
/// # Errors
/// Damaged rows in either.
pub fn diff(old: &Database, new: &Database) -> Result<Diff, QueryError> {
    let mut changes = pairs(&states(old)?, &states(new)?);
    changes.extend(ranges(&old.deny_ranges()?, &new.deny_ranges()?));
    changes.extend(clients(&old.clients()?, &new.clients()?));
    Ok(Diff {
        seq: (old.seq(), new.seq()),
        changes,
    })
}

fn states(db: &Database) -> Result<Pairs, QueryError> {
    let ranges = db.deny_ranges()?;
    let mut by_pair: BTreeMap<(OsBuild, OsBuild), Vec<Pair>> = BTreeMap::new();
    for pair in db.pairs(&PairFilter::default())? {
        let key = (pair.guest.build.clone(), pair.host.build.clone());
        by_pair.entry(key).or_default().push(pair);
    }
    Ok(by_pair
        .into_iter()
        .map(|(key, records)| {
            let state = state(&records, &ranges, &key);
            (key, state)
        })
        .collect())
}

/// The same order as the verdict's: revoked, then broken, then verified.
fn state(records: &[Pair], ranges: &[Deny], key: &(OsBuild, OsBuild)) -> (State, String) {
    let reason = |p: &Pair| p.reason.clone().unwrap_or_default();
    let range = |status: Status| {
        let mut hits = ranges.iter();
        hits.find(|d| d.covers(&key.0, Some(&key.1)) && d.status == status)
    };
    let record = |status: Status| records.iter().find(|p| p.status == status);
    if let Some(p) = record(Status::Revoked) {
        return (State::Revoked(reason(p)), p.id.clone());
    }
    if let Some(d) = range(Status::Revoked) {
        return (State::Revoked(d.reason.clone()), d.id.clone());
    }
    if let Some(p) = record(Status::Broken) {
        return (State::Broken(reason(p)), p.id.clone());
    }
    if let Some(d) = range(Status::Broken) {
        return (State::Broken(d.reason.clone()), d.id.clone());
    }
    let best = records
        .iter()
        .max_by(|a, b| (a.evidence.level, &a.id).cmp(&(b.evidence.level, &b.id)));
    match best {
        Some(p) if p.evidence.level >= 1 => (
            State::Allowed {
                profile: p.profile,
                level: p.evidence.level,
            },
            p.id.clone(),
        ),
        best => (
            State::Claimed,
            best.map(|p| p.id.clone()).unwrap_or_default(),
        ),
    }
}

fn pairs(old: &Pairs, new: &Pairs) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut keys: Vec<_> = old.keys().chain(new.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let (was, is) = (old.get(key), new.get(key));
        let Some((what, says)) = pair_change(was.map(|w| &w.0), is.map(|i| &i.0)) else {
            continue;
        };
        let record = is.or(was).map(|(_, id)| id.clone()).unwrap_or_default();
        changes.push(Change {
            what,
            of: format!("{} on {}", key.0, key.1),
            record,
            says,
        });
    }
    changes.sort_by_key(|c| c.what);
    changes
}

fn pair_change(was: Option<&State>, is: Option<&State>) -> Option<(What, String)> {
    use State::{Allowed, Broken, Claimed, Revoked};
    match (was, is) {
        (
            Some(Allowed { profile, level }),
            Some(Allowed {
                profile: now,
                level: now_level,
            }),
        ) => {
            if profile != now {
                let what = match profile.is_within(*now) {
                    true => What::PairRaised,
                    false => What::PairLowered,
                };
                return Some((what, format!("from {profile} to {now}")));
            }
            (level != now_level).then(|| {
                let says = format!("evidence level from {level} to {now_level}");
                (What::PairEvidence, says)
            })
        }
        (_, Some(Allowed { profile, level })) => Some((
            What::PairAllowed,
            format!("with {profile}, evidence level {level}"),
        )),
        (Some(Revoked(a)), Some(Revoked(b))) | (Some(Broken(a)), Some(Broken(b))) if a == b => None,
        (_, Some(Revoked(why))) => Some((What::PairRevoked, why.clone())),
        (_, Some(Broken(why))) => Some((What::PairDenied, format!("broken: {why}"))),
        (Some(Allowed { .. }), Some(Claimed)) => {
            Some((What::PairDenied, "only claimed now".to_owned()))
        }
        (Some(Allowed { .. }), None) => Some((What::PairDenied, "the record is gone".to_owned())),
        (Some(Revoked(_) | Broken(_)), Some(Claimed) | None) => Some((
            What::PairDenied,
            "no longer denied by a record of its own, but unknown: stock as before".to_owned(),
        )),
        (_, Some(Claimed) | None) => None,
    }
}

fn ranges(old: &[Deny], new: &[Deny]) -> Vec<Change> {
    let builds = |d: &Deny| {
        let side = |name: &str, range: &Option<BuildRange>| match range {
            None => format!("every {name}"),
            Some(range) => format!("{name}s {}", range_says(range)),
        };
        format!(
            "{} on {}: {}",
            side("guest", &d.guest),
            side("host", &d.host),
            d.reason
        )
    };
    let met = |d: &Deny| (d.status, d.guest.clone(), d.host.clone(), d.reason.clone());
    let texts = [What::RangeAdded, What::RangeChanged, What::RangeRemoved];
    by_id(old, new, |d| &d.id, met, texts, builds)
}

fn clients(old: &[Client], new: &[Client]) -> Vec<Change> {
    let met = |c: &Client| {
        (
            c.gains,
            c.schemes.clone(),
            c.recognise.clone(),
            c.children.clone(),
            c.caps.clone(),
            c.blocked.clone(),
        )
    };
    let texts = [What::ClientAdded, What::ClientChanged, What::ClientRemoved];
    by_id(old, new, |c| &c.id, met, texts, |c| client_says(old, c))
}

/// What of a client changed, in the words of its record.
fn client_says(old: &[Client], now: &Client) -> String {
    let Some(was) = old.iter().find(|c| c.id == now.id && *c != now) else {
        return format!("{} caps, {} blocked", now.caps.len(), now.blocked.len());
    };
    let mut parts = Vec::new();
    let limits = |c: &Client| -> Vec<String> {
        let caps = c.caps.iter().map(cap_says);
        let blocked = c
            .blocked
            .iter()
            .map(|b| format!("stock only{}: {}", versions(&b.versions), b.says));
        caps.chain(blocked).collect()
    };
    let (before, after) = (limits(was), limits(now));
    for gone in before.iter().filter(|l| !after.contains(l)) {
        parts.push(format!("no longer: {gone}"));
    }
    for new in after.iter().filter(|l| !before.contains(l)) {
        parts.push(format!("now: {new}"));
    }
    for (name, changed) in [
        ("how it is recognised", was.recognise != now.recognise),
        ("how it counts versions", was.schemes != now.schemes),
        ("its children", was.children != now.children),
        ("what it gains", was.gains != now.gains),
    ] {
        if changed {
            parts.push(format!("{name} changed"));
        }
    }
    parts.join("; ")
}

fn range_says(range: &BuildRange) -> String {
    match (&range.from, &range.before) {
        (None, None) => "of every build".to_owned(),
        (Some(from), None) => format!("from {from}"),
        (None, Some(before)) => format!("before {before}"),
        (Some(from), Some(before)) => format!("from {from} until before {before}"),
    }
}

fn versions(ranges: &[VersionRange]) -> String {
    let texts: Vec<String> = ranges.iter().map(VersionRange::to_string).collect();
    match texts.is_empty() {
        true => String::new(),
        false => format!(" for {}", texts.join(" or ")),
    }
}

fn cap_says(cap: &Cap) -> String {
    let mut limits = Vec::new();
    if let Some(family) = cap.apple_family_max {
        limits.push(format!("family {family}"));
    }
    match cap.host_family.map(|h| h.unknown) {
        Some(Some(unknown)) => limits.push(format!("the host's family, else {unknown}")),
        Some(None) => limits.push("the host's family".to_owned()),
        None => {}
    }
    if let Some(memory) = cap.max_threadgroup_memory {
        limits.push(format!("{memory} bytes"));
    }
    let mut whom = versions(&cap.versions);
    if cap.unknown_version {
        whom.push_str(if whom.is_empty() { " for " } else { " or " });
        whom.push_str("an unknown version");
    }
    format!("at most {}{whom}: {}", limits.join(" and "), cap.says)
}

fn by_id<T, M: PartialEq>(
    old: &[T],
    new: &[T],
    id: impl Fn(&T) -> &String,
    met: impl Fn(&T) -> M,
    [added, changed, removed]: [What; 3],
    says: impl Fn(&T) -> String,
) -> Vec<Change> {
    let change = |what, row: &T| Change {
        what,
        of: id(row).clone(),
        record: id(row).clone(),
        says: says(row),
    };
    let find = |rows: &[T], row: &T| rows.iter().position(|r| id(r) == id(row));
    let mut changes = Vec::new();
    for row in new {
        match find(old, row).and_then(|at| old.get(at)) {
            None => changes.push(change(added, row)),
            Some(was) if met(was) != met(row) => changes.push(change(changed, row)),
            Some(_) => {}
        }
    }
    for row in old.iter().filter(|row| find(new, row).is_none()) {
        changes.push(change(removed, row));
    }
    changes.sort_by_key(|c| c.what);
    changes
}

impl What {
    /// A heading for changes of this kind.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::PairAllowed => "Allowed",
            Self::PairDenied => "Denied",
            Self::PairRevoked => "Revoked",
            Self::PairRaised => "Raised",
            Self::PairLowered => "Lowered",
            Self::PairEvidence => "Other evidence",
            Self::RangeAdded => "Ranges added",
            Self::RangeChanged => "Ranges changed",
            Self::RangeRemoved => "Ranges removed",
            Self::ClientAdded => "Clients added",
            Self::ClientChanged => "Clients changed",
            Self::ClientRemoved => "Clients removed",
        }
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Database {} to {}", self.seq.0, self.seq.1)?;
        if self.changes.is_empty() {
            return writeln!(f, "\nNothing changes for users.");
        }
        let mut heading = None;
        for change in &self.changes {
            if heading != Some(change.what) {
                writeln!(f, "\n{}", change.what.heading())?;
                heading = Some(change.what);
            }
            if change.record == change.of {
                writeln!(f, "  {}: {}", change.of, change.says)?;
            } else {
                writeln!(f, "  {} ({}): {}", change.of, change.record, change.says)?;
            }
        }
        Ok(())
    }
}
