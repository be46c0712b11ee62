//! `metalshim db show ID`: everything about one row.

use compatdb::records::{EvidenceKind, SeenSystem};
use compatdb::rows::{Client, Deny, Fault, Lead, Pair, PairBrief, StockReport};
use compatdb::{Database, OsBuild, PairFilter, QueryError, Shown};
use serde::Serialize;

use super::lists::recognised;
use super::page::{Page, yes_or_no};
use super::words::{self, list_or_dash, or_dash};
use crate::printer::{Report, Style};

/// What `db show` shows.
#[derive(Debug, Serialize)]
pub(super) struct ShownRow {
    /// The row.
    #[serde(flatten)]
    pub(super) row: Shown,
    /// Of a build, what else is about it.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) about: Option<AboutBuild>,
    /// The fault that the row names, for the text.
    #[serde(skip)]
    pub(super) fault: Option<Fault>,
    /// How wide the text may be.
    #[serde(skip)]
    pub(super) width: Option<usize>,
}

/// Everything in the database that is about one build of macOS.
#[derive(Debug, Serialize)]
pub(super) struct AboutBuild {
    /// The pairs that it is the guest of.
    guest_in: Vec<PairBrief>,
    /// The pairs that it is the host of.
    host_in: Vec<PairBrief>,
    /// The ranges that it is in; `D0001 (guests)`.
    denied_by: Vec<String>,
    /// The leads that name it.
    leads: Vec<String>,
    /// The reports of stock answers that name it.
    stock_reports: Vec<String>,
}

impl AboutBuild {
    pub(super) fn new(database: &Database, build: &OsBuild) -> Result<Self, QueryError> {
        let pairs = database.pairs(&PairFilter::default())?;
        let briefs = |is: &dyn Fn(&Pair) -> bool| {
            let pairs = pairs.iter().filter(|p| is(p));
            pairs.map(PairBrief::from).collect()
        };
        let named = |guest: &SeenSystem, host: &SeenSystem| {
            [guest, host]
                .iter()
                .any(|s| s.build.as_ref() == Some(build))
        };
        let mut denied_by = Vec::new();
        for deny in database.deny_ranges()? {
            let sides = [(&deny.guest, "guests"), (&deny.host, "hosts")];
            for (range, side) in sides {
                if range.as_ref().is_some_and(|range| range.holds(build)) {
                    denied_by.push(format!("{} ({side})", deny.id));
                }
            }
        }
        let leads = database.leads()?.into_iter();
        let stock = database.stock_reports()?.into_iter();
        Ok(Self {
            guest_in: briefs(&|p| p.guest.build == *build),
            host_in: briefs(&|p| p.host.build == *build),
            denied_by,
            leads: leads
                .filter(|l| named(&l.guest, &l.host))
                .map(|l| l.id)
                .collect(),
            stock_reports: stock
                .filter(|s| named(&s.guest, &s.host))
                .map(|s| s.id)
                .collect(),
        })
    }

    fn fill(&self, page: &mut Page) {
        let pair = |p: &PairBrief, other: &OsBuild, side: &str| {
            format!(
                "{} with {side} {other}: {}, level {}",
                p.id, p.status, p.evidence_level
            )
        };
        let guest: Vec<String> = self
            .guest_in
            .iter()
            .map(|p| pair(p, &p.host_build, "host"))
            .collect();
        let host: Vec<String> = self
            .host_in
            .iter()
            .map(|p| pair(p, &p.guest_build, "guest"))
            .collect();
        page.fields("guest in", &guest);
        page.fields("host in", &host);
        page.field("denied by", &list_or_dash(&self.denied_by));
        page.field("leads", &list_or_dash(&self.leads));
        page.field("stock reports", &list_or_dash(&self.stock_reports));
        if guest.is_empty() && host.is_empty() {
            page.field("pairs", "none: every pair with it stays stock");
        }
    }
}

impl Report for ShownRow {
    const SCHEMA: &'static str = "metalshim.db-show/1";

    fn text(&self, style: Style) -> String {
        let mut page = Page::new(style, self.width);
        match &self.row {
            Shown::Pair(pair) => self.pair(&mut page, pair),
            Shown::Deny(deny) => self.deny(&mut page, deny),
            Shown::Lead(lead) => lead_page(&mut page, lead),
            Shown::Fault(fault) => fault_page(&mut page, fault),
            Shown::Stock(report) => stock_page(&mut page, report),
            Shown::Client(client) => client_page(&mut page, client),
            Shown::Build(build) => {
                page.title(&format!("{}: macOS {}", build.build, build.version));
                page.field("released", &or_dash(build.released));
                page.field("beta", yes_or_no(build.beta));
                let virtual_mac = build.virtual_mac.map(yes_or_no);
                page.field("for virtual Macs", virtual_mac.unwrap_or("not stated"));
                page.field("sources", &build.sources.join(", "));
                if let Some(about) = &self.about {
                    about.fill(&mut page);
                }
            }
        }
        page.text()
    }
}

