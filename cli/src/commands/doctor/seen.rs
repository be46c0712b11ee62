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
pub(super) struct Seen {
    /// Facts, policy, database, state.
    pub(super) known: Known,
    /// The verdict, and what it was made from.
    pub(super) decision: Decision,
    /// The program that was asked about.
    pub(super) program: Option<Program>,
    /// All faults that the database knows.
    pub(super) faults: Vec<Fault>,
    /// What the database calls the guest's build, where it knows it.
    pub(super) guest_version: Option<String>,
    /// The library to load, or why it cannot be.
    pub(super) shim: Result<PathBuf, Error>,
    /// The state folder, or why it cannot be written.
    pub(super) state: Result<StateFolder, Error>,
    /// The environment of this process.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// What processes that still run have reported.
    pub(super) running: Vec<Reported>,
}

/// The program that was asked about.
#[derive(Debug)]
pub(super) struct Program {
    /// As the user named it.
    pub(super) named: String,
    /// What was seen of its file.
    pub(super) looked: Preflight,
}

impl Seen {
    /// The record that speaks about this pair: one that denies before one that allows.
    pub(super) fn record(&self) -> Option<&Pair> {
        let lookup = self.decision.lookup.as_ref()?;
        let rank = |p: &&Pair| match p.status {
            Status::Revoked => 0,
            Status::Broken => 1,
            Status::Verified => 2,
        };
        lookup.pairs.iter().min_by_key(rank)
    }

    /// The profile that programs get; none where they run stock.
    pub(super) fn profile(&self) -> Option<Profile> {
        match &self.decision.verdict {
            Verdict::Allow(allow) => Some(allow.profile),
            Verdict::Refuse(_) => None,
        }
    }
}
