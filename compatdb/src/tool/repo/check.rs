//! `compatdb repo check`: the whole repository, as a client sees it, and then closer.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use compatdb::{Database, DenyList};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};

use super::files::Files;
use super::roles::{DATABASE, MAX_REVOCATIONS, REVOCATIONS, ROLES, Role, problems};
use super::state::{State, target, verify};
use super::{Failure, Output, json_text, number, text, trust_root};

/// Arguments of `repo check`.
#[derive(Debug, Args)]
pub(in crate::tool) struct Check {
    /// The folder of the repository.
    dir: PathBuf,
    /// Trust this root, kept apart from the repository; without it, the repository's first.
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
    /// Check as of this time instead of the clock's.
    #[arg(long, value_name = "TIME")]
    now: Option<Timestamp>,
}

/// One role, as the table shows it.
#[derive(Debug, Serialize)]
struct Row {
    role: &'static str,
    version: u64,
    keys: usize,
    threshold: u64,
    expires: String,
    /// Whole days; negative when it has expired.
    days_left: i64,
}

/// How long a signed part is still valid; negative when it is not.
pub(super) fn left(signed: &Value, now: Timestamp) -> Result<SignedDuration, Failure> {
    let expires: Timestamp = text(signed, "expires").parse()?;
    Ok(expires.duration_since(now))
}

pub(super) fn check(args: &Check) -> Result<Output, Failure> {
    let files = Files::read_only(&args.dir);
    let now = args.now.unwrap_or_else(Timestamp::now);
    let root = trust_root(args.trust_root.as_deref(), &files)?;
    let state = match verify(&files, &root, None) {
        Ok(state) => state,
        Err(Failure(why)) => {
            return Ok(Output {
                text: format!("{}: {why}\n", args.dir.display()),
                json: json_text("repo-check", &json!({ "problems": [why] }))?,
                code: 1,
            });
        }
    };
    let mut problems = problems(&state.root, &state.targets);
    let mut rows = Vec::new();
    for role in ROLES {
        let (row, problem) = row(&state, role, now)?;
        rows.push(row);
        problems.extend(problem);
    }
    for version in 1..number(&state.root, "version") {
        let name = Role::Root.file(version);
        if files.get(&name, Role::Root.max_len())?.is_none() {
            problems.push(format!(
                "{name} is missing: a client that trusts an older root cannot follow"
            ));
        }
    }
    let signed_at = text(&state.timestamp, "x-signed-at");
    match signed_at.parse::<Timestamp>() {
        Ok(at) if at > now => problems.push(format!("x-signed-at is {signed_at}, after {now}")),
        Ok(_) => {}
        Err(_) => problems.push("timestamp has no x-signed-at".to_owned()),
    }
    let mut names = Vec::new();
    for (signed, database) in [(&state.targets, true), (&state.revoker, false)] {
        let targets = signed.get("targets").and_then(Value::as_object);
        for (name, entry) in targets.into_iter().flatten() {
            match target(&files, signed, name) {
                Err(Failure(why)) => problems.push(why),
                Ok(None) => {}
                Ok(Some(bytes)) => problems.extend(content(name, entry, &bytes, database)),
            }
            names.push(
                json!({ "name": name, "length": entry["length"], "custom": entry["custom"] }),
            );
        }
    }
    let text = shown(&rows, &names, &problems);
    let value = json!({ "problems": problems, "roles": rows, "targets": names });
    Ok(Output {
        text,
        json: json_text("repo-check", &value)?,
        code: u8::from(!problems.is_empty()),
    })
}

/// A role, and whether it is time to sign it again: with a third of its time left.
fn row(state: &State, role: Role, now: Timestamp) -> Result<(Row, Option<String>), Failure> {
    let signed = state.get(role);
    let (keys, threshold) = state.keys(role);
    let left = left(signed, now)?;
    let (name, expires) = (role.name(), text(signed, "expires").to_owned());
    let problem = if left.is_negative() {
        Some(format!(
            "{name} has expired at {expires}: clients call the database stale"
        ))
    } else if left < SignedDuration::from_hours(8 * role.days()) {
        Some(format!("{name} expires at {expires}: sign it again"))
    } else {
        None
    };
    let row = Row {
        role: name,
        version: number(signed, "version"),
        keys: keys.len(),
        threshold,
        expires,
        days_left: left.as_hours().div_euclid(24),
    };
    Ok((row, problem))
}

/// What of a target is not what its entry, its name and its role say.
fn content(name: &str, entry: &Value, bytes: &[u8], by_targets: bool) -> Vec<String> {
    let mut problems = Vec::new();
    let custom = entry.get("custom").unwrap_or(&Value::Null);
    if name.contains(['/', '\\']) || name.starts_with('.') {
        problems.push(format!("{name}: the name of a target is flat"));
    }
    match (name, by_targets) {
        (DATABASE, true) => match Database::open(bytes) {
            Err(e) => problems.push(format!("{name}: {e}")),
            Ok(database) => {
                let meta = database.meta();
                let at = text(custom, "published_at").parse::<Timestamp>();
                let same = number(custom, "seq") == meta.seq
                    && number(custom, "schema") == u64::from(meta.schema)
                    && text(custom, "min_cli") == meta.min_cli.to_string()
                    && at.is_ok_and(|at| at.as_second() == meta.published_at.as_second());
                if !same {
                    problems.push(format!(
                        "{name}: its entry does not say what it says itself"
                    ));
                }
                if let Err(e) = database.quick_check() {
                    problems.push(format!("{name}: {e}"));
                }
            }
        },
        (REVOCATIONS, false) => match DenyList::parse(bytes) {
            Err(e) => problems.push(format!("{name}: {e}")),
            Ok(list) if list.seq != number(custom, "seq") => {
                problems.push(format!(
                    "{name}: its entry does not say its seq, {}",
                    list.seq
                ));
            }
            Ok(_) if bytes.len() as u64 > MAX_REVOCATIONS => {
                problems.push(format!("{name}: longer than {MAX_REVOCATIONS} bytes"));
            }
            Ok(_) => {}
        },
        (_, true) if super::publish::version_of(name).is_some() => {}
        _ => problems.push(format!("{name}: no client knows what this is")),
    }
    problems
}

fn shown(rows: &[Row], names: &[Value], problems: &[String]) -> String {
    let mut out = String::from("ROLE       VERSION  KEYS    EXPIRES               DAYS LEFT\n");
    for row in rows {
        let keys = format!("{} of {}", row.threshold, row.keys);
        let _ = writeln!(
            out,
            "{:<10} {:>7}  {:<7} {:<21} {:>9}",
            row.role, row.version, keys, row.expires, row.days_left
        );
    }
    out.push('\n');
    for name in names {
        let _ = writeln!(
            out,
            "{} {} bytes {}",
            text(name, "name"),
            number(name, "length"),
            name["custom"]
        );
    }
    out.push('\n');
    for problem in problems {
        let _ = writeln!(out, "{problem}");
    }
    let _ = match problems.len() {
        0 => writeln!(out, "No problems."),
        1 => writeln!(out, "1 problem"),
        n => writeln!(out, "{n} problems"),
    };
    out
}
