//! A benchmark of one machine: the same program stock and with the overrides, as a result that
//! can be read, published and checked again.
//!
//! **Contract.** Pure: samples in, figures out. Every figure here follows from the samples
//! beside it, and [`Bench::recomputed`] makes them again, so that whoever receives a result need
//! not believe one. A gain is only called one where the two sides' ranges are apart.

mod compare;
mod figures;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use compare::{Series, compare};
pub use figures::{FLAT, Judgement, LEAST_SAMPLES, SMALLEST, Spread, judge, ratio, spread};

use crate::facts::HostSource;
use crate::{OsBuild, Profile};

/// The schema's name in files.
pub const SCHEMA: &str = "metalshim.bench/1";

/// What a benchmark found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bench {
    /// What was measured with: `llama-bench`, `mlx-lm`, `ollama` or `time`.
    pub tool: String,
    /// Base name of the program.
    pub program: String,
    /// Its arguments, folders left out of paths.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Where and when; none for figures of files that were made elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
    /// One row a metric.
    pub series: Vec<Compared>,
    /// What the program's own log said of the device.
    #[serde(default)]
    pub capabilities: Sides<BTreeMap<String, String>>,
    /// What a reader has to know to judge the figures, a sentence each.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// The machine and the moment of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// When it began.
    pub at: Timestamp,
    /// How often each side was run, in turn.
    pub runs: u32,
    /// The guest's build.
    pub guest_build: OsBuild,
    /// The guest's chip, like `Apple M1 Ultra (Virtual)`.
    pub guest_chip: String,
    /// The host's build, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_build: Option<OsBuild>,
    /// How the host's build is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_source: Option<HostSource>,
    /// SHA-256 of the guest's boot session: tells two boots apart, and nothing else.
    pub boot: String,
    /// What the programs were told.
    pub profile: Profile,
    /// The record that allowed it; none for a pair that nobody verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// Load of the last minute for each processor, before the first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// The machine is a simulated one, for trying things out: its figures say nothing.
    #[serde(default)]
    pub simulated: bool,
    /// The machine was busy, and it was run all the same.
    #[serde(default)]
    pub busy: bool,
}

/// Something of each side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sides<T> {
    /// In the guest, untouched.
    pub stock: T,
    /// In the guest, with the overrides.
    pub shimmed: T,
    /// On the host itself, where that was measured.
    #[serde(default)]
    pub host: T,
}

/// One metric of one workload on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// What was run, like the model's name.
    pub workload: String,
    /// The program, like `llama.cpp`.
    pub client: String,
    /// Its version, as the program writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
    /// Like `pp512`.
    pub metric: String,
    /// Like `tokens/s`; with `s` less is better.
    pub unit: String,
    /// Stock.
    pub stock: Side,
    /// With the overrides.
    pub shimmed: Side,
    /// On the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Side>,
    /// How many times as fast with the overrides as stock, by the medians.
    pub ratio: f64,
    /// The same for each pair of runs.
    pub pairs: Vec<f64>,
    /// What it is of the host's own speed: 0.98 is 98 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_of_host: Option<f64>,
    /// May it be called a gain.
    pub judgement: Judgement,
}

/// The samples of one side, and what follows from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// The tool's own samples, run by run.
    pub runs: Vec<Vec<f64>>,
    /// Median of all samples.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Side {
    /// Of these runs; none where there is no sample, or one that is no positive number.
    pub fn of(runs: Vec<Vec<f64>>) -> Option<Self> {
        let spread = spread(&runs.concat())?;
        Some(Self {
            median: spread.median,
            min: spread.min,
            max: spread.max,
            runs,
        })
    }

    /// How many samples there are.
    pub fn count(&self) -> usize {
        self.runs.iter().map(Vec::len).sum()
    }

    fn spread(&self) -> Spread {
        Spread {
            count: self.count(),
            median: self.median,
            min: self.min,
            max: self.max,
        }
    }
}

