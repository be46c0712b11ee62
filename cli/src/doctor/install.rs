//! Checks of metalshim's own parts: database, library, state, and what is at work.

use compatdb::verdict::{Reason, Remedy};
use compatdb::{Policy, Profile};

use super::STOCK;
use super::finding::Severity::{Fine, Note, Problem, Unknown, Warning};
use super::finding::{Finding, of_error, sentence};
use super::seen::Seen;
use crate::commands::db::info::age_days;
use crate::config;
use crate::database::Origin;

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
    if let Some(says) = seen.refused(Reason::DatabaseStale) {
        findings.push(
            Finding::new(NAME, Problem, says)
                .affects(STOCK)
                .command("Look for a newer database.", "metalshim update"),
        );
    } else if let Some(until) = loaded.fresh_until
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
    if let Some(says) = seen.refused(Reason::ShimTooOld) {
        return vec![
            Finding::new(NAME, Problem, says)
                .affects(STOCK)
                .command("Update metalshim.", "brew upgrade metalshim"),
        ];
    }
    vec![match &seen.shim {
        Ok(path) => Finding::new(NAME, Fine, format!("{}.", path.display())),
        Err(error) => of_error(NAME, Problem, error)
            .affects("every program: none can be started with the overrides"),
    }]
}

/// Whether the folder can be written, and each of its files be understood.
pub(super) fn state(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "state";
    let damaged = seen.damages.iter().map(|damage| {
        let hints = damage.hints.iter();
        // Not every start reads every file.
        let (severity, affects) = if seen.ok {
            (
                Warning,
                "the commands that read it; programs start all the same",
            )
        } else {
            (Problem, "every program: none is started while it is so")
        };
        let mut finding = Finding::new(NAME, severity, sentence(&damage.says)).affects(affects);
        finding.mends = hints.map(|hint| Remedy::text(sentence(hint))).collect();
        finding
    });
    let mut findings: Vec<Finding> = damaged.collect();
    match &seen.state {
        Err(error) => findings.push(
            of_error(NAME, Problem, error)
                .affects("every program: a ticket has to be written to start one"),
        ),
        Ok(state) if findings.is_empty() => {
            let says = format!("{}.", state.path().display());
            findings.push(Finding::new(NAME, Fine, says));
        }
        Ok(_) => {}
    }
    findings
}

/// What the user's and the fleet's files say.
pub(super) fn settings(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "settings";
    let wrong = [&seen.wrong_configuration, &seen.wrong_policy];
    let wrong = wrong.into_iter().flatten();
    let mut findings: Vec<Finding> = wrong
        .map(|error| {
            of_error(NAME, Problem, error).affects("every program: none is started while it is so")
        })
        .collect();
    if let Some(says) = seen.refused(Reason::Policy) {
        findings.push(
            Finding::new(NAME, Problem, says)
                .affects(STOCK)
                .mend(format!(
                    "Ask whoever keeps {}; no flag overrules it.",
                    config::POLICY_PATH
                )),
        );
    }
    let rules = rules(&seen.known.policy);
    if !rules.is_empty() {
        let says = format!("The fleet's policy: {}.", rules.join("; "));
        let file = config::POLICY_PATH;
        findings.push(
            Finding::new(NAME, Note, says)
                .affects("every program of this machine")
                .mend(format!("Only who looks after {file} can change it.")),
        );
    }
    if let Some(profile) = seen.settings.profile {
        let says =
            format!("Programs are told no more than {profile}, as `enable` or config.toml says.");
        findings.push(Finding::new(NAME, Note, says));
    }
    if findings.is_empty() {
        let says = "Nothing is set, and no policy is in force.";
        findings.push(Finding::new(NAME, Fine, says));
    }
    findings
}

/// Those that are in force, as `policy.toml` has them.
fn rules(policy: &Policy) -> Vec<String> {
    let keys = |policy: &Policy| match serde_json::to_value(policy) {
        Ok(serde_json::Value::Object(keys)) => keys,
        _ => serde_json::Map::new(),
    };
    let nothing = keys(&Policy::default());
    let set = keys(policy).into_iter();
    set.filter(|(key, value)| nothing.get(key) != Some(value))
        .map(|(key, value)| format!("{key} = {value}"))
        .collect()
}

/// Whether the shim can be told what it has to know.
pub(super) fn ticket(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "ticket";
    vec![match &seen.follow {
        Err(error) => of_error(NAME, Problem, error)
            .affects("every program: a ticket has to be written to start one"),
        Ok(follow) if follow == "none" => {
            Finding::new(NAME, Fine, "Children start without the overrides.")
        }
        Ok(follow) => {
            let says = format!("Children that get the overrides too: {follow}.");
            Finding::new(NAME, Fine, says)
        }
    }]
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
            .command(
                "Measure it, stock and with the overrides, and compare both outputs.",
                "metalshim bench -- PROGRAM",
            )
            .command(
                "Report what came of it: that is how a pair comes to be verified.",
                "metalshim report",
            )
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
