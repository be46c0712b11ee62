//! Rules about builds.

use std::collections::BTreeMap;

use super::{Report, has_key};
use crate::OsBuild;
use crate::records::Records;

/// Every exact build that a record names, with its file and field.
fn named(records: &Records) -> Vec<(&str, String, &OsBuild)> {
    let mut all = Vec::new();
    for pair in &records.pairs {
        all.push((&*pair.file, "host.build".to_owned(), &pair.host.build));
        all.push((&*pair.file, "guest.build".to_owned(), &pair.guest.build));
    }
    let leads = records
        .leads
        .iter()
        .map(|r| (&*r.file, String::new(), &r.host, &r.guest));
    let reports = records.stock_reports.iter().map(|r| {
        let prefix = format!("report[{}].", r.id);
        (&*r.file, prefix, &r.host, &r.guest)
    });
    for (file, prefix, host, guest) in leads.chain(reports) {
        for (side, system) in [("host", host), ("guest", guest)] {
            if let Some(build) = &system.build {
                all.push((file, format!("{prefix}{side}.build"), build));
            }
        }
    }
    all
}

pub(super) fn known(records: &Records, report: &mut Report) {
    let table = records.builds.by_build();
    for (file, field, build) in named(records) {
        if !table.contains_key(build) {
            let says = format!("{build} is not in builds.toml; add it there with its source");
            report.add(file, field, says);
        }
    }
}

pub(super) fn version(records: &Records, report: &mut Report) {
    let table = records.builds.by_build();
    for pair in &records.pairs {
        let sides = [
            ("host.version", &pair.host.build, &pair.host.version),
            ("guest.version", &pair.guest.build, &pair.guest.version),
        ];
        for (field, build, version) in sides {
            if let Some(row) = table.get(build).filter(|row| row.version != *version) {
                let says = format!(
                    "\"{version}\" is not the version of {build}; builds.toml has \"{}\"",
                    row.version
                );
                report.add(&pair.file, field, says);
            }
        }
    }
}

pub(super) fn row(records: &Records, report: &mut Report) {
    let file = &records.builds.file;
    let mut seen = BTreeMap::new();
    for row in &records.builds.build {
        let field = format!("build[{}]", row.build);
        if seen.insert(&row.build, ()).is_some() {
            report.add(file, &*field, format!("{} is there twice", row.build));
        }
        if row.version.trim().is_empty() {
            report.add(file, format!("{field}.version"), "is empty");
        }
        if row.sources.is_empty() {
            report.add(file, format!("{field}.sources"), "has no source");
        }
        for key in &row.sources {
            if !has_key(&records.builds.sources, key) {
                let says = format!("\"{key}\" is no key of the table's sources");
                report.add(file, format!("{field}.sources"), says);
            }
        }
    }
}

pub(super) fn pair_twice(records: &Records, report: &mut Report) {
    let mut first = BTreeMap::new();
    for pair in &records.pairs {
        let builds = (&pair.host.build, &pair.guest.build);
        if let Some(id) = first.insert(builds, &pair.id) {
            let says = format!(
                "{id} is about host {} and guest {} too; put the evidence into one record",
                builds.0, builds.1
            );
            report.add(&pair.file, "guest.build", says);
        }
    }
}
