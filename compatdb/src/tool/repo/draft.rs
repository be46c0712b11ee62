//! From what changes to what is written.
//!
//! **Contract.** A repository goes from one whole state to the next: before the first byte is
//! written, the metadata is verified as a client would, after each of the writes to come. Where
//! no order is whole at each of them (a rotation of keys that share none), the order with
//! the shortest gap is taken and the gap is told: a client that asks in it fails, and keeps
//! what it has.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::files::Files;
use super::roles::{self, MAX_TARGET, Role, keys_of};
use super::state::{State, verify};
use super::{Failure, number};
use crate::tool::signers::{Demand, Signers};

/// What changes.
#[derive(Default)]
pub(super) struct Draft {
    /// The new signed parts, without version and expiry; none stays as it is.
    pub(super) root: Option<Value>,
    pub(super) targets: Option<Value>,
    pub(super) revoker: Option<Value>,
    /// Sign the snapshot anew although it names the same.
    pub(super) renew_snapshot: bool,
    /// Files of targets, by their names in the folder.
    pub(super) files: Vec<(String, Vec<u8>)>,
    /// What was signed elsewhere, with version and expiry.
    pub(super) presigned: Vec<Presigned>,
}

/// A signed part that was signed elsewhere.
pub(super) struct Presigned {
    pub(super) role: Role,
    pub(super) signed: Value,
    pub(super) signatures: Vec<Given>,
}

pub(super) use crate::tool::signers::Given;

/// What was written.
pub(super) struct Done {
    /// In this order.
    pub(super) wrote: Vec<String>,
    /// The repository as it is now.
    pub(super) state: State,
    /// Whether a client may have met keys that do not fit for a moment.
    pub(super) gap: bool,
}

/// One signed file, and what names it.
struct Made {
    name: String,
    bytes: Vec<u8>,
    signed: Value,
}

impl Draft {
    /// Whether this draft signs a role.
    pub(super) fn signs(&self, role: Role, old: &State) -> bool {
        match role {
            Role::Root => self.root.is_some(),
            Role::Timestamp => true,
            Role::Targets => self.targets.is_some() || self.moved(role, old),
            Role::Revoker => self.revoker.is_some() || self.moved(role, old),
            Role::Snapshot => {
                self.renew_snapshot
                    || self.moved(role, old)
                    || self.signs(Role::Targets, old)
                    || self.signs(Role::Revoker, old)
            }
        }
    }

    fn moved(&self, role: Role, old: &State) -> bool {
        self.new_keys(role, old) != old.keys(role)
    }

    fn new_keys(&self, role: Role, old: &State) -> Demand {
        let root = self.root.as_ref().unwrap_or(&old.root);
        let targets = self.targets.as_ref().unwrap_or(&old.targets);
        keys_of(role, root, targets)
    }

    /// What signs a role: its new keys, and for a root the old ones as well.
    fn demands(&self, role: Role, old: &State) -> Vec<Demand> {
        let mut demands = vec![self.new_keys(role, old)];
        if role == Role::Root && self.moved(role, old) {
            demands.push(old.keys(role));
        }
        demands
    }

    /// Whether the keys at hand can sign it all; before anybody is asked for a passphrase.
    pub(super) fn ready(&self, old: &State, signers: &Signers) -> Result<(), Failure> {
        let root = self.root.as_ref().unwrap_or(&old.root);
        let targets = self.targets.as_ref().unwrap_or(&old.targets);
        if let Some(problem) = roles::problems(root, targets).first() {
            return Err(Failure(problem.clone()));
        }
        for role in roles::ROLES {
            if self.signs(role, old) {
                let given = self.given(role, old)?;
                signers.enough(role.name(), &self.demands(role, old), &given)?;
            }
        }
        Ok(())
    }

