//! From reports that fit to a change of one record.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Fits, Ingested, Proposal, Rules};
use crate::bench::{Compared, Judgement};
use crate::facts::PARAVIRTUAL_CLASS;
use crate::lint;
use crate::records::{
    Evidence, EvidenceKind, Figure, Filed, GuestSystem, HostSystem, Pair, Records, Source, Status,
    StockAnswers, VmSoftware, Workload,
};

/// Proposes a record for the group, or a change of the one that there is. All of the group
/// are of one pair and profile, and of different machines.
pub(super) fn propose(
    records: &Records,
    texts: &BTreeMap<String, String>,
    group: &[Fits],
    rules: &Rules,
    taken: &mut BTreeSet<String>,
    done: &mut Ingested,
) {
    let Some(first) = group.first() else { return };
    let existing = records
        .pairs
        .iter()
        .find(|p| p.guest.build == first.report.guest.build && p.host.build == first.host);
    let (before, pair) = match existing {
        None => match new(records, group, rules, taken) {
            Ok(pair) => (None, pair),
            Err(why) => return refuse(group, &why, done),
        },
        Some(record) => match raised(record, group, rules) {
            Ok(pair) if pair == record.record => {
                done.notes.push(format!(
                    "{} already rests on these reports: nothing changes",
                    record.id
                ));
                return;
            }
            Ok(pair) => (Some(record), pair),
            Err(why) => return refuse(group, &why, done),
        },
    };
    let file = format!("pairs/{}.toml", pair.id);
    let text = before
        .and_then(|record| edited(texts.get(&record.file)?, &record.record, &pair))
        .map_or_else(|| toml::to_string_pretty(&pair), Ok);
    let text = match text {
        Ok(text) => text,
        Err(e) => return refuse(group, &format!("the record cannot be written: {e}"), done),
    };
    if let Err(why) = holds(records, &pair, &file, rules) {
        return refuse(group, &why, done);
    }
    done.proposals.push(Proposal {
        review: review(group, &pair),
        level_before: before.map(|r| r.evidence.level),
        level: pair.evidence.level,
        reports: group.iter().map(|f| f.file.clone()).collect(),
        id: pair.id,
        file,
        text,
    });
}

fn refuse(group: &[Fits], why: &str, done: &mut Ingested) {
    for fits in group {
        done.refuse(&fits.file, vec![why.to_owned()]);
    }
}

/// The linter's own word on it, as if the records were published now.
fn holds(records: &Records, pair: &Pair, file: &str, rules: &Rules) -> Result<(), String> {
    let mut after = records.clone();
    after.pairs.retain(|p| p.id != pair.id);
    after.pairs.push(Filed {
        file: file.to_owned(),
        record: pair.clone(),
    });
    let release = &mut after.release.record;
    release.published_at = release.published_at.max(rules.now);
    let problems = lint::lint(&after);
    match problems.iter().find(|p| p.file == file) {
        Some(problem) => Err(format!("the record would not pass the linter: {problem}")),
        None => Ok(()),
    }
}

fn new(
    records: &Records,
    group: &[Fits],
    rules: &Rules,
    taken: &mut BTreeSet<String>,
) -> Result<Pair, String> {
    let first = group.first().ok_or("there is no report")?;
    let report = &first.report;
    let probe = report.probe.as_ref().ok_or("there is no probe")?;
    let stock = &probe.stock;
    let version = |build| records.builds.get(build).map(|row| row.version.clone());
    let mut pair = Pair {
        id: free_id(records, taken),
        status: Status::Verified,
        published: date(group),
        profile: first.profile,
        device_class: PARAVIRTUAL_CLASS.to_owned(),
        min_shim_abi: group
            .iter()
            .map(|f| f.report.metalshim.shim_abi)
            .min()
            .unwrap_or(1),
        metal_uuid: stock.metal_uuid.clone(),
        driver_uuid: stock.driver_uuid.clone(),
        host_preference: report
            .host
            .as_ref()
            .and_then(|h| h.feature_level_preference),
        fault: None,
        reason: None,
        host: HostSystem {
            build: first.host.clone(),
            version: version(&first.host).unwrap_or_default(),
            models: Vec::new(),
            chips: Vec::new(),
        },
        guest: GuestSystem {
            build: report.guest.build.clone(),
            version: version(&report.guest.build).unwrap_or_default(),
            model: Some(report.guest.model.clone()),
        },
        stock: StockAnswers {
            apple_family: stock.highest(1001, 1999).unwrap_or_default(),
            common_family: stock.highest(3001, 3999),
            metal3: false,
            max_threadgroup_memory: stock.max_threadgroup_memory,
        },
        evidence: Evidence {
            level: 0,
            kind: EvidenceKind::Metalshim,
            says: String::new(),
        },
        vm_software: Vec::new(),
        workloads: Vec::new(),
        sources: Vec::new(),
        notes: Vec::new(),
    };
    add(&mut pair, group, rules);
    pair.evidence = evidence(&pair, group, 0);
    Ok(pair)
}

