//! Checks of what was made to start by itself: wrappers of `enable PROGRAM`, and agents.

use super::Job;
use super::finding::Finding;
use super::finding::Severity::{Fine, Note, Warning};
use super::seen::Seen;
use crate::commands::agent;
use crate::variables::Variables;
use crate::wrappers;

/// Takes what it needs out of `seen`, and looks at each wrapper and agent.
pub(super) fn wrappers(seen: &Seen) -> Job {
    const NAME: &str = "wrappers";
    let state = seen.known.state.clone();
    let environment = seen.environment.clone();
    let variables = Variables::read(|name| {
        let pair = environment.iter().find(|(there, _)| there == name);
        pair.map(|(_, value)| value.clone())
    });
    Box::new(move || {
        let wrapped = state.map(|state| wrappers::list(&state, &variables));
        let agents = variables.home.as_deref().map(agent::all);
        let mut findings = Vec::new();
        for wrapper in wrapped.unwrap_or_default() {
            let program = wrapper.program.as_deref().unwrap_or("no program");
            findings.push(finding(
                NAME,
                format!("The wrapper {} starts {program}", wrapper.name),
                wrapper.problem,
                wrapper.mend,
            ));
        }
        for agent in agents.unwrap_or_default() {
            findings.push(finding(
                NAME,
                format!(
                    "The agent {} starts {}",
                    agent.label,
                    agent.starts.join(" ")
                ),
                agent.problem,
                agent.mend,
            ));
        }
        if findings.is_empty() {
            let says = "No wrapper and no agent was made.";
            findings.push(Finding::new(NAME, Note, says));
        }
        findings
    })
}

fn finding(
    name: &'static str,
    what: String,
    problem: Option<String>,
    mend: Option<String>,
) -> Finding {
    let Some(problem) = problem else {
        return Finding::new(name, Fine, format!("{what}."));
    };
    let found = Finding::new(name, Warning, format!("{what}, but {problem}."));
    let found = found.affects("that program: it runs stock, or not at all");
    match mend {
        Some(command) => found.command("Mend it.", command),
        None => found,
    }
}
