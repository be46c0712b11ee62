//! The linter over the records.

use crate::records::{Problem, Records};

/// One rule: its name, what it holds in a sentence, and its function.
pub struct Rule {
    /// The stable name.
    pub name: &'static str,
    /// What it holds, in a sentence.
    pub says: &'static str,
    check: fn(&Records, &mut Report),
}

/// What the rules report into.
pub(crate) struct Report {
    problems: Vec<Problem>,
}

/// Every rule.
pub const RULES: &[Rule] = &[];

/// Everything wrong with the records, in the order of files and fields.
pub fn lint(records: &Records) -> Vec<Problem> {
    let mut report = Report {
        problems: Vec::new(),
    };
    for rule in RULES {
        (rule.check)(records, &mut report);
    }
    report.problems.sort();
    report.problems
}