fn raised(record: &Filed<Pair>, group: &[Fits], rules: &Rules) -> Result<Pair, String> {
    let (id, first) = (&record.id, group.first().ok_or("there is no report")?);
    if record.status != Status::Verified {
        return Err(format!(
            "{id} is {}: no report lifts that",
            match record.status {
                Status::Revoked => "revoked",
                _ => "known as broken",
            }
        ));
    }
    if first.profile != record.profile {
        return Err(match first.profile.is_within(record.profile) {
            true => format!(
                "it is evidence for {}, and {id} says {}: that raises no level",
                first.profile, record.profile
            ),
            false => format!(
                "it is evidence for {}, which is wider than {} of {id}: a wider profile is raised by hand",
                first.profile, record.profile
            ),
        });
    }
    let stock = first.report.probe.as_ref().map(|p| &p.stock);
    let agrees = stock.is_some_and(|s| {
        s.highest(1001, 1999) == Some(record.stock.apple_family)
            && s.max_threadgroup_memory == record.stock.max_threadgroup_memory
            && record
                .stock
                .common_family
                .is_none_or(|c| s.highest(3001, 3999) == Some(c))
            && record
                .metal_uuid
                .as_ref()
                .is_none_or(|u| s.metal_uuid.as_ref() == Some(u))
            && record
                .driver_uuid
                .as_ref()
                .is_none_or(|u| s.driver_uuid.as_ref() == Some(u))
    });
    if !agrees {
        return Err(format!("its stock answers or UUIDs are not those of {id}"));
    }
    let mut pair = record.record.clone();
    add(&mut pair, group, rules);
    if pair != record.record || record.evidence.level < 2 {
        let evidence = evidence(&pair, group, record.evidence.level);
        if pair != record.record || evidence.level > record.evidence.level {
            pair.evidence = evidence;
        }
    }
    Ok(pair)
}

/// Sources, workloads, machines and software of reports that the record does not have yet.
fn add(pair: &mut Pair, group: &[Fits], rules: &Rules) {
    for fits in group {
        let key = key(fits);
        if pair.sources.iter().any(|s| s.key == key) {
            continue;
        }
        pair.sources.push(Source {
            key: key.clone(),
            project: rules.project.clone(),
            path: match fits.issue {
                Some(_) => None,
                None => Some(format!("compatdb/reports/{}.json", short(&fits.sha256, 16))),
            },
            issue: fits.issue.clone(),
            revision: None,
            date: Some(day(fits)),
        });
        let series = fits.report.bench.iter().flat_map(|b| &b.series);
        pair.workloads.extend(series.map(|row| workload(row, &key)));
        let host = fits.report.host.as_ref();
        push_once(&mut pair.host.models, host.and_then(|h| h.model.clone()));
        push_once(&mut pair.host.chips, Some(chip(fits)));
        let software = fits.report.vm_software.clone();
        if let Some(software) = software.filter(|s: &VmSoftware| !pair.vm_software.contains(s)) {
            pair.vm_software.push(software);
        }
    }
}

fn push_once(list: &mut Vec<String>, text: Option<String>) {
    if let Some(text) = text.filter(|t| !t.is_empty() && !list.contains(t)) {
        list.push(text);
    }
}

