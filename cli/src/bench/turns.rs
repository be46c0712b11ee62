//! Both sides in turn: A B A B. What changes slowly, like heat, then meets both alike.

use std::collections::BTreeMap;
use std::ffi::OsString;

use compatdb::bench::{Series, Sides};

use super::leg::{Asked, Leg, Outcome, option_value};
use super::tool::{Tool, wall_time};
use super::{base_name, capabilities, ollama, without_folders};
use crate::error::Error;
use crate::printer::Printer;

/// What all runs measured, side by side.
#[derive(Debug, Default)]
pub struct Turns {
    /// The series of each run.
    pub runs: Sides<Vec<Vec<Series>>>,
    /// What the logs said of the device.
    pub capabilities: Sides<BTreeMap<String, String>>,
    /// What a reader has to know, a sentence each.
    pub warnings: Vec<String>,
}

/// Runs each of `legs` so many times, in turn.
///
/// # Errors
/// A run failed, or printed what cannot be read.
pub fn turns(
    asked: &Asked,
    tool: Tool,
    legs: &[Leg],
    runs: u32,
    printer: &Printer,
) -> Result<Turns, Error> {
    let asked = &Asked {
        arguments: with_output(tool, asked)?,
        ..asked.clone()
    };
    let mut turns = Turns::default();
    let mut silent = false;
    for run in 1..=runs {
        for &leg in legs {
            printer.progress(&format!("run {run} of {runs}, {}", side(leg)));
            let ended = match tool {
                Tool::Ollama => ollama::run(asked, leg)?,
                _ => asked.run(leg)?,
            };
            let series = series(asked, tool, &ended)?;
            let (all, said) = match leg {
                Leg::Stock => (&mut turns.runs.stock, &mut turns.capabilities.stock),
                Leg::Shimmed => (&mut turns.runs.shimmed, &mut turns.capabilities.shimmed),
            };
            all.push(series);
            said.extend(capabilities(&ended.err));
            let installed = ended.reported.iter().any(|r| r.state == "installed");
            silent |= leg == Leg::Shimmed && !installed;
        }
    }
    printer.progress("");
    if silent {
        turns.warnings.push(
            "the shim did not report that it installed the overrides: the program may never have made a Metal device, and both sides may be the same"
                .to_owned(),
        );
    }
    Ok(turns)
}

/// As users read it.
fn side(leg: Leg) -> &'static str {
    match leg {
        Leg::Stock => "stock",
        Leg::Shimmed => "with the overrides",
    }
}

/// The arguments, with what makes the tool print its samples.
fn with_output(tool: Tool, asked: &Asked) -> Result<Vec<OsString>, Error> {
    let mut arguments = asked.arguments.clone();
    match tool {
        Tool::LlamaBench => match option_value(&arguments, &["-o", "--output"]) {
            None => arguments.extend(["-o".into(), "json".into()]),
            Some(format) if format == "json" || format == "jsonl" => {}
            Some(other) => {
                return Err(Error::user(format!(
                    "llama-bench -o {}: only json and jsonl hold its samples",
                    other.display()
                ))
                .hint("leave -o out: bench adds -o json"));
            }
        },
        Tool::Ollama => ollama::checked(&arguments)?,
        Tool::MlxLm | Tool::Time => {}
    }
    Ok(arguments)
}

fn series(asked: &Asked, tool: Tool, ended: &Outcome) -> Result<Vec<Series>, Error> {
    let program = base_name(asked.path.as_os_str());
    let arguments = without_folders(&asked.arguments);
    if tool == Tool::Time {
        return Ok(vec![wall_time(&program, &arguments, ended.seconds)]);
    }
    let text = match tool {
        // Both streams: which of them a tool uses has changed before.
        Tool::MlxLm | Tool::Ollama if !ended.out.trim_start().starts_with('{') => {
            &format!("{}\n{}", ended.out, ended.err)
        }
        _ => &ended.out,
    };
    let mut series = tool.read(text).map_err(|why| {
        Error::user(format!("what {program} printed cannot be used: {why}"))
            .hint("any program can be measured by the clock: bench --time -- PROGRAM ARGS")
    })?;
    let model = match tool {
        Tool::MlxLm => option_value(&asked.arguments, &["--model"]).map(base_name),
        Tool::Ollama => ollama::model(&asked.arguments),
        _ => None,
    };
    if let Some(model) = model {
        let unnamed = series.iter_mut().filter(|s| s.workload == s.client);
        unnamed.for_each(|s| s.workload.clone_from(&model));
    }
    Ok(series)
}