    /// The signatures from elsewhere that hold; what does not is left out.
    fn given(&self, role: Role, old: &State) -> Result<Vec<Given>, Failure> {
        let Some(part) = self.presigned.iter().find(|part| part.role == role) else {
            return Ok(Vec::new());
        };
        let root = self.root.as_ref().unwrap_or(&old.root);
        let targets = self.targets.as_ref().unwrap_or(&old.targets);
        let mut known = Vec::new();
        for keys in [
            old.root.get("keys"),
            root.get("keys"),
            old.targets.pointer("/delegations/keys"),
            targets.pointer("/delegations/keys"),
        ] {
            known.extend(keys);
        }
        let mut given = part.signatures.clone();
        let bytes = sigstore_tuf::canonical_json::to_canonical_bytes(&part.signed)?;
        given.retain(|given| {
            let mut keys = known.iter().filter_map(|keys| keys.get(&given.keyid));
            keys.any(|key| given.holds(key, &bytes))
        });
        Ok(given)
    }

    /// Writes what the offline roles have to sign, with the signatures of the keys at hand.
    pub(super) fn prepare(
        self,
        old: &State,
        files: &Files,
        signers: &Signers,
        now: Timestamp,
        dir: &std::path::Path,
    ) -> Result<crate::tool::Output, Failure> {
        let root = self.root.as_ref().unwrap_or(&old.root);
        let targets = self.targets.as_ref().unwrap_or(&old.targets);
        if let Some(problem) = roles::problems(root, targets).first() {
            return Err(Failure(problem.clone()));
        }
        let mut parts = Vec::new();
        let mut keys = json!({});
        for (role, new) in [
            (Role::Root, &self.root),
            (Role::Targets, &self.targets),
            (Role::Revoker, &self.revoker),
        ] {
            if !self.signs(role, old) {
                continue;
            }
            let signed = new.as_ref().unwrap_or_else(|| old.get(role));
            let version = next_version(role, old, files)?;
            let signed = dated(signed, role, version, now)?;
            let (also, _) = old.keys(role);
            let demands = self.demands(role, old).into_iter();
            let mut allowed: Vec<String> = demands.flat_map(|(ids, _)| ids).chain(also).collect();
            allowed.sort();
            allowed.dedup();
            let mut signatures = Vec::new();
            signers.add(role.name(), &signed, &allowed, &mut signatures)?;
            let bytes = crate::tool::signers::file(&signed, &signatures)?;
            set(&mut keys, role.name(), json!(allowed));
            parts.push((role, role.file(version), bytes));
        }
        let mut files = self.files;
        for (name, bytes) in &files {
            if bytes.len() as u64 > MAX_TARGET {
                return Err(too_long(name));
            }
        }
        files.push((
            super::partial::KEYS.to_owned(),
            serde_json::to_vec_pretty(&keys)?,
        ));
        super::partial::prepare(dir, parts, &files)
    }

