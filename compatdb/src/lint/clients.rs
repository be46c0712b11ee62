//! Rules about clients.

use std::collections::BTreeSet;

use super::{Report, has_key};
use crate::records::{Client, Records, VersionRange};

/// Every range of versions of a client, with its field.
fn ranges(client: &Client) -> impl Iterator<Item = (String, &VersionRange)> {
    let caps = client.caps.iter().enumerate().flat_map(|(at, cap)| {
        let field = move |(n, range)| (format!("caps[{at}].versions[{n}]"), range);
        cap.versions.iter().enumerate().map(field)
    });
    let blocked = client.blocked.iter().enumerate().flat_map(|(at, row)| {
        let field = move |(n, range)| (format!("blocked[{at}].versions[{n}]"), range);
        row.versions.iter().enumerate().map(field)
    });
    caps.chain(blocked)
}

pub(super) fn version_range(records: &Records, report: &mut Report) {
    for client in &records.clients {
        for (field, range) in ranges(client) {
            let Some(scheme) = client.schemes.iter().find(|s| s.name == range.of) else {
                let says = format!("\"{}\" is no scheme of this client", range.of);
                report.add(&client.file, format!("{field}.of"), says);
                continue;
            };
            let ends = [
                ("from", &range.from),
                ("through", &range.through),
                ("before", &range.before),
            ];
            for (end, text) in ends {
                if let Some(text) = text.as_ref().filter(|text| scheme.read(text).is_none()) {
                    let says = format!("\"{text}\" is no version of the scheme {}", scheme.name);
                    report.add(&client.file, format!("{field}.{end}"), says);
                }
            }
            if range.through.is_some() && range.before.is_some() {
                report.add(
                    &client.file,
                    &*field,
                    "give it `through` or `before`, not both",
                );
            }
            if ends.iter().all(|(_, end)| end.is_none()) {
                report.add(&client.file, &*field, "give it an end");
            }
            if range.is_empty(&client.schemes) {
                report.add(
                    &client.file,
                    &*field,
                    format!("no version is in it: {range}"),
                );
            }
        }
    }
}

pub(super) fn version_overlap(records: &Records, report: &mut Report) {
    for client in &records.clients {
        let all: Vec<_> = client
            .caps
            .iter()
            .enumerate()
            .flat_map(|(at, cap)| cap.versions.iter().map(move |range| (at, range)))
            .collect();
        for (n, (at, range)) in all.iter().enumerate() {
            for (other_at, other) in all.iter().take(n) {
                if range.overlaps(&client.schemes, other) {
                    let says = format!("{range} and {other} of caps[{other_at}] overlap");
                    report.add(&client.file, format!("caps[{at}].versions"), says);
                }
            }
        }
        let unknown = client.caps.iter().filter(|cap| cap.unknown_version).count();
        if unknown > 1 {
            let says = "two caps are about the unknown version; make them one";
            report.add(&client.file, "caps", says);
        }
    }
}

pub(super) fn source(records: &Records, report: &mut Report) {
    for client in &records.clients {
        let caps = client.caps.iter().enumerate();
        let caps = caps.map(|(at, cap)| (format!("caps[{at}].source"), &cap.source));
        let blocked = client.blocked.iter().enumerate();
        let blocked = blocked.map(|(at, row)| (format!("blocked[{at}].source"), &row.source));
        for (field, key) in caps.chain(blocked) {
            if !has_key(&client.sources, key) {
                let says = format!("\"{key}\" is no key of this client's sources");
                report.add(&client.file, field, says);
            }
        }
    }
}

pub(super) fn ambiguous(records: &Records, report: &mut Report) {
    for (n, client) in records.clients.iter().enumerate() {
        for other in records.clients.iter().take(n) {
            let (mine, theirs) = (&client.recognise, &other.recognise);
            let kinds = [
                ("executables", &mine.executables, &theirs.executables),
                ("libraries", &mine.libraries, &theirs.libraries),
                ("formulae", &mine.formulae, &theirs.formulae),
            ];
            for (kind, mine, theirs) in kinds {
                for name in mine {
                    let both = |other: &&String| match kind {
                        "libraries" => patterns_meet(name, other),
                        _ => *other == name,
                    };
                    if let Some(pattern) = theirs.iter().find(both) {
                        let says = format!("\"{name}\" is \"{pattern}\" of {} too", other.id);
                        report.add(&client.file, format!("recognise.{kind}"), says);
                    }
                }
            }
        }
    }
}

/// Whether a name could match both patterns.
fn patterns_meet(a: &str, b: &str) -> bool {
    let star = |text: &str| text.strip_prefix('*').map(str::to_owned);
    match (star(a), star(b)) {
        (Some(rest), _) if patterns_meet(&rest, b) => return true,
        (_, Some(rest)) if patterns_meet(a, &rest) => return true,
        _ => {}
    }
    let (mut left, mut right) = (a.chars(), b.chars());
    match (left.next(), right.next()) {
        (None, None) => true,
        (None, Some(_)) | (Some(_), None) => false,
        (Some('*'), Some('*')) => false,
        (Some('*'), Some(_)) => patterns_meet(a, right.as_str()),
        (Some(_), Some('*')) => patterns_meet(left.as_str(), b),
        (Some(x), Some(y)) => x == y && patterns_meet(left.as_str(), right.as_str()),
    }
}

pub(super) fn names(records: &Records, report: &mut Report) {
    for client in &records.clients {
        let known = &client.recognise;
        let lists = [
            ("recognise.executables", &known.executables),
            ("recognise.libraries", &known.libraries),
            ("recognise.formulae", &known.formulae),
            ("children", &client.children),
        ];
        for (field, names) in lists {
            for name in names {
                let library = field.ends_with("libraries");
                let bad =
                    |c: char| c == '/' || c == ',' || c.is_control() || (c == '*' && !library);
                if name.trim().is_empty() || name.contains(bad) || name == "*" {
                    let says = format!("\"{}\" is not a base name", name.escape_debug());
                    report.add(&client.file, field, says);
                }
            }
        }
        let mut seen = BTreeSet::new();
        for scheme in &client.schemes {
            let letters = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
            let right = !scheme.name.is_empty() && scheme.name.bytes().all(letters);
            if !right || !seen.insert(&scheme.name) {
                let says = format!(
                    "\"{}\" is empty, there twice, or not small letters and digits",
                    scheme.name
                );
                report.add(&client.file, "schemes", says);
            }
        }
    }
}
