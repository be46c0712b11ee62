//! What is seen of one version in its runs.

use std::path::Path;

use crate::Problem;
use crate::run::{Run, Start, bytes, run};
use crate::source::{self, Source};
use crate::versions::Version;

/// Bytes of threadgroup memory that Apple's GPUs have: no Mac that was measured reports more.
pub(crate) const HARDWARE: u64 = 32_768;

/// All runs of one version.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) version: Version,
    /// Without the overrides.
    pub(crate) stock: Run,
    /// With 1009/65536, the record's whole profile.
    pub(crate) whole: Run,
    /// With what the client row leaves of it.
    pub(crate) row: Run,
    /// With the record's families and 32768 bytes, for versions whose row lets 65536 through.
    pub(crate) low: Option<Run>,
    /// With the row, on hosts of family 7, 8 and 9, for versions that tune by the family.
    pub(crate) hosts: Vec<(u16, Run)>,
    /// What its source says.
    pub(crate) source: Source,
}

/// Runs a version in every way.
pub(crate) fn observe(version: &Version, ggml: &Path, client: &Path) -> Result<Observed, Problem> {
    let source = source::read(ggml);
    let row = run(client, Start::Client(version.client), false)?;
    let mut hosts = Vec::new();
    if !row.lines("tuned").is_empty() {
        for family in [7, 8, 9] {
            let start = Start::Host(version.client, 1000 + family);
            hosts.push((family, run(client, start, false)?));
        }
    }
    Ok(Observed {
        version: *version,
        stock: run(client, Start::Stock, true)?,
        whole: run(client, Start::Whole, false)?,
        low: if row.told("memory") == "32768" {
            None
        } else {
            Some(run(client, Start::Low, false)?)
        },
        row,
        hosts,
        source,
    })
}

/// One operation, and where it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Op {
    pub(crate) name: String,
    pub(crate) stock: String,
    pub(crate) shimmed: String,
}

/// What a tuning table chooses for one family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tuned {
    /// Sizes for which the choice is not the baseline.
    pub(crate) choices: usize,
    /// The largest request among them, in bytes.
    pub(crate) largest: u64,
    /// How many ask for more than the hardware has.
    pub(crate) above: usize,
}

impl Observed {
    /// Every operation, in the order asked.
    pub(crate) fn ops(&self) -> Vec<Op> {
        let word = |words: &[String], at: usize| words.get(at).cloned().unwrap_or_default();
        let shimmed = self.row.lines("op");
        self.stock
            .lines("op")
            .iter()
            .map(|words| Op {
                name: word(words, 0),
                stock: word(words, 1),
                shimmed: shimmed
                    .iter()
                    .find(|other| other.first() == words.first())
                    .map(|other| word(other, 1))
                    .unwrap_or_default(),
            })
            .collect()
    }

    /// The tuning choices for a family, each with what it would ask for: at 65536 bytes told, whatever is
    /// claimed.
    pub(crate) fn tuned(&self, family: u16) -> Tuned {
        let mut sum = Tuned::default();
        for words in self.whole.lines("tuned") {
            if words
                .first()
                .is_some_and(|word| *word == family.to_string())
            {
                sum.choices += 1;
                sum.largest = sum.largest.max(bytes(words));
                sum.above += usize::from(bytes(words) > HARDWARE);
            }
        }
        sum
    }
}

/// The largest request of a run's flash attention, in bytes; with `vector`, of the kernels that a
/// tuning table decides.
pub(crate) fn largest_attention(run: &Run, vector: bool) -> u64 {
    attention_above(run, 0)
        .into_iter()
        .filter(|(kernel, _)| !vector || kernel.contains("_vec_"))
        .map(|(_, memory)| memory)
        .max()
        .unwrap_or_default()
}

/// The kernels of flash attention that asked for more than `limit` bytes, each with its most.
pub(crate) fn attention_above(run: &Run, limit: u64) -> Vec<(String, u64)> {
    let mut kernels = std::collections::BTreeMap::new();
    for words in run.lines("attention") {
        let memory = bytes(words);
        if memory > limit {
            let kernel = words.get(5).cloned().unwrap_or_default();
            let most = kernels.entry(kernel).or_insert(0);
            *most = memory.max(*most);
        }
    }
    kernels.into_iter().collect()
}

/// Calls of `supportsFamily:` in a phase.
pub(crate) fn family_calls(run: &Run, phase: &str) -> u64 {
    of_phase(run, phase).map(|words| bytes(words)).sum()
}

/// The same by family, lowest first.
pub(crate) fn calls_by_family(run: &Run, phase: &str) -> Vec<(u64, u64)> {
    let mut calls: Vec<(u64, u64)> = of_phase(run, phase)
        .map(|words| {
            let family = words.get(1).and_then(|word| word.parse().ok());
            (family.unwrap_or_default(), bytes(words))
        })
        .collect();
    calls.sort_unstable();
    calls
}

/// Calls of `maxThreadgroupMemoryLength` in a phase.
pub(crate) fn memory_calls(run: &Run, phase: &str) -> u64 {
    run.lines("reads")
        .iter()
        .filter(|words| words.first().is_some_and(|word| word == phase))
        .map(|words| bytes(words))
        .sum()
}

fn of_phase<'a>(run: &'a Run, phase: &'a str) -> impl Iterator<Item = &'a Vec<String>> {
    run.lines("queries")
        .iter()
        .filter(move |words| words.first().is_some_and(|word| word == phase))
}
