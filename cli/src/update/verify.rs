//! Verifies a whole set of metadata, from the trust root to the hash of the database.
//!
//! **Contract.** No file, no network, no clock: bytes in, what they vouch for out. The same
//! function looks at what was just fetched and, at every start, at what is kept. Freshness is
//! reported, not demanded: what has expired is stale, and stays verified.

use compatdb::{DenyList, sha256_hex};
use jiff::Timestamp;
use semver::Version;
use serde::Deserialize;
use sigstore_tuf::{DelegatedRole, Root, TargetFile, Targets, TrustedMetadataSet};

use super::limits;
use super::problem::Problem;
use super::release::{self, Release};

/// The role that signs the deny list, and nothing else.
pub(crate) const REVOKER: &str = "revoker";
/// The deny list's name.
pub(crate) const REVOCATIONS: &str = "revocations.json";

/// The files, byte for byte as they were served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Metadata {
    /// The roots after the trust root, in order.
    pub(crate) roots: Vec<Vec<u8>>,
    /// `timestamp.json`
    pub(crate) timestamp: Vec<u8>,
    /// The snapshot.
    pub(crate) snapshot: Vec<u8>,
    /// The top-level targets.
    pub(crate) targets: Vec<u8>,
    /// The revoker's metadata and the deny list, where the repository has them.
    pub(crate) revoker: Option<Denied>,
}

/// The revoker's metadata, and the deny list.
pub(crate) type Denied = (Vec<u8>, Vec<u8>);

/// What a set of metadata vouches for.
#[derive(Clone, Debug)]
pub(crate) struct Verified {
    /// The number of the newest root.
    pub(crate) root_version: u64,
    /// Number of the timestamp.
    pub(crate) timestamp_version: u64,
    /// Number of the snapshot.
    pub(crate) snapshot_version: u64,
    /// Which keys sign what.
    pub(crate) keys: Keys,
    /// Until when the signatures vouch that nothing newer was held back.
    pub(crate) fresh_until: Timestamp,
    /// When the timestamp was signed, if it says so.
    pub(crate) signed_at: Option<Timestamp>,
    /// The databases that are listed, the highest `seq` first.
    pub(crate) databases: Vec<Listed>,
    /// The program's releases for this system, the newest first.
    pub(crate) releases: Vec<Release>,
    /// The deny list.
    pub(crate) deny_list: Option<DenyList>,
    /// Until when the deny list's own signature is fresh.
    pub(crate) deny_fresh_until: Option<Timestamp>,
}

/// The keys of roles, each set as one name: it changes when the set does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys {
    /// Of targets.
    pub(crate) targets: String,
    /// Of timestamp.
    pub(crate) timestamp: String,
    /// Of the revoker; none where there is no such role.
    pub(crate) revoker: Option<String>,
}

/// A database as targets lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// The target's name.
    pub(crate) name: String,
    /// SHA-256 of its bytes, 64 lower-case hexadecimal digits.
    pub(crate) sha256: String,
    /// How many bytes it has.
    pub(crate) length: u64,
    /// What is signed about it.
    pub(crate) custom: Custom,
}

/// What is signed about a database beside its hash.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Custom {
    /// Counts up with every database.
    pub(crate) seq: u64,
    /// The schema.
    pub(crate) schema: u32,
    /// The oldest command that may use it.
    pub(crate) min_cli: Version,
    /// When it was published.
    pub(crate) published_at: Timestamp,
}

