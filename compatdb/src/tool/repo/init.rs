//! Makes a repository, or none: everything is written beside its place and moved there whole.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::draft::{dated, meta_of, set};
use super::files::Files;
use super::roles::{self, REVOCATIONS, Role, keys_of};
use super::state::{State, verify};
use super::{Failure, Keys};
use crate::tool::keyfile::PublicKey;
use crate::tool::signers::Signers;

const SPEC: &str = "1.0.31";

/// The keys of each role of a new repository.
pub(super) struct NewKeys {
    pub(super) root: Keys,
    pub(super) root_threshold: u64,
    pub(super) targets: Keys,
    pub(super) revoker: Keys,
    pub(super) snapshot: Keys,
    pub(super) timestamp: Keys,
}

/// A role's keys as root and delegations hold them.
pub(super) fn role_value(keys: &[PublicKey], threshold: u64) -> Value {
    let ids: Vec<&String> = keys.iter().map(|k| &k.id).collect();
    json!({ "keyids": ids, "threshold": threshold })
}

/// The delegation of the deny list.
pub(super) fn delegations(revoker: &[PublicKey]) -> Value {
    let mut role = role_value(revoker, 1);
    set(&mut role, "name", json!(Role::Revoker.name()));
    set(&mut role, "terminating", json!(true));
    set(&mut role, "paths", json!([REVOCATIONS]));
    json!({ "keys": key_map(revoker.iter()), "roles": [role] })
}

pub(super) fn key_map<'a>(keys: impl Iterator<Item = &'a PublicKey>) -> Value {
    Value::Object(keys.map(|k| (k.id.clone(), k.value.clone())).collect())
}

/// The entry of a target.
pub(super) fn target_entry(bytes: &[u8], custom: &Value) -> Value {
    json!({
        "length": bytes.len(),
        "hashes": { "sha256": compatdb::sha256_hex(bytes) },
        "custom": custom,
    })
}

/// Signs the first version of everything, and writes it.
pub(super) fn init(
    dir: &Path,
    keys: &NewKeys,
    signers: &Signers,
    now: Timestamp,
) -> Result<(Vec<String>, State), Failure> {
    let base = |kind: &str| json!({ "_type": kind, "spec_version": SPEC });
    let mut root = base("root");
    set(&mut root, "consistent_snapshot", json!(true));
    let groups = [&keys.root, &keys.targets, &keys.snapshot, &keys.timestamp];
    set(&mut root, "keys", key_map(groups.into_iter().flatten()));
    let role = |keys: &Keys| role_value(keys, 1);
    set(
        &mut root,
        "roles",
        json!({
            "root": role_value(&keys.root, keys.root_threshold),
            "targets": role(&keys.targets),
            "snapshot": role(&keys.snapshot),
            "timestamp": role(&keys.timestamp),
        }),
    );
    let mut targets = base("targets");
    set(&mut targets, "targets", Value::Object(Map::new()));
    set(&mut targets, "delegations", delegations(&keys.revoker));
    if let Some(problem) = roles::problems(&root, &targets).first() {
        return Err(Failure(problem.clone()));
    }
    for role in roles::ROLES {
        signers.enough(role.name(), &[keys_of(role, &root, &targets)], &[])?;
    }

    let list = compatdb::DenyList {
        seq: 1,
        ..compatdb::DenyList::default()
    };
    let list = deny_list_bytes(&list)?;
    let custom = json!({ "seq": 1, "published_at": now.to_string() });
    let mut revoker = base("targets");
    let entry = target_entry(&list, &custom);
    set(&mut revoker, "targets", json!({ REVOCATIONS: entry }));

    let mut written = vec![(
        format!("targets/{}.{REVOCATIONS}", compatdb::sha256_hex(&list)),
        list,
    )];
    let mut make = |role: Role, signed: &Value| -> Result<Value, Failure> {
        let signed = dated(signed, role, 1, now)?;
        let demands = [keys_of(role, &root, &targets)];
        let bytes = signers.sign(role.name(), &signed, &demands, &[], Vec::new())?;
        let meta = meta_of(&signed, &bytes);
        written.push((role.file(1), bytes));
        Ok(meta)
    };
    make(Role::Root, &root)?;
    let revoker = make(Role::Revoker, &revoker)?;
    let made = make(Role::Targets, &targets)?;
    let mut snapshot = base("snapshot");
    let meta = json!({ "revoker.json": revoker, "targets.json": made });
    set(&mut snapshot, "meta", meta);
    let snapshot = make(Role::Snapshot, &snapshot)?;
    let mut timestamp = base("timestamp");
    set(&mut timestamp, "meta", json!({ "snapshot.json": snapshot }));
    set(&mut timestamp, "x-signed-at", json!(now.to_string()));
    make(Role::Timestamp, &timestamp)?;
    place(dir, written, now)
}

/// Writes into a new folder beside `dir`, checks, and moves it there.
fn place(
    dir: &Path,
    written: Vec<(String, Vec<u8>)>,
    now: Timestamp,
) -> Result<(Vec<String>, State), Failure> {
    let parent = match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let cannot = |what: &str, e: std::io::Error| {
        let dir = dir.display();
        Failure(format!(
            "cannot {what} {dir}: {e}; name a folder that is not there yet"
        ))
    };
    let temporary = tempfile::Builder::new()
        .prefix(".compatdb-")
        .permissions(std::fs::Permissions::from_mode(0o755))
        .tempdir_in(parent)
        .map_err(|e| cannot("make a folder beside", e))?;
    let mut files = Files::read_only(temporary.path());
    files.stage(written);
    let root = files.need(&Role::Root.file(1), Role::Root.max_len())?;
    let state = verify(&files, &root, Some(now))?;
    let wrote = files.write()?;
    std::fs::rename(temporary.path(), dir).map_err(|e| cannot("make", e))?;
    // It has moved: there is nothing left to remove.
    let _ = temporary.keep();
    std::fs::File::open(parent)
        .and_then(|parent| parent.sync_all())
        .map_err(|e| cannot("write the folder of", e))?;
    Ok((wrote, state))
}

/// A deny list as it is published.
pub(super) fn deny_list_bytes(list: &compatdb::DenyList) -> Result<Vec<u8>, Failure> {
    let mut text = serde_json::to_string_pretty(list)?;
    text.push('\n');
    if text.len() as u64 > roles::MAX_REVOCATIONS {
        return Err(Failure(format!(
            "the deny list would have {} bytes, more than the {} that a client reads; deny by ranges in a new database instead",
            text.len(),
            roles::MAX_REVOCATIONS
        )));
    }
    Ok(text.into_bytes())
}
