//! Rules about ids and the release.

use std::collections::BTreeMap;

use super::Report;
use crate::records::Records;

/// One id, where it is used, and what it has to look like.
struct Used<'a> {
    file: &'a str,
    field: String,
    id: &'a str,
    /// The folder; none for the rows of a table.
    folder: Option<&'static str>,
    /// The letter and how many digits; none for a slug.
    shape: Option<(char, usize)>,
}

fn used(records: &Records) -> Vec<Used<'_>> {
    let mut all = Vec::new();
    let mut add = |file, id, folder, shape| {
        let field = match folder {
            Some(_) => "id".to_owned(),
            None => format!("report[{id}].id"),
        };
        all.push(Used {
            file,
            field,
            id,
            folder,
            shape,
        });
    };
    for r in &records.pairs {
        add(&*r.file, &*r.id, Some("pairs"), Some(('P', 4)));
    }
    for r in &records.leads {
        add(&*r.file, &*r.id, Some("leads"), Some(('L', 4)));
    }
    for r in &records.denies {
        add(&*r.file, &*r.id, Some("denies"), Some(('D', 4)));
    }
    for r in &records.faults {
        add(&*r.file, &*r.id, Some("faults"), Some(('F', 2)));
    }
    for r in &records.clients {
        add(&*r.file, &*r.id, Some("clients"), None);
    }
    for r in &records.stock_reports {
        add(&*r.file, &*r.id, None, Some(('S', 2)));
    }
    all
}

pub(super) fn file_name(records: &Records, report: &mut Report) {
    for used in used(records) {
        let Some(folder) = used.folder else { continue };
        let wanted = format!("{folder}/{}.toml", used.id);
        if used.file != wanted {
            let says = format!("the record {} belongs into {wanted}", used.id);
            report.add(used.file, used.field, says);
        }
    }
}

pub(super) fn id_shape(records: &Records, report: &mut Report) {
    for used in used(records) {
        let right = match used.shape {
            Some((letter, digits)) => used.id.strip_prefix(letter).is_some_and(|number| {
                number.len() == digits && number.bytes().all(|byte| byte.is_ascii_digit())
            }),
            None => slug(used.id),
        };
        if !right {
            let wanted = match used.shape {
                Some((letter, digits)) => format!("{letter} and {digits} digits"),
                None => "a slug of small letters, digits, dots and dashes".to_owned(),
            };
            let says = format!("\"{}\" is not {wanted}", used.id);
            report.add(used.file, used.field, says);
        }
    }
}

fn slug(id: &str) -> bool {
    let inner = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'.' || byte == b'-'
    };
    id.len() <= 40
        && id.bytes().all(inner)
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id.ends_with(|c: char| c.is_ascii_alphanumeric())
}

pub(super) fn id_duplicate(records: &Records, report: &mut Report) {
    let mut first = BTreeMap::new();
    for used in used(records) {
        if let Some(file) = first.insert(used.id, used.file) {
            let says = format!("{} is the id of a record in {file} too", used.id);
            report.add(used.file, used.field, says);
        }
    }
}

pub(super) fn id_retired(records: &Records, report: &mut Report) {
    for used in used(records) {
        if let Some(row) = records.retired.retired.iter().find(|row| row.id == used.id) {
            let says = format!(
                "{} was retired on {} and is never given again; take a new number",
                used.id, row.on
            );
            report.add(used.file, used.field, says);
        }
    }
}

pub(super) fn release(records: &Records, report: &mut Report) {
    if records.release.seq == 0 {
        report.add(
            &records.release.file,
            "seq",
            "0 is no release; count from 1",
        );
    }
}
