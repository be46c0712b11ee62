//! Checks of the guest itself: what it is, and what its device answers.

use compatdb::facts::{Device, PARAVIRTUAL_CLASS, Sip};
use compatdb::verdict::Reason;

use super::STOCK;
use super::finding::Finding;
use super::finding::Severity::{Fine, Note, Problem, Unknown, Warning};
use super::seen::Seen;
use crate::facts::Source;

pub(super) fn guest(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "guest";
    let machine = &seen.known.machine;
    let guest = &machine.facts.guest;
    let mut findings = vec![if guest.vm {
        let says = format!(
            "macOS {} ({}) in a virtual machine, {}.",
            guest.version, guest.build, guest.model
        );
        Finding::new(NAME, Fine, says)
    } else {
        let says = format!("{} is not a virtual machine.", guest.model);
        Finding::new(NAME, Problem, says).affects(STOCK).mend(
            "Nothing has to be done: a Mac's own GPU answers in full. metalshim is for macOS guests.",
        )
    }];
    let simulated = match &machine.source {
        Source::ThisMachine => None,
        Source::Sample => Some("the built-in sample of a guest".to_owned()),
        Source::File(path) => Some(format!("the file {}", path.display())),
    };
    if let Some(simulated) = simulated {
        let says = format!("These are not the facts of this machine, but of {simulated}.");
        findings.push(Finding::new(NAME, Note, says));
    }
    findings
}

pub(super) fn device(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "device";
    let Some(device) = &seen.known.machine.facts.device else {
        return vec![
            Finding::new(NAME, Unknown, "The Metal device has not been asked yet.")
                .affects("whether it still answers as recorded is seen by the shim alone")
                .command("Ask it, once in this boot.", "metalshim enable"),
        ];
    };
    let what = format!("{} ({})", device.name, device.class);
    vec![if device.class == PARAVIRTUAL_CLASS {
        Finding::new(NAME, Fine, format!("{what}."))
    } else {
        let says = format!("{what}, where the paravirtual one is {PARAVIRTUAL_CLASS}.");
        Finding::new(NAME, Problem, says).affects(STOCK).mend(
            "Use a guest of Apple's Virtualization.framework with its graphics device: other devices are left alone.",
        )
    }]
}

pub(super) fn stock_answers(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "stock-answers";
    let facts = &seen.known.machine.facts;
    let mut findings = Vec::new();
    if facts.local.drift {
        let says = "The shim found this guest's Metal other than recorded (drift).";
        findings.push(
            Finding::new(NAME, Problem, says)
                .affects(STOCK)
                .command("Look for a newer database.", "metalshim update"),
        );
    }
    findings.push(compared(seen, facts.device.as_ref()));
    if let Some(says) = seen.refused(Reason::Drift)
        && !findings.iter().any(|f| f.severity == Problem)
    {
        findings.push(
            Finding::new(NAME, Problem, says)
                .affects(STOCK)
                .command("Look for a newer database.", "metalshim update"),
        );
    }
    findings
}

fn compared(seen: &Seen, device: Option<&Device>) -> Finding {
    const NAME: &str = "stock-answers";
    let Some(device) = device else {
        let says = "Not known: the Metal device has not been asked yet.";
        return Finding::new(NAME, Unknown, says);
    };
    let answers = format!(
        "Apple family {} and {} bytes of threadgroup memory",
        device.apple_family, device.max_threadgroup_memory
    );
    let Some(record) = seen.record() else {
        let says = format!("{answers}; there is no record to compare with.");
        return Finding::new(NAME, Note, says);
    };
    let stock = &record.stock;
    let same = device.apple_family == stock.apple_family
        && device.max_threadgroup_memory == stock.max_threadgroup_memory;
    if same {
        return Finding::new(NAME, Fine, format!("{answers}, as {} has them.", record.id));
    }
    let says = format!(
        "{answers}, where {} has {} and {}.",
        record.id, stock.apple_family, stock.max_threadgroup_memory
    );
    Finding::new(NAME, Problem, says)
        .affects(STOCK)
        .command(
            "Look whether another shim is at work in this guest: two are never stacked.",
            "metalshim doctor --check environment",
        )
        .command("Look for a newer database.", "metalshim update")
}

pub(super) fn sip(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "sip";
    vec![match seen.known.machine.facts.guest.sip {
        Sip::Enabled => Finding::new(
            NAME,
            Note,
            "System Integrity Protection is on, and may stay on: your own and Homebrew's programs can load the library, Apple's own cannot.",
        ),
        Sip::Disabled => Finding::new(
            NAME,
            Note,
            "System Integrity Protection is off. metalshim does not need that.",
        ),
        Sip::Unknown => Finding::new(
            NAME,
            Warning,
            "Whether System Integrity Protection is on could not be told; it counts as on.",
        )
        .affects("Apple's own programs, which cannot load the library where it is on")
        .command("Look yourself.", "csrutil status"),
    }]
}
