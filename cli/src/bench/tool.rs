//! What benchmark tools print, as series of samples.
//!
//! **Contract.** Any text is an answer or a sentence that says what is wrong; nothing here
//! panics. The samples are the tool's own: averages that it prints are never used.

use std::collections::BTreeMap;
use std::fmt;

use compatdb::bench::Series;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// No name is longer.
const MAX_NAME: usize = 80;
/// The unit of all but times.
pub const TOKENS: &str = "tokens/s";

/// A tool whose output can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    /// llama.cpp's llama-bench: its JSON
    LlamaBench,
    /// MLX-LM: `mlx_lm.benchmark`, `mlx_lm.generate`, or JSON with `samples`
    MlxLm,
    /// `ollama run MODEL PROMPT`: what `--verbose` prints
    Ollama,
    /// Any command: the time on the clock
    Time,
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LlamaBench => "llama-bench",
            Self::MlxLm => "mlx-lm",
            Self::Ollama => "ollama",
            Self::Time => "time",
        })
    }
}

impl Tool {
    /// By the program's base name and its arguments; none where that does not tell.
    pub fn recognise(program: &str, arguments: &[String]) -> Option<Self> {
        let is_mlx = |word: &str| word.starts_with("mlx_lm") || word.starts_with("mlx-lm");
        match program {
            "llama-bench" => Some(Self::LlamaBench),
            "ollama" => Some(Self::Ollama),
            _ if is_mlx(program) => Some(Self::MlxLm),
            _ if program.starts_with("python") && arguments.iter().any(|a| is_mlx(a)) => {
                Some(Self::MlxLm)
            }
            _ => None,
        }
    }

    /// What the tool printed, as series. Times are not printed: see [`wall_time`].
    ///
    /// # Errors
    /// A sentence: what is missing, and what would be right.
    pub fn read(self, text: &str) -> Result<Vec<Series>, String> {
        let mut series = match self {
            Self::LlamaBench => llama_bench(text),
            Self::MlxLm => mlx_lm(text),
            Self::Ollama => ollama(text),
            Self::Time => Err("a time is not read from what a program prints".to_owned()),
        }?;
        series.retain(|s| !s.samples.is_empty());
        if series.is_empty() {
            return Err(format!("there are no samples of {self} in it"));
        }
        tell_apart(&mut series);
        for one in &mut series {
            let version = one.client_version.iter_mut();
            let names = [&mut one.workload, &mut one.metric];
            names.into_iter().chain(version).for_each(clean);
        }
        Ok(series)
    }

    /// The tool whose output this is, by its looks.
    pub fn of_text(text: &str) -> Option<Self> {
        let start = text.trim_start();
        if start.starts_with('[') || start.starts_with('{') && start.contains("\"samples_ts\"") {
            Some(Self::LlamaBench)
        } else if start.starts_with('{') || start.contains("Trial 1:") || start.contains(MLX_RATE) {
            Some(Self::MlxLm)
        } else {
            start.contains("eval rate:").then_some(Self::Ollama)
        }
    }
}

/// Names come from files of others: none of them moves a cursor or fills a page.
fn clean(name: &mut String) {
    let printable = |c: char| if c.is_control() { '?' } else { c };
    *name = name.chars().take(MAX_NAME).map(printable).collect();
}

/// One run of any program, by the clock.
pub fn wall_time(program: &str, arguments: &[String], seconds: f64) -> Series {
    let words = [&[program.to_owned()], arguments].concat();
    let mut workload = words.join(" ");
    clean(&mut workload);
    Series {
        workload,
        client: program.to_owned(),
        client_version: None,
        metric: "wall time".to_owned(),
        unit: "s".to_owned(),
        settings: BTreeMap::new(),
        samples: vec![seconds],
    }
}

/// Keys of llama-bench that are results or names; every other one says how it was run.
const NOT_SETTINGS: [&str; 16] = [
    "build_commit",
    "build_number",
    "cpu_info",
    "gpu_info",
    "backends",
    "model_filename",
    "test_time",
    "avg_ns",
    "stddev_ns",
    "avg_ts",
    "stddev_ts",
    "samples_ns",
    "samples_ts",
    "n_prompt",
    "n_gen",
    "n_depth",
];

fn llama_bench(text: &str) -> Result<Vec<Series>, String> {
    let rows: Vec<Map<String, Value>> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map_err(|e| format!("it is no JSON of llama-bench: {e}"))?
    } else {
        // `-o jsonl`: one object a line.
        let lines = text.lines().filter(|line| line.starts_with('{'));
        let rows: Result<_, _> = lines.map(serde_json::from_str).collect();
        rows.map_err(|e| format!("it is no JSON of llama-bench: {e}"))?
    };
    rows.iter().map(llama_bench_row).collect()
}

