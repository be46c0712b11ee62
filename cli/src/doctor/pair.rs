//! Checks of the pair: the two builds, the record about them, and its evidence.

use compatdb::Lookup;
use compatdb::facts::{Host, HostSource};
use compatdb::records::EvidenceKind;
use compatdb::rows::Status;
use compatdb::verdict::Verdict;

use super::STOCK;
use super::finding::Severity::{Fine, Note, Problem, Unknown, Warning};
use super::finding::{Finding, of_error, sentence};
use super::seen::Seen;
use crate::commands::db::words;

pub(super) fn guest_build(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "guest-build";
    let build = &seen.known.machine.facts.guest.build;
    if seen.known.database.is_err() {
        return vec![Finding::new(NAME, Unknown, "There is no database to ask.")];
    }
    vec![match &seen.guest_version {
        Some(version) => Finding::new(NAME, Fine, format!("{build} is macOS {version}.")),
        None => {
            let says = format!("{build} is not among the macOS builds that the database knows.");
            Finding::new(NAME, Warning, says)
                .affects("nothing by itself: only a record of this exact build allows")
                .command("Look for a newer database.", "metalshim update")
        }
    }]
}

pub(super) fn host(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "host";
    let machine = &seen.known.machine;
    let wrong = seen.wrong_host.iter();
    let wrong: Vec<Finding> = wrong
        .map(|e| of_error(NAME, Problem, e).affects(STOCK))
        .collect();
    let mut findings = match &machine.facts.host {
        Some(host) => known_host(host),
        None => {
            let says = "The host's macOS build is not known, and a guest cannot see it.";
            vec![
                Finding::new(NAME, Problem, says)
                    .affects(STOCK)
                    .command(
                        "On the Mac that runs this virtual machine, read its build.",
                        "sw_vers -buildVersion",
                    )
                    .command(
                        "Then say it here; it is used for 30 days.",
                        "metalshim enable --host-build BUILD",
                    )
                    .command(
                        "Or let the host say it by itself, in a folder that it shares with the guest.",
                        "metalshim host attest DIR",
                    ),
            ]
        }
    };
    findings.extend(wrong);
    for warning in &machine.warnings {
        findings.push(Finding::new(NAME, Note, sentence(warning)));
    }
    findings
}

fn known_host(host: &Host) -> Vec<Finding> {
    const NAME: &str = "host";
    let mut parts = vec![match &host.version {
        Some(version) => format!("macOS {version} ({})", host.build),
        None => host.build.to_string(),
    }];
    parts.extend(host.chip.clone());
    parts.extend(
        host.apple_family
            .map(|f| format!("GPU of Apple family {f}")),
    );
    let what = parts.join(", ");
    let mut findings = vec![match host.source {
        HostSource::Attested => {
            Finding::new(NAME, Fine, format!("{what}; attested by the host itself."))
        }
        HostSource::Stated => {
            let says = format!("{what}; somebody stated it, the host has not attested it.");
            Finding::new(NAME, Note, says)
                .affects("the record that is used: a host that was updated since has another build")
        }
    }];
    if host.feature_level_preference == Some(true) {
        findings.push(Finding::new(
            NAME,
            Note,
            "The host's preference ForceUnrestrictedDeviceFeatureLevel is set. Public reports disagree whether it matters; metalshim does not ask for it.",
        ));
    }
    findings
}

pub(super) fn pair(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "pair";
    let Some(lookup) = &seen.decision.lookup else {
        let says = "There is no database to ask.";
        return vec![Finding::new(NAME, Unknown, says).affects(STOCK)];
    };
    let problem = |says: String| Finding::new(NAME, Problem, says).affects(STOCK);
    let mut findings = Vec::new();
    for revoked in &lookup.revoked {
        findings.push(problem(format!(
            "{} was taken back: {}.",
            revoked.what,
            revoked.reason.trim_end_matches('.')
        )));
    }
    for deny in &lookup.denies {
        let mut finding = problem(format!("{} is {}: {}", deny.id, deny.status, deny.reason));
        finding
            .sources
            .extend(deny.sources.iter().map(ToString::to_string));
        let command = format!("metalshim db show {}", deny.fault);
        findings.push(finding.command("Read about the fault.", command));
    }
    for pair in &lookup.pairs {
        let what = format!(
            "{}: guest {} on host {} is {}",
            pair.id, pair.guest.build, pair.host.build, pair.status
        );
        findings.push(match (pair.status, &pair.reason) {
            (Status::Verified, _) => {
                Finding::new(NAME, Fine, format!("{what} up to {}.", pair.profile))
            }
            (_, Some(reason)) => problem(format!("{what}. {reason}")),
            (_, None) => problem(format!("{what}.")),
        });
    }
    if findings.is_empty() {
        findings.push(no_record(seen, lookup));
    }
    findings
}

/// Nobody has verified the pair; a grant of `--allow-unverified` may stand in for that.
fn no_record(seen: &Seen, lookup: &Lookup) -> Finding {
    let mut says = match &lookup.host_build {
        Some(host) => format!("No record of guest {} on host {host}", lookup.guest_build),
        None => "Which record counts depends on the host's build".to_owned(),
    };
    let verified = lookup
        .same_guest
        .iter()
        .filter(|p| p.status == Status::Verified);
    let hosts: Vec<String> = verified
        .map(|p| format!("{} ({})", p.host_build, p.id))
        .collect();
    if hosts.is_empty() {
        says.push_str("; no host is verified with this guest.");
    } else {
        says.push_str(&format!(
            "; this guest is verified on host {}.",
            hosts.join(", ")
        ));
    }
    if seen.profile().is_some() {
        return Finding::new("pair", Warning, says)
            .affects("programs: they are told what nobody has verified on this pair");
    }
    Finding::new("pair", Problem, says).affects(STOCK).command(
        "See all verified pairs.",
        "metalshim db pairs --status verified",
    )
}

pub(super) fn evidence(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "evidence";
    let Some(record) = seen.record() else {
        let says = "There is no record of this pair, so nothing that it rests on.";
        return vec![Finding::new(NAME, Note, says)];
    };
    let evidence = &record.evidence;
    let whose = match evidence.kind {
        EvidenceKind::ThirdParty => format!(
            "third-party, with a library that overrides the same two answers, by {}",
            words::projects(&record.sources)
        ),
        EvidenceKind::Metalshim => "with metalshim itself".to_owned(),
    };
    let chips = match record.host.chips.as_slice() {
        [] => String::new(),
        chips => format!(", on {}", chips.join(", ")),
    };
    let says = format!(
        "{} rests on level {}, {}{chips}; {whose}.",
        record.id,
        evidence.level,
        words::level(evidence.level)
    );
    let mut finding = Finding::new(NAME, Fine, says);
    finding
        .sources
        .extend(record.sources.iter().map(ToString::to_string));
    let mut findings = vec![finding];
    if let Verdict::Allow(allow) = &seen.decision.verdict {
        findings.extend(allow.warnings.iter().map(|warning| {
            Finding::new(NAME, Warning, warning.clone())
                .affects("how far the record speaks for this machine")
        }));
    }
    findings
}
