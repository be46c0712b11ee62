//! What several kinds of record share: sources, figures, workloads, evidence.

use std::fmt;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// Where a statement can be looked up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// A short name for it within this record; workloads and caps point to it.
    pub key: String,
    /// The public project, as `owner/name`.
    pub project: String,
    /// A file in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// An issue or a pull request, as `issue 395` or `PR 37`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    /// The commit or tag that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The day it was published or read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<Date>,
}

impl fmt::Display for Source {
    /// A plain citation: `trycua/cua, evidence/x.md, 2026-08-09`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.project)?;
        for part in [&self.path, &self.issue].into_iter().flatten() {
            write!(f, ", {part}")?;
        }
        if let Some(revision) = &self.revision {
            write!(f, " at {revision}")?;
        }
        if let Some(date) = self.date {
            write!(f, ", {date}")?;
        }
        Ok(())
    }
}

/// A measured value: a number, or text where the source gives a range or an outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Figure {
    /// Like 4786.7.
    Number(f64),
    /// Like `0.35 to 0.46`.
    Text(String),
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => f.pad(&number.to_string()),
            Self::Text(text) => f.pad(text),
        }
    }
}

/// One metric of one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// What was run, like `TinyLlama 1.1B Q4_K_M`.
    pub name: String,
    /// The program, as its source names it.
    pub client: String,
    /// Its version, as its source writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
    /// Like `pp512`.
    pub metric: String,
    /// Like `tokens/s`.
    pub unit: String,
    /// On the host itself, without a virtual machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Figure>,
    /// In the guest, untouched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stock: Option<Figure>,
    /// In the guest, with the overrides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shimmed: Option<Figure>,
    /// The `key` of the source these figures are from.
    pub source: String,
    /// What a reader has to know to judge the figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Workload {
    /// Whether it holds a figure at all.
    pub fn has_figure(&self) -> bool {
        self.host.is_some() || self.stock.is_some() || self.shimmed.is_some()
    }
}

/// How far a record can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// 0 claimed, 1 measured on one machine, 2 on two independent ones (other hosts and
    /// other reporters), 3 repeated in CI.
    pub level: u8,
    /// Whose shim was measured.
    pub kind: EvidenceKind,
    /// A sentence that a user can read.
    pub says: String,
}

/// Whose shim was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceKind {
    /// Somebody else's shim that overrides the same two answers.
    ThirdParty,
    /// metalshim itself.
    Metalshim,
}

/// What ran the virtual machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VmSoftware {
    /// Like `Lume`.
    pub name: String,
    /// Like `0.5.1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}
