//! Files of figures: what a tool printed into one, a host's baseline, or a result of `bench`.

use std::path::Path;

use compatdb::bench::{Bench, Series};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::host::{self, Baseline};
use super::tool::Tool;
use crate::error::{Error, plain};
use crate::regular;

/// No file of figures is larger.
const MAX_LEN: u64 = 16 << 20;

/// What a file of samples holds.
#[derive(Debug)]
pub struct Samples {
    /// The tool that measured.
    pub tool: Tool,
    /// Its runs.
    pub runs: Vec<Vec<Series>>,
    /// The host's baseline that it is, if it is one.
    pub baseline: Option<Baseline>,
}

/// Reads a file of samples: a tool's own output, or what `bench record-host` wrote.
///
/// # Errors
/// It cannot be read, or holds no samples.
pub fn samples(path: &Path) -> Result<Samples, Error> {
    let text = text(path)?;
    if schema(&text).as_deref() == Some(host::SCHEMA) {
        let baseline: Baseline = body(path, &text)?;
        return Ok(Samples {
            tool: baseline.tool,
            runs: baseline.runs.clone(),
            baseline: Some(baseline),
        });
    }
    let Some(tool) = Tool::of_text(&text) else {
        return Err(unknown(path, "it is no output of a tool that bench knows"));
    };
    let series = tool.read(&text).map_err(|why| unknown(path, &why))?;
    Ok(Samples {
        tool,
        runs: vec![series],
        baseline: None,
    })
}

/// Reads a result of `bench`, and checks its figures against its samples.
///
/// # Errors
/// It cannot be read, is something else, or its figures are not those of its samples.
pub fn result(path: &Path) -> Result<Bench, Error> {
    let text = text(path)?;
    if schema(&text).as_deref() != Some(compatdb::bench::SCHEMA) {
        return Err(unknown(path, "it is no result of `metalshim bench --out`"));
    }
    let bench: Bench = body(path, &text)?;
    match bench.recomputed() {
        Some(again) if again == bench => Ok(bench),
        _ => Err(unknown(path, "its figures are not those of its samples")),
    }
}

fn text(path: &Path) -> Result<String, Error> {
    regular::open(path)
        .and_then(|file| regular::text(file, MAX_LEN))
        .map_err(|e| Error::user(format!("could not read {}: {}", path.display(), plain(&e))))
}

fn schema(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    Some(value.get("schema")?.as_str()?.to_owned())
}

/// The object without its schema.
fn body<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, Error> {
    let read = || {
        let mut value: Value = serde_json::from_str(text)?;
        if let Some(object) = value.as_object_mut() {
            object.remove("schema");
        }
        serde_json::from_value(value)
    };
    read().map_err(|e: serde_json::Error| unknown(path, &e.to_string()))
}

fn unknown(path: &Path, why: &str) -> Error {
    Error::user(format!("{} cannot be used: {why}", path.display()))
        .hint("docs/measuring.md says which files bench reads")
}
