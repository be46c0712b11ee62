//! `compatdb repo`: makes, changes and checks the repository that clients update from.
//!
//! **Contract.** What changes for users is shown before anything is signed. What is there is
//! verified from the trust root before any of it is signed again, what was signed is verified
//! as a client would before it is written, and no write leaves a repository that a client
//! cannot use. docs/repository.md holds the layout.

mod check;
mod draft;
mod files;
mod init;
mod partial;
mod publish;
mod revoke;
mod roles;
mod rotate;
mod state;

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::{Value, json};

use self::draft::{Done, Draft};
use self::files::Files;
use self::roles::Role;
use self::state::{State, verify};
use super::keyfile::PublicKey;
use super::signers::{SignWith, Signers};
use super::{Failure, Output, json as json_text};

type Keys = Vec<PublicKey>;

/// What is done to a repository.
#[derive(Debug, Subcommand)]
pub(super) enum Repo {
    /// Make a new repository: no database yet, and an empty deny list.
    Init(Init),
    /// Publish a database, release archives, or both.
    Publish(publish::Publish),
    /// Sign the timestamp again, as every day; with the snapshot's key also a snapshot that
    /// has less than half of its time left.
    Timestamp(Change),
    /// Take records or builds back, by the deny list that every client unites with its database.
    Revoke(revoke::Revoke),
    /// Change the keys of root, snapshot or timestamp; without any, sign a new root for a year.
    RotateRoot(rotate::Root),
    /// Change the keys of targets or revoker; without any, sign targets for
    /// another year.
    RotateTargets(rotate::Targets),
    /// Add signatures to what a change with --prepare wrote, on any machine.
    Sign(partial::Sign),
    /// Take what was prepared and signed into the repository.
    Complete(partial::Complete),
    /// Verify the whole repository as a client would, and list when what expires.
    Check(check::Check),
}

/// What every change takes.
#[derive(Debug, Args)]
pub(super) struct Change {
    /// The folder of the repository.
    dir: PathBuf,
    #[command(flatten)]
    sign: SignWith,
    /// Trust this root, kept apart from the repository; without it, the repository's first.
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
    /// Sign without asking.
    #[arg(long)]
    yes: bool,
    /// Sign as of this time instead of the clock's; for rehearsals.
    #[arg(long, value_name = "TIME")]
    now: Option<Timestamp>,
    /// Write what root, targets or revoker have to sign into this new folder, for `repo sign` on
    /// other machines; the repository stays as it is.
    #[arg(long, value_name = "DIR")]
    prepare: Option<PathBuf>,
}

/// Arguments of `repo init`.
#[derive(Debug, Args)]
pub(super) struct Init {
    #[command(flatten)]
    change: Change,
    /// Public keys of root: three or more, of which two or more must sign.
    #[arg(long, value_name = "PUB", num_args = 1.., required = true)]
    root: Vec<PathBuf>,
    /// How many of root's keys must sign.
    #[arg(long, value_name = "N", default_value_t = 2)]
    root_threshold: u64,
    /// Public keys of targets: two or more, of which one must sign.
    #[arg(long, value_name = "PUB", num_args = 1.., required = true)]
    targets: Vec<PathBuf>,
    /// Public keys of revoker: two or more, of which one must sign.
    #[arg(long, value_name = "PUB", num_args = 1.., required = true)]
    revoker: Vec<PathBuf>,
    /// The public key of snapshot, online.
    #[arg(long, value_name = "PUB", num_args = 1.., required = true)]
    snapshot: Vec<PathBuf>,
    /// The public key of timestamp, online.
    #[arg(long, value_name = "PUB", num_args = 1.., required = true)]
    timestamp: Vec<PathBuf>,
}

pub(super) fn run(command: &Repo) -> Result<Output, Failure> {
    match command {
        Repo::Init(args) => init_new(args),
        Repo::Publish(args) => publish::publish(args),
        Repo::Timestamp(args) => timestamp(args),
        Repo::Revoke(args) => revoke::revoke(args),
        Repo::RotateRoot(args) => rotate::root(args),
        Repo::RotateTargets(args) => rotate::targets(args),
        Repo::Sign(args) => partial::sign(args),
        Repo::Complete(args) => partial::complete(args),
        Repo::Check(args) => check::check(args),
    }
}

/// A text of an object; empty where there is none.
fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A number of an object; 0 where there is none.
fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(0)
}

fn keys(paths: &[PathBuf]) -> Result<Keys, Failure> {
    paths.iter().map(|p| PublicKey::read(p)).collect()
}

/// A file that is read whole, no longer than any target.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    bounded(path, roles::MAX_TARGET)
}

/// A file that is read whole, no longer than `max` bytes.
fn bounded(path: &Path, max: u64) -> Result<Vec<u8>, Failure> {
    use std::io::Read as _;
    let failed = |e: io::Error| Failure(format!("cannot read {}: {e}", path.display()));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(max + 1).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 > max {
        true => Err(Failure(format!(
            "{} is longer than the {max} bytes that a client reads",
            path.display()
        ))),
        false => Ok(bytes),
    }
}

