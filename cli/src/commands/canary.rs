//! `metalshim canary`: kernels run with the overrides and compared with the CPU.
//!
//! **Contract.** They run in a child process with the overrides and a time limit. What comes of
//! it is kept for this boot, build, record and profile: after a failure `run` refuses with
//! `canary-failed`. An earlier failure does not keep the canary itself from running.

use std::time::Duration;

use compatdb::facts::{self as known_facts, Local};
use compatdb::verdict::{Allow, Refusal};
use compatdb::{OsBuild, Profile, Verdict};
use serde::Serialize;

use crate::canary::kept::{self, Kept, Said};
use crate::canary::{Canary, Found, Outcome as Came, Plan, RESTART};
use crate::commands::enable;
use crate::context::Context;
use crate::decide::{Known, Question};
use crate::error::{Error, Outcome};
use crate::printer::{Report, Style};
use crate::state::StateFolder;
use crate::table::{Table, stdout_width};
use crate::{facts, refusal};

/// Runs small kernels with the overrides and compares every result with the CPU.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metalshim canary                              are results right here, with the record's profile?
  metalshim canary --allow-unverified 26A428    the same on a pair without a record
  metalshim canary --runs 50                    for longer

Exit codes: 0 all right; 1 refused, or wrong, hung or crashed; 2 could not tell.")]
pub struct Args {
    /// Tell the kernels no more than this family and these bytes, like 1007/32768
    #[arg(long, value_name = "FAMILY/BYTES")]
    pub profile: Option<Profile>,
    /// The host's macOS build, like 25G76: `sw_vers -buildVersion` on the host prints it
    #[arg(long, value_name = "BUILD")]
    pub host_build: Option<OsBuild>,
    /// Use the overrides on a pair that nobody has verified, in the canary's own process only
    #[arg(long, value_name = "BUILD")]
    pub allow_unverified: Option<OsBuild>,
    /// How often every kernel is run, each time with other values
    #[arg(long, value_name = "N", default_value_t = Plan::USUAL.runs, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub runs: u32,
    /// How long each step may take: making the device, compiling, a launch
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = super::seconds)]
    pub time_limit: Duration,
}

#[derive(Debug, Serialize)]
struct Canaries {
    /// What was found; none where it was refused before.
    #[serde(flatten)]
    found: Option<Found>,
    /// The record that the profile is from.
    record: Option<String>,
    /// Why no kernel was run.
    refused: Option<Refusal>,
    /// Whether it is kept for this boot.
    kept: bool,
    /// What to do.
    hints: Vec<String>,
}

/// Runs it.
///
/// # Errors
/// Facts or state cannot be read, or no kernel could be run.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    let state = context.state()?;
    facts::find_out(&state, &context.machine(args.host_build.as_ref())?)?;
    let known = Known::gather(context, args.host_build.as_ref())?.canary_aside();
    let decision = known.decide(Question {
        profile: args.profile,
        at_most: context.settings()?.profile,
        allow_unverified: args.allow_unverified.as_ref(),
        program: None,
    })?;
    let allow = match &decision.verdict {
        Verdict::Allow(allow) => allow,
        Verdict::Refuse(refused) => {
            context.printer.report(&Canaries {
                found: None,
                record: None,
                refused: Some(refused.clone()),
                kept: false,
                hints: Vec::new(),
            })?;
            return Ok(Outcome::No);
        }
    };
    let found = Canary {
        known: &known,
        decision: &decision,
        profile: allow.profile,
        state: &state,
        variables: &context.variables,
        plan: Plan {
            runs: args.runs,
            limit: args.time_limit,
        },
    }
    .perform()?;
    let outcome = match &found.outcome {
        Came::Passed => Outcome::Yes,
        Came::Refused { .. } => Outcome::Code(2),
        _ => Outcome::No,
    };
    context.printer.report(&Canaries {
        record: allow.record.clone(),
        refused: None,
        kept: found.outcome.kept().is_some(),
        hints: hints(&found),
        found: Some(found),
    })?;
    Ok(outcome)
}

