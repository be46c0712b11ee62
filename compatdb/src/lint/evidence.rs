//! Rules about evidence: levels, sources, figures, and what is said.

use std::collections::BTreeSet;

use super::{Report, has_key, sources, workloads};
use crate::records::{Evidence, EvidenceKind, Records, Source, Status};

fn evidence(records: &Records) -> impl Iterator<Item = (&str, &Evidence, &[Source])> {
    let pairs = records
        .pairs
        .iter()
        .map(|r| (&*r.file, &r.evidence, &*r.sources));
    let leads = records
        .leads
        .iter()
        .map(|r| (&*r.file, &r.evidence, &*r.sources));
    pairs.chain(leads)
}

pub(super) fn level(records: &Records, report: &mut Report) {
    for (file, evidence, _) in evidence(records) {
        if evidence.level > 3 {
            let says = format!("{} is no level: 0, 1, 2 or 3", evidence.level);
            report.add(file, "evidence.level", says);
        }
    }
}

pub(super) fn named(records: &Records, report: &mut Report) {
    for (file, evidence, sources) in evidence(records) {
        let names = |source: &Source| evidence.says.contains(&source.project);
        if evidence.kind == EvidenceKind::ThirdParty && !sources.iter().any(names) {
            let says = "third-party evidence is somebody's: name a project of the sources";
            report.add(file, "evidence.says", says);
        }
    }
}

pub(super) fn verified(records: &Records, report: &mut Report) {
    for pair in &records.pairs {
        if pair.status != Status::Verified {
            continue;
        }
        if pair.evidence.level == 0 {
            let says = "a verified pair has at least level 1; what is only claimed is a lead";
            report.add(&pair.file, "evidence.level", says);
        }
        if pair.sources.is_empty() {
            report.add(&pair.file, "sources", "a verified pair has a source");
        }
        if !pair.workloads.iter().any(|w| w.shimmed.is_some()) {
            let says = "a verified pair has a workload with a figure for `shimmed`";
            report.add(&pair.file, "workloads", says);
        }
    }
}

pub(super) fn source_missing(records: &Records, report: &mut Report) {
    for record in sources(records) {
        if record.sources.is_empty() {
            let field = format!("{}sources", record.prefix);
            report.add(
                record.file,
                field,
                "there is none; name where it can be looked up",
            );
        }
    }
}

pub(super) fn source_shape(records: &Records, report: &mut Report) {
    for record in sources(records) {
        let mut keys = BTreeSet::new();
        for (at, source) in record.sources.iter().enumerate() {
            let field = format!("{}sources[{at}]", record.prefix);
            let (owner, name) = source.project.split_once('/').unwrap_or_default();
            if owner.is_empty() || name.is_empty() || source.project.contains(char::is_whitespace) {
                let says = format!("\"{}\" is not owner/name", source.project);
                report.add(record.file, format!("{field}.project"), says);
            }
            let filled =
                |part: &Option<String>| part.as_ref().is_some_and(|p| !p.trim().is_empty());
            if !filled(&source.path) && !filled(&source.issue) {
                report.add(record.file, &*field, "name the file or the issue");
            }
            if record.decides && source.date.is_none() {
                report.add(record.file, format!("{field}.date"), "is missing");
            }
            if source.key.trim().is_empty() || !keys.insert(&source.key) {
                let says = format!("\"{}\" is empty or there twice", source.key);
                report.add(record.file, format!("{field}.key"), says);
            }
        }
    }
}

pub(super) fn figure_source(records: &Records, report: &mut Report) {
    for (file, workloads, sources) in workloads(records) {
        for (at, workload) in workloads.iter().enumerate() {
            let field = format!("workloads[{at}]");
            if !workload.has_figure() {
                report.add(
                    file,
                    &*field,
                    "there is no figure: give host, stock or shimmed",
                );
            }
            if !has_key(sources, &workload.source) {
                let says = format!("\"{}\" is no key of this record's sources", workload.source);
                report.add(file, format!("{field}.source"), says);
            }
        }
    }
}

pub(super) fn text_empty(records: &Records, report: &mut Report) {
    let mut texts: Vec<(&str, String, &str)> = Vec::new();
    for (file, evidence, _) in evidence(records) {
        texts.push((file, "evidence.says".to_owned(), &evidence.says));
    }
    for (file, workloads, _) in workloads(records) {
        for (at, w) in workloads.iter().enumerate() {
            let parts = [
                ("name", &w.name),
                ("client", &w.client),
                ("metric", &w.metric),
                ("unit", &w.unit),
            ];
            for (part, text) in parts {
                texts.push((file, format!("workloads[{at}].{part}"), text));
            }
        }
    }
    for r in &records.leads {
        texts.push((&r.file, "outcome".to_owned(), &r.outcome));
        texts.push((&r.file, "missing".to_owned(), &r.missing));
    }
    for r in &records.denies {
        texts.push((&r.file, "reason".to_owned(), &r.reason));
    }
    for r in &records.faults {
        texts.push((&r.file, "title".to_owned(), &r.title));
        texts.push((&r.file, "says".to_owned(), &r.says));
        texts.push((&r.file, "guests".to_owned(), &r.guests));
    }
    for r in &records.stock_reports {
        texts.push((&r.file, format!("report[{}].says", r.id), &r.says));
    }
    for r in &records.clients {
        texts.push((&r.file, "title".to_owned(), &r.title));
        texts.push((&r.file, "gains_says".to_owned(), &r.gains_says));
        for (at, cap) in r.caps.iter().enumerate() {
            texts.push((&r.file, format!("caps[{at}].says"), &cap.says));
        }
        for (at, row) in r.blocked.iter().enumerate() {
            texts.push((&r.file, format!("blocked[{at}].says"), &row.says));
        }
    }
    for row in &records.retired.retired {
        let field = format!("retired[{}].reason", row.id);
        texts.push((&records.retired.file, field, &row.reason));
    }
    for (file, field, text) in texts {
        if text.trim().is_empty() {
            report.add(file, field, "is empty");
        }
    }
}