/// The root that is trusted to begin with.
fn trust_root(given: Option<&Path>, files: &Files) -> Result<Vec<u8>, Failure> {
    match given {
        Some(path) => read(path),
        None => files.need(&Role::Root.file(1), Role::Root.max_len()),
    }
}

/// A repository that is being changed.
struct Session {
    files: Files,
    trust_root: Vec<u8>,
    old: State,
    signers: Signers,
    now: Timestamp,
    yes: bool,
    prepare: Option<PathBuf>,
}

impl Change {
    /// The time of signing, in whole seconds: metadata has no fractions.
    fn now(&self) -> Result<Timestamp, Failure> {
        let now = self.now.unwrap_or_else(Timestamp::now);
        Ok(Timestamp::from_second(now.as_second())?)
    }

    fn open(&self) -> Result<Session, Failure> {
        let files = Files::locked(&self.dir)?;
        let trust_root = trust_root(self.trust_root.as_deref(), &files)?;
        let old = verify(&files, &trust_root, None)?;
        Ok(Session {
            old,
            trust_root,
            files,
            signers: self.sign.signers()?,
            now: self.now()?,
            yes: self.yes,
            prepare: self.prepare.clone(),
        })
    }
}

impl Session {
    /// Shows the plan, asks, signs, writes, and reports.
    fn finish(
        self,
        command: &str,
        draft: Draft,
        plan: &str,
        more: Value,
    ) -> Result<Output, Failure> {
        if let Some(dir) = &self.prepare {
            // Shown as well, and asked for by those who sign.
            confirm(plan, true)?;
            return draft.prepare(&self.old, &self.files, &self.signers, self.now, dir);
        }
        draft.ready(&self.old, &self.signers)?;
        if !confirm(plan, self.yes)? {
            return declined(command);
        }
        let done = draft.finish(
            &self.old,
            self.files,
            &self.trust_root,
            &self.signers,
            self.now,
        )?;
        report(command, &done, more)
    }
}

/// Shows what changes; whether to sign.
fn confirm(plan: &str, yes: bool) -> Result<bool, Failure> {
    let mut stderr = io::stderr().lock();
    let failed = |e: io::Error| Failure(format!("cannot ask: {e}"));
    write!(stderr, "{plan}").map_err(failed)?;
    if yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() {
        return Err(Failure(
            "nobody is there to be asked, and nothing was signed; --yes signs without asking"
                .to_owned(),
        ));
    }
    write!(stderr, "\nSign and write this? [y/N] ").map_err(failed)?;
    stderr.flush().map_err(failed)?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).map_err(failed)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn declined(command: &str) -> Result<Output, Failure> {
    Ok(Output {
        text: "Nothing was signed.\n".to_owned(),
        json: json_text(command, &json!({ "signed": false }))?,
        code: 1,
    })
}

fn report(command: &str, done: &Done, more: Value) -> Result<Output, Failure> {
    let mut text: String = done
        .wrote
        .iter()
        .map(|name| format!("wrote {name}\n"))
        .collect();
    if done.gap {
        text.push_str(
            "For a moment between two of these a client would have failed, and kept what it has: the old keys were not at hand.\n",
        );
    }
    let mut value = json!({ "signed": true, "wrote": done.wrote, "gap": done.gap });
    if let (Some(map), Value::Object(more)) = (value.as_object_mut(), more) {
        map.extend(more);
    }
    let versions = roles::ROLES.map(|r| {
        (
            r.name().to_owned(),
            json!(number(done.state.get(r), "version")),
        )
    });
    draft::set(
        &mut value,
        "versions",
        Value::Object(versions.into_iter().collect()),
    );
    Ok(Output {
        text,
        json: json_text(command, &value)?,
        code: 0,
    })
}

fn init_new(args: &Init) -> Result<Output, Failure> {
    let new = init::NewKeys {
        root: keys(&args.root)?,
        root_threshold: args.root_threshold,
        targets: keys(&args.targets)?,
        revoker: keys(&args.revoker)?,
        snapshot: keys(&args.snapshot)?,
        timestamp: keys(&args.timestamp)?,
    };
    if args.change.prepare.is_some() {
        return Err(Failure(
            "a new repository is made in one place: name the keys, or signers that reach them"
                .to_owned(),
        ));
    }
    let signers = args.change.sign.signers()?;
    let dir = &args.change.dir;
    let plan = format!(
        "A new repository in {}, without a database.\n",
        dir.display()
    );
    if !confirm(&plan, args.change.yes)? {
        return declined("repo-init");
    }
    let (wrote, state) = init::init(dir, &new, &signers, args.change.now()?)?;
    let done = Done {
        wrote,
        state,
        gap: false,
    };
    report("repo-init", &done, json!({}))
}

fn timestamp(args: &Change) -> Result<Output, Failure> {
    let session = args.open()?;
    let (ids, _) = session.old.keys(Role::Snapshot);
    let left = check::left(&session.old.snapshot, session.now)?;
    let half = jiff::SignedDuration::from_hours(12 * Role::Snapshot.days());
    let draft = Draft {
        renew_snapshot: session.signers.have(&ids) && left < half,
        ..Draft::default()
    };
    let plan = "Nothing changes for users: what is published is called fresh again.\n";
    session.finish("repo-timestamp", draft, plan, json!({}))
}