/// Verifies everything.
///
/// # Errors
/// The first link that does not hold.
pub(crate) fn verify(trust_root: &[u8], metadata: &Metadata) -> Result<Verified, Problem> {
    let mut set = TrustedMetadataSet::from_root(trust_root)?;
    for root in &metadata.roots {
        set.update_root(root)?;
    }
    // Before anything can have expired: see the contract. The library has a type of its own for
    // the time, which is made from text here.
    let early = EARLY
        .parse()
        .map_err(|_| Problem::Malformed(format!("{EARLY} is not a time")))?;
    set.update_timestamp(&metadata.timestamp, early)?;
    set.update_snapshot(&metadata.snapshot, early)?;
    set.update_targets(&metadata.targets, early)?;
    let targets = top(&set)?;
    let delegated = delegation(targets)?.cloned();
    let databases = databases(targets)?;
    let releases = release::listed(targets);
    let mut keys = keys(&set)?;
    let (mut deny_list, mut deny_fresh_until) = (None, None);
    match (&delegated, &metadata.revoker) {
        (Some(role), Some((revoker, list))) => {
            keys.revoker = Some(generation_of_delegation(targets, role)?);
            let revoker = set.update_delegated_targets(revoker, REVOKER, "targets", early)?;
            deny_fresh_until = Some(time(revoker.expires)?);
            deny_list = Some(deny(revoker, list)?);
        }
        (None, None) => {}
        (Some(role), None) => {
            // A repository that has the role and has not yet used it.
            let pinned = set
                .snapshot()
                .is_some_and(|s| s.meta.contains_key("revoker.json"));
            if pinned {
                return Err(Problem::Missing("revoker.json".to_owned()));
            }
            keys.revoker = Some(generation_of_delegation(targets, role)?);
        }
        (None, Some(_)) => {
            return Err(Problem::Malformed(format!(
                "there is a deny list, and targets delegates nothing to {REVOKER}"
            )));
        }
    }
    let missing = || Problem::Malformed("a role is missing".to_owned());
    let timestamp = set.timestamp().ok_or_else(missing)?;
    let snapshot = set.snapshot().ok_or_else(missing)?;
    let targets = top(&set)?;
    let expires = [
        time(set.root().expires)?,
        time(timestamp.expires)?,
        time(snapshot.expires)?,
        time(targets.expires)?,
    ];
    let signed_at = match timestamp.extra.get("x-signed-at") {
        Some(value) => Some(time(value.as_str().unwrap_or_default())?),
        None => None,
    };
    let timestamp_expires = time(timestamp.expires)?;
    Ok(Verified {
        root_version: set.root().version,
        timestamp_version: timestamp.version,
        snapshot_version: snapshot.version,
        keys,
        fresh_until: expires.into_iter().fold(timestamp_expires, Timestamp::min),
        // Signed after its own end: nobody's clock is to follow that.
        signed_at: signed_at.filter(|at| *at <= timestamp_expires),
        databases,
        releases,
        deny_list,
        deny_fresh_until,
    })
}

/// Earlier than any signature ends.
pub(crate) const EARLY: &str = "1970-01-01T00:00:00Z";

/// The keys of the root that `set` has come to.
pub(crate) fn keys(set: &TrustedMetadataSet) -> Result<Keys, Problem> {
    Ok(Keys {
        targets: generation(set.root(), "targets")?,
        timestamp: generation(set.root(), "timestamp")?,
        revoker: None,
    })
}

/// The keys of a root's bytes.
pub(crate) fn keys_of_root(root: &[u8]) -> Result<(u64, Keys), Problem> {
    let set = TrustedMetadataSet::from_root(root)?;
    Ok((set.root().version, keys(&set)?))
}

fn generation(root: &Root, role: &str) -> Result<String, Problem> {
    let found = root
        .role(role)
        .ok_or_else(|| Problem::Malformed(format!("the root has no role {role}")))?;
    let keys = found.keyids.iter().map(|id| {
        let public = root
            .keys
            .get(id)
            .map_or("", |key| key.keyval.public.as_str());
        format!("{id} {public}")
    });
    Ok(name_of(keys))
}

fn generation_of_delegation(targets: &Targets, role: &DelegatedRole) -> Result<String, Problem> {
    let Some(delegations) = &targets.delegations else {
        return Err(Problem::Malformed("targets delegates nothing".to_owned()));
    };
    let keys = role.keyids.iter().map(|id| {
        let key = delegations.keys.get(id);
        format!("{id} {}", key.map_or("", |key| key.keyval.public.as_str()))
    });
    Ok(name_of(keys))
}

