//! The host's baseline: what `bench record-host` writes on the host, for `--baseline`.

use std::collections::BTreeMap;

use compatdb::bench::Series;
use compatdb::{OsBuild, bench};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::tool::Tool;
use crate::printer::{Report, Style};

/// The schema's name in files.
pub const SCHEMA: &str = "metalshim.bench-host/1";

/// What the host measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// What was measured with.
    pub tool: Tool,
    /// Base name of the program.
    pub program: String,
    /// Its arguments, folders left out of paths.
    pub arguments: Vec<String>,
    /// When it began.
    pub at: Timestamp,
    /// The host's build.
    pub build: OsBuild,
    /// `hw.model`
    pub model: String,
    /// The host's chip.
    pub chip: String,
    /// Load of the last minute for each processor, before the first run.
    pub load: Option<f64>,
    /// What the log said of the device.
    pub capabilities: BTreeMap<String, String>,
    /// The series of each run.
    pub runs: Vec<Vec<Series>>,
}

impl Report for Baseline {
    const SCHEMA: &'static str = SCHEMA;

    fn text(&self, style: Style) -> String {
        let mut lines = vec![format!(
            "{} of {} ({}, {})",
            style.bold("baseline"),
            self.chip,
            self.model,
            self.build
        )];
        let mut seen: Vec<(&str, &str, Vec<f64>)> = Vec::new();
        for series in self.runs.iter().flatten() {
            let same = |(w, m, _): &&mut (&str, &str, Vec<f64>)| {
                *w == series.workload && *m == series.metric
            };
            match seen.iter_mut().find(same) {
                Some((_, _, samples)) => samples.extend(&series.samples),
                None => seen.push((&series.workload, &series.metric, series.samples.clone())),
            }
        }
        for (workload, metric, samples) in seen {
            if let Some(spread) = bench::spread(&samples) {
                lines.push(format!(
                    "{workload}, {metric}: {} ({} to {}, {} samples)",
                    bench::figure_text(spread.median),
                    bench::figure_text(spread.min),
                    bench::figure_text(spread.max),
                    spread.count
                ));
            }
        }
        lines.join("\n") + "\n"
    }
}
