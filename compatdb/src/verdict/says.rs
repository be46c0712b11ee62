//! What a verdict says: sentences with the values that decided, and what to do next.

use super::case::Case;
use super::decide::Finding;
use super::{Reason, Remedy};
use crate::facts::{Device, HostSource, PARAVIRTUAL_CLASS};
use crate::query::Lookup;
use crate::rows::{Deny, Gains, Pair, PairBrief};
use crate::{Meta, OsBuild, Profile};

/// What prints a system's build.
const SW_VERS: &str = "sw_vers -buildVersion";

fn stock_is_right() -> Remedy {
    Remedy::text("Run the program without metalshim: stock answers are the right ones here.")
}

/// A new database comes with a new metalshim.
fn update_database() -> Remedy {
    Remedy::command(
        "Look for a newer compatibility database: a newer metalshim brings one; with Homebrew, this does it.",
        "brew upgrade metalshim",
    )
}

fn report(why: &str) -> Remedy {
    Remedy::text(format!(
        "Report it at {}/issues with the output of `metalshim doctor --json`: {why}.",
        env!("CARGO_PKG_REPOSITORY")
    ))
}

fn update_metalshim() -> Remedy {
    Remedy::command(
        "Update metalshim; with Homebrew, this does it.",
        "brew upgrade metalshim",
    )
}

pub(super) fn bare_metal(case: &Case<'_>) -> Finding {
    Finding {
        reason: Reason::NotAGuest,
        says: format!(
            "This is {} with macOS {} ({}), not a guest of a virtual machine: its GPU already answers for itself.",
            case.facts.guest.model, case.facts.guest.version, case.facts.guest.build
        ),
        remedies: vec![Remedy::text(
            "Run metalshim inside a macOS guest; here, start the program directly.",
        )],
    }
}

pub(super) fn other_device(device: &Device) -> Finding {
    Finding {
        reason: Reason::NotAGuest,
        says: format!(
            "The Metal device \"{}\" is of class {}, not {PARAVIRTUAL_CLASS}: the overrides are for the paravirtual device only.",
            device.name, device.class
        ),
        remedies: vec![stock_is_right()],
    }
}

pub(super) fn database_invalid(why: &str) -> Finding {
    Finding {
        reason: Reason::DatabaseInvalid,
        says: format!("{}.", upper_first(why.trim_end_matches('.'))),
        remedies: vec![
            Remedy::command(
                "See which database is used, and what is wrong with it.",
                "metalshim db info",
            ),
            update_database(),
        ],
    }
}

pub(super) fn cli_too_old(case: &Case<'_>, meta: &Meta) -> Finding {
    Finding {
        reason: Reason::CliTooOld,
        says: format!(
            "Database {} needs metalshim {} or later, and this is {}.",
            meta.seq, meta.min_cli, case.cli
        ),
        remedies: vec![update_metalshim()],
    }
}

pub(super) fn shim_too_old(case: &Case<'_>, record: &Pair) -> Finding {
    Finding {
        reason: Reason::ShimTooOld,
        says: format!(
            "Record {} needs a shim of interface {}, and this one is {}.",
            record.id, record.min_shim_abi, case.shim_abi
        ),
        remedies: vec![update_metalshim()],
    }
}

pub(super) fn revoked(what: &str, why: &str) -> Finding {
    let why = match why.trim_end_matches('.') {
        "" => "no reason was given",
        why => why,
    };
    Finding {
        reason: Reason::PairRevoked,
        says: format!("{what} was taken back: {why}. No flag overrules that."),
        remedies: vec![stock_is_right(), update_database()],
    }
}

fn read_about(fault: &str) -> Remedy {
    Remedy::command(
        format!("Read what is known of fault {fault}."),
        format!("metalshim db show {fault}"),
    )
}

fn another_guest() -> Remedy {
    Remedy::command(
        "Use a guest that is verified; this lists them.",
        "metalshim db pairs --status verified",
    )
}

