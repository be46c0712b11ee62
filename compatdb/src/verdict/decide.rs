//! The decision itself.
//!
//! **Contract.** Pure: no clock, no files, no printing, and no panic. Every reason that
//! applies is found; the first in the order of [`Reason`] is told, the others are named.
//! Whatever is not known for sure leaves the program stock. Flags, policy, client rows and
//! caps can only take away, but for `--allow-unverified`, which stands in for a record that
//! is missing, never against one that denies.

use super::case::{Case, Evidence, Target};
use super::unknown::{self, Lacks};
use super::{Allow, Reason, Refusal, Remedy, Verdict, caps, says, warnings};
use crate::Lookup;
use crate::facts::{Canary, HostSource, PARAVIRTUAL_CLASS};
use crate::rows::{Pair, Status};
use crate::{OsBuild, Profile};

/// One reason that applies.
pub(super) struct Finding {
    pub(super) reason: Reason,
    pub(super) says: String,
    pub(super) remedies: Vec<Remedy>,
}

/// May the overrides be used?
pub fn decide(case: &Case<'_>) -> Verdict {
    let mut findings = Vec::new();
    let mut add = |f: Option<Finding>| findings.extend(f);

    add(not_a_guest(case));
    let mut record = None;
    let mut unverified = false;
    match case.database {
        Evidence::Invalid { why } => add(Some(says::database_invalid(why))),
        Evidence::Known { meta, lookup } => {
            add((*case.cli < meta.min_cli).then(|| says::cli_too_old(case, meta)));
            let deny = [revoked(case, lookup), broken(lookup)];
            let denied = deny.iter().any(Option::is_some);
            deny.into_iter().for_each(&mut add);
            record = best_record(lookup);
            match record {
                Some(record) => {
                    add((record.min_shim_abi > case.shim_abi)
                        .then(|| says::shim_too_old(case, record)));
                    add(policy_on_record(case, record));
                    add(drift(case, record));
                }
                // What is denied is not unknown, though its host may be.
                None if denied && lookup.host_build.is_some() => {}
                None => {
                    let refusal = unknown::unknown(case, lookup);
                    match unverified_consent(case) {
                        Consent::NotAsked => add(Some(refusal)),
                        Consent::Forbidden(policy) => {
                            add(Some(policy));
                            add(Some(refusal));
                        }
                        Consent::Lacks(why) => add(Some(unknown::unknown_lacks(refusal, why))),
                        Consent::Given => unverified = true,
                    }
                }
            }
        }
    }
    add(caps::client_blocked(case));
    add(policy_on_machine(case));
    add(stale(case));
    add(case.facts.local.drift.then(|| says::drift_seen(case)));
    add((case.facts.local.canary == Canary::Failed).then(|| says::canary_failed(case)));
    if let Target::NotInjectable {
        code,
        says,
        remedies,
    } = &case.request.target
    {
        add(Some(Finding {
            reason: Reason::TargetNotInjectable,
            says: format!("{says} ({code})"),
            remedies: remedies.clone(),
        }));
    }

    findings.sort_by_key(|f| f.reason);
    let mut findings = findings.into_iter();
    if let Some(first) = findings.next() {
        let mut also: Vec<Reason> = findings.map(|f| f.reason).collect();
        also.dedup();
        also.retain(|r| *r != first.reason);
        return Verdict::Refuse(Refusal {
            reason: first.reason,
            says: first.says,
            remedies: first.remedies,
            also,
        });
    }
    // No finding, and neither a record nor consent: cannot be, for then it is unknown. Stock.
    match (record, unverified) {
        (Some(record), _) => allow(case, Some(record), record.profile),
        (None, true) => allow(case, None, Profile::HIGHEST),
        (None, false) => Verdict::Refuse(Refusal {
            reason: Reason::PairUnknown,
            says: "No record covers this pair.".to_owned(),
            remedies: Vec::new(),
            also: Vec::new(),
        }),
    }
}

fn allow(case: &Case<'_>, record: Option<&Pair>, ceiling: Profile) -> Verdict {
    let (profile, capped_by) = caps::effective(case, ceiling, record.is_none());
    Verdict::Allow(Allow {
        profile,
        record: record.map(|r| r.id.clone()),
        evidence_level: record.map(|r| r.evidence.level),
        capped_by,
        warnings: warnings::warnings(case, record, ceiling),
    })
}

fn not_a_guest(case: &Case<'_>) -> Option<Finding> {
    let facts = case.facts;
    if !facts.guest.vm {
        return Some(says::bare_metal(case));
    }
    let device = facts.device.as_ref()?;
    (device.class != PARAVIRTUAL_CLASS).then(|| says::other_device(device))
}

fn revoked(case: &Case<'_>, lookup: &Lookup) -> Option<Finding> {
    if let Some(entry) = lookup.revoked.first() {
        return Some(says::revoked(case, &entry.what, &entry.reason));
    }
    let mut ranges = lookup.denies.iter();
    if let Some(deny) = ranges.find(|d| d.status == Status::Revoked) {
        return Some(says::revoked(case, &deny.id, &deny.reason));
    }
    let record = lookup.pairs.iter().find(|p| p.status == Status::Revoked)?;
    Some(says::revoked(
        case,
        &record.id,
        record.reason.as_deref().unwrap_or_default(),
    ))
}

