//! The linter: what is right in the records.
//!
//! **Contract.** Pure: records in, problems out. Every rule looks at every record, so
//! that one run reports everything there is to mend, each with its file, its field and
//! the name of the rule. What a rule holds is a sentence in [`RULES`], which the manual
//! is made from. Problems of reading ([`Records::load`]) come before these and do not
//! keep them from being reported.

mod builds;
mod clients;
mod dates;
mod evidence;
mod ids;
mod profiles;
mod ranges;
#[cfg(test)]
mod tests;

use crate::records::{Problem, Records, Source, Workload};

/// One rule: its name, what it holds, and its function.
pub struct Rule {
    /// The stable name.
    pub name: &'static str,
    /// What it holds, in a sentence.
    pub says: &'static str,
    check: fn(&Records, &mut Report),
}

/// What a rule reports into.
pub(crate) struct Report {
    rule: &'static str,
    problems: Vec<Problem>,
}

impl Report {
    fn add(&mut self, file: &str, field: impl Into<String>, says: impl Into<String>) {
        self.problems.push(Problem {
            file: file.to_owned(),
            field: field.into(),
            rule: self.rule,
            says: says.into(),
        });
    }
}

/// Every rule.
pub const RULES: &[Rule] = &[
    Rule {
        name: "file-name",
        says: "A record is in the file that is called like its id.",
        check: ids::file_name,
    },
    Rule {
        name: "id-shape",
        says: "Pairs, leads and deny ranges have P, L or D and four digits, faults and stock reports F or S and two, clients a slug of small letters, digits, dots and dashes.",
        check: ids::id_shape,
    },
    Rule {
        name: "id-duplicate",
        says: "No id is given twice.",
        check: ids::id_duplicate,
    },
    Rule {
        name: "id-retired",
        says: "An id that was retired is never used again.",
        check: ids::id_retired,
    },
    Rule {
        name: "release",
        says: "A release of the records has a number from 1 on.",
        check: ids::release,
    },
    Rule {
        name: "build-known",
        says: "Every build that a record names is in the table of builds.",
        check: builds::known,
    },
    Rule {
        name: "build-version",
        says: "A pair names the version that the table of builds has for its build.",
        check: builds::version,
    },
    Rule {
        name: "build-row",
        says: "The table of builds has each build once, with a version and sources it knows.",
        check: builds::row,
    },
    Rule {
        name: "pair-twice",
        says: "There is one record for a pair of builds.",
        check: builds::pair_twice,
    },
    Rule {
        name: "profile-range",
        says: "A profile tells family 1001 to 1009 and at most 65536 bytes, in steps of 16.",
        check: profiles::range,
    },
    Rule {
        name: "profile-raises",
        says: "A pair's profile is above its stock answers in one value and below in none.",
        check: profiles::raises,
    },
    Rule {
        name: "metal3",
        says: "Metal 3 and Metal 4 are claimed nowhere: no family of 5001 or above, and no virtual device that says so.",
        check: profiles::metal3,
    },
    Rule {
        name: "cap-range",
        says: "A client's cap lowers something, and to values that a profile may have.",
        check: profiles::cap_range,
    },
    Rule {
        name: "device",
        says: "A pair names its device class as Objective-C writes names, and image UUIDs in capitals with dashes.",
        check: profiles::device,
    },
    Rule {
        name: "evidence-level",
        says: "An evidence level is 0, 1, 2 or 3.",
        check: evidence::level,
    },
    Rule {
        name: "evidence-named",
        says: "Third-party evidence names, in its sentence, a project that is among its sources.",
        check: evidence::named,
    },
    Rule {
        name: "verified-evidence",
        says: "A verified pair has a level of 1 or more, a source, and a workload with a figure measured with the overrides.",
        check: evidence::verified,
    },
    Rule {
        name: "source-missing",
        says: "Every pair, lead, deny range, fault, client and stock report has a source.",
        check: evidence::source_missing,
    },
    Rule {
        name: "source-shape",
        says: "A source has a key of its own, a project written owner/name, and a file or an issue; for pairs and deny ranges a date too.",
        check: evidence::source_shape,
    },
    Rule {
        name: "figure-source",
        says: "Every workload has a figure, and names the source it is from.",
        check: evidence::figure_source,
    },
    Rule {
        name: "text-empty",
        says: "What is shown to a user is not empty.",
        check: evidence::text_empty,
    },
    Rule {
        name: "date-future",
        says: "Nothing is dated after the release itself.",
        check: dates::future,
    },
    Rule {
        name: "date-order",
        says: "A record is not published before its sources.",
        check: dates::order,
    },
    Rule {
        name: "range-allows",
        says: "A range denies: it is broken or revoked, never verified.",
        check: ranges::allows,
    },
    Rule {
        name: "range-empty",
        says: "A deny range has at least one end, and a build can be in it.",
        check: ranges::empty,
    },
    Rule {
        name: "range-verified",
        says: "No verified pair is inside a deny range.",
        check: ranges::verified,
    },
    Rule {
        name: "fault-unknown",
        says: "A fault that a record gives as its reason has a record.",
        check: ranges::fault_unknown,
    },
    Rule {
        name: "deny-reason",
        says: "A broken or revoked pair says why.",
        check: ranges::reason,
    },
    Rule {
        name: "version-range",
        says: "A range of versions names a scheme of its client, has ends that the scheme can read, and a version can be in it.",
        check: clients::version_range,
    },
    Rule {
        name: "version-overlap",
        says: "No two caps of a client are about the same version.",
        check: clients::version_overlap,
    },
    Rule {
        name: "client-source",
        says: "A cap or a block names one of its client's sources.",
        check: clients::source,
    },
    Rule {
        name: "client-ambiguous",
        says: "No executable, formula or library is recognised as two clients.",
        check: clients::ambiguous,
    },
    Rule {
        name: "client-names",
        says: "Names of executables, libraries, formulae and children are base names, and schemes have names of their own.",
        check: clients::names,
    },
];

