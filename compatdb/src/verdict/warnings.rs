//! What the user should know although the overrides may be used.

use super::case::Case;
use super::says::day;
use crate::Profile;
use crate::facts::HostSource;
use crate::rows::{Gains, Pair};

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
