//! `metalshim status`: what is enabled, since when, under which record, and what programs
//! that run reported.
//!
//! **Contract.** It asks for the verdict again, so that what was enabled on another build or
//! under a record that was taken back is not shown as if it held. Tickets and reports that
//! nobody needs any more are swept first. State that is damaged, or that others can write, is
//! reported beside the rest, and then the exit code is 1; otherwise it is 0, whatever the answer
//! is.

use compatdb::facts::{Guest, Host};
use compatdb::{Meta, Verdict};
use jiff::Timestamp;
use serde::Serialize;

use crate::commands::update::program;
use crate::context::Context;
use crate::database::{Origin, Root};
use crate::decide::{Known, Question};
use crate::error::{Error, Outcome};
use crate::printer::{Report, Style, escaped};
use crate::state::Damage;
use crate::tickets::{self, Reported};
use crate::unverified::{self, Grant};
use crate::update::automatic::Check;
use crate::wish::{self, Wish};
use crate::wrappers::{self, Wrapper};
use crate::{refusal, variables};

/// What is enabled, and what running programs reported.
#[derive(Debug, clap::Args)]
pub struct Args {}

#[derive(Debug, Serialize)]
struct Status {
    /// What `enable` recorded; none where nothing is enabled.
    enabled: Option<Wish>,
    /// What a program that no row knows would get now.
    verdict: Verdict,
    guest: Guest,
    host: Option<Host>,
    database: Database,
    /// What is used without a record, as long as it lasts.
    unverified: Vec<Grant>,
    /// What programs that run reported.
    programs: Vec<Reported>,
    /// The programs that stay enabled.
    wrappers: Vec<Wrapper>,
    /// The last check for updates that nobody typed.
    last_check: Option<Check>,
    /// `METALSHIM_DISABLE=1`: `run` starts everything stock.
    disabled_by_variable: bool,
    /// What keeps the state, or a part of it, from being used: `run` refuses while it is so.
    problems: Vec<Damage>,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Database {
    Used {
        origin: Origin,
        #[serde(flatten)]
        meta: Meta,
        /// Until when its signatures vouch for it.
        fresh_until: Option<Timestamp>,
        /// The trust root in force; none where there is none.
        trust_root: Option<Box<Root>>,
    },
    Invalid {
        error: String,
    },
}

/// Runs it.
///
/// # Errors
/// Facts or policy cannot be read, or there is no place for state.
pub fn run(_: &Args, context: &Context) -> Result<Outcome, Error> {
    let context = &context.tolerant();
    let state = context.state()?;
    let problems = state.damages();
    let known = Known::gather(context, None)?;
    let decision = known.decide(Question {
        at_most: context.settings()?.profile,
        ..Question::default()
    })?;
    let facts = &known.machine.facts;
    let boot_session = &facts.guest.boot_session;
    tickets::sweep(&state, boot_session);
    let enabled: Option<Wish> = state.read_json(wish::FILE)?;
    let mut warnings = known.machine.warnings.clone();
    if let Some(wish) = enabled
        .as_ref()
        .filter(|w| w.guest_build != facts.guest.build)
    {
        let (then, now) = (&wish.guest_build, &facts.guest.build);
        let verified = matches!(&decision.verdict, Verdict::Allow(allow) if allow.record.is_some());
        warnings.push(match verified {
            true => format!(
                "enabled on guest {then}; this is {now}, which is verified as well: it holds here by itself"
            ),
            false => format!(
                "enabled on guest {then}, but this is {now}: it holds again as soon as a database verifies this one; `metalshim enable` checks it now"
            ),
        });
    }
    if let Verdict::Allow(allow) = &decision.verdict {
        warnings.extend(allow.warnings.iter().cloned());
    }
    if let Ok(loaded) = &known.database {
        warnings.extend(loaded.problems.iter().cloned());
        warnings.extend(program::look(&loaded.releases)?.says());
        // An allowed verdict says it itself.
        let until = loaded
            .fresh_until
            .filter(|until| *until < known.machine.now);
        if let (Some(until), Verdict::Refuse(_)) = (until, &decision.verdict) {
            warnings.push(format!(
                "the database's signed freshness ended on {}: `metalshim update`",
                until.strftime("%F")
            ));
        }
    }
    let damaged = !problems.is_empty();
    context.printer.report(&Status {
        enabled,
        verdict: decision.verdict,
        guest: facts.guest.clone(),
        host: facts.host.clone(),
        database: match &known.database {
            Ok(loaded) => Database::Used {
                origin: loaded.origin,
                meta: loaded.database.meta().clone(),
                fresh_until: loaded.fresh_until,
                trust_root: loaded.root.clone().map(Box::new),
            },
            Err(error) => Database::Invalid {
                error: error.clone(),
            },
        },
        unverified: unverified::all(&state, known.machine.now)?,
        programs: tickets::running(&state, boot_session),
        wrappers: wrappers::list(&state, &context.variables),
        last_check: Check::last(&state),
        disabled_by_variable: context.variables.disable,
        problems,
        warnings,
    })?;
    Ok(if damaged { Outcome::No } else { Outcome::Yes })
}

impl Report for Status {
    const SCHEMA: &'static str = "metalshim.status/1";

