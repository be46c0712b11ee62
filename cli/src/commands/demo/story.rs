//! What the demo saw, whether it came out right, and the text about it. Starts nothing.

use serde::Serialize;
use serde_json::Value;

use super::scenes::{Program, Scene};
use crate::printer::{Report, Style};
use crate::table::{Table, paragraph};

/// Everything the demo saw.
#[derive(Debug, Serialize)]
pub struct Story {
    /// One for each program of each scene, in order.
    pub runs: Vec<Run>,
    /// What did not come out as it has to; empty when all is right.
    #[serde(skip)]
    pub wrong: Vec<String>,
    /// How wide the text may be.
    #[serde(skip)]
    pub width: Option<usize>,
}

/// One program, started stock and through `metalshim run`.
#[derive(Debug, Serialize)]
pub struct Run {
    /// The two builds.
    pub pair: Pair,
    /// The sample program's name.
    pub client: &'static str,
    /// What `metalshim run --dry-run --json` printed as its verdict.
    pub verdict: Value,
    /// What the program printed when it was started directly.
    pub stock: Answers,
    /// What it printed when `metalshim run --or-stock` started it.
    pub shimmed: Answers,
    #[serde(skip)]
    pub(super) scene: &'static Scene,
    #[serde(skip)]
    pub(super) program: &'static Program,
}

/// The builds of host and guest; the host's is none where nothing is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// The host's build number.
    pub host: Option<String>,
    /// The guest's build number.
    pub guest: String,
}

/// What a sample program printed about its device, and what it picked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answers {
    /// The highest Apple family that the device said yes to.
    pub apple_family: u16,
    /// In bytes.
    pub max_threadgroup_memory: u32,
    /// The kernel that the program picked.
    pub kernel: String,
}

impl Answers {
    /// Reads the `key=value` lines that a sample program prints; other lines and keys are
    /// passed over.
    ///
    /// # Errors
    ///
    /// Names the first line that is missing or has a value that is none.
    pub fn parse(printed: &str) -> Result<Self, String> {
        let value = |key: &str| {
            printed
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
                .ok_or_else(|| format!("no line `{key}=`"))
        };
        let bad = |key: &str| format!("a line `{key}=` without a number");
        Ok(Self {
            apple_family: value("apple_family")?
                .parse()
                .map_err(|_| bad("apple_family"))?,
            max_threadgroup_memory: value("max_threadgroup_memory")?
                .parse()
                .map_err(|_| bad("max_threadgroup_memory"))?,
            kernel: value("kernel")?.to_owned(),
        })
    }
}

impl Run {
    /// What is not as it has to be, in words; nothing when all is.
    ///
    /// The values come from the programs; this only holds them against the verdict and
    /// against each other.
    pub fn wrong(&self) -> Option<String> {
        let decision = self.verdict.get("decision").and_then(Value::as_str);
        let says = match (self.scene.refused, decision) {
            (None, Some("allow")) => self.wrong_when_allowed()?,
            (Some(reason), Some("refuse")) => {
                let given = self.verdict.get("reason").and_then(Value::as_str);
                if given != Some(reason.code()) {
                    format!(
                        "the reason should be {reason}, and is {}",
                        given.unwrap_or("missing")
                    )
                } else if self.shimmed != self.stock {
                    "refused, and its answers changed all the same".to_owned()
                } else {
                    return None;
                }
            }
            (None, _) => "the database should allow this pair, and does not".to_owned(),
            (Some(_), _) => "this pair should be refused, and is not".to_owned(),
        };
        Some(format!("{}, {}: {says}", self.scene.title, self.client))
    }

