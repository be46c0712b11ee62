//! The roles of the repository, and what is demanded of each.
//!
//! The same numbers stand in docs/repository.md: a client relies on the limits, and the people
//! who hold keys on the periods.

use serde_json::Value;

use super::text;

/// The roles, in the order in which a client reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Root,
    Timestamp,
    Snapshot,
    Targets,
    /// Delegated by targets: the deny list, and nothing else.
    Revoker,
}

/// All of them.
pub(super) const ROLES: [Role; 5] = [
    Role::Root,
    Role::Timestamp,
    Role::Snapshot,
    Role::Targets,
    Role::Revoker,
];

/// The name of the database among the targets.
pub(super) const DATABASE: &str = "compatdb.sqlite";
/// The name of the deny list.
pub(super) const REVOCATIONS: &str = "revocations.json";
/// The longest target, in bytes.
pub(super) const MAX_TARGET: u64 = 64 * 1024 * 1024;
/// The longest deny list, in bytes.
pub(super) const MAX_REVOCATIONS: u64 = 256 * 1024;

impl Role {
    /// As metadata calls it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Timestamp => "timestamp",
            Self::Snapshot => "snapshot",
            Self::Targets => "targets",
            Self::Revoker => "revoker",
        }
    }

    /// Days from signing until it expires.
    pub(super) const fn days(self) -> i64 {
        match self {
            Self::Root | Self::Targets => 365,
            Self::Revoker => 90,
            Self::Snapshot => 30,
            Self::Timestamp => 14,
        }
    }

    /// The longest metadata that a client reads, in bytes.
    pub(super) const fn max_len(self) -> u64 {
        match self {
            Self::Root => 64 * 1024,
            Self::Timestamp => 16 * 1024,
            Self::Snapshot | Self::Targets | Self::Revoker => 256 * 1024,
        }
    }

    /// The least number of keys, and of signatures.
    const fn least(self) -> (usize, u64) {
        match self {
            // One lost key must not end the repository, one stolen key must not own it.
            Self::Root => (3, 2),
            // The second one signs on when the first is lost or taken back.
            Self::Targets | Self::Revoker => (2, 1),
            Self::Snapshot | Self::Timestamp => (1, 1),
        }
    }

    /// The file of a version of it.
    pub(super) fn file(self, version: u64) -> String {
        match self {
            Self::Timestamp => "metadata/timestamp.json".to_owned(),
            _ => format!("metadata/{version}.{}.json", self.name()),
        }
    }
}

/// Ids of the keys of a role, and how many must sign.
pub(super) fn keys_of(role: Role, root: &Value, targets: &Value) -> (Vec<String>, u64) {
    let found = match role {
        Role::Revoker => delegation(targets),
        _ => root.pointer(&format!("/roles/{}", role.name())),
    };
    let ids = found
        .and_then(|r| r.get("keyids"))
        .and_then(Value::as_array)
        .map(|ids| ids.iter().filter_map(Value::as_str).map(str::to_owned))
        .map(Iterator::collect)
        .unwrap_or_default();
    let threshold = found.and_then(|r| r.get("threshold"));
    (ids, threshold.and_then(Value::as_u64).unwrap_or(0))
}

fn delegation(targets: &Value) -> Option<&Value> {
    let roles = targets.pointer("/delegations/roles")?.as_array()?;
    roles
        .iter()
        .find(|r| text(r, "name") == Role::Revoker.name())
}

/// What of these two is not as it has to be, whoever signed it.
pub(super) fn problems(root: &Value, targets: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    if root.get("consistent_snapshot") != Some(&Value::Bool(true)) {
        problems.push("root: consistent_snapshot is not set".to_owned());
    }
    let mut seen: Vec<(String, Role)> = Vec::new();
    for role in ROLES {
        let (ids, threshold) = keys_of(role, root, targets);
        let (least_keys, least_threshold) = role.least();
        if ids.len() < least_keys || threshold < least_threshold {
            problems.push(format!(
                "{}: {threshold} of {} keys; it takes {least_threshold} of {least_keys} or more",
                role.name(),
                ids.len()
            ));
        }
        if role == Role::Root && threshold >= ids.len() as u64 {
            problems.push(format!(
                "root: {threshold} of {} keys: one lost key would end the repository",
                ids.len()
            ));
        }
        for id in ids {
            if let Some((_, other)) = seen.iter().find(|(known, _)| *known == id) {
                problems.push(format!(
                    "key {id:.16} belongs to {} and to {}: a key has one role",
                    other.name(),
                    role.name()
                ));
            }
            seen.push((id, role));
        }
    }
    let delegations = targets.pointer("/delegations/roles");
    let only = delegations.and_then(Value::as_array).map(Vec::len) == Some(1);
    let paths = delegation(targets).and_then(|d| d.get("paths"));
    let terminating = delegation(targets).and_then(|d| d.get("terminating"));
    if !only
        || paths != Some(&serde_json::json!([REVOCATIONS]))
        || terminating != Some(&Value::Bool(true))
    {
        problems.push(format!(
            "targets: it must delegate {REVOCATIONS} to revoker, terminating, and nothing else"
        ));
    }
    problems
}
