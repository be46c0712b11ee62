//! The database in use.
//!
//! **Contract.** It is opened from memory, once per command. This build embeds the one that
//! was built from the records, which is unsigned and is called so wherever it is named.

use compatdb::{Database, DenyList, OpenError};
use jiff::Timestamp;
use serde::Serialize;

use crate::error::Error;

static EMBEDDED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/compat.sqlite"));

/// Where a database is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Built from the records and embedded, without any signature.
    UnsignedDevelopment,
}

impl Origin {
    /// As users read it.
    pub const fn says(self) -> &'static str {
        match self {
            Self::UnsignedDevelopment => "unsigned development database",
        }
    }
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
}

/// Opens the database in use.
///
/// # Errors
/// It is not a database of the schema that this build reads.
pub fn load() -> Result<Loaded, OpenError> {
    Ok(Loaded {
        database: Database::open(EMBEDDED)?,
        origin: Origin::UnsignedDevelopment,
        fresh_until: None,
        deny_list: None,
    })
}

/// [`load`], for a command that can do nothing without it.
///
/// # Errors
/// As [`load`].
pub fn needed() -> Result<Loaded, Error> {
    load().map_err(|e| {
        Error::machine(e.to_string()).hint("install metalshim again: its own database is damaged")
    })
}

impl Loaded {
    /// Like `unsigned development database, seq 7`.
    pub fn says(&self) -> String {
        format!("{}, seq {}", self.origin.says(), self.database.seq())
    }
}