fn llama_bench_row(row: &Map<String, Value>) -> Result<Series, String> {
    let missing =
        |key: &str| format!("a row has no {key}: is it llama-bench's own JSON (-o json)?");
    let samples = row.get("samples_ts").and_then(Value::as_array);
    let samples = samples.ok_or_else(|| missing("samples_ts"))?;
    let number = |key: &str| row.get(key).and_then(Value::as_u64).unwrap_or(0);
    let text = |key: &str| row.get(key).and_then(Value::as_str);
    let file = text("model_filename").ok_or_else(|| missing("model_filename"))?;
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let mut metric = match (number("n_prompt"), number("n_gen")) {
        (prompt, 0) => format!("pp{prompt}"),
        (0, generated) => format!("tg{generated}"),
        (prompt, generated) => format!("pp{prompt}+tg{generated}"),
    };
    if number("n_depth") > 0 {
        metric = format!("{metric} @ d{}", number("n_depth"));
    }
    let version = (row.get("build_number"), text("build_commit"));
    let settings = row
        .iter()
        .filter(|(key, _)| !NOT_SETTINGS.contains(&key.as_str()));
    Ok(Series {
        workload: name.strip_suffix(".gguf").unwrap_or(name).to_owned(),
        client: "llama.cpp".to_owned(),
        client_version: match version {
            (Some(number), Some(commit)) => Some(format!("b{number} ({commit})")),
            _ => None,
        },
        metric,
        unit: TOKENS.to_owned(),
        settings: settings
            .map(|(key, value)| (key.clone(), plain(value)))
            .collect(),
        samples: samples
            .iter()
            .map(|s| s.as_f64().ok_or_else(|| format!("samples_ts holds {s}")))
            .collect::<Result<_, _>>()?,
    })
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

const MLX_RATE: &str = "tokens-per-sec";

fn mlx_lm(text: &str) -> Result<Vec<Series>, String> {
    if text.trim_start().starts_with('{') {
        return mlx_json(text);
    }
    let (mut prompt, mut generated) = (None, None);
    let (mut prompt_rates, mut generation_rates) = (Vec::new(), Vec::new());
    for line in text.lines() {
        // Timing with prompt_tokens=512, generation_tokens=128, batch_size=1.
        if line.starts_with("Timing with ") {
            prompt = value(line, "prompt_tokens=");
            generated = value(line, "generation_tokens=");
        }
        // Trial 1:  prompt_tps=1677.506, generation_tps=170.771, peak_memory=2.340
        if line.starts_with("Trial ") {
            prompt_rates.extend(value(line, "prompt_tps="));
            generation_rates.extend(value(line, "generation_tps="));
        }
        // Prompt: 37 tokens, 110.500 tokens-per-sec
        for (start, count, rates) in [
            ("Prompt: ", &mut prompt, &mut prompt_rates),
            ("Generation: ", &mut generated, &mut generation_rates),
        ] {
            if line.starts_with(start) && line.ends_with(MLX_RATE) {
                *count = value(line, start);
                rates.extend(value(line, "tokens, "));
            }
        }
    }
    Ok(vec![
        mlx_series("pp", prompt, prompt_rates, None, None),
        mlx_series("tg", generated, generation_rates, None, None),
    ])
}

/// The number right behind `key`.
fn value(line: &str, key: &str) -> Option<f64> {
    let (_, rest) = line.split_once(key)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
    let number = rest.get(..end.unwrap_or(rest.len()))?;
    number.trim_end_matches('.').parse().ok()
}

fn mlx_series(
    kind: &str,
    tokens: Option<f64>,
    samples: Vec<f64>,
    model: Option<String>,
    version: Option<String>,
) -> Series {
    Series {
        workload: model.unwrap_or_else(|| "MLX-LM".to_owned()),
        client: "MLX-LM".to_owned(),
        client_version: version,
        metric: tokens.map_or_else(|| kind.to_owned(), |n| format!("{kind}{n:.0}")),
        unit: TOKENS.to_owned(),
        settings: BTreeMap::new(),
        samples,
    }
}

#[derive(Deserialize)]
struct MlxFile {
    model: Option<Value>,
    runtime: Option<Value>,
    samples: Vec<MlxSample>,
}

#[derive(Deserialize)]
struct MlxSample {
    prompt_tokens: Option<f64>,
    prompt_tps: f64,
    generation_tokens: Option<f64>,
    generation_tps: f64,
}

fn mlx_json(text: &str) -> Result<Vec<Series>, String> {
    let file: MlxFile = serde_json::from_str(text)
        .map_err(|e| format!("it is no JSON with samples of prompt_tps and generation_tps: {e}"))?;
    let model = file.model.as_ref().and_then(|model| {
        let id = model.as_str().or_else(|| model.get("id")?.as_str())?;
        Some(id.rsplit('/').next().unwrap_or(id).to_owned())
    });
    let version = file.runtime.as_ref().and_then(|runtime| {
        let of = |key: &str| runtime.get(key)?.as_str();
        Some(format!("{} (MLX {})", of("mlx_lm")?, of("mlx")?))
    });
    let first = file.samples.first();
    Ok(vec![
        mlx_series(
            "pp",
            first.and_then(|s| s.prompt_tokens),
            file.samples.iter().map(|s| s.prompt_tps).collect(),
            model.clone(),
            version.clone(),
        ),
        mlx_series(
            "tg",
            first.and_then(|s| s.generation_tokens),
            file.samples.iter().map(|s| s.generation_tps).collect(),
            model,
            version,
        ),
    ])
}

fn ollama(text: &str) -> Result<Vec<Series>, String> {
    let (mut prompt, mut eval) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let rate = |start: &str| value(line.strip_prefix(start)?.trim_start(), "");
        // A later prompt to the same server is answered from its cache: only the first counts.
        if let Some(rate) = rate("prompt eval rate:").filter(|_| prompt.is_empty()) {
            prompt.push(rate);
        }
        eval.extend(rate("eval rate:"));
    }
    let series = |metric: &str, samples| Series {
        workload: "ollama".to_owned(),
        client: "ollama".to_owned(),
        client_version: None,
        metric: metric.to_owned(),
        unit: TOKENS.to_owned(),
        settings: BTreeMap::new(),
        samples,
    };
    Ok(vec![series("prompt eval", prompt), series("eval", eval)])
}

