//! `compatdb ingest`: reports in, a unified diff of the records out. Nothing is written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use compatdb::ingest::{Given, Ingested, Rules, ingest};
use compatdb::records::Records;
use compatdb::report::MAX_LEN;
use jiff::Timestamp;
use similar::TextDiff;

use super::{Failure, Output, RECORDS, json};

/// More reports than a pair ever gets.
const MOST: usize = 200;

#[derive(Debug, Args)]
#[command(after_help = "\
The diff goes to stdout, with what a reviewer has to look at in lines that start with #:
  compatdb ingest report.json > proposal.diff; git apply proposal.diff
Give all reports of a pair together, those of compatdb/reports too: levels follow from them.

Exit codes: 0 every report fits; 1 some do not, or nothing is proposed; 2 could not tell.")]
pub(super) struct Ingest {
    /// What `metalshim report --out` wrote.
    #[arg(required = true, value_name = "REPORT")]
    reports: Vec<PathBuf>,
    /// The folder of records.
    #[arg(long, value_name = "DIR", default_value = RECORDS)]
    records: PathBuf,
    /// Where each report was published, like 'issue 12', in their order; without it, the
    /// folder compatdb/reports.
    #[arg(long, value_name = "ISSUE")]
    issue: Vec<String>,
    /// The time, like 2026-12-01T00:00:00Z; without it, now.
    #[arg(long, value_name = "TIME")]
    now: Option<Timestamp>,
    /// Take reports of simulated guests too: to try the circle out, never for a release.
    #[arg(long)]
    simulated: bool,
}

pub(super) fn run(args: &Ingest) -> Result<Output, Failure> {
    let dir = &args.records;
    let (records, problems) = Records::load(dir);
    if let Some(problem) = problems.first() {
        return Err(Failure(format!(
            "{}: {problem}; `compatdb lint` lists every problem",
            dir.display()
        )));
    }
    if args.reports.len() > MOST {
        return Err(Failure(format!(
            "{} reports are too many: {MOST} are the most",
            args.reports.len()
        )));
    }
    let mut texts = BTreeMap::new();
    for pair in &records.pairs {
        texts.insert(pair.file.clone(), read_text(&dir.join(&pair.file))?);
    }
    let mut given = Vec::new();
    for (at, path) in args.reports.iter().enumerate() {
        given.push(Given {
            file: path
                .file_name()
                .unwrap_or(path.as_os_str())
                .to_string_lossy()
                .into_owned(),
            bytes: read(path)?,
            issue: args.issue.get(at).cloned(),
        });
    }
    let home = env!("CARGO_PKG_REPOSITORY").trim_end_matches('/');
    let mut parts = home.rsplit('/');
    let (name, owner) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let rules = Rules {
        now: args.now.unwrap_or_else(Timestamp::now),
        simulated: args.simulated,
        project: format!("{owner}/{name}"),
    };
    let done = ingest(&records, &texts, &given, &rules);
    let good = done.refused.is_empty() && !done.proposals.is_empty();
    let mut text = says(&done);
    for proposal in &done.proposals {
        let old = texts.get(&proposal.file).map(String::as_str);
        text.push_str(&diff(dir, &proposal.file, old, &proposal.text));
    }
    if !done.proposals.is_empty() {
        let old = read_text(&dir.join(&records.release.file))?;
        if let Some(new) = next_release(&old, &records, rules.now) {
            text.push_str(&diff(dir, &records.release.file, Some(&old), &new));
        }
    }
    Ok(Output {
        text,
        json: json("ingest", &done)?,
        code: u8::from(!good),
    })
}

/// At most as much as a report may have, and one byte more, so that it is refused as too large.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed =
        |e: &dyn std::fmt::Display| Failure(format!("cannot read {}: {e}", path.display()));
    if !path.metadata().map_err(|e| failed(&e))?.is_file() {
        return Err(failed(&"it is not a regular file"));
    }
    let file = File::open(path).map_err(|e| failed(&e))?;
    let mut bytes = Vec::new();
    let most = MAX_LEN as u64 + 1;
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(|e| failed(&e))?;
    Ok(bytes)
}

fn read_text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|e| Failure(format!("cannot read {}: {e}", path.display())))
}

/// Everything but the diff, in lines that `git apply` and `patch` pass over.
fn says(done: &Ingested) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    for refused in &done.refused {
        for why in &refused.because {
            let _ = writeln!(text, "# refused: {}: {why}", refused.file);
        }
    }
    for note in &done.notes {
        let _ = writeln!(text, "# note: {note}");
    }
    for p in &done.proposals {
        let level = match p.level_before {
            None => format!("a new record at evidence level {}", p.level),
            Some(before) if before == p.level => format!("level {before} stays; figures are added"),
            Some(before) => format!("evidence level {before} -> {}", p.level),
        };
        let _ = writeln!(text, "# {}: {level}, from {}", p.id, p.reports.join(", "));
        for line in &p.review {
            let _ = writeln!(text, "#   review: {line}");
        }
    }
    if done.proposals.is_empty() {
        let _ = writeln!(text, "# nothing is proposed");
    }
    text
}

fn diff(dir: &Path, file: &str, old: Option<&str>, new: &str) -> String {
    let path = dir.join(file);
    let path = path.display();
    let from = match old {
        Some(_) => format!("a/{path}"),
        None => "/dev/null".to_owned(),
    };
    let diff = TextDiff::from_lines(old.unwrap_or_default(), new);
    let mut diff = diff.unified_diff();
    diff.header(&from, &format!("b/{path}")).to_string()
}

/// The next number, and a day that is not before anything in the records.
fn next_release(old: &str, records: &Records, now: Timestamp) -> Option<String> {
    let release = &records.release.record;
    let at = release
        .published_at
        .max(Timestamp::from_second(now.as_second()).ok()?);
    let mut new = String::new();
    for line in old.lines() {
        match line.split('=').next().unwrap_or_default().trim() {
            "seq" => new.push_str(&format!("seq = {}", release.seq.checked_add(1)?)),
            "published_at" => new.push_str(&format!("published_at = \"{at}\"")),
            _ => new.push_str(line),
        }
        new.push('\n');
    }
    Some(new)
}