/// Everything wrong with the records, in the order of files and fields.
pub fn lint(records: &Records) -> Vec<Problem> {
    let mut report = Report {
        rule: "",
        problems: Vec::new(),
    };
    for rule in RULES {
        report.rule = rule.name;
        (rule.check)(records, &mut report);
    }
    report.problems.sort();
    report.problems
}

/// Rules about what is not part of a database: files, ids that are used up, and the sources of
/// the table of builds.
const OF_FILES: [&str; 3] = ["file-name", "id-retired", "build-row"];

/// Everything wrong with the rows of a database ([`Records::of`]): the same rules, but for those
/// about what only the records' folder has.
pub fn lint_rows(records: &Records) -> Vec<Problem> {
    let mut problems = lint(records);
    problems.retain(|problem| !OF_FILES.contains(&problem.rule));
    problems
}

/// The sources of one record.
struct Sources<'a> {
    file: &'a str,
    /// What comes before `sources` in the name of the field.
    prefix: String,
    sources: &'a [Source],
    /// Whether the record decides about a pair, so that its sources need a date.
    decides: bool,
}

/// The sources of every record but the tables of builds and retired ids.
fn sources(records: &Records) -> Vec<Sources<'_>> {
    let mut all = Vec::new();
    let mut add = |file, prefix: String, sources, decides| {
        all.push(Sources {
            file,
            prefix,
            sources,
            decides,
        });
    };
    for pair in &records.pairs {
        add(&*pair.file, String::new(), &*pair.sources, true);
    }
    for lead in &records.leads {
        add(&*lead.file, String::new(), &*lead.sources, false);
    }
    for deny in &records.denies {
        add(&*deny.file, String::new(), &*deny.sources, true);
    }
    for fault in &records.faults {
        add(&*fault.file, String::new(), &*fault.sources, false);
    }
    for client in &records.clients {
        add(&*client.file, String::new(), &*client.sources, false);
    }
    for report in &records.stock_reports {
        let prefix = format!("report[{}].", report.id);
        add(&*report.file, prefix, &*report.sources, false);
    }
    all
}

/// The workloads of every record that has some, with its file and its sources.
fn workloads(records: &Records) -> impl Iterator<Item = (&str, &[Workload], &[Source])> {
    let pairs = records
        .pairs
        .iter()
        .map(|pair| (&*pair.file, &*pair.workloads, &*pair.sources));
    let leads = records
        .leads
        .iter()
        .map(|lead| (&*lead.file, &*lead.workloads, &*lead.sources));
    pairs.chain(leads)
}

/// Whether a key is one of the sources'.
fn has_key(sources: &[Source], key: &str) -> bool {
    sources.iter().any(|source| source.key == key)
}
