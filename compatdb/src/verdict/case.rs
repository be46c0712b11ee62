//! The arguments of the verdict.

use jiff::Timestamp;

use crate::Lookup;
use crate::client::ClientMatch;
use crate::{Facts, Meta, OsBuild, Policy, Profile};

use super::Remedy;

/// One machine, one program, one moment. Nothing else enters the verdict.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    /// What is known of this machine.
    pub facts: &'a Facts,
    /// What the database holds about it, or why there is no database.
    pub database: Evidence<'a>,
    /// The fleet's rules; the default narrows nothing.
    pub policy: &'a Policy,
    /// What is asked for.
    pub request: &'a Request,
    /// This command's version.
    pub cli: &'a semver::Version,
    /// The shim's `SHIM_ABI`.
    pub shim_abi: u32,
    /// The moment, where it matters: only beside a freshness that ends.
    pub now: Timestamp,
    /// Until when the signatures vouch for the database; none for the unsigned
    /// development database.
    pub fresh_until: Option<Timestamp>,
    /// Whether the database is the unsigned development database.
    pub unsigned: bool,
}

/// What the database holds, or why it cannot be asked.
#[derive(Clone, Copy, Debug)]
pub enum Evidence<'a> {
    /// It was opened and asked.
    Known {
        /// What it says of itself.
        meta: &'a Meta,
        /// What it holds about this machine.
        lookup: &'a Lookup,
    },
    /// It could not be opened or asked.
    Invalid {
        /// The error, as a sentence without a full stop.
        why: &'a str,
    },
}

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// What the program was recognised as; empty when no row knows it, or when no program
    /// is asked about.
    pub clients: Vec<ClientMatch>,
    /// `--profile`.
    pub profile: Option<Profile>,
    /// A stored wish for at most that. It only lowers: it is no consent to more for a pair
    /// that nobody has verified.
    pub at_most: Option<Profile>,
    /// `--allow-unverified`.
    pub allow_unverified: Option<OsBuild>,
    /// Whether the program can load the library.
    pub target: Target,
}

/// Whether the program can load the library.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Target {
    /// No program is asked about, or it can.
    #[default]
    Injectable,
    /// It cannot.
    NotInjectable {
        /// A stable code of its own, like `hardened-runtime`.
        code: String,
        /// Why, with the path.
        says: String,
        /// What to do.
        remedies: Vec<Remedy>,
    },
}