fn name_of(keys: impl Iterator<Item = String>) -> String {
    let mut keys: Vec<String> = keys.collect();
    keys.sort();
    keys.dedup();
    sha256_hex(keys.join("\n").as_bytes())
        .chars()
        .take(16)
        .collect()
}

fn top(set: &TrustedMetadataSet) -> Result<&Targets, Problem> {
    set.targets_role("targets")
        .ok_or_else(|| Problem::Malformed("there is no targets role".to_owned()))
}

/// The delegation to the revoker: to that name, and for that one path.
pub(crate) fn delegation(targets: &Targets) -> Result<Option<&DelegatedRole>, Problem> {
    let Some(delegations) = &targets.delegations else {
        return Ok(None);
    };
    let Some(role) = delegations.roles.iter().find(|role| role.name == REVOKER) else {
        return Ok(None);
    };
    if !role.matches_path(REVOCATIONS)? {
        return Err(Problem::Malformed(format!(
            "targets delegates other paths than {REVOCATIONS} to {REVOKER}"
        )));
    }
    Ok(Some(role))
}

/// The databases that targets itself lists: no delegated role may list one.
fn databases(targets: &Targets) -> Result<Vec<Listed>, Problem> {
    let mut databases = Vec::new();
    for (name, file) in &targets.targets {
        let Some(numbered) = database_name(name) else {
            continue;
        };
        let listed = listed(name, file)?;
        if numbered.is_some_and(|seq| seq != listed.custom.seq) {
            return Err(Problem::Malformed(format!(
                "{name} is listed with seq {}",
                listed.custom.seq
            )));
        }
        databases.push(listed);
    }
    databases.sort_by_key(|listed| std::cmp::Reverse(listed.custom.seq));
    Ok(databases)
}

/// Whether a target is a database, and the `seq` in its name, where it has one:
/// `compatdb.sqlite` or `compat-7.sqlite`.
fn database_name(name: &str) -> Option<Option<u64>> {
    if name == "compatdb.sqlite" {
        return Some(None);
    }
    let number = name.strip_prefix("compat-")?.strip_suffix(".sqlite")?;
    number.parse().ok().map(Some)
}

fn listed(name: &str, file: &TargetFile) -> Result<Listed, Problem> {
    let custom = file.custom.clone().unwrap_or_default();
    let custom = serde_json::from_value(custom)
        .map_err(|e| Problem::Malformed(format!("what is signed about {name}: {e}")))?;
    Ok(Listed {
        name: name.to_owned(),
        sha256: sha256_of(name, file)?,
        length: file.length,
        custom,
    })
}

fn sha256_of(name: &str, file: &TargetFile) -> Result<String, Problem> {
    let hash = file.hashes.get("sha256").map(|h| h.to_ascii_lowercase());
    // It becomes the name of a file.
    hash.filter(|h| h.len() == 64 && h.bytes().all(|b| b.is_ascii_hexdigit()))
        .ok_or_else(|| Problem::Malformed(format!("{name} is listed without a SHA-256")))
}

fn deny(revoker: &Targets, list: &[u8]) -> Result<DenyList, Problem> {
    let Some(file) = revoker.target(REVOCATIONS) else {
        return Err(Problem::Missing(REVOCATIONS.to_owned()));
    };
    let expected = sha256_of(REVOCATIONS, file)?;
    if file.length > limits::DENY_LIST {
        return Err(Problem::TooLong(REVOCATIONS.to_owned(), limits::DENY_LIST));
    }
    if list.len() as u64 != file.length || sha256_hex(list) != expected {
        return Err(Problem::Swapped(format!(
            "{REVOCATIONS} does not have the hash that {REVOKER} signed"
        )));
    }
    DenyList::parse(list).map_err(|e| Problem::Malformed(format!("{REVOCATIONS}: {e}")))
}

/// A time of the library's own kind, or in a JSON field.
pub(crate) fn time(text: impl ToString) -> Result<Timestamp, Problem> {
    let text = text.to_string();
    text.parse()
        .map_err(|_| Problem::Malformed(format!("\"{}\" is not a time", text.escape_default())))
}