impl Compared {
    /// From the samples; none where a side has none.
    pub fn of(
        series: &Series,
        stock: Vec<Vec<f64>>,
        shimmed: Vec<Vec<f64>>,
        host: Vec<Vec<f64>>,
    ) -> Option<Self> {
        let less_is_better = series.unit == "s";
        let ratio_of = |a: f64, b: f64| ratio(a, b, less_is_better);
        let pairs = stock.iter().zip(&shimmed);
        let pairs = pairs.filter_map(|(a, b)| Some(ratio_of(spread(a)?.median, spread(b)?.median)));
        let pairs = pairs.collect();
        let (stock, shimmed, host) = (Side::of(stock)?, Side::of(shimmed)?, Side::of(host));
        let (ratio, judgement) = judge(&stock.spread(), &shimmed.spread(), less_is_better);
        Some(Self {
            workload: series.workload.clone(),
            client: series.client.clone(),
            client_version: series.client_version.clone(),
            metric: series.metric.clone(),
            unit: series.unit.clone(),
            share_of_host: host.as_ref().map(|h| ratio_of(h.median, shimmed.median)),
            stock,
            shimmed,
            host,
            ratio,
            pairs,
            judgement,
        })
    }

    /// The same, made again from the samples alone.
    pub fn recomputed(&self) -> Option<Self> {
        let series = Series {
            workload: self.workload.clone(),
            client: self.client.clone(),
            client_version: self.client_version.clone(),
            metric: self.metric.clone(),
            unit: self.unit.clone(),
            settings: BTreeMap::new(),
            samples: Vec::new(),
        };
        let host = self.host.as_ref().map(|h| h.runs.clone());
        Self::of(
            &series,
            self.stock.runs.clone(),
            self.shimmed.runs.clone(),
            host.unwrap_or_default(),
        )
    }

    /// The ratio as it may be published: `11.08 times`, or that it is none.
    pub fn says(&self) -> String {
        let ratio = ratio_text(self.ratio);
        match self.judgement {
            Judgement::Gain => format!("{ratio} times"),
            Judgement::Loss => format!("{ratio} times: slower"),
            Judgement::Flat => format!("flat ({ratio})"),
            Judgement::Noise => format!("no difference shown: the ranges overlap ({ratio})"),
            Judgement::TooFew => {
                format!("too few samples to tell: {LEAST_SAMPLES} a side are the least ({ratio})")
            }
        }
    }
}

/// Two digits after the point, three below 2, where the third still tells something.
pub fn ratio_text(ratio: f64) -> String {
    if ratio < 2.0 {
        format!("{ratio:.3}")
    } else {
        format!("{ratio:.2}")
    }
}

/// A figure for people: four digits and more, never an exponent.
pub fn figure_text(value: f64) -> String {
    let digits = match value {
        v if v >= 1000.0 => 1,
        v if v >= 100.0 => 2,
        v if v >= 10.0 => 3,
        _ => 4,
    };
    let text = format!("{value:.digits$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if fraction.is_empty() {
        grouped
    } else {
        format!("{grouped}.{fraction}")
    }
}

impl Bench {
    /// The whole again, its figures made from the samples. None where a series has none.
    pub fn recomputed(&self) -> Option<Self> {
        let series: Option<Vec<_>> = self.series.iter().map(Compared::recomputed).collect();
        Some(Self {
            series: series?,
            ..self.clone()
        })
    }

    /// Whether one of them is a gain.
    pub fn gains(&self) -> bool {
        self.series.iter().any(|s| s.judgement == Judgement::Gain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_for_people() {
        for (value, text) in [
            (4786.7, "4,786.7"),
            (431.8625, "431.86"),
            (12.6307, "12.631"),
            (3.41483, "3.4148"),
            (1_000_000.0, "1,000,000"),
            (0.5, "0.5"),
        ] {
            assert_eq!(figure_text(value), text);
        }
    }
}
