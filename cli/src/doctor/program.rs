//! Checks of the program that was asked about, and of what would be loaded beside us.

use compatdb::client::By;
use compatdb::verdict::{Reason, Verdict};

use super::finding::Finding;
use super::finding::Severity::{Fine, Note, Problem, Warning};
use super::seen::{Program, Seen};
use crate::commands::db::words;
use crate::variables;

pub(super) fn program(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "program";
    let Some(Program { named, looked }) = &seen.program else {
        let says = "No program was named; `metalshim doctor PROGRAM` looks at one.";
        return vec![Finding::new(NAME, Note, says)];
    };
    let says = format!(
        "{} ({}).",
        looked.says.trim_end_matches('.'),
        looked.code.as_str()
    );
    let mut finding = if looked.injectable {
        Finding::new(NAME, Fine, says)
    } else {
        Finding::new(NAME, Problem, says).affects(format!("{named}: it runs stock"))
    };
    finding.mends.extend(looked.remedies.iter().cloned());
    let mut findings = vec![finding];
    findings.extend(looked.notes.iter().map(|note| {
        let mut finding = Finding::new(NAME, Note, note.says.clone());
        if note.command.is_some() {
            finding.mends.push(note.clone());
        }
        finding
    }));
    findings
}

pub(super) fn client(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "client";
    let Some(Program { named, .. }) = &seen.program else {
        let says = "Limits for single programs are shown by `metalshim doctor PROGRAM`.";
        return vec![Finding::new(NAME, Note, says)];
    };
    if seen.decision.clients.is_empty() {
        let says = format!(
            "No client row knows {named}: nobody has looked at what it asks Metal. It gets the record's whole profile."
        );
        return vec![
            Finding::new(NAME, Warning, says)
                .affects(format!("{named}: whether it gains is not known"))
                .command("See which programs are known.", "metalshim db clients")
                .command(
                    "If it is one of them under another name, say so.",
                    format!("metalshim run --client NAME@VERSION -- {named}"),
                ),
        ];
    }
    let mut findings = Vec::new();
    if let Some(says) = seen.refused(Reason::ClientBlocked) {
        findings.push(Finding::new(NAME, Problem, says).affects(format!("{named}: it runs stock")));
    }
    for found in &seen.decision.clients {
        let version = found.version.as_deref().unwrap_or("of unknown version");
        let by = match found.by {
            By::Told => "as you said",
            By::Name => "by its name",
            By::Formula => "by its Homebrew formula",
            By::Library => "by a library that it links",
        };
        let client = &found.client;
        let says = format!(
            "{} {version}, known {by}. Faster with the overrides: {}. {}",
            client.title,
            words::gains(client.gains),
            client.gains_says
        );
        let mut finding = Finding::new(NAME, Fine, says);
        if let Some(advice) = &client.advice {
            finding = finding.mend(advice.clone());
        }
        let command = format!("metalshim db show {}", client.id);
        findings.push(finding.command("Read where that is from, and each limit.", command));
    }
    findings.extend(caps(seen, named));
    findings
}

fn caps(seen: &Seen, named: &str) -> Vec<Finding> {
    let Verdict::Allow(allow) = &seen.decision.verdict else {
        return Vec::new();
    };
    let cap = |cap: &compatdb::verdict::Cap| {
        let says = format!("Limited to {}: {}", cap.profile, cap.says);
        Finding::new("client", Note, says).affects(named)
    };
    allow.capped_by.iter().map(cap).collect()
}

/// What the variables of other shims begin with, and whose they are: trycua/cua and
/// magnitudedev/magnitude; cirruslabs/macos-image-templates; veertuinc/anka-metal-unlock.
const OTHERS: [(&str, &str); 3] = [
    ("LUME_METAL_", "Lume's shim"),
    ("TART_METAL_", "the shim in Tart's images"),
    ("VEERTU_ANKA_GPU_", "Anka's shim"),
];

pub(super) fn environment(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "environment";
    let mut findings = Vec::new();
    for (name, value) in &seen.environment {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        if let Some((_, whose)) = OTHERS.iter().find(|(prefix, _)| name.starts_with(prefix)) {
            let says = format!("{name} is set, as for {whose}.");
            findings.push(
                Finding::new(NAME, Warning, says)
                    .affects("programs that it is loaded into: metalshim does not stack on it, and stays out")
                    .command("To use metalshim instead, take it out.", format!("unset {name}")),
            );
        } else if name == variables::INSERT_LIBRARIES && !value.is_empty() {
            findings.push(inserted(&value));
        } else if name == variables::DISABLE && value == "1" {
            let says = format!("{name} is 1: `metalshim run` starts everything stock.");
            findings.push(
                Finding::new(NAME, Problem, says)
                    .affects("every program that `metalshim run` starts")
                    .command("Take it out.", format!("unset {name}")),
            );
        }
    }
    if findings.is_empty() {
        let says = "No other shim, and no other library to insert.";
        findings.push(Finding::new(NAME, Fine, says));
    }
    findings
}

fn inserted(value: &str) -> Finding {
    let name = variables::INSERT_LIBRARIES;
    let says = format!("{name} is set to {value}: it is loaded into every program started here.");
    let finding = Finding::new("environment", Warning, says)
        .affects("every program; metalshim keeps it, and stays out where it is a shim for Metal")
        .command("If nobody needs it, take it out.", format!("unset {name}"));
    if cfg!(target_os = "macos") {
        finding.command(
            "If it comes back, it is set for the whole login; take it out there.",
            format!("launchctl unsetenv {name}"),
        )
    } else {
        finding
    }
}
