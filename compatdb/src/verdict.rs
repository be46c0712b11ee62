//! The verdict: may the overrides be used here, and if not, why, and what to do.

mod caps;
mod case;
mod decide;
mod says;
mod unknown;
mod warnings;

pub use case::{Case, Evidence, Request, Target};
pub use decide::decide;

use std::fmt;

use serde::Serialize;

use crate::Profile;

/// The answer for one machine, one program, one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "decision", rename_all = "kebab-case")]
pub enum Verdict {
    /// The overrides may be used.
    Allow(Allow),
    /// The program has to run stock.
    Refuse(Refusal),
}

/// Under which record, and how far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Allow {
    /// The effective profile: never above the record's.
    pub profile: Profile,
    /// The id of the record that allows; none for `--allow-unverified`.
    pub record: Option<String>,
    /// The record's evidence level, 0 to 3; none for `--allow-unverified`.
    pub evidence_level: Option<u8>,
    /// Whatever lowered the profile below the record's.
    pub capped_by: Vec<Cap>,
    /// What the user should know all the same.
    pub warnings: Vec<String>,
}

/// One reason why the effective profile is lower than the record's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cap {
    /// `client`, `host-family`, `flag`, `setting`, `canary`, `policy` or `unverified`.
    pub by: &'static str,
    /// The highest profile it leaves.
    pub profile: Profile,
    /// Why, and for a client whose version is not known, how to say it.
    pub says: String,
    /// Whether it is so low only because the client's version is not known.
    pub version_unknown: bool,
}

/// Why the program has to run stock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refusal {
    /// The first reason that applies, in the order of [`Reason`].
    pub reason: Reason,
    /// One or two sentences with the values that decided.
    pub says: String,
    /// What to do about it, the likeliest first.
    pub remedies: Vec<Remedy>,
    /// The other reasons that apply, in order.
    pub also: Vec<Reason>,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remedy {
    /// What it does, in a sentence.
    pub says: String,
    /// The command to type, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl Remedy {
    /// Something to do that is not a command.
    pub fn text(says: impl Into<String>) -> Self {
        Self {
            says: says.into(),
            command: None,
        }
    }

    /// A command, and what it does.
    pub fn command(says: impl Into<String>, command: impl Into<String>) -> Self {
        Self {
            says: says.into(),
            command: Some(command.into()),
        }
    }
}

/// The stable reason codes, in the order in which they are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Bare metal, or not the paravirtual device.
    NotAGuest,
    /// The database cannot be read, or is not what it says it is.
    DatabaseInvalid,
    /// The database needs a newer command.
    CliTooOld,
    /// The record needs a newer shim.
    ShimTooOld,
    /// The record was taken back.
    PairRevoked,
    /// The pair is known to give wrong results.
    PairBroken,
    /// This program must not be told anything else than stock.
    ClientBlocked,
    /// A fleet's own rule.
    Policy,
    /// The host's build is not known.
    HostUnknown,
    /// No record about this pair.
    PairUnknown,
    /// The signed freshness is over, and policy demands it.
    DatabaseStale,
    /// The guest's Metal no longer looks as recorded.
    Drift,
    /// The canary kernels gave wrong results on this machine.
    CanaryFailed,
    /// The program cannot load the library.
    TargetNotInjectable,
}

impl Reason {
    /// All of them, in order.
    pub const ALL: [Self; 14] = [
        Self::NotAGuest,
        Self::DatabaseInvalid,
        Self::CliTooOld,
        Self::ShimTooOld,
        Self::PairRevoked,
        Self::PairBroken,
        Self::ClientBlocked,
        Self::Policy,
        Self::HostUnknown,
        Self::PairUnknown,
        Self::DatabaseStale,
        Self::Drift,
        Self::CanaryFailed,
        Self::TargetNotInjectable,
    ];

    /// The code that scripts read.
    pub const fn code(self) -> &'static str {
        match self {
            Self::NotAGuest => "not-a-guest",
            Self::DatabaseInvalid => "database-invalid",
            Self::CliTooOld => "cli-too-old",
            Self::ShimTooOld => "shim-too-old",
            Self::PairRevoked => "pair-revoked",
            Self::PairBroken => "pair-broken",
            Self::ClientBlocked => "client-blocked",
            Self::Policy => "policy",
            Self::HostUnknown => "host-unknown",
            Self::PairUnknown => "pair-unknown",
            Self::DatabaseStale => "database-stale",
            Self::Drift => "drift",
            Self::CanaryFailed => "canary-failed",
            Self::TargetNotInjectable => "target-not-injectable",
        }
    }

    /// What it means, in a few words without a full stop.
    pub const fn means(self) -> &'static str {
        match self {
            Self::NotAGuest => "Bare metal, or not the paravirtual device",
            Self::DatabaseInvalid => "The database cannot be read, or is not what it says it is",
            Self::CliTooOld => "The database needs a newer command",
            Self::ShimTooOld => "The record needs a newer shim",
            Self::PairRevoked => "The record was taken back",
            Self::PairBroken => "The pair is known to give wrong results",
            Self::ClientBlocked => "This program must not be told anything else than stock",
            Self::Policy => "A fleet's own rule",
            Self::HostUnknown => "The host's build is not known",
            Self::PairUnknown => "No record about this pair",
            Self::DatabaseStale => "The signed freshness is over, and policy demands it",
            Self::Drift => "The guest's Metal no longer looks as recorded",
            Self::CanaryFailed => "The canary kernels gave wrong results on this machine",
            Self::TargetNotInjectable => "The program cannot load the library",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}
