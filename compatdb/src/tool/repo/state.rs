//! Reads a repository as a client does.
//!
//! **Contract.** Nothing is carried over into something newly signed that was not signed
//! itself: every file is verified from the trust root on. Only expiry is a question of its
//! own: an expired repository can be renewed, so the time is an argument.

use jiff::Timestamp;
use serde_json::Value;
use sigstore_tuf::TrustedMetadataSet;

use super::files::Files;
use super::roles::{MAX_TARGET, Role, keys_of};
use super::{Failure, number, text};

/// The signed part of each role, verified.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) root: Value,
    pub(super) timestamp: Value,
    pub(super) snapshot: Value,
    pub(super) targets: Value,
    pub(super) revoker: Value,
}

impl State {
    pub(super) fn get(&self, role: Role) -> &Value {
        match role {
            Role::Root => &self.root,
            Role::Timestamp => &self.timestamp,
            Role::Snapshot => &self.snapshot,
            Role::Targets => &self.targets,
            Role::Revoker => &self.revoker,
        }
    }

    /// Ids of the keys of a role, and how many must sign.
    pub(super) fn keys(&self, role: Role) -> (Vec<String>, u64) {
        keys_of(role, &self.root, &self.targets)
    }
}

/// Verifies all metadata from `trust_root` on, as of `now`; without a time nothing has expired.
pub(super) fn verify(
    files: &Files,
    trust_root: &[u8],
    now: Option<Timestamp>,
) -> Result<State, Failure> {
    // The verifier's time is of another release of the same crate: text is what both read.
    let now = now.unwrap_or(Timestamp::UNIX_EPOCH).to_string();
    macro_rules! now {
        () => {
            now.parse()
                .map_err(|e| Failure(format!("the time {now} cannot be used: {e}")))?
        };
    }
    let at = |name: &str| {
        let name = name.to_owned();
        move |e: sigstore_tuf::Error| Failure(format!("{name} cannot be trusted: {e}"))
    };
    let mut set = TrustedMetadataSet::from_root(trust_root).map_err(at("the trust root"))?;
    loop {
        let name = Role::Root.file(set.root().version.saturating_add(1));
        let Some(bytes) = files.get(&name, Role::Root.max_len())? else {
            break;
        };
        set.update_root(&bytes).map_err(at(&name))?;
    }
    let root = signed(set.root_bytes(), "root")?;
    set.check_root_expired(now!()).map_err(at("root"))?;

    let name = Role::Timestamp.file(0);
    let bytes = files.need(&name, Role::Timestamp.max_len())?;
    set.update_timestamp(&bytes, now!()).map_err(at(&name))?;
    let timestamp = signed(&bytes, &name)?;

    let name = pinned(Role::Snapshot, &timestamp)?;
    let bytes = files.need(&name, Role::Snapshot.max_len())?;
    set.update_snapshot(&bytes, now!()).map_err(at(&name))?;
    let snapshot = signed(&bytes, &name)?;

    let name = pinned(Role::Targets, &snapshot)?;
    let bytes = files.need(&name, Role::Targets.max_len())?;
    set.update_targets(&bytes, now!()).map_err(at(&name))?;
    let targets = signed(&bytes, &name)?;

    let name = pinned(Role::Revoker, &snapshot)?;
    let bytes = files.need(&name, Role::Revoker.max_len())?;
    let (role, by) = (Role::Revoker.name(), Role::Targets.name());
    set.update_delegated_targets(&bytes, role, by, now!())
        .map_err(at(&name))?;
    let revoker = signed(&bytes, &name)?;
    Ok(State {
        root,
        timestamp,
        snapshot,
        targets,
        revoker,
    })
}

fn signed(bytes: &[u8], name: &str) -> Result<Value, Failure> {
    let mut value: Value = serde_json::from_slice(bytes)?;
    match value.get_mut("signed") {
        Some(signed) => Ok(signed.take()),
        None => Err(Failure(format!("{name} has no signed part"))),
    }
}

/// The file of a role in the version that `by` names.
fn pinned(role: Role, by: &Value) -> Result<String, Failure> {
    let meta = by
        .get("meta")
        .and_then(|m| m.get(format!("{}.json", role.name())));
    let Some(meta) = meta else {
        let by = text(by, "_type");
        return Err(Failure(format!("{by} does not name {}.json", role.name())));
    };
    Ok(role.file(number(meta, "version")))
}

/// The file of a target, and its entry; none if there is no such target.
pub(super) fn target_file(targets: &Value, name: &str) -> Option<(String, Value)> {
    let entry = targets.get("targets")?.get(name)?;
    let sha256 = text(entry.get("hashes")?, "sha256");
    Some((format!("targets/{sha256}.{name}"), entry.clone()))
}

/// The bytes of a target, verified; none if there is no such target.
pub(super) fn target(
    files: &Files,
    targets: &Value,
    name: &str,
) -> Result<Option<Vec<u8>>, Failure> {
    let Some((file, entry)) = target_file(targets, name) else {
        return Ok(None);
    };
    let bytes = files.need(&file, MAX_TARGET)?;
    let expected = entry
        .get("hashes")
        .map(|h| text(h, "sha256"))
        .unwrap_or_default();
    let found = compatdb::sha256_hex(&bytes);
    if found != expected || bytes.len() as u64 != number(&entry, "length") {
        return Err(Failure(format!(
            "{file} is not what was signed: {} bytes with SHA-256 {found}",
            bytes.len()
        )));
    }
    Ok(Some(bytes))
}
