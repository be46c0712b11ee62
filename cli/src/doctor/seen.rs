//! Everything that the checks look at, gathered before the first of them runs.

use std::ffi::OsString;
use std::path::PathBuf;

use compatdb::Profile;
use compatdb::records::{Fault, Pair};
use compatdb::rows::Status;
use compatdb::verdict::Verdict;

use crate::decide::{Decision, Known};
use crate::error::Error;
use crate::program::Preflight;
use crate::state::StateFolder;
use crate::tickets::Reported;

/// What the checks look at. They are pure functions of it.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Facts, policy, database, state.
    pub(crate) known: Known,
    /// The verdict, and what it was made from.
    pub(crate) decision: Decision,
    /// The program that was asked about.
    pub(crate) program: Option<Program>,
    /// All faults that the database knows.
    pub(crate) faults: Vec<Fault>,
    /// What the database calls the guest's build, where it knows it.
    pub(crate) guest_version: Option<String>,
    /// The library to load, or why it cannot be.
    pub(crate) shim: Result<PathBuf, Error>,
    /// The state folder, or why it cannot be written.
    pub(crate) state: Result<StateFolder, Error>,
    /// The environment of this process.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// What processes that still run have reported.
    pub(crate) running: Vec<Reported>,
}

/// The program that was asked about.
#[derive(Debug)]
pub(crate) struct Program {
    /// As the user named it.
    pub(crate) named: String,
    /// What was seen of its file.
    pub(crate) looked: Preflight,
}

impl Seen {
    /// The record that speaks about this pair: one that denies before one that allows.
    pub(crate) fn record(&self) -> Option<&Pair> {
        let lookup = self.decision.lookup.as_ref()?;
        let rank = |p: &&Pair| match p.status {
            Status::Revoked => 0,
            Status::Broken => 1,
            Status::Verified => 2,
        };
        lookup.pairs.iter().min_by_key(rank)
    }

    /// The profile that programs get; none where they run stock.
    pub(crate) fn profile(&self) -> Option<Profile> {
        match &self.decision.verdict {
            Verdict::Allow(allow) => Some(allow.profile),
            Verdict::Refuse(_) => None,
        }
    }
}
