//! `metalshim db pairs`: which pairs are verified or denied, and on request the leads.

use compatdb::records::{BuildRange, EvidenceKind, SeenSystem};
use compatdb::rows::{Deny, Lead, Pair, Status};
use compatdb::{Database, OsBuild, PairFilter, QueryError};
use serde::Serialize;

use super::words::{self, or_dash};
use crate::printer::{Report, Style};
use crate::table::{Table, paragraph};

/// Which rows to list; a filter that is not given lets everything pass.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Filter {
    /// Only pairs with this host: a build like 25G76, or a macOS version like 26.6
    #[arg(long, value_name = "BUILD")]
    pub host: Option<String>,
    /// Only pairs with this guest: a build like 25F84, or a macOS version like 26.5
    #[arg(long, value_name = "BUILD")]
    pub guest: Option<String>,
    /// Only what was measured on a chip whose name contains this, like "M4"
    #[arg(long, value_name = "TEXT")]
    pub chip: Option<String>,
    /// Only pairs with this status: verified, broken or revoked
    #[arg(long, value_name = "STATUS")]
    pub status: Option<Status>,
    /// Also show the leads: trials that lack a build or a figure, and never allow anything
    #[arg(long)]
    pub leads: bool,
}

impl Filter {
    fn pairs(&self) -> PairFilter {
        PairFilter {
            guest: self.guest.clone(),
            host: self.host.clone(),
            chip: self.chip.clone(),
            status: self.status,
        }
    }

    /// A range bears on a build that is in it; on a version it may.
    fn deny(&self, deny: &Deny) -> bool {
        let bears = |range: &Option<BuildRange>, wanted: &Option<String>| {
            let build = wanted.as_ref().and_then(|w| w.parse::<OsBuild>().ok());
            match (range, build) {
                (Some(range), Some(build)) => range.holds(&build),
                _ => true,
            }
        };
        self.chip.is_none()
            && self.status.is_none_or(|s| s == deny.status)
            && bears(&deny.host, &self.host)
            && bears(&deny.guest, &self.guest)
    }

    /// A lead whose build or chip nobody stated passes no filter by it.
    fn lead(&self, lead: &Lead) -> bool {
        let system = |wanted: &Option<String>, seen: &SeenSystem| {
            wanted.as_ref().is_none_or(|wanted| {
                let has = |text: &str| text.starts_with(wanted.as_str());
                seen.build.as_ref().is_some_and(|b| b.as_str() == wanted)
                    || seen.version.as_deref().is_some_and(has)
            })
        };
        let chip = self.chip.as_ref().is_none_or(|wanted| {
            let has = lead.host.chip.as_deref().unwrap_or_default();
            has.to_lowercase().contains(&wanted.to_lowercase())
        });
        chip && self.status.is_none()
            && system(&self.host, &lead.host)
            && system(&self.guest, &lead.guest)
    }
}

/// What `db pairs` lists.
#[derive(Debug, Serialize)]
pub(super) struct Pairs {
    /// The pairs that pass the filter.
    pub pairs: Vec<Pair>,
    /// The ranges that deny; none ever allows.
    pub denied: Vec<Deny>,
    /// With `--leads`, the trials that never allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leads: Option<Vec<Lead>>,
    /// How many leads there are that the filter lets pass.
    #[serde(skip)]
    hidden_leads: usize,
    #[serde(skip)]
    width: Option<usize>,
}

impl Pairs {
    /// What `filter` leaves of a database.
    ///
    /// # Errors
    ///
    /// Damaged rows.
    pub(super) fn new(
        database: &Database,
        filter: &Filter,
        width: Option<usize>,
    ) -> Result<Self, QueryError> {
        let mut denied = database.deny_ranges()?;
        denied.retain(|d| filter.deny(d));
        let mut leads = database.leads()?;
        leads.retain(|l| filter.lead(l));
        Ok(Self {
            pairs: database.pairs(&filter.pairs())?,
            denied,
            hidden_leads: if filter.leads { 0 } else { leads.len() },
            leads: filter.leads.then_some(leads),
            width,
        })
    }
}

