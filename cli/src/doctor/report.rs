//! What doctor reports: the answer first, what to do, and then what was looked at.

use compatdb::verdict::{Remedy, Verdict};
use serde::Serialize;

use super::finding::{Finding, Severity, sentence};
use crate::error::Error;
use crate::printer::{Report, Style};
use crate::program::Preflight;
use crate::table::paragraph;

/// What doctor says.
#[derive(Debug, Serialize)]
pub(crate) struct Diagnosis {
    /// Whether programs (or the one that was asked about) get the overrides here.
    pub(crate) ok: bool,
    /// May they be used?
    pub(crate) verdict: Verdict,
    /// What keeps the overrides away whatever the verdict is; none where nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) in_the_way: Option<InTheWay>,
    /// What was seen of the program that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) program: Option<Preflight>,
    /// What the checks found, in their order.
    pub(crate) findings: Vec<Finding>,
    /// As the user named the program.
    #[serde(skip)]
    pub(crate) named: Option<String>,
    /// Whether only one check was asked for: then its findings are the answer.
    #[serde(skip)]
    pub(crate) single: bool,
    /// How wide the text may be.
    #[serde(skip)]
    pub(crate) width: Option<usize>,
}

/// What `run` needs and cannot use, or `METALSHIM_DISABLE=1`.
#[derive(Debug, Serialize)]
pub(crate) struct InTheWay {
    /// What it is, with the path or value.
    says: String,
    /// What to do about it.
    remedies: Vec<Remedy>,
}

impl From<Error> for InTheWay {
    fn from(error: Error) -> Self {
        Self {
            says: sentence(&error.says),
            remedies: error
                .hints
                .iter()
                .map(|hint| Remedy::text(sentence(hint)))
                .collect(),
        }
    }
}

impl Report for Diagnosis {
    const SCHEMA: &'static str = "metalshim.doctor/1";

    fn text(&self, style: Style) -> String {
        let mut out = String::new();
        if !self.single {
            out.push_str(&self.answer(style));
            out.push('\n');
            out.push_str(&style.bold("What was looked at:"));
            out.push('\n');
        }
        for finding in &self.findings {
            out.push_str(&self.finding(finding, style));
        }
        out
    }
}

impl Diagnosis {
    /// The first line is the answer; then what to do about it.
    fn answer(&self, style: Style) -> String {
        let who = self.named.as_deref().unwrap_or("programs");
        let verb = if self.named.is_some() { "gets" } else { "get" };
        let mut out = String::new();
        let remedies = match &self.verdict {
            Verdict::Allow(allow) => {
                let by = match &allow.record {
                    Some(record) => format!("record {record}"),
                    None => "no record: nobody has verified this pair".to_owned(),
                };
                let (head, rest) = match &self.in_the_way {
                    None => {
                        let what = format!(
                            "{who} {verb} Apple family up to {} and {} bytes of threadgroup memory here ({by}).",
                            allow.profile.apple_family_max, allow.profile.max_threadgroup_memory
                        );
                        (style.green("Yes:"), what)
                    }
                    Some(it) => {
                        let what = format!(
                            "{who} could have the overrides here ({by}), but this is in the way. {}",
                            it.says
                        );
                        (style.red("Not yet:"), what)
                    }
                };
                out.push_str(&format!("{head} {}", paragraph(&rest, 0, self.width)));
                match &self.in_the_way {
                    None if allow.record.is_none() => unverified(self.named.as_deref()),
                    None => vec![start(self.named.as_deref())],
                    Some(it) => self.mends(it.remedies.clone()),
                }
            }
            Verdict::Refuse(refusal) => {
                let run = if self.named.is_some() { "runs" } else { "run" };
                let way = self.in_the_way.as_ref();
                let rest = format!(
                    "{who} {run} stock here, as without metalshim. {}{}{} ({})",
                    way.map(|it| it.says.as_str()).unwrap_or_default(),
                    if way.is_some() { " Besides: " } else { "" },
                    refusal.says,
                    refusal.reason
                );
                out.push_str(&format!(
                    "{} {}",
                    style.red("No:"),
                    paragraph(&rest, 0, self.width)
                ));
                if !refusal.also.is_empty() {
                    let also: Vec<&str> = refusal.also.iter().map(|r| r.code()).collect();
                    out.push_str(&format!("Besides: {}.\n", also.join(", ")));
                }
                let mut remedies: Vec<Remedy> =
                    way.map(|it| it.remedies.clone()).unwrap_or_default();
                remedies.extend(refusal.remedies.iter().cloned());
                remedies
            }
        };
        if !remedies.is_empty() {
            out.push_str(&format!("\n{}\n", style.bold("What to do:")));
            for (number, remedy) in remedies.iter().enumerate() {
                out.push_str(&format!("  {}. ", number + 1));
                out.push_str(&self.remedy(remedy, 5));
            }
        }
        out
    }

