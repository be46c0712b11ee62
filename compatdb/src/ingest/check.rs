//! One report held against itself and against the records.

use super::Rules;
use crate::bench::{Bench, Compared};
use crate::facts::{HostSource, PARAVIRTUAL_CLASS};
use crate::records::Records;
use crate::report::{Answers, Report};
use crate::{OsBuild, Profile};

/// Figures that differ by more than this share are not the same.
const SAME: f64 = 1e-9;
/// Clocks of guests are about right.
const CLOCKS: jiff::SignedDuration = jiff::SignedDuration::from_hours(24);
/// More samples than any tool gives.
const MAX_SAMPLES: usize = 10_000;

type Checked = (Report, OsBuild, Profile, bool);

/// What it is evidence for, or everything that speaks against it.
pub(super) fn check(
    report: Report,
    records: &Records,
    rules: &Rules,
) -> Result<Checked, Vec<String>> {
    let mut against = Vec::new();
    if report.simulated && !rules.simulated {
        against.push("it was made on a simulated guest".to_owned());
    }
    identities(&report, rules, &mut against);
    builds(&report, records, rules, &mut against);
    let probed = probe(&report, &mut against);
    let canary = canary(&report, &mut against);
    let measured = bench(&report, &mut against);
    if !report.verdict.allowed {
        against.push("the overrides were refused there, so nothing ran with them".to_owned());
    }
    let (Some(host), Some(probed), Some(canary), Some(measured)) =
        (&report.host, probed, canary, measured)
    else {
        if report.host.is_none() {
            against.push("the host's build is not known: it is a lead at most".to_owned());
        }
        return Err(against);
    };
    if !against.is_empty() {
        return Err(against);
    }
    let (build, attested) = (host.build.clone(), host.source == HostSource::Attested);
    Ok((report, build, probed.min(canary).min(measured), attested))
}

