//! What a refusal says: sentences with the values that decided, and what to do next.

use super::case::Case;
use super::decide::Finding;
use super::{Reason, Remedy};
use crate::Lookup;
use crate::facts::{Device, PARAVIRTUAL_CLASS};
use crate::rows::{Deny, Pair};
use crate::{Meta, OsBuild};

fn stock_is_right() -> Remedy {
    Remedy::text("Run the program without metalshim: stock answers are the right ones here.")
}

/// For whoever wants the program to start whatever is wrong.
pub(super) fn or_stock() -> Remedy {
    Remedy::command(
        "Meanwhile, start the program with the stock answers.",
        "metalshim run --or-stock -- PROGRAM",
    )
}

/// Only what is signed can be fetched; an unsigned database is part of its build.
pub(super) fn update_database(case: &Case<'_>) -> Remedy {
    if case.unsigned {
        Remedy::command(
            "Look for a newer compatibility database: this build's own is unsigned, and only a newer metalshim brings another; with Homebrew, this does it.",
            "brew upgrade metalshim",
        )
    } else {
        Remedy::command(
            "Look for a newer compatibility database.",
            "metalshim update",
        )
    }
}

pub(super) fn report(why: &str) -> Remedy {
    Remedy::text(format!(
        "Report it at {}/issues with the output of `metalshim doctor --json`: {why}.",
        env!("CARGO_PKG_REPOSITORY")
    ))
}

fn update_metalshim() -> Remedy {
    Remedy::command(
        "Update metalshim: this does it, or names the command of whoever keeps it (`brew upgrade metalshim` with Homebrew).",
        "metalshim update",
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
                "Install metalshim again: its own database comes with it; with Homebrew, this does it.",
                "brew reinstall metalshim",
            ),
            or_stock(),
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

pub(super) fn revoked(case: &Case<'_>, what: &str, why: &str) -> Finding {
    let why = match why.trim_end_matches('.') {
        "" => "no reason was given",
        why => why,
    };
    Finding {
        reason: Reason::PairRevoked,
        says: format!("{what} was taken back: {why}. No flag overrules that."),
        remedies: vec![stock_is_right(), update_database(case)],
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
    let attest = [
        Remedy::command(
            "On the host, not in this guest, write the attestation into a folder that it shares with the guest.",
            "metalshim host attest DIR",
        ),
        Remedy::command("Then have it read here.", "metalshim doctor"),
    ];
    finding.remedies.splice(0..0, attest);
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
        remedies: vec![
            Remedy::text("Ask whoever keeps this machine's policy.toml; no flag overrules it."),
            or_stock(),
        ],
    }
}

pub(super) fn stale(case: &Case<'_>, until: Option<jiff::Timestamp>) -> Finding {
    Finding {
        reason: Reason::DatabaseStale,
        says: match until {
            Some(until) => format!(
                "The database's signed freshness ended on {}, and this machine's policy demands a fresh one (require_fresh_database).",
                day(until)
            ),
            None => "The database is unsigned, so nothing says how fresh it is, and this machine's policy demands a fresh one (require_fresh_database).".to_owned(),
        },
        remedies: vec![update_database(case), or_stock()],
    }
}

pub(super) fn drift(case: &Case<'_>, record: &Pair, changes: &[(&str, String, String)]) -> Finding {
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
        remedies: drift_remedies(case, None),
    }
}

pub(super) fn drift_seen(case: &Case<'_>) -> Finding {
    Finding {
        reason: Reason::Drift,
        says: format!(
            "On this guest ({}) the shim found Metal other than it was told to expect, and stayed stock.",
            case.facts.guest.build
        ),
        remedies: drift_remedies(
            case,
            Some(Remedy::command(
                "Have everything checked again; where it is as recorded after all, this also ends the refusal.",
                "metalshim enable",
            )),
        ),
    }
}

fn drift_remedies(case: &Case<'_>, again: Option<Remedy>) -> Vec<Remedy> {
    let mut remedies = vec![update_database(case)];
    remedies.extend(again);
    remedies.push(or_stock());
    remedies.push(report("that is how a changed Metal is noticed"));
    remedies
}

pub(super) fn canary_failed(case: &Case<'_>) -> Finding {
    Finding {
        reason: Reason::CanaryFailed,
        says: format!(
            "Test kernels gave wrong results, hung or crashed on this guest ({}) in this boot.",
            case.facts.guest.build
        ),
        remedies: vec![
            update_database(case),
            Remedy::command(
                "Restart this guest and run them again before you blame the overrides: a virtual machine whose GPU is stuck fails whatever it is asked.",
                "metalshim canary",
            ),
            or_stock(),
            report("the pair has to be looked at again"),
        ],
    }
}

pub(super) fn day(t: jiff::Timestamp) -> String {
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