    /// `first`, and those of the problems, each once.
    fn mends(&self, first: Vec<Remedy>) -> Vec<Remedy> {
        let problems = self
            .findings
            .iter()
            .filter(|f| f.severity == Severity::Problem);
        let mut mends = first;
        for mend in problems.flat_map(|f| &f.mends) {
            if !mends.contains(mend) {
                mends.push(mend.clone());
            }
        }
        mends
    }

    fn finding(&self, finding: &Finding, style: Style) -> String {
        const COLUMN: usize = 24;
        let word = format!("{:<8}", finding.severity.word());
        let word = match finding.severity {
            Severity::Fine => style.green(&word),
            Severity::Note => style.dim(&word),
            Severity::Warning | Severity::Unknown => style.yellow(&word),
            Severity::Problem => style.red(&word),
        };
        let mut out = format!("  {word}{:<14}", finding.check);
        out.push_str(&paragraph(&finding.says, COLUMN, self.width));
        let indent = " ".repeat(COLUMN);
        if let Some(affects) = &finding.affects {
            out.push_str(&indent);
            out.push_str(&paragraph(
                &format!("Affects {affects}."),
                COLUMN,
                self.width,
            ));
        }
        for source in &finding.sources {
            out.push_str(&indent);
            out.push_str(&paragraph(&format!("Source: {source}"), COLUMN, self.width));
        }
        for mend in &finding.mends {
            out.push_str(&indent);
            out.push_str("- ");
            out.push_str(&self.remedy(mend, COLUMN + 2));
        }
        out
    }

    /// The sentence, and the command on a line of its own, so that it can be copied.
    fn remedy(&self, remedy: &Remedy, indent: usize) -> String {
        let mut out = paragraph(&remedy.says, indent, self.width);
        if let Some(command) = &remedy.command {
            out.push_str(&format!("{}    {command}\n", " ".repeat(indent)));
        }
        out
    }
}

/// What nobody has verified is worth measuring, and telling others.
fn unverified(named: Option<&str>) -> Vec<Remedy> {
    let program = named.unwrap_or("PROGRAM");
    vec![
        start(named),
        Remedy::command(
            "Measure it, stock and with the overrides, before you rely on it.",
            format!("metalshim bench -- {program}"),
        ),
        Remedy::command("Report what came of it.", "metalshim report"),
    ]
}

fn start(named: Option<&str>) -> Remedy {
    Remedy {
        says: match named {
            Some(_) => "Start it with the overrides.".to_owned(),
            None => {
                "Start a program with the overrides; `metalshim doctor PROGRAM` looks at it first."
                    .to_owned()
            }
        },
        command: Some(format!("metalshim run -- {}", named.unwrap_or("PROGRAM"))),
    }
}

/// What `--list-checks` lists.
#[derive(Debug, Serialize)]
pub(crate) struct Checks {
    /// All checks, in the order in which they run.
    pub(crate) checks: Vec<Listed>,
}

/// One check.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    /// What `--check` takes.
    pub(crate) name: &'static str,
    /// What it looks at.
    pub(crate) about: &'static str,
}

impl Report for Checks {
    const SCHEMA: &'static str = "metalshim.doctor-checks/1";

    fn text(&self, _: Style) -> String {
        let line = |c: &Listed| format!("{:<14} {}\n", c.name, c.about);
        self.checks.iter().map(line).collect()
    }
}
