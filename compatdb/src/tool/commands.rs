//! What each command does. Nothing here prints.

use std::fmt::Write as _;
use std::path::Path;

use compatdb::records::{Problem, Records};
use compatdb::{Database, Shown, build_database, write_file};
use serde_json::json;

use super::{Build, Failure, Output, json};

/// Loads and lints; every problem of both.
fn checked(dir: &Path) -> Result<(Records, Vec<Problem>), Failure> {
    if !dir.is_dir() {
        return Err(Failure(format!(
            "{} is not a folder of records; name one, or start this in the project's root",
            dir.display()
        )));
    }
    let (records, mut problems) = Records::load(dir);
    problems.extend(compatdb::lint::lint(&records));
    problems.sort();
    Ok((records, problems))
}

fn problems_text(dir: &Path, problems: &[Problem]) -> String {
    let mut text = String::new();
    for problem in problems {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{problem}");
    }
    let _ = match problems.len() {
        0 => writeln!(text, "{}: no problems", dir.display()),
        1 => writeln!(text, "1 problem"),
        n => writeln!(text, "{n} problems"),
    };
    text
}

pub(super) fn lint(dir: &Path) -> Result<Output, Failure> {
    let (_, problems) = checked(dir)?;
    Ok(Output {
        text: problems_text(dir, &problems),
        json: json("lint", &json!({ "problems": problems }))?,
        code: u8::from(!problems.is_empty()),
    })
}

pub(super) fn build(args: &Build) -> Result<Output, Failure> {
    let (records, problems) = checked(&args.records)?;
    if !problems.is_empty() {
        return Ok(Output {
            text: problems_text(&args.records, &problems),
            json: json("build", &json!({ "problems": problems }))?,
            code: 1,
        });
    }
    let mut release = records.release.record.clone();
    release.seq = args.seq.unwrap_or(release.seq);
    release.published_at = args.published_at.unwrap_or(release.published_at);
    let bytes = build_database(&records, &release)?;
    let database = Database::open(&bytes)?;
    database.quick_check()?;
    write_file(&args.out, &bytes)?;
    let meta = database.meta();
    Ok(Output {
        text: format!(
            "{}: database {} of {}, {} bytes, sha256 {}\n",
            args.out.display(),
            meta.seq,
            meta.published_at,
            meta.len,
            meta.sha256
        ),
        json: json(
            "build",
            &json!({ "out": args.out.display().to_string(), "database": meta }),
        )?,
        code: 0,
    })
}

/// A database from a file, or from records as they are.
pub(super) fn open(path: &Path) -> Result<Database, Failure> {
    if path.is_dir() {
        let (records, problems) = Records::load(path);
        if let Some(problem) = problems.first() {
            return Err(Failure(format!(
                "{}: {problem}; `compatdb lint {0}` lists every problem",
                path.display()
            )));
        }
        let bytes = build_database(&records, &records.release)?;
        return Ok(Database::open(bytes)?);
    }
    let bytes =
        std::fs::read(path).map_err(|e| Failure(format!("cannot read {}: {e}", path.display())))?;
    Database::open(bytes).map_err(|e| Failure(format!("{}: {e}", path.display())))
}

pub(super) fn show(id: &str, from: &Path) -> Result<Output, Failure> {
    let Some(shown) = open(from)?.show(id)? else {
        return Ok(Output {
            text: format!(
                "{} has nothing called {}.\n",
                from.display(),
                id.escape_default()
            ),
            json: json("show", &json!({ "id": id, "found": false }))?,
            code: 1,
        });
    };
    Ok(Output {
        text: as_toml(&shown)?,
        json: json("show", &shown)?,
        code: 0,
    })
}

/// In the form in which it was reviewed.
fn as_toml(shown: &Shown) -> Result<String, Failure> {
    Ok(match shown {
        Shown::Pair(row) => toml::to_string_pretty(row),
        Shown::Deny(row) => toml::to_string_pretty(row),
        Shown::Lead(row) => toml::to_string_pretty(row),
        Shown::Fault(row) => toml::to_string_pretty(row),
        Shown::Stock(row) => toml::to_string_pretty(row),
        Shown::Client(row) => toml::to_string_pretty(row),
        Shown::Build(row) => toml::to_string_pretty(row),
    }?)
}

pub(super) fn diff(old: &Path, new: &Path) -> Result<Output, Failure> {
    let diff = compatdb::diff::diff(&open(old)?, &open(new)?)?;
    Ok(Output {
        text: diff.to_string(),
        json: json("diff", &diff)?,
        code: u8::from(!diff.changes.is_empty()),
    })
}