pub(super) fn broken_pair(record: &Pair) -> Finding {
    let why = record.reason.as_deref().unwrap_or("no reason was given");
    let mut remedies = vec![stock_is_right(), another_guest()];
    remedies.extend(record.fault.as_deref().map(read_about));
    Finding {
        reason: Reason::PairBroken,
        says: format!(
            "Guest {} on host {} is known to go wrong with the overrides ({}): {}.",
            record.guest.build,
            record.host.build,
            record.id,
            why.trim_end_matches('.')
        ),
        remedies,
    }
}

pub(super) fn broken_range(lookup: &Lookup, deny: &Deny) -> Finding {
    let machine = match (&deny.guest, &deny.host, &lookup.host_build) {
        (None, Some(_), Some(host)) => format!("Host {host}"),
        (Some(_), Some(_), Some(host)) => format!("Guest {} on host {host}", lookup.guest_build),
        _ => format!("Guest {}", lookup.guest_build),
    };
    Finding {
        reason: Reason::PairBroken,
        says: format!(
            "{machine} is denied by {}: {}.",
            deny.id,
            deny.reason.trim_end_matches('.')
        ),
        remedies: vec![stock_is_right(), another_guest(), read_about(&deny.fault)],
    }
}

pub(super) fn policy_build(which: &str, build: &OsBuild) -> Finding {
    policy(format!(
        "This machine's policy keeps {which} build {build} stock (deny_{which}_builds)."
    ))
}

pub(super) fn policy_attested(host: &OsBuild) -> Finding {
    let mut finding = policy(format!(
        "Host build {host} is only stated, and this machine's policy wants the host's own attestation (require_attested_host)."
    ));
    finding.remedies.insert(
        0,
        Remedy::command(
            "On the host, write the attestation into a folder that it shares with the guest.",
            "metalshim host attest DIR",
        ),
    );
    finding
}

pub(super) fn policy_level(level: u8, record: Option<&Pair>) -> Finding {
    policy(match record {
        Some(record) => format!(
            "Record {} has evidence level {}, and this machine's policy demands {level} (min_evidence_level).",
            record.id, record.evidence.level
        ),
        None => format!(
            "An unverified pair has no evidence, and this machine's policy demands level {level} (min_evidence_level)."
        ),
    })
}

pub(super) fn policy_unverified() -> Finding {
    policy("This machine's policy does not take --allow-unverified (forbid_unverified).".to_owned())
}

fn policy(says: String) -> Finding {
    Finding {
        reason: Reason::Policy,
        says,
        remedies: vec![Remedy::text(
            "Ask whoever keeps this machine's policy.toml; no flag overrules it.",
        )],
    }
}

/// What `--allow-unverified` still lacks.
pub(super) enum Lacks {
    /// It names another guest build than this one's.
    OtherBuild(OsBuild),
    /// The device has not been asked on this boot.
    StockAnswers,
}

pub(super) fn unknown_lacks(mut unknown: Finding, lacks: Lacks) -> Finding {
    let (says, remedy) = match lacks {
        Lacks::OtherBuild(build) => (
            format!(" --allow-unverified names {build}, which is not this guest's build."),
            None,
        ),
        Lacks::StockAnswers => (
            " --allow-unverified needs this boot's stock answers, which nobody has read yet."
                .to_owned(),
            Some(Remedy::command(
                "Have the device asked first, then try again.",
                "metalshim doctor",
            )),
        ),
    };
    unknown.says.push_str(&says);
    if let Some(remedy) = remedy {
        unknown.remedies.insert(0, remedy);
    }
    unknown
}

