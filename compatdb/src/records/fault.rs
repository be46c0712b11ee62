//! A fault: something known to go wrong on the paravirtual device.

use serde::{Deserialize, Serialize};

use super::common::Source;

/// Something known to go wrong on the paravirtual device, stock or shimmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// `F` and two digits; permanent.
    pub id: String,
    /// One line.
    pub title: String,
    /// What a user sees.
    pub kind: FaultKind,
    /// What happens, and when.
    pub says: String,
    /// Whether it was measured; `false` when somebody only says so.
    pub measured: bool,
    /// Guests it was seen on, as the source writes it.
    pub guests: String,
    /// Hosts or virtual machine software it was seen on, as the source writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_on: Option<String>,
    /// Programs it was seen with, as their sources name them.
    #[serde(default)]
    pub clients: Vec<String>,
    /// What a user can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Where it can be looked up.
    #[serde(default)]
    pub sources: Vec<Source>,
}

/// What a user sees of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The output is wrong.
    WrongResults,
    /// The program ends.
    Crash,
    /// The program stops going on.
    Hang,
    /// Something is not offered.
    Missing,
    /// It works, slowly.
    Slow,
}
