//! `metalshim db verify FILE`: opens a file with every check there is, holds its rows against
//! the rules that the records are built by, and says what it is or what is wrong with it.
//!
//! **Honest scope.** A signature is not part of a single file: whether a database is signed
//! is what `metalshim db info` says of the one in use.

use std::io::Read;
use std::path::{Path, PathBuf};

use compatdb::records::Records;
use compatdb::{Database, MAX_LEN, Meta, QueryError};
use serde::Serialize;

use crate::error::Error;
use crate::printer::{Report, Style};
use crate::regular;
use crate::table::paragraph;

/// So many broken rules are told in text.
const SHOWN: usize = 20;

/// What `db verify` says.
#[derive(Debug, Serialize)]
pub(super) struct Verified {
    /// The file.
    file: PathBuf,
    /// Whether it is a database that this metalshim can use.
    valid: bool,
    /// What is wrong, if anything is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
    /// The rules that its rows break, a sentence each with the row, the field and the rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    broken_rules: Vec<String>,
    /// What the database says of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    meta: Option<Meta>,
    /// How many rows it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Rows>,
    #[serde(skip)]
    width: Option<usize>,
}

/// How many rows a database has, of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Rows {
    pairs: usize,
    verified: usize,
    denied_ranges: usize,
    leads: usize,
    clients: usize,
    faults: usize,
    stock_reports: usize,
    builds: usize,
}

impl Rows {
    /// Reads every row once, so that a damaged one is found.
    pub(super) fn count(database: &Database) -> Result<Self, QueryError> {
        let pairs = database.pairs(&Default::default())?;
        let verified = pairs
            .iter()
            .filter(|p| p.status == compatdb::rows::Status::Verified);
        Ok(Self {
            verified: verified.count(),
            pairs: pairs.len(),
            denied_ranges: database.deny_ranges()?.len(),
            leads: database.leads()?.len(),
            clients: database.clients()?.len(),
            faults: database.faults()?.len(),
            stock_reports: database.stock_reports()?.len(),
            builds: database.builds()?.len(),
        })
    }

    /// In a sentence.
    pub(super) fn text(self) -> String {
        format!(
            "{} pairs ({} verified), {} denied ranges, {} leads, {} clients, {} faults, {} reports of stock answers, {} macOS builds",
            self.pairs,
            self.verified,
            self.denied_ranges,
            self.leads,
            self.clients,
            self.faults,
            self.stock_reports,
            self.builds
        )
    }
}

/// Checks the file. Only a file that cannot be read is an error.
pub(super) fn verify(file: &Path, width: Option<usize>) -> Result<Verified, Error> {
    let mut bytes = Vec::new();
    // One byte more than is opened is enough to see that a file is too long.
    regular::open(file)
        .and_then(|f| f.take(MAX_LEN as u64 + 1).read_to_end(&mut bytes))
        .map_err(|e| {
            Error::file("read", file, &e).hint("name a database file that this user can read")
        })?;
    let mut report = Verified {
        file: file.to_owned(),
        valid: false,
        problem: None,
        broken_rules: Vec::new(),
        meta: None,
        rows: None,
        width,
    };
    match check(&bytes) {
        Ok((meta, rows, broken)) => {
            report.problem = needs_newer(&meta).or_else(|| contradicts(broken.len()));
            report.broken_rules = broken;
            report.valid = report.problem.is_none();
            report.meta = Some(meta);
            report.rows = Some(rows);
        }
        Err(problem) => report.problem = Some(problem),
    }
    Ok(report)
}

fn check(bytes: &[u8]) -> Result<(Meta, Rows, Vec<String>), String> {
    let database = Database::open(bytes).map_err(|e| e.to_string())?;
    database.quick_check().map_err(|e| e.to_string())?;
    let rows = Rows::count(&database).map_err(|e| e.to_string())?;
    let records = Records::of(&database).map_err(|e| e.to_string())?;
    let broken = compatdb::lint::lint_rows(&records);
    let broken = broken.iter().map(ToString::to_string).collect();
    Ok((database.meta().clone(), rows, broken))
}

fn contradicts(rules: usize) -> Option<String> {
    let times = if rules == 1 { "rule is" } else { "rules are" };
    (rules > 0).then(|| {
        format!("its rows are not what records may say: {rules} {times} broken, and no release does that")
    })
}

fn needs_newer(meta: &Meta) -> Option<String> {
    let ours: semver::Version = env!("CARGO_PKG_VERSION").parse().ok()?;
    (meta.min_cli > ours).then(|| {
        format!(
            "it needs metalshim {} or later, and this is {ours}: update metalshim",
            meta.min_cli
        )
    })
}

impl Report for Verified {
    const SCHEMA: &'static str = "metalshim.db-verify/1";

    fn text(&self, _: Style) -> String {
        let file = self.file.display();
        let mut out = match &self.problem {
            None => format!("{file} is a compatibility database that this metalshim can use.\n"),
            Some(problem) => {
                let text = format!("{file} cannot be used: {problem}");
                paragraph(&text, 0, self.width)
            }
        };
        for broken in self.broken_rules.iter().take(SHOWN) {
            out.push_str("  ");
            out.push_str(&paragraph(broken, 2, self.width));
        }
        let more = self.broken_rules.len().saturating_sub(SHOWN);
        if more > 0 {
            out.push_str(&format!("  and {more} more: --json has them all\n"));
        }
        if let Some(meta) = &self.meta {
            out.push_str(&format!("  seq        {}\n", meta.seq));
            out.push_str(&format!("  published  {}\n", meta.published_at));
            out.push_str(&format!("  schema     {}\n", meta.schema));
            out.push_str(&format!("  sha256     {}\n", meta.sha256));
        }
        if let Some(rows) = self.rows {
            out.push_str("  rows       ");
            out.push_str(&paragraph(&rows.text(), 13, self.width));
        }
        out
    }
}