/// The refusal that most users meet first.
pub(super) fn unknown(case: &Case<'_>, lookup: &Lookup) -> Finding {
    let guest = &case.facts.guest;
    let mut remedies = Vec::new();
    let (reason, mut says) = match &case.facts.host {
        None => {
            remedies.push(Remedy::command(
                "Ask the host for its build: type this on the host, not in this guest.",
                SW_VERS,
            ));
            remedies.push(Remedy::command(
                "Then say it here; it is kept for 30 days. For one start only: metalshim run --host-build BUILD -- PROGRAM.",
                "metalshim enable --host-build BUILD",
            ));
            (
                Reason::HostUnknown,
                format!(
                    "A guest cannot see its host's build, and nobody has said it; this guest is {} (macOS {}).",
                    guest.build, guest.version
                ),
            )
        }
        Some(host) => (
            Reason::PairUnknown,
            match lookup.pairs.first() {
                Some(claimed) => format!(
                    "Guest {} on host {} is only claimed to work ({}, evidence level {}); nobody has measured it.",
                    guest.build, host.build, claimed.id, claimed.evidence.level
                ),
                None => format!(
                    "No record covers guest {} on host {}.",
                    guest.build, host.build
                ),
            },
        ),
    };
    says.push_str(&neighbours(case, lookup));
    remedies.push(update_database());
    if let Some(nearest) = &lookup.nearest {
        remedies.push(Remedy::command(
            format!(
                "Or use the nearest verified pair: guest {} on host {} ({}).",
                nearest.guest_build, nearest.host_build, nearest.id
            ),
            format!("metalshim db show {}", nearest.id),
        ));
    }
    remedies.extend(how_to_try(case));
    Finding {
        reason,
        says,
        remedies,
    }
}

fn list(pairs: &[PairBrief], name: impl Fn(&PairBrief) -> &OsBuild) -> String {
    let items: Vec<String> = pairs
        .iter()
        .map(|p| format!("{} ({}, {})", name(p), p.status, p.id))
        .collect();
    items.join(", ")
}

fn neighbours(case: &Case<'_>, lookup: &Lookup) -> String {
    let mut says = String::new();
    if lookup.same_guest.is_empty() {
        says.push_str(" No host is known for this guest.");
    } else {
        let hosts = list(&lookup.same_guest, |p| &p.host_build);
        says.push_str(&format!(" Known hosts of this guest: {hosts}."));
    }
    if case.facts.host.is_some() {
        if lookup.same_host.is_empty() {
            says.push_str(" No guest is known for this host.");
        } else {
            let guests = list(&lookup.same_host, |p| &p.guest_build);
            says.push_str(&format!(" Known guests of this host: {guests}."));
        }
    }
    if let Some(nearest) = &lookup.nearest {
        says.push_str(&format!(
            " The nearest verified pair is guest {} on host {} ({}).",
            nearest.guest_build, nearest.host_build, nearest.id
        ));
    }
    says
}

/// How to try an unverified pair once, measure, and report.
fn how_to_try(case: &Case<'_>) -> Vec<Remedy> {
    if case.policy.forbid_unverified || case.policy.min_evidence_level.is_some_and(|l| l > 0) {
        return Vec::new();
    }
    let build = &case.facts.guest.build;
    vec![
        Remedy::command(
            format!(
                "Or try it once, unverified, with {} (seven days, this guest build only).",
                Profile::CAUTIOUS
            ),
            format!("metalshim run --allow-unverified {build} -- PROGRAM"),
        ),
        Remedy::command(
            "Measure: start the same stock, and compare both outputs and speeds.",
            "METALSHIM_DISABLE=1 metalshim run -- PROGRAM",
        ),
        report("that is how the pair comes to be verified for everybody"),
    ]
}

pub(super) fn stale(until: Option<jiff::Timestamp>) -> Finding {
    Finding {
        reason: Reason::DatabaseStale,
        says: match until {
            Some(until) => format!(
                "The database's signed freshness ended on {}, and this machine's policy demands a fresh one (require_fresh_database).",
                day(until)
            ),
            None => "The database is unsigned, so nothing says how fresh it is, and this machine's policy demands a fresh one (require_fresh_database).".to_owned(),
        },
        remedies: vec![update_database()],
    }
}

pub(super) fn drift(record: &Pair, changes: &[(&str, String, String)]) -> Finding {
    let changes: Vec<String> = changes
        .iter()
        .map(|(what, recorded, now)| format!("{what} was {recorded} and is {now}"))
        .collect();
    Finding {
        reason: Reason::Drift,
        says: format!(
            "This guest's Metal is not as record {} has it: {}.",
            record.id,
            changes.join("; ")
        ),
        remedies: drift_remedies(),
    }
}

