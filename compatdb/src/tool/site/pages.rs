//! The pages themselves: one list of each kind, and one page for each record.
//!
//! Templates (`compatdb/templates/site`) escape whatever they are given.

use std::collections::BTreeSet;

use askama::Template;
use compatdb::records::{Figure, Source, Workload};
use compatdb::rows::{BuildRange, Client, Deny, Fault, Lead, Pair, StockReport};
use compatdb::{Database, Meta, OsBuild, PairFilter};

use super::feed::Release;
use super::{Failure, Files};

/// The folders of pages.
pub(super) const FOLDERS: [&str; 5] = ["pairs", "denies", "leads", "clients", "faults"];

/// What every page needs.
struct Frame<'a> {
    meta: &'a Meta,
    home: &'static str,
    /// The way back to the site's root: nothing, or `../`.
    root: &'static str,
}

macro_rules! page {
    ($name:ident, $path:literal, { $($field:ident : $type:ty),* $(,)? }) => {
        #[derive(Template)]
        #[template(path = $path)]
        struct $name<'a> {
            frame: Frame<'a>,
            $($field: $type,)*
        }
    };
}

page!(Index, "site/index.html", {
    matrix: Matrix<'a>,
    pairs: &'a [Pair],
    denies: &'a [Deny],
    leads: &'a [Lead],
});
page!(PairPage, "site/pair.html", { pair: &'a Pair });
page!(DenyPage, "site/deny.html", { deny: &'a Deny });
page!(LeadPage, "site/lead.html", { lead: &'a Lead });
page!(ClientPage, "site/client.html", { client: &'a Client });
page!(FaultPage, "site/fault.html", { fault: &'a Fault });
page!(ClientList, "site/clients.html", { clients: &'a [Client] });
page!(FaultList, "site/faults.html", { faults: &'a [Fault] });
page!(StockList, "site/stock.html", { reports: &'a [StockReport] });
page!(Changes, "site/changes.html", { releases: &'a [Release] });

/// Guests down, hosts across; only those that have a record.
struct Matrix<'a> {
    hosts: Vec<System<'a>>,
    rows: Vec<Row<'a>>,
}

/// A build and its macOS version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct System<'a> {
    build: &'a OsBuild,
    version: &'a str,
}

struct Row<'a> {
    guest: System<'a>,
    /// The records of each host, in the order of hosts.
    cells: Vec<Vec<&'a Pair>>,
}

fn guest(pair: &Pair) -> System<'_> {
    System {
        build: &pair.guest.build,
        version: &pair.guest.version,
    }
}

fn host(pair: &Pair) -> System<'_> {
    System {
        build: &pair.host.build,
        version: &pair.host.version,
    }
}

fn matrix(pairs: &[Pair]) -> Matrix<'_> {
    let newest = |all: BTreeSet<_>| all.into_iter().rev().collect::<Vec<_>>();
    let hosts = newest(pairs.iter().map(host).collect());
    let cells = |of: System<'_>| {
        let row: Vec<&Pair> = pairs.iter().filter(|p| guest(p) == of).collect();
        let on = |on: &System<'_>| row.iter().copied().filter(|p| host(p) == *on).collect();
        hosts.iter().map(on).collect()
    };
    let rows = newest(pairs.iter().map(guest).collect())
        .into_iter()
        .map(|guest| Row {
            guest,
            cells: cells(guest),
        })
        .collect();
    Matrix { hosts, rows }
}

/// Every page.
pub(super) fn files(database: &Database, releases: &[Release]) -> Result<Files, Failure> {
    let frame = |root| Frame {
        meta: database.meta(),
        home: env!("CARGO_PKG_REPOSITORY"),
        root,
    };
    let pairs = database.pairs(&PairFilter::default())?;
    let denies = database.deny_ranges()?;
    let leads = database.leads()?;
    let clients = database.clients()?;
    let faults = database.faults()?;
    let reports = database.stock_reports()?;

    let mut files = Files::new();
    let mut add = |name: String, page: &dyn askama::DynTemplate| -> Result<(), Failure> {
        files.insert(name, page.dyn_render()?.into_bytes());
        Ok(())
    };
    let (top, below) = ("", "../");
    add(
        "index.html".to_owned(),
        &Index {
            frame: frame(top),
            matrix: matrix(&pairs),
            pairs: &pairs,
            denies: &denies,
            leads: &leads,
        },
    )?;
    for pair in &pairs {
        let page = PairPage {
            frame: frame(below),
            pair,
        };
        add(format!("pairs/{}", file(&pair.id)), &page)?;
    }
    for deny in &denies {
        let page = DenyPage {
            frame: frame(below),
            deny,
        };
        add(format!("denies/{}", file(&deny.id)), &page)?;
    }
    for lead in &leads {
        let page = LeadPage {
            frame: frame(below),
            lead,
        };
        add(format!("leads/{}", file(&lead.id)), &page)?;
    }
    for client in &clients {
        let page = ClientPage {
            frame: frame(below),
            client,
        };
        add(format!("clients/{}", file(&client.id)), &page)?;
    }
    for fault in &faults {
        let page = FaultPage {
            frame: frame(below),
            fault,
        };
        add(format!("faults/{}", file(&fault.id)), &page)?;
    }
    let (clients, faults, reports) = (&clients[..], &faults[..], &reports[..]);
    add(
        "clients.html".to_owned(),
        &ClientList {
            frame: frame(top),
            clients,
        },
    )?;
    add(
        "faults.html".to_owned(),
        &FaultList {
            frame: frame(top),
            faults,
        },
    )?;
    add(
        "stock.html".to_owned(),
        &StockList {
            frame: frame(top),
            reports,
        },
    )?;
    add(
        "changes.html".to_owned(),
        &Changes {
            frame: frame(top),
            releases,
        },
    )?;
    Ok(files)
}

/// The file of a record: its id, which the linter keeps to letters, digits, dots and dashes.
/// Whatever else a database holds there must not become a path.
fn file(id: &str) -> String {
    let name: String = id
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') => c,
            _ => '_',
        })
        .take(64)
        .collect();
    format!("{name}.html")
}

/// A public address of a source, where it is sure to be one.
fn address(source: &Source) -> Option<String> {
    let plain = |text: &str| {
        let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        !text.is_empty() && !text.starts_with('.') && text.chars().all(safe)
    };
    let (owner, name) = source.project.split_once('/')?;
    if !plain(owner) || !plain(name) {
        return None;
    }
    let thread = source.issue.as_deref().and_then(|issue| {
        let (kind, number) = issue.split_once(' ')?;
        let number: u32 = number.parse().ok()?;
        match kind {
            "PR" => Some(format!("/pull/{number}")),
            "issue" => Some(format!("/issues/{number}")),
            _ => None,
        }
    });
    Some(format!(
        "https://github.com/{owner}/{name}{}",
        thread.unwrap_or_default()
    ))
}

/// How many times as fast with the overrides, where both figures are numbers and the unit
/// tells which way is up. Less than a twentieth either way is no gain and no loss.
fn gain(workload: &Workload) -> Option<String> {
    let (Some(Figure::Number(stock)), Some(Figure::Number(shimmed))) =
        (&workload.stock, &workload.shimmed)
    else {
        return None;
    };
    let ratio = match workload.unit.as_str() {
        unit if unit.ends_with("/s") => shimmed / stock,
        "s" => stock / shimmed,
        _ => return None,
    };
    match ratio {
        0.95..=1.05 => Some(format!("flat ({ratio:.3})")),
        ratio if ratio.is_finite() && ratio > 0.0 => Some(format!("{ratio:.2} times")),
        _ => None,
    }
}

fn range(name: &str, range: &Option<BuildRange>) -> String {
    match range.as_ref().map(|r| (&r.from, &r.before)) {
        None | Some((None, None)) => format!("every {name}"),
        Some((Some(from), None)) => format!("{name}s from {from} on"),
        Some((None, Some(before))) => format!("{name}s before {before}"),
        Some((Some(from), Some(before))) => format!("{name}s from {from} until before {before}"),
    }
}

/// A value of the records as its TOML file writes it, without the quotes.
fn word<T: serde::Serialize>(value: T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}

fn join(items: &[String]) -> String {
    items.join(", ")
}
