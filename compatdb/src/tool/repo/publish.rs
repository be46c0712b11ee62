//! `compatdb repo publish`: a database, and the program's archives.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use compatdb::records::{Records, Release};
use compatdb::{Database, build_database};
use jiff::Timestamp;
use semver::Version;
use serde_json::{Value, json};

use super::draft::{Draft, set};
use super::init::target_entry;
use super::roles::{DATABASE, REVOCATIONS};
use super::state::{target, target_file};
use super::{Change, Failure, Output, Session, read, text};

/// Arguments of `repo publish`.
#[derive(Debug, Args)]
pub(in crate::tool) struct Publish {
    #[command(flatten)]
    change: Change,
    /// The database to publish, made by `compatdb build`.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["archive", "remove"])]
    database: Option<PathBuf>,
    /// A release archive, called metalshim-VERSION-TRIPLE.tar.gz; can be repeated.
    #[arg(long, value_name = "FILE")]
    archive: Vec<PathBuf>,
    /// Versions that must not be used any more, as the archives given here say; can be repeated.
    /// Whoever runs one is told at once, also where a package manager would have a day.
    #[arg(long, value_name = "VERSION", requires = "archive")]
    revokes: Vec<Version>,
    /// Stop offering this archive; can be repeated.
    #[arg(long, value_name = "NAME")]
    remove: Vec<String>,
}

/// The systems that archives are made for.
const TRIPLES: [&str; 3] = [
    "aarch64-apple-darwin",
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
];

/// Whether a database may have a lower `seq` than the one before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Seq {
    /// Never, under the same targets keys.
    Rises,
    /// The keys change: what a thief counted up is undone.
    MayFall,
}

pub(super) fn publish(args: &Publish) -> Result<Output, Failure> {
    let session = args.change.open()?;
    let mut draft = Draft::default();
    let mut targets = session.old.targets.clone();
    let (mut plan, mut more) = (String::new(), json!({}));
    if let Some(path) = &args.database {
        let changes = put_database(&session, path, Seq::Rises, &mut targets, &mut draft)?;
        plan.push_str(&changes.to_string());
        set(&mut more, "changes", serde_json::to_value(&changes)?);
    }
    for path in &args.archive {
        let name = put_archive(&session, path, &args.revokes, &mut targets, &mut draft)?;
        let _ = writeln!(plan, "{name} is offered.");
        for version in &args.revokes {
            let _ = writeln!(
                plan,
                "  It takes back metalshim {version}: users are told at once."
            );
        }
    }
    for name in &args.remove {
        let map = targets.get_mut("targets").and_then(Value::as_object_mut);
        let archive = version_of(name).is_some();
        if !archive || map.and_then(|m| m.remove(name)).is_none() {
            return Err(Failure(format!(
                "no archive is called {}",
                name.escape_default()
            )));
        }
        let _ = writeln!(plan, "{name} is not offered any more.");
    }
    draft.targets = Some(targets);
    session.finish("repo-publish", draft, &plan, more)
}

/// Takes a database in; what it changes for users.
pub(super) fn put_database(
    session: &Session,
    path: &Path,
    seq: Seq,
    targets: &mut Value,
    draft: &mut Draft,
) -> Result<compatdb::diff::Diff, Failure> {
    let bytes = read(path)?;
    let wrong = |why: String| Failure(format!("{}: {why}", path.display()));
    let database = Database::open(&bytes).map_err(|e| wrong(e.to_string()))?;
    database.quick_check().map_err(|e| wrong(e.to_string()))?;
    let meta = database.meta();
    let before = match target(&session.files, targets, DATABASE)? {
        Some(bytes) => {
            Database::open(bytes).map_err(|e| Failure(format!("the published one: {e}")))?
        }
        None => Database::open(build_database(&Records::default(), &Release::default())?)?,
    };
    if seq == Seq::Rises && meta.seq <= before.seq() {
        return Err(wrong(format!(
            "its seq is {}, and {} is published: clients never go back; build it with --seq {} or more",
            meta.seq,
            before.seq(),
            before.seq() + 1
        )));
    }
    if meta.published_at > session.now {
        return Err(wrong(format!(
            "it says that it is published at {}, and it is {} now: a client's clock would be raised beyond the truth",
            meta.published_at, session.now
        )));
    }
    if meta.published_at < before.published_at() {
        return Err(wrong(format!(
            "it says that it is published at {}, before the one that it replaces, {}",
            meta.published_at,
            before.published_at()
        )));
    }
    let custom = json!({
        "seq": meta.seq,
        "schema": meta.schema,
        "min_cli": meta.min_cli.to_string(),
        "published_at": seconds(meta.published_at)?,
    });
    let changes = compatdb::diff::diff(&before, &database)?;
    put(DATABASE, bytes, &custom, targets, draft);
    Ok(changes)
}

/// A time as metadata has it.
fn seconds(time: Timestamp) -> Result<String, Failure> {
    Ok(Timestamp::from_second(time.as_second())?.to_string())
}

/// The version in an archive's name.
pub(super) fn version_of(name: &str) -> Option<Version> {
    let rest = name.strip_prefix("metalshim-")?.strip_suffix(".tar.gz")?;
    let mut versions = TRIPLES.iter().filter_map(|t| rest.strip_suffix(t));
    versions.next()?.strip_suffix('-')?.parse().ok()
}

fn put_archive(
    session: &Session,
    path: &Path,
    revokes: &[Version],
    targets: &mut Value,
    draft: &mut Draft,
) -> Result<String, Failure> {
    let name = path
        .file_name()
        .and_then(|n| n.to_str())
        .unwrap_or_default();
    let Some(version) = version_of(name) else {
        return Err(Failure(format!(
            "{}: an archive is called metalshim-VERSION-TRIPLE.tar.gz, with one of {}",
            path.display(),
            TRIPLES.join(", ")
        )));
    };
    let bytes = read(path)?;
    if let Some((_, entry)) = target_file(targets, name) {
        let was = entry.get("hashes").map(|h| text(h, "sha256"));
        if was != Some(compatdb::sha256_hex(&bytes).as_str()) {
            return Err(Failure(format!(
                "{name} is published with other bytes: a version is given once; publish a new one"
            )));
        }
    }
    if revokes.contains(&version) {
        return Err(Failure(format!("{name} cannot take its own version back")));
    }
    let mut custom = json!({
        "version": version.to_string(),
        "published_at": session.now.to_string(),
    });
    if !revokes.is_empty() {
        let revokes: Vec<String> = revokes.iter().map(ToString::to_string).collect();
        set(&mut custom, "revokes", json!(revokes));
    }
    put(name, bytes, &custom, targets, draft);
    Ok(name.to_owned())
}

/// Puts a target among those of a role, and its file among those to write.
pub(super) fn put(name: &str, bytes: Vec<u8>, custom: &Value, role: &mut Value, draft: &mut Draft) {
    debug_assert!(name == REVOCATIONS || role.get("delegations").is_some());
    if let Some(targets) = role.get_mut("targets") {
        set(targets, name, target_entry(&bytes, custom));
    }
    let file = format!("targets/{}.{name}", compatdb::sha256_hex(&bytes));
    draft.files.push((file, bytes));
}