    /// Signs, checks and writes.
    pub(super) fn finish(
        self,
        old: &State,
        mut files: Files,
        trust_root: &[u8],
        signers: &Signers,
        now: Timestamp,
    ) -> Result<Done, Failure> {
        self.ready(old, signers)?;
        let make = |role: Role, signed: &Value| -> Result<Made, Failure> {
            let version = next_version(role, old, &files)?;
            let elsewhere = self.presigned.iter().find(|part| part.role == role);
            let signed = match elsewhere {
                Some(part) if number(&part.signed, "version") != version => {
                    return Err(Failure(format!(
                        "{} {} was prepared, and {version} comes next: the repository has changed since; prepare it again",
                        role.name(),
                        number(&part.signed, "version")
                    )));
                }
                Some(part) => part.signed.clone(),
                None => dated(signed, role, version, now)?,
            };
            let given = self.given(role, old)?;
            // Both generations of keys, where they are at hand: no gap between two writes.
            let (also, _) = old.keys(role);
            let bytes =
                signers.sign(role.name(), &signed, &self.demands(role, old), &also, given)?;
            Ok(Made {
                name: role.file(version),
                bytes,
                signed,
            })
        };
        let one = |role: Role, new: Option<&Value>| -> Result<Option<Made>, Failure> {
            match self.signs(role, old) {
                true => make(role, new.unwrap_or_else(|| old.get(role))).map(Some),
                false => Ok(None),
            }
        };
        let root = one(Role::Root, self.root.as_ref())?;
        let revoker = one(Role::Revoker, self.revoker.as_ref())?;
        let targets = one(Role::Targets, self.targets.as_ref())?;
        let mut names = old.snapshot.clone();
        for (role, made) in [(Role::Revoker, &revoker), (Role::Targets, &targets)] {
            if let Some(made) = made {
                name(&mut names, role, made);
            }
        }
        let snapshot = one(Role::Snapshot, Some(&names))?;
        let mut names = old.timestamp.clone();
        if let Some(made) = &snapshot {
            name(&mut names, Role::Snapshot, made);
        }
        set(&mut names, "x-signed-at", json!(now.to_string()));
        let timestamp = make(Role::Timestamp, &names)?;

        let file = |made: Made| (made.name, made.bytes);
        let numbered = [revoker, targets, snapshot].into_iter().flatten();
        let numbered: Vec<_> = numbered.map(file).collect();
        let root: Vec<_> = root.into_iter().map(file).collect();
        let timestamp = vec![file(timestamp)];
        let orders = [
            [
                self.files.clone(),
                numbered.clone(),
                timestamp.clone(),
                root.clone(),
            ]
            .concat(),
            [self.files.clone(), numbered, root, timestamp].concat(),
        ];
        let mut gap = true;
        for order in orders {
            let writes = order.len();
            files.stage(order);
            let whole = (0..writes).all(|n| {
                files.after(n);
                // What had expired before is no gap of this change.
                verify(&files, trust_root, None).is_ok()
            });
            files.after(writes);
            if whole {
                gap = false;
                break;
            }
        }
        let state = verify(&files, trust_root, None)?;
        for (name, bytes) in &self.files {
            if bytes.len() as u64 > MAX_TARGET {
                return Err(too_long(name));
            }
        }
        Ok(Done {
            wrote: files.write()?,
            state,
            gap,
        })
    }
}

fn too_long(name: &str) -> Failure {
    Failure(format!(
        "{name} is longer than the {MAX_TARGET} bytes that a client reads"
    ))
}

/// A number that no file has: what an interrupted run left behind stays as it is.
fn next_version(role: Role, old: &State, files: &Files) -> Result<u64, Failure> {
    let full = || Failure(format!("{}: its version cannot be raised", role.name()));
    let mut version = number(old.get(role), "version");
    loop {
        version = version.checked_add(1).ok_or_else(full)?;
        if role == Role::Timestamp || files.get(&role.file(version), u64::MAX - 1)?.is_none() {
            return Ok(version);
        }
    }
}

/// A signed part with its version and its expiry.
pub(super) fn dated(
    signed: &Value,
    role: Role,
    version: u64,
    now: Timestamp,
) -> Result<Value, Failure> {
    let mut signed = signed.clone();
    let expires = now.checked_add(SignedDuration::from_hours(24 * role.days()))?;
    set(&mut signed, "version", json!(version));
    set(&mut signed, "expires", json!(expires.to_string()));
    Ok(signed)
}

pub(super) fn set(value: &mut Value, key: &str, to: Value) {
    if let Some(map) = value.as_object_mut() {
        map.insert(key.to_owned(), to);
    }
}

/// Version, length and hash of a file, into what names it.
fn name(by: &mut Value, role: Role, made: &Made) {
    if let Some(meta) = by.get_mut("meta") {
        set(
            meta,
            &format!("{}.json", role.name()),
            meta_of(&made.signed, &made.bytes),
        );
    }
}

pub(super) fn meta_of(signed: &Value, bytes: &[u8]) -> Value {
    json!({
        "version": number(signed, "version"),
        "length": bytes.len(),
        "hashes": { "sha256": compatdb::sha256_hex(bytes) },
    })
}
