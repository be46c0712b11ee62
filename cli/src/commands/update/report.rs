//! What an update reports.

use compatdb::Meta;
use jiff::Timestamp;
use serde::Serialize;

use super::program::Program;
use crate::database::{Loaded, Origin, Root};
use crate::printer::{Report, Style};
use crate::tickets::Reported;
use crate::update;

/// What an update did.
#[derive(Debug, Serialize)]
pub(super) struct Updated {
    pub(super) outcome: Kind,
    /// Where from; none where only what is here was verified.
    pub(super) source: Option<String>,
    pub(super) trust_root: Root,
    pub(super) before: Database,
    pub(super) database: Database,
    /// Until when the signatures vouch for the newest metadata.
    pub(super) fresh_until: Option<Timestamp>,
    pub(super) deny_list_seq: Option<u64>,
    pub(super) requests: u64,
    pub(super) bytes: u64,
    pub(super) this_machine: String,
    /// That an earlier `enable` holds again.
    pub(super) enabled: Option<String>,
    /// Programs that run with what was taken back.
    pub(super) revoked: Vec<Reported>,
    pub(super) program: Program,
    /// Only the program was asked about.
    #[serde(skip)]
    pub(super) self_only: bool,
    pub(super) warnings: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum Kind {
    Of(update::Outcome),
    Offline(Offline),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Offline {
    /// Nothing was fetched.
    Verified,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Database {
    origin: Origin,
    #[serde(flatten)]
    meta: Meta,
}

impl Database {
    pub(super) fn of(loaded: &Loaded) -> Self {
        Self {
            origin: loaded.origin,
            meta: loaded.database.meta().clone(),
        }
    }

    pub(super) fn says(&self) -> String {
        format!("{}, seq {}", self.origin.says(), self.meta.seq)
    }
}

impl Report for Updated {
    const SCHEMA: &'static str = "metalshim.update/1";

    fn text(&self, style: Style) -> String {
        if self.self_only {
            return self.program_only(style);
        }
        let now = self.database.says();
        let mut lines = vec![match self.outcome {
            Kind::Of(update::Outcome::UpToDate) => format!("{} {now}", style.green("up to date:")),
            Kind::Of(update::Outcome::Updated) => {
                format!(
                    "{} {now} (before: {})",
                    style.green("updated:"),
                    self.before.says()
                )
            }
            Kind::Of(update::Outcome::Available) => {
                format!(
                    "{} `metalshim update` takes it in; in use: {now}",
                    style.yellow("a newer database is there:")
                )
            }
            Kind::Of(update::Outcome::NeedsNewerMetalshim) => {
                format!(
                    "{} in use: {now}",
                    style.yellow("the newest database needs a newer metalshim:")
                )
            }
            Kind::Offline(Offline::Verified) => {
                format!("{} {now}; nothing was fetched", style.green("verified:"))
            }
        }];
        if let Some(source) = &self.source {
            lines.push(format!("  from         {source}"));
        }
        lines.push(format!("  trust root   {}", self.trust_root.says));
        if let Some(until) = self.fresh_until {
            lines.push(format!("  fresh until  {}", until.strftime("%F %R UTC")));
        }
        lines.push(format!("  this machine {}", self.this_machine));
        lines.extend(
            self.enabled
                .iter()
                .map(|says| format!("  enabled      {says}")),
        );
        lines.extend(
            self.program
                .says()
                .map(|says| format!("  program      {says}")),
        );
        let revoked = self.revoked.iter().map(|program| program.says(style));
        lines.extend(revoked.map(|says| format!("{} {says}", style.red("taken back:"))));
        let warnings = self.warnings.iter();
        lines.extend(warnings.map(|w| format!("{} {w}", style.yellow("warning:"))));
        lines.join("\n") + "\n"
    }
}

impl Updated {
    fn program_only(&self, style: Style) -> String {
        let ours = &self.program.installed;
        let head = match self.program.says() {
            Some(says) if self.program.updated_to.is_some() => {
                format!("{} {says}", style.green("updated:"))
            }
            Some(says) => says,
            None => format!("{} metalshim {ours}", style.green("up to date:")),
        };
        let warnings = self.warnings.iter();
        let warnings = warnings.map(|w| format!("\n{} {w}", style.yellow("warning:")));
        head + &warnings.collect::<String>() + "\n"
    }
}
