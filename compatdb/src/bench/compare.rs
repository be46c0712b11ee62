//! Puts the series of both sides side by side.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Compared;

/// A side whose runs differ among themselves by more, was disturbed.
const UNSTEADY: f64 = 0.1;
/// Samples of one side that are further apart are worth a word.
const WIDE: f64 = 0.25;

/// What one run of a tool measured of one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// What was run, like the model's name.
    pub workload: String,
    /// The program, like `llama.cpp`.
    pub client: String,
    /// Its version, as the program writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
    /// Like `pp512`.
    pub metric: String,
    /// `tokens/s`, or `s` where less is better.
    pub unit: String,
    /// How it was run, as the tool says it: figures compare only where these are alike.
    pub settings: BTreeMap<String, String>,
    /// The tool's own samples.
    pub samples: Vec<f64>,
}

impl Series {
    fn key(&self) -> (&str, &str, &str, &str) {
        (&self.client, &self.workload, &self.metric, &self.unit)
    }
}

/// All runs of one side that measured the same.
struct Group<'a> {
    first: &'a Series,
    runs: Vec<Vec<f64>>,
    /// Settings and versions that differ between the runs.
    differ: Vec<String>,
}

fn groups<'a>(runs: &'a [Vec<Series>]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for series in runs.iter().flatten() {
        match groups.iter_mut().find(|g| g.first.key() == series.key()) {
            Some(group) => {
                group.differ.extend(differences(group.first, series));
                group.runs.push(series.samples.clone());
            }
            None => groups.push(Group {
                first: series,
                runs: vec![series.samples.clone()],
                differ: Vec::new(),
            }),
        }
    }
    groups
}

fn differences(a: &Series, b: &Series) -> Vec<String> {
    let mut differ = Vec::new();
    if a.client_version != b.client_version {
        let version = |s: &Series| s.client_version.clone().unwrap_or_else(|| "none".into());
        differ.push(format!("version {} and {}", version(a), version(b)));
    }
    for name in a.settings.keys().chain(b.settings.keys()) {
        let value = |s: &Series| s.settings.get(name).cloned().unwrap_or_default();
        if value(a) != value(b) {
            differ.push(format!("{name} {} and {}", value(a), value(b)));
        }
    }
    differ.sort();
    differ.dedup();
    differ
}

/// What both sides measured, in the order of the stock side, and what to be warned of. The
/// host's figures are optional; what only one side measured is told and left out.
pub fn compare(
    stock: &[Vec<Series>],
    shimmed: &[Vec<Series>],
    host: &[Vec<Series>],
) -> (Vec<Compared>, Vec<String>) {
    let (stock, shimmed, host) = (groups(stock), groups(shimmed), groups(host));
    let mut rows = Vec::new();
    let mut warnings = Vec::new();
    let find = |groups: &[Group<'_>], series: &Series| {
        groups.iter().position(|g| g.first.key() == series.key())
    };
    for group in &stock {
        let name = format!("{}, {}", group.first.workload, group.first.metric);
        let Some(other) = find(&shimmed, group.first).and_then(|at| shimmed.get(at)) else {
            warnings.push(format!("{name}: only the stock side has it; left out"));
            continue;
        };
        let mut differ = [group.differ.clone(), other.differ.clone()].concat();
        differ.extend(differences(group.first, other.first));
        if !differ.is_empty() {
            differ.sort();
            differ.dedup();
            warnings.push(format!(
                "{name}: the runs were not alike: {}",
                differ.join(", ")
            ));
        }
        let of_host = find(&host, group.first).and_then(|at| host.get(at));
        if let Some(of_host) = of_host {
            // A host has other processors.
            let differ = differences(group.first, of_host.first).into_iter();
            let differ: Vec<_> = differ.filter(|d| !d.starts_with("n_threads ")).collect();
            if !differ.is_empty() {
                warnings.push(format!(
                    "{name}: the host's run was not alike: {}",
                    differ.join(", ")
                ));
            }
        }
        let host_runs = of_host.map(|h| h.runs.clone()).unwrap_or_default();
        let row = Compared::of(
            group.first,
            group.runs.clone(),
            other.runs.clone(),
            host_runs,
        );
        match row {
            Some(row) => {
                warnings.extend(unsteady(&name, "stock", &row.stock.runs));
                warnings.extend(unsteady(&name, "shimmed", &row.shimmed.runs));
                rows.push(row);
            }
            None => warnings.push(format!("{name}: a side has no usable sample; left out")),
        }
    }
    for group in &shimmed {
        if find(&stock, group.first).is_none() {
            warnings.push(format!(
                "{}, {}: only the shimmed side has it; left out",
                group.first.workload, group.first.metric
            ));
        }
    }
    (rows, warnings)
}

fn unsteady(name: &str, side: &str, runs: &[Vec<f64>]) -> Option<String> {
    let medians: Vec<f64> = runs
        .iter()
        .filter_map(|run| Some(super::spread(run)?.median))
        .collect();
    let between = super::spread(&medians)?;
    let apart = (between.max - between.min) / between.median;
    if runs.len() > 1 && apart > UNSTEADY {
        return Some(format!(
            "{name}: the {side} runs differ among themselves by {:.0} %: something else was running, here or on the host",
            apart * 100.0
        ));
    }
    let all = super::spread(&runs.concat())?;
    let width = (all.max - all.min) / all.median;
    (width > WIDE).then(|| {
        format!(
            "{name}: the {side} samples spread over {:.0} % of their median",
            width * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(metric: &str, samples: &[f64]) -> Series {
        Series {
            workload: "m".into(),
            client: "llama.cpp".into(),
            client_version: Some("b1".into()),
            metric: metric.into(),
            unit: "tokens/s".into(),
            settings: [("n_batch".to_owned(), "2048".to_owned())].into(),
            samples: samples.to_vec(),
        }
    }

    #[test]
    fn runs_pair_up_in_their_order() {
        let stock = [vec![series("pp", &[1.; 3])], vec![series("pp", &[2.; 3])]];
        let shimmed = [vec![series("pp", &[10.; 3])], vec![series("pp", &[30.; 3])]];
        let (rows, warnings) = compare(&stock, &shimmed, &[]);
        assert_eq!(rows[0].pairs, [10.0, 15.0]);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
    }

    #[test]
    fn what_was_run_differently_is_said() {
        let mut other = series("pp", &[5.; 3]);
        other.settings.insert("n_batch".into(), "512".into());
        other.client_version = None;
        let (_, warnings) = compare(&[vec![series("pp", &[5.; 3])]], &[vec![other]], &[]);
        assert_eq!(
            warnings,
            ["m, pp: the runs were not alike: n_batch 2048 and 512, version b1 and none"]
        );
    }

    #[test]
    fn what_one_side_lacks_is_said() {
        let (rows, warnings) = compare(
            &[vec![series("pp", &[1.; 3])]],
            &[vec![series("tg", &[1.; 3])]],
            &[],
        );
        assert!(rows.is_empty());
        assert_eq!(warnings.len(), 2, "{warnings:?}");
    }
}
