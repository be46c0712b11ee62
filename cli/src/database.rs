//! The database in use.
//!
//! **Contract.** It is opened from memory, once per command, from bytes that were verified
//! just before: see [`crate::update::in_use`]. Without a trust root, or without anything that
//! verifies, it is the one that was built from the records, which is unsigned and is called so
//! wherever it is named.

use compatdb::{Database, DenyList, OpenError};
use jiff::Timestamp;
use serde::Serialize;

use crate::config;
use crate::error::Error;
use crate::state::StateFolder;
use crate::update::release::Release;
use crate::update::{in_use, trust};
use crate::variables::Variables;

pub(crate) static EMBEDDED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/compat.sqlite"));

/// Where a database is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Built from the records and embedded, without any signature.
    UnsignedDevelopment,
    /// Signed, and part of this build.
    Embedded,
    /// Signed, and kept for everybody on this machine.
    Machine,
    /// Signed, and kept for this user.
    User,
}

impl Origin {
    /// As users read it.
    pub const fn says(self) -> &'static str {
        match self {
            Self::UnsignedDevelopment => "unsigned development database",
            Self::Embedded => "signed database of this build",
            Self::Machine => "signed database of this machine",
            Self::User => "signed database of this user",
        }
    }
}

/// The root in force, for those who ask which one it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Root {
    /// Where it is from.
    #[serde(flatten)]
    pub source: trust::Source,
    /// SHA-256 of the root that is trusted, 64 hexadecimal digits.
    pub sha256: String,
    /// Its version number.
    pub version: u64,
    /// The version number that its successors have come to.
    pub newest: u64,
    /// As users read it.
    #[serde(skip)]
    pub says: String,
}

/// The database in use, and what is known about it from outside.
#[derive(Debug)]
pub struct Loaded {
    /// The database.
    pub database: Database,
    /// Where it is from.
    pub origin: Origin,
    /// Until when its signatures vouch for it; none without signatures.
    pub fresh_until: Option<Timestamp>,
    /// What takes records back without a new database.
    pub deny_list: Option<DenyList>,
    /// The trust root in force; none where there is none.
    pub root: Option<Root>,
    /// The latest signed time: no clock is earlier.
    pub clock_floor: Option<Timestamp>,
    /// The program's releases for this system, the newest first.
    pub releases: Vec<Release>,
    /// What is there and could not be used, a sentence each.
    pub problems: Vec<String>,
}

/// Opens the database in use.
///
/// # Errors
/// Not even the embedded one is a database of the schema that this build reads.
pub fn load(variables: &Variables) -> Result<Loaded, OpenError> {
    let mut problems = Vec::new();
    let configured = match config::config(variables) {
        Ok(config) => config.trust_root,
        // Commands that need the configuration say so themselves.
        Err(_) => None,
    };
    // What others can write names no trust root.
    let state = StateFolder::locate(variables).ok();
    let state = state.filter(|state| match state.check() {
        Ok(()) => true,
        Err(e) => {
            problems.push(e.says);
            false
        }
    });
    let state = state.as_ref().map(StateFolder::path);
    let trust = trust::in_force(None, configured.as_deref(), state).unwrap_or_else(|e| {
        problems.push(e.says);
        // This build's own root, where it has one.
        trust::in_force(None, None, None).ok().flatten()
    });
    let Some(trust) = trust else {
        return unsigned(None, problems);
    };
    let found = in_use::find(&trust, in_use::machine_folder().as_deref(), state);
    problems.extend(found.problems);
    let newest = found.database.as_ref().map(|chosen| chosen.root_version);
    let root = Root {
        source: trust.source.clone(),
        sha256: trust.sha256.clone(),
        version: trust.version,
        newest: newest.unwrap_or(trust.version),
        says: trust.says(),
    };
    let mut loaded = match found.database {
        Some(chosen) => Loaded {
            database: chosen.database,
            origin: chosen.origin,
            fresh_until: Some(chosen.fresh_until),
            deny_list: None,
            root: Some(root),
            clock_floor: None,
            releases: Vec::new(),
            problems,
        },
        None => unsigned(Some(root), problems)?,
    };
    loaded.deny_list = found.deny_list;
    loaded.clock_floor = found.floor;
    loaded.releases = found.releases;
    Ok(loaded)
}

fn unsigned(root: Option<Root>, problems: Vec<String>) -> Result<Loaded, OpenError> {
    Ok(Loaded {
        database: Database::open(EMBEDDED)?,
        origin: Origin::UnsignedDevelopment,
        fresh_until: None,
        deny_list: None,
        root,
        clock_floor: None,
        releases: Vec::new(),
        problems,
    })
}

/// [`load`], for a command that can do nothing without it.
///
/// # Errors
/// As [`load`].
pub fn needed(variables: &Variables) -> Result<Loaded, Error> {
    load(variables).map_err(|e| {
        Error::machine(e.to_string()).hint("install metalshim again: its own database is damaged")
    })
}

impl Loaded {
    /// Like `unsigned development database, seq 7`.
    pub fn says(&self) -> String {
        format!("{}, seq {}", self.origin.says(), self.database.seq())
    }
}