impl Report for Pairs {
    const SCHEMA: &'static str = "metalshim.db-pairs/1";

    fn text(&self, style: Style) -> String {
        let mut out = String::new();
        if self.pairs.is_empty() {
            out.push_str("No pair passes these filters.\n");
        } else {
            out.push_str(&self.pair_table().render(self.width));
        }
        if !self.denied.is_empty() {
            out.push_str(&format!(
                "\n{}\n",
                style.bold("Denied whatever the other build is:")
            ));
            let mut table = Table::new(["id", "guests", "hosts", "status", "why", "source"]);
            for deny in &self.denied {
                table.row([
                    deny.id.clone(),
                    words::builds(deny.guest.as_ref()),
                    words::builds(deny.host.as_ref()),
                    deny.status.to_string(),
                    deny.reason.clone(),
                    words::sources(&deny.sources),
                ]);
            }
            out.push_str(&table.render(self.width));
        }
        if let Some(leads) = &self.leads {
            let title =
                style.bold("Leads: trials that lack a build or a figure. They allow nothing.");
            out.push_str(&format!("\n{title}\n"));
            if leads.is_empty() {
                out.push_str("No lead passes these filters.\n");
            } else {
                out.push_str(&lead_table(leads).render(self.width));
            }
        }
        out.push('\n');
        let third_party = |p: &Pair| p.evidence.kind == EvidenceKind::ThirdParty;
        if self.pairs.iter().any(third_party) {
            out.push_str(&paragraph(words::THIRD_PARTY, 0, self.width));
        }
        out.push_str(&paragraph(
            "Only a verified pair of level 1 or more allows, and only these exact builds; every other pair stays stock. \
             `metalshim db show ID` tells all about one.",
            0,
            self.width,
        ));
        if self.hidden_leads > 0 {
            out.push_str(&paragraph(
                &format!(
                    "There are {} leads besides, which allow nothing: metalshim db pairs --leads",
                    self.hidden_leads
                ),
                0,
                self.width,
            ));
        }
        out
    }
}

impl Pairs {
    fn pair_table(&self) -> Table {
        let mut table = Table::new([
            "id",
            "guest",
            "host",
            "status",
            "level",
            "profile",
            "chip",
            "vm software",
            "evidence",
        ]);
        for pair in &self.pairs {
            let by = words::projects(&pair.sources);
            table.row([
                pair.id.clone(),
                format!("{} ({})", pair.guest.build, pair.guest.version),
                format!("{} ({})", pair.host.build, pair.host.version),
                pair.status.to_string(),
                pair.evidence.level.to_string(),
                pair.profile.to_string(),
                words::list_or_dash(&pair.host.chips),
                words::vm_software(&pair.vm_software),
                match pair.evidence.kind {
                    EvidenceKind::ThirdParty => format!("third-party: {by}"),
                    EvidenceKind::Metalshim => by,
                },
            ]);
        }
        table
    }
}

fn lead_table(leads: &[Lead]) -> Table {
    let mut table = Table::new([
        "id",
        "guest",
        "host",
        "chip",
        "vm software",
        "tried",
        "outcome",
        "missing",
        "source",
    ]);
    for lead in leads {
        let system = |seen: &SeenSystem| match (&seen.build, &seen.version) {
            (Some(build), Some(version)) => format!("{build} ({version})"),
            (Some(build), None) => build.to_string(),
            (None, Some(version)) => version.clone(),
            (None, None) => "-".to_owned(),
        };
        table.row([
            lead.id.clone(),
            system(&lead.guest),
            system(&lead.host),
            or_dash(lead.host.chip.as_deref()),
            words::vm_software(&lead.vm_software),
            or_dash(lead.profile),
            lead.outcome.clone(),
            lead.missing.clone(),
            words::sources(&lead.sources),
        ]);
    }
    table
}