/// The host's chip; a guest's says it too.
fn chip(fits: &Fits) -> String {
    let host = fits.report.host.as_ref().and_then(|h| h.chip.clone());
    let guest = || {
        fits.report
            .guest
            .chip
            .trim_end_matches(" (Virtual)")
            .to_owned()
    };
    host.unwrap_or_else(guest)
}

fn workload(row: &Compared, source: &str) -> Workload {
    let figure = |value: f64| Some(Figure::Number(value));
    let what = match row.judgement {
        Judgement::Gain | Judgement::Loss => "ranges apart",
        Judgement::Flat => "flat: no gain",
        Judgement::Noise => "ranges overlap: no difference shown",
        Judgement::TooFew => "too few samples to tell",
    };
    Workload {
        name: row.workload.clone(),
        client: row.client.clone(),
        client_version: row.client_version.clone(),
        metric: row.metric.clone(),
        unit: row.unit.clone(),
        host: row.host.as_ref().and_then(|h| figure(h.median)),
        stock: figure(row.stock.median),
        shimmed: figure(row.shimmed.median),
        source: source.to_owned(),
        note: Some(format!(
            "Medians of {} and {} samples, {what}.",
            row.stock.count(),
            row.shimmed.count()
        )),
    }
}

/// Level 2: two machines with hosts that attested their builds, and two reporters. Level 3: CI
/// runs of two days on top of that. Runs of CI are one machine, however many they are.
fn evidence(pair: &Pair, group: &[Fits], before: u8) -> Evidence {
    let attested = group.iter().filter(|f| f.attested);
    let mut machines = BTreeSet::new();
    let mut reporters = BTreeSet::new();
    let mut days = BTreeSet::new();
    for fits in attested {
        let report = &fits.report;
        machines.insert(match report.ci_run {
            Some(_) => "ci",
            None => report.machine.as_str(),
        });
        reporters.insert(report.reporter.as_deref().map(str::to_lowercase));
        if report.ci_run.is_some() {
            days.insert(day(fits));
        }
    }
    reporters.remove(&None);
    let independent = machines.len().min(reporters.len()) >= 2;
    let mut level = before.max(if independent { 2 } else { 1 });
    if level >= 2 && days.len() >= 2 {
        level = 3;
    }
    let count = match machines_of(pair, group) {
        1 => "one machine".to_owned(),
        n => format!("{n} machines"),
    };
    let mut says = format!(
        "Measured with metalshim itself on {count}, canary passed: {}.",
        pair.host.chips.join(", ")
    );
    if pair.evidence.kind == EvidenceKind::ThirdParty && before > 0 {
        let by: BTreeSet<&str> = pair
            .sources
            .iter()
            .filter(|s| !s.key.starts_with(KEY))
            .map(|s| s.project.as_str())
            .collect();
        let by: Vec<&str> = by.into_iter().collect();
        says.push_str(&format!(
            " Before that with an equivalent shim by {}.",
            by.join(", ")
        ));
    }
    if level == 3 {
        let runs = group
            .iter()
            .filter_map(|f| Some((day(f), f.report.ci_run.as_deref()?)));
        if let Some((on, run)) = runs.max() {
            says.push_str(&format!(" Repeated in CI, last on {on}: {run}"));
        }
    }
    Evidence {
        level,
        kind: EvidenceKind::Metalshim,
        says,
    }
}

fn machines_of(pair: &Pair, group: &[Fits]) -> usize {
    let here: BTreeSet<&str> = group.iter().map(|f| f.report.machine.as_str()).collect();
    let keys: BTreeSet<String> = group.iter().map(key).collect();
    let earlier = |s: &&Source| s.key.starts_with(KEY) && !keys.contains(&s.key);
    here.len() + pair.sources.iter().filter(earlier).count()
}

const KEY: &str = "report-";

fn key(fits: &Fits) -> String {
    format!("{KEY}{}", short(&fits.sha256, 8))
}

fn short(sha256: &str, digits: usize) -> &str {
    sha256.get(..digits).unwrap_or(sha256)
}

