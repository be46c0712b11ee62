//! What a check of doctor found.

use compatdb::verdict::Remedy;
use serde::Serialize;

use crate::error::Error;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// As it should be.
    #[serde(rename = "ok")]
    Fine,
    /// Good to know; nothing has to be done.
    Note,
    /// Works, but something may surprise.
    Warning,
    /// In the way of the overrides.
    Problem,
    /// The check could not tell.
    Unknown,
}

impl Severity {
    /// The word that text shows: never colour alone.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Note => "note",
            Self::Warning => "warn",
            Self::Problem => "PROBLEM",
            Self::Unknown => "unknown",
        }
    }
}

/// One thing that a check saw.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Finding {
    /// The name of the check, as `--list-checks` prints it.
    pub(super) check: &'static str,
    /// How much it matters.
    pub(crate) severity: Severity,
    /// What was seen, with the values.
    pub(crate) says: String,
    /// What it affects; none where nothing is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) affects: Option<String>,
    /// What to do, the likeliest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) mends: Vec<Remedy>,
    /// Where this is from: public reports, as project and issue or path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) sources: Vec<String>,
}

impl Finding {
    /// A finding without consequences yet.
    pub(super) fn new(check: &'static str, severity: Severity, says: impl Into<String>) -> Self {
        Self {
            check,
            severity,
            says: says.into(),
            affects: None,
            mends: Vec::new(),
            sources: Vec::new(),
        }
    }

    /// Says what it affects.
    #[must_use]
    pub(super) fn affects(mut self, what: impl Into<String>) -> Self {
        self.affects = Some(what.into());
        self
    }

    /// Adds something to do, in a sentence.
    #[must_use]
    pub(super) fn mend(mut self, says: impl Into<String>) -> Self {
        self.mends.push(Remedy {
            says: says.into(),
            command: None,
        });
        self
    }

    /// Adds something to do, and the command that does it.
    #[must_use]
    pub(super) fn command(mut self, says: impl Into<String>, command: impl Into<String>) -> Self {
        self.mends.push(Remedy {
            says: says.into(),
            command: Some(command.into()),
        });
        self
    }
}

/// An error as what a check found: its hints are what mends it.
pub(super) fn of_error(check: &'static str, severity: Severity, error: &Error) -> Finding {
    let hints = error.hints.iter();
    let mut finding = Finding::new(check, severity, sentence(&error.says));
    finding
        .mends
        .extend(hints.map(|hint| Remedy::text(sentence(hint))));
    finding
}

/// With a capital and a full stop, as all findings are.
pub(super) fn sentence(text: &str) -> String {
    let mut chars = text.trim_end_matches('.').chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), chars.as_str())
}