fn broken(lookup: &Lookup) -> Option<Finding> {
    if let Some(record) = lookup.pairs.iter().find(|p| p.status == Status::Broken) {
        return Some(says::broken_pair(record));
    }
    let mut ranges = lookup.denies.iter();
    ranges
        .find(|deny| deny.status != Status::Revoked)
        .map(|deny| says::broken_range(lookup, deny))
}

/// The record that would allow: of the pair's verified ones from level 1 on, the one with
/// the most evidence; of equals, the newest. Exact builds only.
fn best_record(lookup: &Lookup) -> Option<&Pair> {
    let exact = |p: &&Pair| {
        p.guest.build == lookup.guest_build && Some(&p.host.build) == lookup.host_build.as_ref()
    };
    lookup
        .pairs
        .iter()
        .filter(exact)
        .filter(|p| p.status == Status::Verified && p.evidence.level >= 1 && p.profile.is_allowed())
        .max_by(|a, b| (a.evidence.level, &a.id).cmp(&(b.evidence.level, &b.id)))
}

enum Consent {
    NotAsked,
    Given,
    Forbidden(Finding),
    Lacks(Lacks),
}

/// Whether `--allow-unverified` stands in for the missing record.
fn unverified_consent(case: &Case<'_>) -> Consent {
    let Some(build) = &case.request.allow_unverified else {
        return Consent::NotAsked;
    };
    let guest: &OsBuild = &case.facts.guest.build;
    if build != guest {
        return Consent::Lacks(Lacks::OtherBuild(build.clone()));
    }
    if case.policy.forbid_unverified {
        return Consent::Forbidden(says::policy_unverified());
    }
    if let Some(level) = case.policy.min_evidence_level.filter(|l| *l > 0) {
        return Consent::Forbidden(says::policy_level(level, None));
    }
    if case.facts.device.is_none() {
        return Consent::Lacks(Lacks::StockAnswers);
    }
    // A failed one is a reason of its own.
    if case.facts.local.canary == Canary::None {
        return Consent::Lacks(Lacks::Canary(build.clone(), case.request.profile));
    }
    Consent::Given
}

fn policy_on_record(case: &Case<'_>, record: &Pair) -> Option<Finding> {
    let level = case.policy.min_evidence_level?;
    (record.evidence.level < level).then(|| says::policy_level(level, Some(record)))
}

fn policy_on_machine(case: &Case<'_>) -> Option<Finding> {
    let (policy, facts) = (case.policy, case.facts);
    if policy.deny_guest_builds.contains(&facts.guest.build) {
        return Some(says::policy_build("guest", &facts.guest.build));
    }
    let host = facts.host.as_ref()?;
    if policy.deny_host_builds.contains(&host.build) {
        return Some(says::policy_build("host", &host.build));
    }
    (policy.require_attested_host && host.source != HostSource::Attested)
        .then(|| says::policy_attested(&host.build))
}

fn stale(case: &Case<'_>) -> Option<Finding> {
    if !case.policy.require_fresh_database {
        return None;
    }
    match case.fresh_until {
        Some(until) if case.now <= until => None,
        until => Some(says::stale(case, until)),
    }
}

/// Whether the guest's Metal is other than the record's. What was not read is not compared,
/// nor is another device than the paravirtual one.
fn drift(case: &Case<'_>, record: &Pair) -> Option<Finding> {
    let device = case.facts.device.as_ref()?;
    if device.class != PARAVIRTUAL_CLASS {
        return None;
    }
    let class = &record.device_class;
    let differs = |what: &'static str, recorded: String, now: String| {
        (recorded != now).then_some((what, recorded, now))
    };
    let read = |what, recorded: &Option<String>, now: &Option<String>| match (recorded, now) {
        (Some(recorded), Some(now)) => differs(what, recorded.to_uppercase(), now.to_uppercase()),
        _ => None,
    };
    let stock = record.stock;
    let common = stock.common_family.zip(device.common_family);
    let changes: Vec<_> = [
        differs("the device's class", class.clone(), device.class.clone()),
        differs(
            "Apple family",
            stock.apple_family.to_string(),
            device.apple_family.to_string(),
        ),
        differs(
            "threadgroup memory",
            stock.max_threadgroup_memory.to_string(),
            device.max_threadgroup_memory.to_string(),
        ),
        differs(
            "Metal 3",
            stock.metal3.to_string(),
            device.metal3.to_string(),
        ),
        common.and_then(|(r, d)| differs("Common family", r.to_string(), d.to_string())),
        read("Metal's UUID", &record.metal_uuid, &device.metal_uuid),
        read(
            "the driver's UUID",
            &record.driver_uuid,
            &device.driver_uuid,
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!changes.is_empty()).then(|| says::drift(case, record, &changes))
}