fn day(fits: &Fits) -> jiff::civil::Date {
    super::day(&fits.report)
}

fn date(group: &[Fits]) -> jiff::civil::Date {
    group.iter().map(day).max().unwrap_or_default()
}

fn free_id(records: &Records, taken: &mut BTreeSet<String>) -> String {
    let retired = records.retired.retired.iter().map(|r| r.id.clone());
    let used: BTreeSet<String> = records
        .pairs
        .iter()
        .map(|p| p.id.clone())
        .chain(retired)
        .collect();
    let number = |id: &String| id.strip_prefix('P')?.parse::<u32>().ok();
    let last = used.iter().chain(taken.iter()).filter_map(number).max();
    let id = format!("P{:04}", last.unwrap_or(0) + 1);
    taken.insert(id.clone());
    id
}

/// What no program can see.
fn review(group: &[Fits], pair: &Pair) -> Vec<String> {
    let mut list = vec![
        "Was it measured: nobody but the reporter has seen this machine. Ask where in doubt."
            .to_owned(),
    ];
    for fits in group {
        let report = &fits.report;
        let by = report.reporter.as_deref().unwrap_or("nobody named");
        let host = match fits.attested {
            true => "attested by the host",
            false => "stated by the reporter: level 1 at most",
        };
        list.push(format!(
            "{}: by {by}, host's build {host}; publish the report at {}.",
            fits.file,
            fits.issue
                .clone()
                .unwrap_or_else(|| format!("compatdb/reports/{}.json", short(&fits.sha256, 16)))
        ));
        let warnings = report.bench.iter().flat_map(|b| &b.warnings);
        list.extend(warnings.map(|w| format!("{}: {w}", fits.file)));
    }
    if pair.evidence.level >= 2 {
        list.push(
            "Level 2 and above: two physical hosts, two reporters who do not answer for each other, two installations; two maintainers look.".to_owned(),
        );
        if pair.host.chips.len() == 1 {
            list.push(
                "All were measured on one chip: the record's notes should say so.".to_owned(),
            );
        }
    } else {
        list.push("Level 1: a maintainer who is not the reporter looks.".to_owned());
    }
    list
}

#[derive(Serialize)]
struct Blocks<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    vm_software: &'a [VmSoftware],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    workloads: &'a [Workload],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    sources: &'a [Source],
}

/// The file with only what changes changed, so that its comments stay and its review is short.
/// None where that is not the record that was asked for: then it is written anew.
fn edited(text: &str, before: &Pair, after: &Pair) -> Option<String> {
    let quoted = |value: &str| toml::Value::String(value.to_owned()).to_string();
    let list = |values: &[String]| {
        let values: Vec<String> = values.iter().map(|v| quoted(v)).collect();
        format!("[{}]", values.join(", "))
    };
    let mut out = String::new();
    let mut table = "";
    for line in text.lines() {
        if line.starts_with('[') {
            table = line.trim();
        }
        let key = line.split('=').next().unwrap_or_default().trim();
        let changed = match (table, key) {
            ("[evidence]", "level") => Some(format!("level = {}", after.evidence.level)),
            ("[evidence]", "kind") => Some("kind = \"metalshim\"".to_owned()),
            ("[evidence]", "says") => Some(format!("says = {}", quoted(&after.evidence.says))),
            ("[host]", "models") if before.host.models != after.host.models => {
                Some(format!("models = {}", list(&after.host.models)))
            }
            ("[host]", "chips") if before.host.chips != after.host.chips => {
                Some(format!("chips = {}", list(&after.host.chips)))
            }
            _ => None,
        };
        out.push_str(&changed.unwrap_or_else(|| line.to_owned()));
        out.push('\n');
    }
    let blocks = Blocks {
        vm_software: after.vm_software.get(before.vm_software.len()..)?,
        workloads: after.workloads.get(before.workloads.len()..)?,
        sources: after.sources.get(before.sources.len()..)?,
    };
    out.push('\n');
    out.push_str(&toml::to_string_pretty(&blocks).ok()?);
    let read: Pair = toml::from_str(&out).ok()?;
    (read == *after).then_some(out)
}
