//! Rules about what may be told to a program.

use super::Report;
use crate::Profile;
use crate::records::Records;

/// The first family number of Metal 3 and later.
const METAL3: u16 = 5001;

pub(super) fn range(records: &Records, report: &mut Report) {
    let pairs = records.pairs.iter().map(|r| (&r.file, r.profile));
    let leads = records
        .leads
        .iter()
        .filter_map(|r| Some((&r.file, r.profile?)));
    for (file, profile) in pairs.chain(leads) {
        if !profile.is_allowed() {
            let says = format!(
                "{profile} is no profile: families are 1001 to 1009, threadgroup memory 16 to 65536 bytes in steps of 16"
            );
            report.add(file, "profile", says);
        }
    }
}

pub(super) fn raises(records: &Records, report: &mut Report) {
    for pair in &records.pairs {
        let stock = Profile {
            apple_family_max: pair.stock.apple_family,
            max_threadgroup_memory: pair.stock.max_threadgroup_memory,
        };
        if !stock.is_within(pair.profile) || stock == pair.profile {
            let says = format!(
                "{} does not raise the stock answers {stock}: both values at least those, one above",
                pair.profile
            );
            report.add(&pair.file, "profile", says);
        }
    }
}

pub(super) fn metal3(records: &Records, report: &mut Report) {
    let mut families = Vec::new();
    for r in &records.pairs {
        let field = "profile.apple_family_max".to_owned();
        families.push((&*r.file, field, r.profile.apple_family_max));
        families.push((
            &*r.file,
            "stock.apple_family".to_owned(),
            r.stock.apple_family,
        ));
        if r.stock.metal3 {
            let says =
                "the paravirtual device does not offer Metal 3; a device that does is another one";
            report.add(&r.file, "stock.metal3", says);
        }
    }
    for r in &records.leads {
        if let Some(profile) = r.profile {
            let field = "profile.apple_family_max".to_owned();
            families.push((&*r.file, field, profile.apple_family_max));
        }
    }
    for r in records.stock_reports.iter().filter(|r| !r.bare_metal) {
        let prefix = format!("report[{}].answers", r.id);
        if let Some(family) = r.answers.apple_family {
            families.push((&*r.file, format!("{prefix}.apple_family"), family));
        }
        if r.answers.metal3 == Some(true) {
            let says =
                "the paravirtual device does not offer Metal 3; set bare_metal if this is a Mac";
            report.add(&r.file, format!("{prefix}.metal3"), says);
        }
    }
    for r in &records.clients {
        for (at, cap) in r.caps.iter().enumerate() {
            let unknown = cap.host_family.and_then(|ceiling| ceiling.unknown);
            for family in [cap.apple_family_max, unknown].into_iter().flatten() {
                families.push((&*r.file, format!("caps[{at}]"), family));
            }
        }
    }
    for (file, field, family) in families {
        if family >= METAL3 {
            let says =
                format!("{family} is not an Apple family; Metal 3 and later are never claimed");
            report.add(file, field, says);
        }
    }
}

pub(super) fn cap_range(records: &Records, report: &mut Report) {
    for client in &records.clients {
        for (at, cap) in client.caps.iter().enumerate() {
            let field = format!("caps[{at}]");
            let unknown = cap.host_family.and_then(|ceiling| ceiling.unknown);
            for family in [cap.apple_family_max, unknown].into_iter().flatten() {
                if !Profile::FAMILIES.contains(&family) {
                    let says = format!("family {family} is not from 1001 to 1009");
                    report.add(&client.file, &*field, says);
                }
            }
            if let Some(bytes) = cap.max_threadgroup_memory {
                let profile = Profile {
                    max_threadgroup_memory: bytes,
                    ..Profile::CAUTIOUS
                };
                if !profile.is_allowed() {
                    let says = format!("{bytes} bytes are not 16 to 65536 in steps of 16");
                    report.add(&client.file, &*field, says);
                }
            }
            if cap.lower(Profile::HIGHEST, None) == Profile::HIGHEST && cap.host_family.is_none() {
                report.add(&client.file, &*field, "it caps nothing");
            }
        }
    }
}

pub(super) fn device(records: &Records, report: &mut Report) {
    for pair in &records.pairs {
        let name = &pair.device_class;
        let right = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !right {
            let says = format!("\"{name}\" is not the name of a class");
            report.add(&pair.file, "device_class", says);
        }
        let uuids = [
            ("metal_uuid", &pair.metal_uuid),
            ("driver_uuid", &pair.driver_uuid),
        ];
        for (field, uuid) in uuids {
            if let Some(uuid) = uuid.as_ref().filter(|uuid| !is_uuid(uuid)) {
                let says = format!(
                    "\"{uuid}\" is no LC_UUID; write it as `dwarfdump --uuid` does: 8-4-4-4-12 capital hexadecimal digits"
                );
                report.add(&pair.file, field, says);
            }
        }
    }
}

fn is_uuid(text: &str) -> bool {
    let digits = |part: &str| {
        part.bytes()
            .all(|b| b.is_ascii_digit() || (b'A'..=b'F').contains(&b))
    };
    text.split('-').map(str::len).eq([8, 4, 4, 4, 12]) && text.split('-').all(digits)
}
