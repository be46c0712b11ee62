//! `metalshim probe`: what the Metal device says, stock and with the overrides.
//!
//! **Contract.** Each side is asked in a child process of its own with a time limit. Between
//! the two nothing may differ but the two answers, raised as far as the ticket says; anything
//! else is wrong, and so is an override that is not there. Nothing is kept.

use std::time::Duration;

use compatdb::{OsBuild, Profile, Verdict};
use serde::Serialize;

use crate::context::Context;
use crate::decide::{Known, Question};
use crate::error::{Error, Outcome};
use crate::helper::{Helper, Ticket};
use crate::printer::{Report, Style};
use crate::probe::{self, Answers, Change};
use crate::table::Table;
use crate::tickets::Reported;
use crate::{facts, refusal};

/// Asks the Metal device what it can do: stock, with the overrides, or both side by side.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metalshim probe                  both, where the overrides may be used here; else stock
  metalshim probe --stock --json   the device's own answers, for a report

Exit codes: 0 as it should be; 1 refused, or something else than the two answers changed;
2 could not tell.")]
pub struct Args {
    /// Only the device's own answers
    #[arg(long)]
    pub stock: bool,
    /// Only with the overrides
    #[arg(long, conflicts_with = "stock")]
    pub shimmed: bool,
    /// Both, and what differs; any change beyond the two answers is an error
    #[arg(long, conflicts_with_all = ["stock", "shimmed"])]
    pub both: bool,
    /// Tell no more than this family and these bytes, like 1007/32768
    #[arg(long, value_name = "FAMILY/BYTES")]
    pub profile: Option<Profile>,
    /// The host's macOS build, like 25G76: `sw_vers -buildVersion` on the host prints it
    #[arg(long, value_name = "BUILD")]
    pub host_build: Option<OsBuild>,
    /// Use the overrides on a pair that nobody has verified, for this probe only
    #[arg(long, value_name = "BUILD")]
    pub allow_unverified: Option<OsBuild>,
    /// How long each side may take
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = super::seconds)]
    pub time_limit: Duration,
}

#[derive(Debug, Serialize)]
struct Probed {
    /// The device's own answers.
    stock: Option<Answers>,
    /// With the overrides.
    shimmed: Option<Answers>,
    /// What the device was to tell.
    profile: Option<Profile>,
    /// Whether the overrides may be used here; none where nobody asked.
    verdict: Option<Verdict>,
    /// What the shim reported.
    shim: Option<Reported>,
    /// What differs.
    changes: Vec<Change>,
    /// What is not as it has to be, a sentence each.
    wrong: Vec<String>,
    #[serde(skip)]
    asked_for: bool,
}

/// Runs it.
///
/// # Errors
/// Facts or state cannot be read, or a child did not answer.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    if !args.stock {
        // The ticket of a pair without a record holds this boot's stock answers.
        let state = context.state()?;
        facts::find_out(&state, &context.machine(args.host_build.as_ref())?)?;
    }
    let known = Known::gather(context, args.host_build.as_ref())?.canary_aside();
    let decision = known.decide(Question {
        profile: args.profile,
        at_most: context.settings()?.profile,
        allow_unverified: args.allow_unverified.as_ref(),
        program: None,
    })?;
    let asked_for = args.both || args.shimmed;
    let profile = match &decision.verdict {
        Verdict::Allow(allow) if !args.stock => Some(allow.profile),
        _ => None,
    };
    let mut probed = Probed {
        stock: None,
        shimmed: None,
        profile,
        verdict: (!args.stock).then(|| decision.verdict.clone()),
        shim: None,
        changes: Vec::new(),
        wrong: Vec::new(),
        asked_for,
    };
    if !args.shimmed {
        probed.stock = Some(probe::ask(Helper::Probe.stock()?, args.time_limit)?.1);
    }
    if let Some(profile) = profile {
        let state = context.state()?;
        let ticket = Ticket::new(&known, &decision, profile, &state, &context.variables)?;
        let mut command = Helper::Probe.stock()?;
        ticket.give(&mut command);
        let (pid, shimmed) = probe::ask(command, args.time_limit)?;
        probed.shim = ticket.reported(pid);
        probed.shimmed = Some(shimmed);
        probed.compare(profile);
    }
    let refused = asked_for && profile.is_none();
    let right = probed.wrong.is_empty() && !refused;
    context.printer.report(&probed)?;
    Ok(if right { Outcome::Yes } else { Outcome::No })
}

