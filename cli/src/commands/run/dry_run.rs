//! What `--dry-run` reports.

use std::collections::BTreeMap;
use std::path::Path;

use compatdb::Verdict;
use serde::Serialize;

use super::Args;
use super::plan::{Plan, Refused, Shimmed};
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::printer::{Report, Style, escaped};
use crate::ready::Program;
use crate::refusal;

/// How the program would be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Starts {
    /// With the overrides.
    Shimmed,
    /// Untouched: `--or-stock`, or `METALSHIM_DISABLE=1`.
    Stock,
    /// Not at all.
    Refused,
}

/// What `run --dry-run` and a refused `run --json` report.
#[derive(Debug, Serialize)]
pub(super) struct Planned {
    program: String,
    starts: Starts,
    /// None where nothing was decided.
    verdict: Option<Verdict>,
    clients: Vec<Client>,
    /// Set for the program, beyond our own environment.
    variables: BTreeMap<String, String>,
    /// The path of the ticket.
    ticket: Option<String>,
    ticket_text: Option<String>,
    /// What the user should know about the facts.
    warnings: Vec<String>,
    /// Why nothing was decided.
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Client {
    name: String,
    version: Option<String>,
}

/// Reports the plan; nothing is started.
pub(super) fn report(
    args: &Args,
    context: &Context,
    program: &Program,
    plan: Result<Plan, Error>,
) -> Result<Outcome, Error> {
    let (report, outcome) = match plan {
        Ok(Plan::Shimmed(plan)) => (shimmed(program, &plan), Outcome::Yes),
        Ok(Plan::Refused(plan)) if args.or_stock => {
            let report = Planned {
                starts: Starts::Stock,
                ..refused(program, &plan)
            };
            (report, Outcome::Yes)
        }
        Ok(Plan::Refused(plan)) => (refused(program, &plan), Outcome::Code(125)),
        Err(error) if args.or_stock => {
            let report = Planned {
                error: Some(error.to_string()),
                ..Planned::new(program, Starts::Stock)
            };
            (report, Outcome::Yes)
        }
        Err(error) => return Err(error),
    };
    context.printer.report(&report)?;
    Ok(outcome)
}

/// `METALSHIM_DISABLE=1`
pub(super) fn disabled(context: &Context, program: &Program) -> Result<Outcome, Error> {
    let report = Planned {
        error: Some(format!("{}=1", crate::variables::DISABLE)),
        ..Planned::new(program, Starts::Stock)
    };
    context.printer.report(&report)?;
    Ok(Outcome::Yes)
}

fn shimmed(program: &Program, plan: &Shimmed) -> Planned {
    let variables = plan.start.variables.iter();
    Planned {
        verdict: Some(plan.decision.verdict.clone()),
        clients: clients(&plan.decision.clients),
        variables: variables
            .map(|(name, value)| (lossy(name.as_ref()), lossy(value.as_ref())))
            .collect(),
        ticket: Some(lossy(&plan.ticket)),
        ticket_text: Some(plan.ticket_text.clone()),
        warnings: plan.known.machine.warnings.clone(),
        ..Planned::new(program, Starts::Shimmed)
    }
}

/// A refusal, as `run --json` prints it too.
pub(super) fn refused(program: &Program, plan: &Refused) -> Planned {
    Planned {
        verdict: Some(plan.decision.verdict.clone()),
        clients: clients(&plan.decision.clients),
        warnings: plan.known.machine.warnings.clone(),
        ..Planned::new(program, Starts::Refused)
    }
}

fn clients(found: &[compatdb::ClientMatch]) -> Vec<Client> {
    let client = |found: &compatdb::ClientMatch| Client {
        name: found.client.id.clone(),
        version: found.version.clone(),
    };
    found.iter().map(client).collect()
}

fn lossy(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl Planned {
    fn new(program: &Program, starts: Starts) -> Self {
        Self {
            program: lossy(&program.path),
            starts,
            verdict: None,
            clients: Vec::new(),
            variables: BTreeMap::new(),
            ticket: None,
            ticket_text: None,
            warnings: Vec::new(),
            error: None,
        }
    }
}

impl Report for Planned {
    const SCHEMA: &'static str = "metalshim.run/1";

    fn text(&self, style: Style) -> String {
        let program = escaped(&self.program);
        let mut lines = vec![match self.starts {
            Starts::Shimmed => format!("{program}: would start with the overrides"),
            Starts::Stock => format!("{program}: would start untouched"),
            Starts::Refused => format!("{program}: would not start"),
        }];
        let clients: Vec<String> = self.clients.iter().map(|c| c.says()).collect();
        if !clients.is_empty() {
            lines.push(format!("client: {}", clients.join(", ")));
        }
        let mut warnings = self.warnings.clone();
        match &self.verdict {
            Some(Verdict::Allow(allow)) => {
                let by = match (&allow.record, allow.evidence_level) {
                    (Some(record), Some(level)) => {
                        format!("record {record}, evidence level {level}")
                    }
                    (Some(record), None) => format!("record {record}"),
                    _ => "no record: unverified".to_owned(),
                };
                let allowed = style.green("allowed:");
                lines.push(format!(
                    "{allowed} {} ({by})",
                    style.bold(&allow.profile.to_string())
                ));
                let caps = allow.capped_by.iter();
                lines.extend(caps.map(|cap| format!("capped at {}: {}", cap.profile, cap.says)));
                warnings.extend(allow.warnings.iter().cloned());
            }
            Some(Verdict::Refuse(refused)) => lines.push(refusal::text(refused, style)),
            None => {}
        }
        lines.extend(self.error.clone());
        lines.extend(
            warnings
                .iter()
                .map(|w| format!("{} {}", style.yellow("warning:"), escaped(w))),
        );
        let variables = self.variables.iter();
        lines.extend(variables.map(|(name, value)| format!("{name}={}", escaped(value))));
        if let (Some(path), Some(text)) = (&self.ticket, &self.ticket_text) {
            lines.push(format!("ticket: {path}"));
            lines.extend(text.lines().map(|line| format!("  {line}")));
        }
        lines.join("\n") + "\n"
    }
}

impl Client {
    fn says(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.name),
            None => format!("{} (version not known)", self.name),
        }
    }
}