pub(super) fn drift_seen(case: &Case<'_>) -> Finding {
    Finding {
        reason: Reason::Drift,
        says: format!(
            "On this guest ({}) the shim found Metal other than it was told to expect, and stayed stock.",
            case.facts.guest.build
        ),
        remedies: drift_remedies(),
    }
}

fn drift_remedies() -> Vec<Remedy> {
    vec![
        Remedy::command(
            "Have the device asked again, and see what differs.",
            "metalshim doctor",
        ),
        update_database(),
        report("that is how a changed Metal is noticed"),
    ]
}

pub(super) fn canary_failed(case: &Case<'_>) -> Finding {
    Finding {
        reason: Reason::CanaryFailed,
        says: format!(
            "Test kernels gave wrong results on this guest ({}) in this boot.",
            case.facts.guest.build
        ),
        remedies: vec![
            Remedy::command(
                "See which were wrong, and what else is known.",
                "metalshim doctor",
            ),
            stock_is_right(),
            report("the pair has to be looked at again"),
        ],
    }
}

/// What the user should know although the overrides may be used.
pub(super) fn warnings(case: &Case<'_>, record: Option<&Pair>, ceiling: Profile) -> Vec<String> {
    let mut warnings = Vec::new();
    let facts = case.facts;
    match record {
        None => warnings.push(format!(
            "Nobody has verified guest {} on {}: results may be wrong. --allow-unverified ends after seven days or with this build.",
            facts.guest.build,
            match &facts.host {
                Some(host) => format!("host {}", host.build),
                None => "a host that is not known".to_owned(),
            }
        )),
        Some(record) => {
            warnings.extend(other_chip(case, record));
            for (which, recorded, now) in [
                ("guest", &record.guest.version, Some(&facts.guest.version)),
                (
                    "host",
                    &record.host.version,
                    facts.host.as_ref().and_then(|h| h.version.as_ref()),
                ),
            ] {
                if let Some(now) = now.filter(|now| *now != recorded) {
                    warnings.push(format!(
                        "Record {} calls this {which} build macOS {recorded}, and this machine macOS {now}.",
                        record.id
                    ));
                }
            }
            if let Some(asked) = case.request.profile.filter(|p| !p.is_within(ceiling)) {
                warnings.push(format!(
                    "--profile {asked} is more than record {} verifies: {ceiling} is the most.",
                    record.id
                ));
            }
        }
    }
    if let Some(host) = &facts.host
        && host.source == HostSource::Stated
    {
        warnings.push(format!(
            "Host build {} is what somebody said; the host has not attested it.",
            host.build
        ));
    }
    for found in &case.request.clients {
        if found.client.gains == Gains::No {
            warnings.push(format!(
                "{} gains nothing from the overrides: {}",
                found.client.title, found.client.gains_says
            ));
        }
    }
    if let Some(until) = case.fresh_until.filter(|until| case.now > *until) {
        warnings.push(format!(
            "The database's signed freshness ended on {}; update metalshim.",
            day(until)
        ));
    }
    if case.unsigned {
        warnings.push("This was decided from the unsigned development database.".to_owned());
    }
    warnings
}

fn other_chip(case: &Case<'_>, record: &Pair) -> Option<String> {
    let here = case.facts.host.as_ref().and_then(|h| h.chip.as_deref());
    // A guest's own name of the chip carries the host's.
    let here = bare_chip(here.unwrap_or(&case.facts.guest.chip));
    let measured_on = &record.host.chips;
    let known = !here.is_empty() && !measured_on.is_empty();
    let same = measured_on
        .iter()
        .any(|c| bare_chip(c).eq_ignore_ascii_case(here));
    (known && !same).then(|| {
        format!(
            "Record {} was measured on {}, and this is {here}.",
            record.id,
            measured_on.join(" and ")
        )
    })
}

/// `Apple M1 Ultra (48-core GPU)` and `Apple M1 Ultra (Virtual)` are one chip.
fn bare_chip(name: &str) -> &str {
    name.split(" (").next().unwrap_or(name).trim()
}

fn day(t: jiff::Timestamp) -> String {
    let text = t.to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}

fn upper_first(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