/// The canary of `enable`: run unless it has passed on this boot, so that the verdict after it
/// counts with what it found. None where none was run.
///
/// # Errors
/// Facts or state cannot be read.
pub(super) fn checked(
    args: &enable::Args,
    question: Question<'_>,
    context: &Context,
    state: &StateFolder,
    warnings: &mut Vec<String>,
) -> Result<Option<Found>, Error> {
    let known = Known::gather(context, args.host_build.as_ref())?
        .without_drift()
        .canary_aside();
    let decision = known.decide(question)?;
    let Verdict::Allow(allow) = &decision.verdict else {
        return Ok(None);
    };
    if args.no_canary {
        warnings.push("no canary was run: nothing has shown that kernels give right results on this machine; `metalshim canary` does".to_owned());
        return Ok(None);
    }
    if passed(&known, allow, state)? {
        return Ok(None);
    }
    let canary = Canary {
        known: &known,
        decision: &decision,
        profile: allow.profile,
        state,
        variables: &context.variables,
        plan: Plan::USUAL,
    };
    match canary.perform() {
        Ok(found) => {
            // After a failure the refusal says it.
            if found.outcome.kept() != Some(Said::Failed) {
                warnings.extend(hints(&found));
            }
            Ok(Some(found))
        }
        // A record stands without it; a pair without one does not, as the verdict then says.
        Err(error) => {
            warnings.push(format!("the canary could not be run: {}", error.says));
            Ok(None)
        }
    }
}

/// Whether it has passed already with this record and profile, on this boot.
fn passed(known: &Known, allow: &Allow, state: &StateFolder) -> Result<bool, Error> {
    let guest = &known.machine.facts.guest;
    let record = allow.record.clone();
    let record = record.unwrap_or_else(|| kept::unverified(&guest.build));
    let mut local = Local::default();
    if let Some(kept) = Kept::read(state)? {
        kept.about(guest, &record, allow.profile, &mut local);
    }
    Ok(local.canary == known_facts::Canary::Passed)
}

/// What to do after this.
pub(super) fn hints(found: &Found) -> Vec<String> {
    match &found.outcome {
        Came::Passed if found.lowered.is_none() => Vec::new(),
        Came::Refused { .. } => vec![
            "nothing is kept: whether results are right was not found out".to_owned(),
            RESTART.to_owned(),
        ],
        _ => vec![RESTART.to_owned()],
    }
}

/// What was found, in text.
pub(super) fn lines(found: &Found, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(lowered) = &found.lowered {
        lines.push(format!(
            "{} from {} to {}: {}",
            style.yellow("lowered"),
            lowered.from,
            found.profile,
            lowered.because
        ));
    }
    let says = found.outcome.says();
    lines.push(match &found.outcome {
        Came::Passed => format!("{} {says}, with {}", style.green("passed:"), found.profile),
        Came::Refused { .. } => format!("{} {says}", style.yellow("could not tell:")),
        _ => format!("{} {says}", style.red("failed:")),
    });
    lines
}

impl Report for Canaries {
    const SCHEMA: &'static str = "metalshim.canary/1";

    fn text(&self, style: Style) -> String {
        let mut text = String::new();
        let mut lines = Vec::new();
        if let Some(refused) = &self.refused {
            lines.push(refusal::text(refused, style));
        }
        if let Some(found) = &self.found {
            let mut table = Table::new(["case", "kernel", "runs", "off by", "longest"]);
            for done in &found.cases {
                table.row([
                    done.case.to_owned(),
                    done.kernel.to_owned(),
                    done.runs.to_string(),
                    format!("{:.0} % of what it may", done.share * 100.0),
                    format!("{} us", done.longest_us),
                ]);
            }
            if !table.is_empty() {
                text += &table.render(stdout_width());
            }
            lines.extend(self::lines(found, style));
            let notes = found.notes.iter();
            lines.extend(notes.map(|n| format!("{} {n}", style.dim("note:"))));
        }
        lines.extend(
            self.hints
                .iter()
                .map(|h| format!("{} {h}", style.bold("hint:"))),
        );
        text + &lines.join("\n") + "\n"
    }
}
