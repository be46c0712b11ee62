//! A version in lines `what = value`: what is kept of it in `reviewed/`, and compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::observe::{
    HARDWARE, Observed, attention_above, calls_by_family, largest_attention, memory_calls,
};
use crate::run::Run;

/// What is known of a version, by what it is about.
pub(crate) type Summary = BTreeMap<String, String>;

/// All that is worth keeping of what was seen.
pub(crate) fn of(observed: &Observed) -> Summary {
    let mut lines = Summary::new();
    let mut put = |what: &str, value: String| lines.insert(what.to_owned(), value);
    for (phase, run) in [
        ("start", &observed.stock),
        ("ops", &observed.stock),
        ("graph", &observed.row),
    ] {
        for (family, calls) in calls_by_family(run, phase) {
            put(&format!("calls {phase} family {family}"), calls.to_string());
        }
        put(
            &format!("calls {phase} limit"),
            memory_calls(run, phase).to_string(),
        );
    }
    for op in observed.ops() {
        put(
            &format!("op {}", op.name),
            format!("{} -> {}", op.stock, op.shimmed),
        );
    }
    for (name, run) in [("whole", &observed.whole), ("row", &observed.row)] {
        put(&format!("{name} profile"), run.profile());
        put(
            &format!("{name} attention largest"),
            largest_attention(run, false).to_string(),
        );
        let above: Vec<String> = attention_above(run, HARDWARE)
            .into_iter()
            .map(|(kernel, memory)| format!("{kernel} {memory}"))
            .collect();
        put(&format!("{name} attention above {HARDWARE}"), list(&above));
        for words in run.lines("aborted") {
            put(
                &format!("{name} aborts {}", words.join(" ")),
                "yes".to_owned(),
            );
        }
    }
    for (kernel, memory) in largest_by_kernel(&observed.whole) {
        put(&format!("encode {kernel}"), memory.to_string());
    }
    for family in [7, 8, 9, 10] {
        let tuned = observed.tuned(family);
        if tuned.choices > 0 {
            let value = format!(
                "{} choices, largest {}, {} above {HARDWARE}",
                tuned.choices, tuned.largest, tuned.above
            );
            put(&format!("tuning family {family}"), value);
        }
    }
    for (family, run) in &observed.hosts {
        let value = format!(
            "{}, vector attention largest {}",
            run.profile(),
            largest_attention(run, true)
        );
        put(&format!("host family {family}"), value);
    }
    let source = &observed.source;
    let asked: Vec<String> = source.families.iter().cloned().collect();
    put("source families asked", list(&asked));
    put(
        "source lines with the limit",
        source.limit_lines.to_string(),
    );
    put(
        "source lines with the kept family",
        source.family_lines.to_string(),
    );
    for (family, rows) in &source.rows {
        put(
            &format!("source tuning rows family {family}"),
            rows.to_string(),
        );
    }
    lines
}

fn list(items: &[String]) -> String {
    if items.is_empty() {
        "none".to_owned()
    } else {
        items.join(", ")
    }
}

/// The largest request of each kernel in the graphs that are not attention's.
fn largest_by_kernel(run: &Run) -> BTreeMap<String, u64> {
    let mut kernels = BTreeMap::new();
    for words in run.lines("encode") {
        let kernel = words.get(..2).unwrap_or_default().join(": ");
        kernels.insert(kernel, crate::run::bytes(words));
    }
    kernels
}

fn path(package: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("reviewed")
        .join(format!("{package}.txt"))
}

/// What was reviewed of a version.
pub(crate) fn reviewed(package: &str) -> Result<Summary, String> {
    let path = path(package);
    let text = fs::read_to_string(&path)
        .map_err(|why| format!("{}: {why}; `real-clients review` writes it", path.display()))?;
    Ok(text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(" = "))
        .map(|(what, value)| (what.to_owned(), value.to_owned()))
        .collect())
}

/// Writes what was seen, for a maintainer to read.
pub(crate) fn write(observed: &Observed) -> Result<(), String> {
    let path = path(observed.version.package);
    let mut text = format!(
        "# llama-cpp-sys-2 {} ({}) on the simulated guest. Written by `real-clients review`.\n",
        observed.version.package, observed.version.says
    );
    for (what, value) in of(observed) {
        text.push_str(&format!("{what} = {value}\n"));
    }
    fs::write(&path, text).map_err(|why| format!("{}: {why}", path.display()))?;
    eprintln!("written: {}", path.display());
    Ok(())
}

/// One thing that is another than before; an empty side is not there.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) what: String,
    pub(crate) before: String,
    pub(crate) now: String,
}

/// Everything in which two summaries differ.
pub(crate) fn changes(before: &Summary, now: &Summary) -> Vec<Change> {
    let names: std::collections::BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    names
        .into_iter()
        .filter(|name| before.get(*name) != now.get(*name))
        .map(|name| Change {
            what: name.clone(),
            before: before.get(name).cloned().unwrap_or_default(),
            now: now.get(name).cloned().unwrap_or_default(),
        })
        .collect()
}

/// In what a pinned version is not as it was reviewed.
pub(crate) fn unlike_reviewed(observed: &Observed) -> Vec<String> {
    let package = observed.version.package;
    match reviewed(package) {
        Err(why) => vec![why],
        Ok(before) => changes(&before, &of(observed))
            .into_iter()
            .map(|change| {
                format!(
                    "{package}: {}: reviewed `{}`, seen `{}`",
                    change.what, change.before, change.now
                )
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Summary, changes};

    #[test]
    fn changes_are_what_differs_on_either_side() {
        let summary = |lines: &[(&str, &str)]| -> Summary {
            lines
                .iter()
                .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
                .collect()
        };
        let found = changes(
            &summary(&[("same", "1"), ("other", "1"), ("gone", "1")]),
            &summary(&[("same", "1"), ("other", "2"), ("new", "1")]),
        );
        let found: Vec<(&str, &str, &str)> = found
            .iter()
            .map(|c| (c.what.as_str(), c.before.as_str(), c.now.as_str()))
            .collect();
        assert_eq!(
            found,
            [("gone", "1", ""), ("new", "", "1"), ("other", "1", "2")]
        );
    }
}