    fn text(&self, style: Style) -> String {
        let mut lines = Vec::new();
        let record = |id: &Option<String>| match id {
            Some(id) => format!("record {id}"),
            None => "no record: unverified".to_owned(),
        };
        for problem in &self.problems {
            lines.push(format!(
                "{} {}",
                style.red("problem:"),
                escaped(&problem.says)
            ));
            let hints = problem.hints.iter();
            lines.extend(hints.map(|hint| format!("{} {}", style.bold("hint:"), escaped(hint))));
        }
        if !self.problems.is_empty() {
            lines.push(
                "`metalshim run` refuses while this is so; what follows leaves it out".to_owned(),
            );
        }
        match &self.enabled {
            Some(wish) => lines.push(format!(
                "{} since {}, checked {} ({})",
                style.green("enabled"),
                wish.since,
                wish.checked,
                record(&wish.record)
            )),
            None => lines.push("not enabled; `metalshim run` needs no enable".to_owned()),
        }
        if self.disabled_by_variable {
            lines.push(format!(
                "{}=1 is set: programs start stock",
                variables::DISABLE
            ));
        }
        match &self.verdict {
            Verdict::Allow(allow) => lines.push(format!(
                "{} {} ({})",
                style.green("allowed:"),
                style.bold(&allow.profile.to_string()),
                record(&allow.record)
            )),
            Verdict::Refuse(refused) => lines.push(refusal::text(refused, style)),
        }
        lines.push(format!(
            "guest: {} (macOS {})",
            self.guest.build, self.guest.version
        ));
        lines.push(match &self.host {
            Some(host) => format!("host: {} ({})", host.build, source(host)),
            None => "host: not known".to_owned(),
        });
        lines.push(match &self.database {
            Database::Used {
                origin,
                meta,
                trust_root,
                ..
            } => {
                let root = trust_root
                    .as_ref()
                    .map(|root| format!("\ntrust root: {}", root.says));
                format!(
                    "database: {}, seq {}, published {}{}",
                    origin.says(),
                    meta.seq,
                    meta.published_at,
                    root.unwrap_or_default()
                )
            }
            Database::Invalid { error } => format!("database: {error}"),
        });
        for grant in &self.unverified {
            lines.push(format!(
                "{} guest {} without a record until {}",
                style.yellow("unverified:"),
                grant.build,
                grant.until
            ));
        }
        if let Some(last) = &self.last_check {
            let at = last.at.strftime("%F %R UTC");
            lines.push(format!("last check for updates: {at}: {}", last.says));
        }
        lines.extend(
            self.warnings
                .iter()
                .map(|w| format!("{} {}", style.yellow("warning:"), escaped(w))),
        );
        lines.extend(self.wrappers.iter().map(|wrapper| wrapper.says(style)));
        match self.programs.as_slice() {
            [] => lines.push("no running program has reported".to_owned()),
            programs => lines.extend(programs.iter().map(|p| p.says(style))),
        }
        lines.join("\n") + "\n"
    }
}

fn source(host: &Host) -> &'static str {
    match host.source {
        compatdb::facts::HostSource::Attested => "attested by the host",
        compatdb::facts::HostSource::Stated => "stated, not attested",
    }
}
