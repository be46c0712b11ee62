//! Checks of metalshim's own parts: database, library, state, and what is at work.

use compatdb::Profile;

use super::STOCK;
use super::finding::Severity::{Fine, Note, Problem, Unknown, Warning};
use super::finding::{Finding, sentence};
use super::seen::Seen;
use crate::commands::db::info::age_days;
use crate::database::Origin;
use crate::error::Error;

pub(super) fn database(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "database";
    let loaded = match &seen.known.database {
        Ok(loaded) => loaded,
        Err(why) => {
            let says = sentence(why);
            return vec![
                Finding::new(NAME, Problem, says)
                    .affects(STOCK)
                    .mend("Install metalshim again: its own database comes with it."),
            ];
        }
    };
    let database = &loaded.database;
    let days = age_days(database.published_at(), seen.known.machine.now);
    let says = format!(
        "{}, published {}, {days} days ago.",
        loaded.says(),
        database.published_at().strftime("%F")
    );
    let mut findings = vec![match loaded.origin {
        Origin::UnsignedDevelopment => Finding::new(NAME, Warning, sentence(&says)).affects(
            "trust: no signature vouches for it, only the build of metalshim that it is part of",
        ),
        _ => Finding::new(NAME, Fine, sentence(&says)),
    }];
    if let Some(root) = &loaded.root {
        findings.push(Finding::new(
            NAME,
            Fine,
            format!("Trust root in force: {}.", root.says),
        ));
    }
    for problem in &loaded.problems {
        findings.push(
            Finding::new(NAME, Warning, sentence(problem))
                .affects("news: the next best database decides")
                .command("Fetch it again.", "metalshim update"),
        );
    }
    if let Some(until) = loaded.fresh_until
        && until < seen.known.machine.now
    {
        let says = format!(
            "It was promised to be fresh until {}.",
            until.strftime("%F")
        );
        findings.push(
            Finding::new(NAME, Warning, says)
                .affects("news: a record that was taken back since is not known here")
                .command("Look for a newer database.", "metalshim update"),
        );
    }
    findings
}

pub(super) fn shim(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "shim";
    vec![match &seen.shim {
        Ok(path) => Finding::new(NAME, Fine, format!("{}.", path.display())),
        Err(error) => of_error(NAME, Problem, error)
            .affects("every program: none can be started with the overrides"),
    }]
}

pub(super) fn state(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "state";
    vec![match &seen.state {
        Ok(state) => Finding::new(NAME, Fine, format!("{}.", state.path().display())),
        Err(error) => of_error(NAME, Problem, error)
            .affects("every program: a ticket has to be written to start one"),
    }]
}

fn of_error(name: &'static str, severity: super::finding::Severity, error: &Error) -> Finding {
    let mut finding = Finding::new(name, severity, sentence(&error.says));
    for hint in &error.hints {
        finding = finding.mend(sentence(hint));
    }
    finding
}

pub(super) fn unverified(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "unverified";
    let Some(grant) = &seen.decision.grant else {
        let says = "Nothing is allowed without a record.";
        return vec![Finding::new(NAME, Fine, says)];
    };
    let says = format!(
        "Guest {} may be tried without a record, up to {}, until {}.",
        grant.build,
        grant.profile.unwrap_or(Profile::CAUTIOUS),
        grant.until.strftime("%F %R UTC")
    );
    vec![
        Finding::new(NAME, Warning, says)
            .affects("every program that is started until then: nobody has verified this pair")
            .command("Take it back.", "metalshim disable"),
    ]
}

pub(super) fn processes(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "processes";
    if seen.state.is_err() {
        let says = "There is no state folder to read reports from.";
        return vec![Finding::new(NAME, Unknown, says)];
    }
    if seen.running.is_empty() {
        let says = "No running program has reported.";
        return vec![Finding::new(NAME, Note, says)];
    }
    let finding = |reported: &crate::tickets::Reported| {
        let what = format!("{} ({})", reported.program, reported.pid);
        if reported.revoked {
            let record = reported.record.as_deref().unwrap_or("its record");
            let says = format!("{what}: it was started from {record}, which was taken back since.");
            return Finding::new(NAME, Warning, says)
                .affects(format!("{what}: it keeps the overrides until it ends"))
                .mend("End it and start it again: it runs stock then.");
        }
        match &reported.reason {
            None => Finding::new(NAME, Fine, format!("{what}: {}.", reported.state)),
            Some(reason) => Finding::new(
                NAME,
                Warning,
                format!("{what}: {}, {reason}.", reported.state),
            )
            .affects(format!("{what}: it runs stock"))
            .mend("docs/shim.md says what each code means."),
        }
    };
    seen.running.iter().map(finding).collect()
}