impl Probed {
    fn compare(&mut self, profile: Profile) {
        match &self.shim {
            Some(shim) if shim.state == "installed" => {}
            Some(Reported {
                reason: Some(reason),
                ..
            }) => {
                self.wrong.push(format!("the shim stayed stock: {reason}"));
            }
            _ => self.wrong.push("the shim reported nothing".to_owned()),
        }
        let (Some(stock), Some(shimmed)) = (&self.stock, &self.shimmed) else {
            return;
        };
        self.changes = probe::compare(stock, shimmed, profile);
        let unexpected = self.changes.iter().filter(|c| !c.expected);
        self.wrong.extend(unexpected.map(|c| {
            format!(
                "{} was {} and is {}, which is none of the two answers as far as {profile} goes",
                c.what, c.stock, c.shimmed
            )
        }));
        if !probe::is_raised(stock, shimmed, profile) {
            self.wrong.push(format!("not all of {profile} is told"));
        }
    }

    fn table(&self) -> String {
        let sides: Vec<(&str, &Answers)> = [("stock", &self.stock), ("shimmed", &self.shimmed)]
            .into_iter()
            .filter_map(|(name, side)| Some((name, side.as_ref()?)))
            .collect();
        let mut table = match sides.as_slice() {
            [(one, _)] => Table::new(["answer", one]),
            _ => Table::new(["answer", "stock", "shimmed"]),
        };
        let mut row = |name: &str, value: &dyn Fn(&Answers) -> String| {
            let values = sides.iter().map(|(_, side)| value(side));
            table.row(std::iter::once(name.to_owned()).chain(values));
        };
        let none = || "none".to_owned();
        let family = |first, last| {
            move |a: &Answers| a.highest(first, last).map_or_else(none, |f| f.to_string())
        };
        row("name", &|a| a.name.clone());
        row("class", &|a| a.class.clone());
        row("Apple family", &family(1001, 1999));
        row("threadgroup memory", &|a| {
            a.max_threadgroup_memory.to_string()
        });
        row("Mac family", &family(2001, 2999));
        row("Common family", &family(3001, 3999));
        row("Metal family", &family(5001, 5999));
        row("the host's family", &|a| {
            a.host_family
                .map_or_else(|| "not told".to_owned(), |f| f.to_string())
        });
        for name in sides
            .iter()
            .flat_map(|(_, s)| s.features.keys())
            .collect::<std::collections::BTreeSet<_>>()
        {
            let shown = name.replace('_', " ");
            row(&shown, &|a| {
                a.features.get(name).cloned().unwrap_or_else(none)
            });
        }
        row("Metal's UUID", &|a| {
            a.metal_uuid.clone().unwrap_or_else(none)
        });
        row("the driver's UUID", &|a| {
            a.driver_uuid.clone().unwrap_or_else(none)
        });
        row("made in", &|a| format!("{} us", a.created_us));
        table.render(crate::table::stdout_width())
    }
}

impl Report for Probed {
    const SCHEMA: &'static str = "metalshim.probe/1";

    fn text(&self, style: Style) -> String {
        let mut text = String::new();
        if self.stock.is_some() || self.shimmed.is_some() {
            text += &self.table();
        }
        let mut lines = Vec::new();
        if let (Some(_), Some(_), Some(profile)) = (&self.stock, &self.shimmed, self.profile) {
            lines.push(if self.wrong.is_empty() {
                format!(
                    "{} {profile} is told, and nothing else changed",
                    style.green("as it should be:")
                )
            } else {
                format!("{profile} was to be told:")
            });
        }
        lines.extend(
            self.wrong
                .iter()
                .map(|w| format!("{} {w}", style.red("wrong:"))),
        );
        match &self.verdict {
            Some(Verdict::Refuse(refused)) if self.asked_for => {
                lines.push(refusal::text(refused, style))
            }
            Some(Verdict::Refuse(refused)) => lines.push(format!(
                "{} {}: {}",
                style.yellow("stock only:"),
                refused.reason.code(),
                refused.says
            )),
            Some(Verdict::Allow(_)) | None => {}
        }
        if !lines.is_empty() {
            text += &(lines.join("\n") + "\n");
        }
        text
    }
}