impl ShownRow {
    fn pair(&self, page: &mut Page, pair: &Pair) {
        page.title(&format!(
            "{}: guest {} on host {}, {}",
            pair.id, pair.guest.build, pair.host.build, pair.status
        ));
        page.field("why", pair.reason.as_deref().unwrap_or_default());
        let mut guest = vec![format!("macOS {}", pair.guest.version)];
        guest.extend(pair.guest.model.clone());
        page.field("guest", &guest.join(", "));
        let mut host = vec![format!("macOS {}", pair.host.version)];
        host.extend(pair.host.chips.iter().cloned());
        host.extend(pair.host.models.iter().cloned());
        page.field("host", &host.join(", "));
        page.field("VM software", &words::vm_software(&pair.vm_software));
        let evidence = &pair.evidence;
        let level = words::level(evidence.level);
        page.field(
            "evidence",
            &format!("level {}, {level}. {}", evidence.level, evidence.says),
        );
        if evidence.kind == EvidenceKind::ThirdParty {
            page.field("third-party", words::THIRD_PARTY);
        }
        let profile = pair.profile;
        page.field(
            "profile",
            &format!(
                "{profile}: Apple family up to {}, {} bytes of threadgroup memory",
                profile.apple_family_max, profile.max_threadgroup_memory
            ),
        );
        page.field(
            "stock answers",
            &format!(
                "Apple family {}, Common family {}, Metal 3 {}, {} bytes; class {}",
                pair.stock.apple_family,
                or_dash(pair.stock.common_family),
                yes_or_no(pair.stock.metal3),
                pair.stock.max_threadgroup_memory,
                pair.device_class
            ),
        );
        page.field(
            "Metal's UUID",
            pair.metal_uuid.as_deref().unwrap_or_default(),
        );
        page.field(
            "driver's UUID",
            pair.driver_uuid.as_deref().unwrap_or_default(),
        );
        page.field("host preference", preference(pair.host_preference));
        self.fault_field(page);
        page.fields("note", &pair.notes);
        page.field("published", &pair.published.to_string());
        page.sources(&pair.sources);
        page.workloads(&pair.workloads, &pair.sources);
    }

    fn deny(&self, page: &mut Page, deny: &Deny) {
        page.title(&format!("{}: {}, whatever the flags", deny.id, deny.status));
        page.field("guests", &words::builds(deny.guest.as_ref()));
        page.field("hosts", &words::builds(deny.host.as_ref()));
        page.field("why", &deny.reason);
        self.fault_field(page);
        page.fields("note", &deny.notes);
        page.field("published", &deny.published.to_string());
        page.sources(&deny.sources);
    }

    fn fault_field(&self, page: &mut Page) {
        if let Some(fault) = &self.fault {
            page.field("fault", &format!("{}: {}", fault.id, fault.title));
        }
    }
}

/// `ForceUnrestrictedDeviceFeatureLevel` on the host, as far as a source tells.
const fn preference(set: Option<bool>) -> &'static str {
    match set {
        Some(true) => "ForceUnrestrictedDeviceFeatureLevel was set",
        Some(false) => "ForceUnrestrictedDeviceFeatureLevel was not set",
        None => "not stated",
    }
}

fn lead_page(page: &mut Page, lead: &Lead) {
    page.title(&format!("{}: a lead, which allows nothing", lead.id));
    page.field("outcome", &lead.outcome);
    page.field("missing", &lead.missing);
    page.field("tried", &or_dash(lead.profile));
    page.seen("guest", &lead.guest);
    page.seen("host", &lead.host);
    page.field("VM software", &words::vm_software(&lead.vm_software));
    let evidence = &lead.evidence;
    page.field(
        "evidence",
        &format!("level {}. {}", evidence.level, evidence.says),
    );
    page.field("host preference", preference(lead.host_preference));
    page.fields("note", &lead.notes);
    page.sources(&lead.sources);
    page.workloads(&lead.workloads, &lead.sources);
}

fn fault_page(page: &mut Page, fault: &Fault) {
    page.title(&format!("{}: {}", fault.id, fault.title));
    page.field("what happens", &fault.says);
    page.field("guests", &fault.guests);
    page.field("seen on", &or_dash(fault.seen_on.as_deref()));
    page.field("clients", &list_or_dash(&fault.clients));
    page.field("what to do", fault.advice.as_deref().unwrap_or_default());
    page.field("measured", yes_or_no(fault.measured));
    page.sources(&fault.sources);
}

fn stock_page(page: &mut Page, report: &StockReport) {
    page.title(&format!("{}: a report of stock answers", report.id));
    page.field("what was seen", &report.says);
    page.seen("guest", &report.guest);
    page.seen("host", &report.host);
    let vm: Vec<_> = report.vm_software.iter().cloned().collect();
    page.field("VM software", &words::vm_software(&vm));
    page.field("bare metal", yes_or_no(report.bare_metal));
    let answers = &report.answers;
    page.field("Apple family", &or_dash(answers.apple_family));
    page.field("Common family", &or_dash(answers.common_family));
    page.field("Metal 3", &or_dash(answers.metal3.map(yes_or_no)));
    let memory = answers.max_threadgroup_memory.map(|m| format!("{m} bytes"));
    page.field("threadgroups", &or_dash(memory));
    page.field("measured", yes_or_no(report.measured));
    page.sources(&report.sources);
}

fn client_page(page: &mut Page, client: &Client) {
    page.title(&format!("{}: {}", client.id, client.title));
    page.field(
        "gains",
        &format!("{}. {}", words::gains(client.gains), client.gains_says),
    );
    page.field("advice", client.advice.as_deref().unwrap_or_default());
    page.field("recognised by", &recognised(&client.recognise));
    for blocked in &client.blocked {
        let versions = words::versions(&blocked.versions, false);
        let source = words::cited(&blocked.source, &client.sources);
        page.field(
            "limit",
            &format!("{versions}: stock only. {} [{source}]", blocked.says),
        );
    }
    for cap in &client.caps {
        let versions = words::versions(&cap.versions, cap.unknown_version);
        let source = words::cited(&cap.source, &client.sources);
        page.field(
            "limit",
            &format!("{versions}: {}. {} [{source}]", words::cap(cap), cap.says),
        );
    }
    page.field("children", &client.children.join(", "));
    page.fields("note", &client.notes);
    page.sources(&client.sources);
}