    fn wrong_when_allowed(&self) -> Option<String> {
        let profile = self.verdict.get("profile");
        let number = |key: &str| profile?.get(key)?.as_u64();
        let (Some(family), Some(memory)) =
            (number("apple_family_max"), number("max_threadgroup_memory"))
        else {
            return Some("the verdict allows, and names no profile".to_owned());
        };
        let told = (
            u64::from(self.shimmed.apple_family),
            u64::from(self.shimmed.max_threadgroup_memory),
        );
        let due = (
            family.max(u64::from(self.stock.apple_family)),
            memory.max(u64::from(self.stock.max_threadgroup_memory)),
        );
        if told != due {
            return Some(format!(
                "should have been told {}/{}, and printed {}/{}",
                due.0, due.1, told.0, told.1
            ));
        }
        let changed = self.shimmed.kernel != self.stock.kernel;
        match (self.program.gains, changed) {
            (true, false) => Some(format!(
                "should have picked another kernel than {}",
                self.stock.kernel
            )),
            (false, true) => Some(format!(
                "should have kept its kernel {}, and picked {}",
                self.stock.kernel, self.shimmed.kernel
            )),
            _ => None,
        }
    }

    fn verdict_text(&self) -> String {
        let text = |key: &str| self.verdict.get(key).and_then(Value::as_str);
        match text("decision") {
            Some("allow") => {
                let profile = self.verdict.get("profile");
                let number = |key: &str| {
                    profile
                        .and_then(|p| p.get(key))
                        .map_or_else(|| "?".to_owned(), Value::to_string)
                };
                format!(
                    "allowed by {} up to {}/{}",
                    text("record").unwrap_or("no record"),
                    number("apple_family_max"),
                    number("max_threadgroup_memory"),
                )
            }
            _ => format!("refused: {}", text("reason").unwrap_or("no reason given")),
        }
    }
}

impl Report for Story {
    const SCHEMA: &'static str = "metalshim.demo/1";

    fn text(&self, style: Style) -> String {
        let mut out = paragraph(
            "Each program below is a separate process in front of the simulated guest's Metal. It is \
             started twice: directly (stock), and by `metalshim run`. The values are what it printed.",
            0,
            self.width,
        );
        let scenes = self.runs.chunk_by(|a, b| std::ptr::eq(a.scene, b.scene));
        for (number, runs) in scenes.enumerate() {
            let Some(first) = runs.first() else { continue };
            out.push('\n');
            out.push_str(&self.scene_text(number + 1, first, runs, style));
        }
        out.push('\n');
        if self.wrong.is_empty() {
            out.push_str(&paragraph(
                "All as it has to be: raised where the pair is verified, stock everywhere else.",
                0,
                self.width,
            ));
        } else {
            out.push_str(&style.red("NOT as it has to be:"));
            out.push('\n');
            for wrong in &self.wrong {
                out.push_str("  ");
                out.push_str(&paragraph(wrong, 2, self.width));
            }
        }
        out
    }
}

impl Story {
    fn scene_text(&self, number: usize, first: &Run, runs: &[Run], style: Style) -> String {
        let host = first.pair.host.as_deref().unwrap_or("not known");
        let title = format!(
            "{number}. Host {host}, guest {}: {}",
            first.pair.guest, first.scene.title
        );
        let mut out = format!("{}\n   ", style.bold(&title));
        out.push_str(&paragraph(first.scene.says, 3, self.width));
        let mut table = Table::new([
            "program",
            "started",
            "apple family",
            "threadgroup memory",
            "kernel",
            "verdict",
        ]);
        for run in runs {
            let answers = |started: &str, answers: &Answers, verdict: String| {
                [
                    run.client.to_owned(),
                    started.to_owned(),
                    answers.apple_family.to_string(),
                    answers.max_threadgroup_memory.to_string(),
                    answers.kernel.clone(),
                    verdict,
                ]
            };
            table.row(answers("stock", &run.stock, String::new()));
            table.row(answers("metalshim run", &run.shimmed, run.verdict_text()));
        }
        let width = self.width.map(|w| w.saturating_sub(3));
        for line in table.render(width).lines() {
            out.push_str(&format!("   {line}\n"));
        }
        for run in runs {
            if let Some(says) = run.verdict.get("says").and_then(Value::as_str) {
                out.push_str("   ");
                out.push_str(&paragraph(says, 3, self.width));
            } else if first.scene.programs.len() > 1 {
                let lead = format!("   {}: ", run.client);
                out.push_str(&lead);
                out.push_str(&paragraph(run.program.says, 5, self.width));
            }
        }
        out
    }
}
