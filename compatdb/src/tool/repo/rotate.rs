//! `compatdb repo rotate-root` and `rotate-targets`: other keys, or the same for longer.
//!
//! Keys that are not named any more are gone from the next root: whatever they signed is
//! worth nothing to a client that has seen it.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};

use super::draft::{Draft, set};
use super::init::{delegations, role_value};
use super::publish::{Seq, put_database};
use super::roles::{ROLES, Role, keys_of};
use super::{Change, Failure, Keys, Output, Session, keys};

/// Arguments of `repo rotate-root`.
#[derive(Debug, Args)]
pub(in crate::tool) struct Root {
    #[command(flatten)]
    change: Change,
    /// All public keys that root has from now on.
    #[arg(long, value_name = "PUB", num_args = 1..)]
    root: Vec<PathBuf>,
    /// How many of root's keys must sign; without it, as many as before.
    #[arg(long, value_name = "N")]
    root_threshold: Option<u64>,
    /// All public keys that snapshot has from now on.
    #[arg(long, value_name = "PUB", num_args = 1..)]
    snapshot: Vec<PathBuf>,
    /// All public keys that timestamp has from now on.
    #[arg(long, value_name = "PUB", num_args = 1..)]
    timestamp: Vec<PathBuf>,
}

/// Arguments of `repo rotate-targets`.
#[derive(Debug, Args)]
pub(in crate::tool) struct Targets {
    #[command(flatten)]
    change: Change,
    /// All public keys that targets has from now on; root's keys sign this.
    #[arg(long, value_name = "PUB", num_args = 1..)]
    targets: Vec<PathBuf>,
    /// All public keys that revoker has from now on; a targets key signs this.
    #[arg(long, value_name = "PUB", num_args = 1..)]
    revoker: Vec<PathBuf>,
    /// Publish this database under the new targets keys; its seq may be lower than one that
    /// somebody else published under the old ones.
    #[arg(long, value_name = "FILE", requires = "targets")]
    database: Option<PathBuf>,
}

pub(super) fn root(args: &Root) -> Result<Output, Failure> {
    let session = args.change.open()?;
    let mut root = session.old.root.clone();
    let threshold = args
        .root_threshold
        .unwrap_or_else(|| session.old.keys(Role::Root).1);
    let mut new = Vec::new();
    for (role, paths, threshold) in [
        (Role::Root, &args.root, threshold),
        (Role::Snapshot, &args.snapshot, 1),
        (Role::Timestamp, &args.timestamp, 1),
    ] {
        if !paths.is_empty() {
            let keys = keys(paths)?;
            put_role(&mut root, role, &keys, threshold);
            new.extend(keys);
        } else if role == Role::Root
            && let Some(entry) = root.pointer_mut("/roles/root")
        {
            set(entry, "threshold", json!(threshold));
        }
    }
    put_keys(&mut root, &new);
    let plan = plan(&session, &root, &session.old.targets);
    let draft = Draft {
        root: Some(root),
        ..Draft::default()
    };
    session.finish("repo-rotate-root", draft, &plan, json!({}))
}

pub(super) fn targets(args: &Targets) -> Result<Output, Failure> {
    let session = args.change.open()?;
    let mut targets = session.old.targets.clone();
    let mut draft = Draft::default();
    if !args.targets.is_empty() {
        let new = keys(&args.targets)?;
        let mut root = session.old.root.clone();
        put_role(&mut root, Role::Targets, &new, 1);
        put_keys(&mut root, &new);
        draft.root = Some(root);
    }
    if !args.revoker.is_empty() {
        set(
            &mut targets,
            "delegations",
            delegations(&keys(&args.revoker)?),
        );
    }
    let root = draft.root.as_ref().unwrap_or(&session.old.root);
    let mut plan = plan(&session, root, &targets);
    let mut more = json!({});
    if let Some(path) = &args.database {
        let same = {
            let ids = |root: &Value| {
                let mut ids = keys_of(Role::Targets, root, &targets).0;
                ids.sort();
                ids
            };
            ids(root) == ids(&session.old.root)
        };
        let seq = if same { Seq::Rises } else { Seq::MayFall };
        let changes = put_database(&session, path, seq, &mut targets, &mut draft)?;
        let _ = write!(plan, "\n{changes}");
        set(&mut more, "changes", serde_json::to_value(&changes)?);
    }
    draft.targets = Some(targets);
    session.finish("repo-rotate-targets", draft, &plan, more)
}

fn put_role(root: &mut Value, role: Role, keys: &Keys, threshold: u64) {
    if let Some(roles) = root.get_mut("roles") {
        set(roles, role.name(), role_value(keys, threshold));
    }
}

/// Root's keys: those that a role names, from the old ones and the new ones.
fn put_keys(root: &mut Value, new: &Keys) {
    let old = root.get("keys").cloned().unwrap_or_default();
    let mut used = Map::new();
    for role in ROLES.into_iter().filter(|r| *r != Role::Revoker) {
        for id in keys_of(role, root, &Value::Null).0 {
            let known = new.iter().find(|k| k.id == id).map(|k| k.value.clone());
            if let Some(key) = known.or_else(|| old.get(&id).cloned()) {
                used.insert(id, key);
            }
        }
    }
    set(root, "keys", Value::Object(used));
}

/// Which keys come and go.
fn plan(session: &Session, root: &Value, targets: &Value) -> String {
    let mut plan = String::new();
    for role in ROLES {
        let (was, before) = session.old.keys(role);
        let (is, now) = keys_of(role, root, targets);
        for id in was.iter().filter(|id| !is.contains(id)) {
            let _ = writeln!(plan, "{} loses key {id:.16}", role.name());
        }
        for id in is.iter().filter(|id| !was.contains(id)) {
            let _ = writeln!(plan, "{} gets key {id:.16}", role.name());
        }
        if (before, was.len()) != (now, is.len()) {
            let (name, keys) = (role.name(), is.len());
            let _ = writeln!(plan, "{name}: {now} of {keys} keys sign from now on");
        }
    }
    if plan.is_empty() {
        plan.push_str(
            "The keys stay as they are; what they sign is valid for its whole time again.\n",
        );
    }
    plan
}