/// Series of one output that would be called the same get what tells them apart into their
/// names: `pp512 n_gpu_layers=0`.
fn tell_apart(series: &mut [Series]) {
    let all = series.to_vec();
    for one in series {
        let same = all
            .iter()
            .filter(|s| s.workload == one.workload && s.metric == one.metric);
        let same: Vec<&Series> = same.collect();
        let differs = |(key, value): &(&String, &String)| {
            same.iter().any(|s| s.settings.get(*key) != Some(*value))
        };
        let differing = one.settings.iter().filter(differs);
        let names: Vec<String> = differing.map(|(k, v)| format!("{k}={v}")).collect();
        for name in names {
            one.metric = format!("{} {name}", one.metric);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mlx_prints_trials_or_one_rate() {
        let trials = "Running warmup..\nTiming with prompt_tokens=512, generation_tokens=128, batch_size=1.\n\
            Trial 1:  prompt_tps=1677.506, generation_tps=170.771, peak_memory=2.340\n\
            Trial 2:  prompt_tps=1658.371, generation_tps=170.642, peak_memory=2.340\n\
            Averages: prompt_tps=1667.938, generation_tps=170.706, peak_memory=2.340\n";
        assert_eq!(Tool::of_text(trials), Some(Tool::MlxLm));
        let series = Tool::MlxLm.read(trials).unwrap();
        assert_eq!(series[0].metric, "pp512");
        assert_eq!(series[0].samples, [1677.506, 1658.371]);
        assert_eq!(series[1].samples, [170.771, 170.642]);
        let one = "==========\nPrompt: 37 tokens, 110.500 tokens-per-sec\nGeneration: 100 tokens, 60.123 tokens-per-sec\nPeak memory: 1.234 GB\n";
        let series = Tool::MlxLm.read(one).unwrap();
        assert_eq!(series[0].samples, [110.5]);
        assert_eq!(
            (&*series[1].metric, series[1].samples[0]),
            ("tg100", 60.123)
        );
    }

    #[test]
    fn ollama_counts_the_first_prompt_only() {
        let text = "prompt eval rate:     110.33 tokens/s\neval rate:            35.40 tokens/s\n\
            prompt eval rate:     9000.00 tokens/s\neval rate:            35.50 tokens/s\n";
        let series = Tool::Ollama.read(text).unwrap();
        assert_eq!(series[0].samples, [110.33]);
        assert_eq!(series[1].samples, [35.4, 35.5]);
    }

    #[test]
    fn rows_of_one_name_are_told_apart() {
        let row = |layers: u8| {
            format!(
                r#"{{"model_filename":"/x/m.gguf","n_prompt":512,"n_gen":0,"n_gpu_layers":{layers},"samples_ts":[1,2,3]}}"#
            )
        };
        let text = format!("[{},{}]", row(0), row(99));
        let series = Tool::LlamaBench.read(&text).unwrap();
        assert_eq!(series[0].metric, "pp512 n_gpu_layers=0");
        assert_eq!(series[1].metric, "pp512 n_gpu_layers=99");
        let lines = format!("{}\n{}\n", row(0), row(99));
        assert_eq!(Tool::LlamaBench.read(&lines).unwrap(), series);
    }

    #[test]
    fn anything_else_is_said() {
        for (tool, text) in [
            (Tool::LlamaBench, ""),
            (Tool::LlamaBench, "[]"),
            (Tool::LlamaBench, "[{\"samples_ts\":[1e999]}]"),
            (
                Tool::LlamaBench,
                "[{\"samples_ts\":[\"1\"],\"model_filename\":\"m\"}]",
            ),
            (Tool::MlxLm, "{\"samples\":[{}]}"),
            (Tool::MlxLm, "Trial 1: prompt_tps=nan"),
            (Tool::Ollama, "eval rate: fast"),
        ] {
            assert!(tool.read(text).is_err(), "{text}");
        }
    }
}