fn identities(report: &Report, rules: &Rules, against: &mut Vec<String>) {
    let hex = |text: &str, digits: usize| {
        text.len() == digits
            && text
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    if !hex(&report.machine, 32) || !hex(&report.boot, 64) {
        against.push("machine and boot are not what metalshim writes there".to_owned());
    }
    if report.made_at > rules.now.saturating_add(CLOCKS).unwrap_or(rules.now) {
        against.push(format!(
            "it is dated {}, which is still to come",
            report.made_at
        ));
    }
    if report.vm_software.is_none() {
        against.push(
            "it does not say what runs the virtual machine (report --vm NAME@VERSION)".to_owned(),
        );
    }
    let shim = report.metalshim.shim_sha256.as_deref();
    if !shim.is_some_and(|s| hex(s, 64)) {
        against.push("it does not say which shim ran".to_owned());
    }
    if report.metalshim.shim_abi == 0 || report.metalshim.shim_abi > 1000 {
        against.push(format!(
            "{} is no interface of a shim",
            report.metalshim.shim_abi
        ));
    }
}

fn builds(report: &Report, records: &Records, rules: &Rules, against: &mut Vec<String>) {
    let host = report
        .host
        .as_ref()
        .map(|h| (&h.build, h.version.as_deref()));
    let guest = Some((&report.guest.build, Some(report.guest.version.as_str())));
    for (build, version) in [guest, host].into_iter().flatten() {
        let Some(row) = records.builds.get(build) else {
            against.push(format!(
                "{build} is not in the table of builds: add it there first, with its source"
            ));
            continue;
        };
        // The table says `27.0 beta 3` where the system says 27.0.
        let marketing = row.version.split(' ').next().unwrap_or_default();
        if version.is_some_and(|v| v != marketing) {
            against.push(format!(
                "{build} is macOS {}, and the report says {}",
                row.version,
                version.unwrap_or_default()
            ));
        }
        let made = super::day(report);
        if row.released.is_some_and(|released| released > made) && !rules.simulated {
            against.push(format!("{build} came out after the report was made"));
        }
    }
    let host = report.host.as_ref().map(|h| &h.build);
    for deny in &records.denies {
        if deny.covers(&report.guest.build, host) {
            against.push(format!(
                "the pair is denied by {}: {}",
                deny.id, deny.reason
            ));
        }
    }
    if !report.guest.model.starts_with("VirtualMac") {
        against.push(format!("{} is no virtual Mac", report.guest.model));
    }
}

fn probe(report: &Report, against: &mut Vec<String>) -> Option<Profile> {
    let Some(probe) = &report.probe else {
        against.push("there is no probe: `metalshim probe` makes one".to_owned());
        return None;
    };
    let (Some(shimmed), Some(profile)) = (&probe.shimmed, probe.profile) else {
        against.push("the probe has only the stock side".to_owned());
        return None;
    };
    let before = against.len();
    if !profile.is_allowed() {
        against.push(format!("{profile} is no profile"));
    }
    if Some(profile) != report.verdict.profile {
        against.push(format!(
            "the probe was told {profile}, which is not the verdict's profile"
        ));
    }
    against.extend(probe.wrong.iter().map(|w| format!("the probe found: {w}")));
    beyond(&probe.stock, shimmed, profile, against);
    (against.len() == before).then_some(profile)
}

/// Everything that differs beyond the two answers, or is not raised as the profile says.
fn beyond(stock: &Answers, shimmed: &Answers, profile: Profile, against: &mut Vec<String>) {
    if stock.class != PARAVIRTUAL_CLASS {
        against.push(format!(
            "the device is a {}, not the paravirtual one",
            stock.class
        ));
    }
    if stock
        .families
        .iter()
        .chain(&shimmed.families)
        .any(|f| *f >= 5001)
    {
        against.push(
            "the device claims Metal 3 or above, which no paravirtual device does".to_owned(),
        );
    }
    let Some(stock_family) = stock.highest(1001, 1999) else {
        against.push("the stock device has no Apple family".to_owned());
        return;
    };
    let raised = |family: u16| (1001..=profile.apple_family_max).contains(&family);
    let wanted: std::collections::BTreeSet<u16> = stock
        .families
        .iter()
        .copied()
        .chain((1001..=profile.apple_family_max).filter(|f| raised(*f)))
        .collect();
    let told: std::collections::BTreeSet<u16> = shimmed.families.iter().copied().collect();
    if wanted != told {
        let odd: Vec<String> = wanted
            .symmetric_difference(&told)
            .map(u16::to_string)
            .collect();
        let odd = odd.get(..odd.len().min(10)).unwrap_or_default();
        against.push(format!(
            "the families told are not those of {profile} over stock {stock_family}: {}",
            odd.join(", ")
        ));
    }
    let memory = stock
        .max_threadgroup_memory
        .max(profile.max_threadgroup_memory);
    if shimmed.max_threadgroup_memory != memory {
        against.push(format!(
            "the threadgroup memory told is {}, and {profile} makes it {memory}",
            shimmed.max_threadgroup_memory
        ));
    }
    let others = [
        ("name", stock.name == shimmed.name),
        ("class", stock.class == shimmed.class),
        ("host's family", stock.host_family == shimmed.host_family),
        ("Metal's UUID", stock.metal_uuid == shimmed.metal_uuid),
        (
            "the driver's UUID",
            stock.driver_uuid == shimmed.driver_uuid,
        ),
        ("other features", stock.features == shimmed.features),
    ];
    for (name, same) in others {
        if !same {
            against.push(format!("more than the two answers changed: {name}"));
        }
    }
}

fn canary(report: &Report, against: &mut Vec<String>) -> Option<Profile> {
    let Some(canary) = &report.canary else {
        against.push("there is no canary: `metalshim canary` runs one".to_owned());
        return None;
    };
    if canary.outcome != "passed" || canary.cases == 0 {
        against.push(format!("the canary did not pass: {}", canary.outcome));
        return None;
    }
    Some(canary.profile)
}

fn bench(report: &Report, against: &mut Vec<String>) -> Option<Profile> {
    if report.bench.is_empty() {
        against.push("nothing was measured: give `metalshim report --bench FILE`".to_owned());
    }
    let before = against.len();
    let mut lowest = None;
    for bench in &report.bench {
        figures(bench, against);
        let Some(conditions) = &bench.conditions else {
            against.push(format!(
                "{}: measured elsewhere, not by this report's machine",
                bench.program
            ));
            continue;
        };
        let host = report.host.as_ref().map(|h| &h.build);
        if conditions.guest_build != report.guest.build || conditions.host_build.as_ref() != host {
            against.push(format!("{}: measured on another pair", bench.program));
        }
        if conditions.boot != report.boot {
            against.push(format!(
                "{}: measured in another boot than the probe",
                bench.program
            ));
        }
        if conditions.simulated != report.simulated {
            against.push(format!("{}: measured on a simulated guest", bench.program));
        }
        // The figures of a simulated guest say nothing, so it may be as busy as it is.
        if conditions.busy && !report.simulated {
            against.push(format!("{}: measured on a busy machine", bench.program));
        }
        if !conditions.profile.is_allowed() {
            against.push(format!(
                "{}: {} is no profile",
                bench.program, conditions.profile
            ));
        }
        let told = report.probe.as_ref().and_then(|p| p.profile);
        if told.is_some_and(|told| !conditions.profile.is_within(told)) {
            against.push(format!("{}: told more than the probe was", bench.program));
        }
        capabilities(bench, report, conditions.profile, against);
        lowest = Some(lowest.map_or(conditions.profile, |l: Profile| l.min(conditions.profile)));
    }
    if against.len() == before && !report.bench.iter().any(Bench::gains) {
        against.push(
            "nothing gained: a workload that uses what the overrides open is what evidence needs"
                .to_owned(),
        );
    }
    lowest.filter(|_| against.len() == before)
}

/// Every figure follows from the samples.
fn figures(bench: &Bench, against: &mut Vec<String>) {
    for row in &bench.series {
        let name = format!("{}, {}", row.workload, row.metric);
        let count = row.stock.count() + row.shimmed.count();
        if count > MAX_SAMPLES {
            against.push(format!(
                "{name}: {count} samples are more than any tool gives"
            ));
            continue;
        }
        match row.recomputed() {
            None => against.push(format!("{name}: a sample is no positive number")),
            Some(again) if !same(row, &again) => {
                against.push(format!("{name}: its figures are not those of its samples"));
            }
            Some(_) => {}
        }
    }
}

fn same(a: &Compared, b: &Compared) -> bool {
    let close = |a: f64, b: f64| (a - b).abs() <= SAME * a.abs().max(b.abs());
    let side = |a: &crate::bench::Side, b: &crate::bench::Side| {
        close(a.median, b.median) && close(a.min, b.min) && close(a.max, b.max)
    };
    let host = match (&a.host, &b.host) {
        (Some(a), Some(b)) => side(a, b),
        (a, b) => a.is_none() && b.is_none(),
    };
    let share = match (a.share_of_host, b.share_of_host) {
        (Some(a), Some(b)) => close(a, b),
        (a, b) => a.is_none() && b.is_none(),
    };
    host && share
        && side(&a.stock, &b.stock)
        && side(&a.shimmed, &b.shimmed)
        && close(a.ratio, b.ratio)
        && a.judgement == b.judgement
        && a.pairs.len() == b.pairs.len()
        && a.pairs.iter().zip(&b.pairs).all(|(a, b)| close(*a, *b))
}

/// What the program's own log said has to be what was told.
fn capabilities(bench: &Bench, report: &Report, profile: Profile, against: &mut Vec<String>) {
    let stock = report
        .probe
        .as_ref()
        .and_then(|p| p.stock.highest(1001, 1999));
    let said = [
        ("stock", &bench.capabilities.stock, stock),
        (
            "shimmed",
            &bench.capabilities.shimmed,
            stock.map(|s| s.max(profile.apple_family_max)),
        ),
    ];
    for (side, said, family) in said {
        let told = said.get("apple_family").map(|f| f.parse::<u16>().ok());
        if told.is_some_and(|told| told != family) {
            against.push(format!(
                "{}: the {side} log names another Apple family than the probe",
                bench.program
            ));
        }
        if said.contains_key("metal_family") {
            against.push(format!(
                "{}: the {side} log names a Metal family",
                bench.program
            ));
        }
    }
}
