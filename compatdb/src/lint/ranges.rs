//! Rules about what denies.

use super::Report;
use crate::records::{BuildRange, Records, Status};

pub(super) fn allows(records: &Records, report: &mut Report) {
    for deny in &records.denies {
        if deny.status == Status::Verified {
            let says = "a range never allows; verify exact builds in a pair";
            report.add(&deny.file, "status", says);
        }
    }
}

pub(super) fn empty(records: &Records, report: &mut Report) {
    for deny in &records.denies {
        if deny.guest.is_none() && deny.host.is_none() {
            report.add(
                &deny.file,
                "guest",
                "name a range of guests, of hosts, or both",
            );
        }
        for (field, range) in [("guest", &deny.guest), ("host", &deny.host)] {
            let Some(range) = range else { continue };
            if *range == BuildRange::default() {
                report.add(&deny.file, field, "give it `from`, `before`, or both");
            } else if range.is_empty() {
                report.add(
                    &deny.file,
                    field,
                    "no build is in it: `from` is not below `before`",
                );
            }
        }
    }
}

pub(super) fn verified(records: &Records, report: &mut Report) {
    for pair in &records.pairs {
        let (guest, host) = (&pair.guest.build, &pair.host.build);
        for deny in &records.denies {
            if pair.status == Status::Verified && deny.covers(guest, Some(host)) {
                let says = format!(
                    "{} denies host {host} and guest {guest}; make the pair broken, or mend the range",
                    deny.id
                );
                report.add(&pair.file, "status", says);
            }
        }
    }
}

pub(super) fn fault_unknown(records: &Records, report: &mut Report) {
    let pairs = records
        .pairs
        .iter()
        .filter_map(|r| Some((&r.file, r.fault.as_ref()?)));
    let denies = records.denies.iter().map(|r| (&r.file, &r.fault));
    for (file, fault) in pairs.chain(denies) {
        if !records.faults.iter().any(|r| r.id == *fault) {
            let says = format!("there is no faults/{fault}.toml");
            report.add(file, "fault", says);
        }
    }
}

pub(super) fn reason(records: &Records, report: &mut Report) {
    for pair in &records.pairs {
        let said = pair.reason.as_ref().is_some_and(|r| !r.trim().is_empty());
        match pair.status {
            Status::Verified if pair.reason.is_some() => {
                let says = "a verified pair has none; put it into the notes";
                report.add(&pair.file, "reason", says);
            }
            Status::Broken | Status::Revoked if !said => {
                report.add(
                    &pair.file,
                    "reason",
                    "say why, in a sentence that a user can read",
                );
            }
            _ => {}
        }
    }
}
