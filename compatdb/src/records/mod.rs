//! The records: the reviewed source of the database, one TOML file a subject.
//!
//! **Contract.** [`Records::load`] reads a whole folder and never stops at the first
//! problem: what can be read comes back as [`Records`], what cannot comes back as a list
//! of [`Problem`]s. Every key is known (`deny_unknown_fields`), so a misspelt one is a
//! problem and not a silent nothing. The types hold whatever a file may say, right or
//! wrong; what is *right* is decided by [`crate::lint`], so that it can report everything
//! at once. Loading is the same whatever order the file system lists files in.
//!
//! Folder: `pairs/ID.toml`, `leads/ID.toml`, `denies/ID.toml`, `faults/ID.toml`,
//! `clients/SLUG.toml`, and the tables `stock-reports.toml`, `builds.toml`, `retired.toml`
//! and `release.toml`. `records/README.md` says how to add one.

mod builds;
mod client;
mod common;
mod deny;
mod fault;
mod lead;
mod load;
mod pair;
mod release;
mod retired;
mod stock;
mod version;

pub use builds::{Build, Builds};
pub use client::{Blocked, Cap, Client, Gains, HostFamilyCeiling, Matched, Recognise};
pub use common::{Evidence, EvidenceKind, Figure, Source, VmSoftware, Workload};
pub use deny::{BuildRange, Deny};
pub use fault::{Fault, FaultKind};
pub use lead::{Lead, SeenSystem};
pub use load::Filed;
pub use pair::{GuestSystem, HostSystem, Pair, Status, StockAnswers};
pub use release::Release;
pub use retired::{Retired, RetiredIds};
pub use stock::{StockReport, StockReports, StockSeen};
pub use version::{ClientVersion, Form, Scheme, VersionRange};

use std::fmt;

use serde::Serialize;

/// Every record of one folder, in the order of ids, each with the file it came from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// Pairs of an exact host and an exact guest build.
    pub pairs: Vec<Filed<Pair>>,
    /// Public trials without both builds: shown, never allowing.
    pub leads: Vec<Filed<Lead>>,
    /// Ranges of builds that are denied.
    pub denies: Vec<Filed<Deny>>,
    /// What is known to go wrong on the paravirtual device.
    pub faults: Vec<Filed<Fault>>,
    /// Programs that ask Metal.
    pub clients: Vec<Filed<Client>>,
    /// What the device was seen to answer untouched.
    pub stock_reports: Vec<Filed<StockReport>>,
    /// The table of macOS builds.
    pub builds: Filed<Builds>,
    /// Ids that are used up.
    pub retired: Filed<RetiredIds>,
    /// What this release of the records is called.
    pub release: Filed<Release>,
}

/// One thing wrong with the records.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// The file, relative to the records folder, with `/` between its parts.
    pub file: String,
    /// The field, like `workloads[2].source`; empty when the whole file is meant.
    pub field: String,
    /// The name of the rule: `readable`, `shape`, or one of [`crate::lint::RULES`].
    pub rule: &'static str,
    /// What is wrong, with the value, and what would be right.
    pub says: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if !self.field.is_empty() {
            write!(f, ": {}", self.field)?;
        }
        write!(f, ": {} [{}]", self.says, self.rule)
    }
}
