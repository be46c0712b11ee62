//! `metalshim bench`: what a program gains here, as its users would publish it.
//!
//! **Contract.** Both sides are run in turn on this machine, by the parts that users have: the
//! shimmed side is `metalshim run` itself. Refused there means refused here, before anything is
//! measured. A difference is called a gain only where the ranges are apart. Exit code 0:
//! measured; 1: refused; 2: could not be measured, or wrong usage.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use compatdb::bench::{Bench, Conditions, Sides, compare};
use compatdb::{OsBuild, Profile, Told, sha256_hex};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bench::host::Baseline;
use crate::bench::idle::Load;
use crate::bench::tool::Tool;
use crate::bench::{
    Asked, Leg, Turns, base_name, capabilities_of, files, markdown, picture, turns, without_folders,
};
use crate::context::Context;
use crate::error::{Error, Outcome, plain};
use crate::facts::{Machine, Source};
use crate::find;
use crate::printer::{Report, Style};
use crate::state::atomic::{self, Durability};
use crate::table::stdout_width;

/// Runs of each side where the tool takes several samples a run.
const RUNS: u32 = 2;
/// Where a run is one sample.
const RUNS_OF_ONE: u32 = 5;

/// Measures a program stock and with the overrides, in turn.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  metalshim bench -- llama-bench -m model.gguf -v       -v: with what ggml says of the device
  metalshim bench --svg gain.svg --out gain.json -- llama-bench -m model.gguf
  metalshim bench -- ollama run llama3.2 'Tell a story' starts the server for each side
  metalshim bench --time -- whisper-cli -m ggml-tiny.bin jfk.wav
  metalshim bench record-host --out host.json -- llama-bench -m model.gguf     on the host
  metalshim bench --baseline host.json -- llama-bench -m model.gguf            in the guest

Let nothing else run, here or on the host. Ranges that overlap are called no gain.

Exit codes: 0 measured; 1 refused; 2 could not be measured, or wrong usage."
)]
pub struct Args {
    /// What else there is to do.
    #[command(subcommand)]
    pub other: Option<Other>,
    /// How it is measured.
    #[command(flatten)]
    pub measure: Measure,
    /// Runs a side, in turn; without it 2, or 5 where a run gives one sample
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: Option<u32>,
    /// The host's own figures: what record-host wrote, or the tool's output from there
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// What the program is, where its name does not tell: llama.cpp, or llama.cpp@b10359
    #[arg(long, value_name = "NAME[@VERSION]")]
    pub client: Option<Told>,
    /// Tell the program no more than this family and these bytes, like 1007/32768
    #[arg(long, value_name = "FAMILY/BYTES")]
    pub profile: Option<Profile>,
    /// The host's macOS build, like 25G76: `sw_vers -buildVersion` on the host prints it
    #[arg(long, value_name = "BUILD")]
    pub host_build: Option<OsBuild>,
    /// How the result is shown and kept.
    #[command(flatten)]
    pub show: Show,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// How it is measured.
#[derive(Debug, clap::Args)]
pub struct Measure {
    /// What the program prints, where its name does not tell
    #[arg(long, value_enum, conflicts_with = "time")]
    pub tool: Option<Tool>,
    /// By the clock, whatever the program prints
    #[arg(long)]
    pub time: bool,
    /// Measure on a machine that is busy too
    #[arg(long)]
    pub busy_ok: bool,
}

/// How a result is shown and kept.
#[derive(Debug, clap::Args)]
pub struct Show {
    /// Print Markdown, for an issue or a page
    #[arg(long)]
    pub markdown: bool,
    /// Write the result as JSON, for `metalshim report`
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write a picture (SVG), light and dark
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// What else there is to do.
#[derive(Debug, clap::Subcommand)]
pub enum Other {
    /// On the host: measure the program there, for --baseline in the guest
    RecordHost(RecordHost),
    /// Compare files of samples that were measured before, here or elsewhere
    Summarise(Summarise),
}

/// The arguments of `bench record-host`.
#[derive(Debug, clap::Args)]
pub struct RecordHost {
    /// How it is measured.
    #[command(flatten)]
    pub measure: Measure,
    /// Runs; without it 2, or 5 where a run gives one sample
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: Option<u32>,
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = "host.json")]
    pub out: PathBuf,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// The arguments of `bench summarise`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Files: llama-bench -o json or jsonl; what MLX-LM prints, or JSON with its samples; what
`ollama run --verbose` prints; what record-host wrote. The first stock file is compared with the
first shimmed one, and so on. A log beside a file, of the same name with .stderr, is read for
what it says of the device.")]
pub struct Summarise {
    /// Samples of the untouched program
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    pub stock: Vec<PathBuf>,
    /// Samples with the overrides
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    pub shimmed: Vec<PathBuf>,
    /// Samples of the host itself
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub host: Vec<PathBuf>,
    /// How the result is shown and kept.
    #[command(flatten)]
    pub show: Show,
}

/// Runs it.
///
/// # Errors
/// Facts or files cannot be read, or a program could not be run to its end.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    match &args.other {
        Some(Other::RecordHost(args)) => record_host(args, context),
        Some(Other::Summarise(args)) => summarise(args, context),
        None => measure(args, context),
    }
}

fn measure(args: &Args, context: &Context) -> Result<Outcome, Error> {
    let machine = context.machine(args.host_build.as_ref())?;
    let asked = asked(&args.program, context, options(args))?;
    let allowed = match dry_run(&asked, context)? {
        Ok(allowed) => allowed,
        Err(refused) => {
            context.printer.out(&refused)?;
            return Ok(Outcome::No);
        }
    };
    let tool = args.measure.tool(&asked)?;
    let host = match &args.baseline {
        Some(path) => Some(files::samples(path)?),
        None => None,
    };
    let load = args.measure.idle()?;
    let runs = args
        .runs
        .unwrap_or(if of_one(tool) { RUNS_OF_ONE } else { RUNS });
    let sides = [Leg::Stock, Leg::Shimmed];
    let mut turns = turns(&asked, tool, &sides, runs, &context.printer)?;
    let of_host = host.as_ref().and_then(|h| h.baseline.as_ref());
    turns.warnings.extend(unlike_host(&machine, of_host));
    turns.warnings.extend(allowed.warnings);
    if let Some(host) = host {
        let said = host.baseline.map(|b| b.capabilities);
        turns.runs.host = host.runs;
        turns.capabilities.host = said.unwrap_or_default();
    }
    let facts = &machine.facts;
    let busy = load.is_some_and(Load::is_busy);
    if busy {
        turns
            .warnings
            .push("the machine was busy when this began".to_owned());
    }
    let conditions = Conditions {
        at: machine.now,
        runs,
        guest_build: facts.guest.build.clone(),
        guest_chip: facts.guest.chip.clone(),
        host_build: facts.host.as_ref().map(|h| h.build.clone()),
        host_source: facts.host.as_ref().map(|h| h.source),
        boot: sha256_hex(facts.guest.boot_session.as_bytes()),
        profile: allowed.profile,
        record: allowed.record,
        load: load.map(Load::of_each),
        simulated: machine.source != Source::ThisMachine,
        busy,
    };
    let bench = result(tool, &asked, turns, Some(conditions));
    show(bench, &args.show, context)
}

fn options(args: &Args) -> Vec<OsString> {
    let mut options = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            options.extend([OsString::from(name), value.into()]);
        }
    };
    add("--client", args.client.as_ref().map(ToString::to_string));
    add("--profile", args.profile.map(|p| p.to_string()));
    add(
        "--host-build",
        args.host_build.as_ref().map(ToString::to_string),
    );
    options
}

fn asked(words: &[OsString], context: &Context, options: Vec<OsString>) -> Result<Asked, Error> {
    let (program, arguments) = words
        .split_first()
        .ok_or_else(|| Error::user("no program was given"))?;
    let metalshim = std::env::current_exe().map_err(|e| {
        Error::machine(format!(
            "could not find metalshim's own path: {}",
            plain(&e)
        ))
    })?;
    let mut all = options;
    if let Some(policy) = &context.extra_policy {
        all.extend(["--policy".into(), policy.clone().into_os_string()]);
    }
    Ok(Asked {
        path: find::program(program, context.variables.path.as_deref())?,
        arguments: arguments.to_vec(),
        metalshim,
        options: all,
        state: context.state()?,
    })
}

/// What `run` would tell the program.
#[derive(Deserialize)]
struct Allowed {
    profile: Profile,
    record: Option<String>,
    warnings: Vec<String>,
}

/// What `run --dry-run` says; where that is no, as it prints it.
fn dry_run(asked: &Asked, context: &Context) -> Result<Result<Allowed, String>, Error> {
    let ask = |json: bool| {
        let mut command = Command::new(&asked.metalshim);
        command.args(["run", "--dry-run"]);
        if json {
            command.arg("--json");
        }
        command.args(&asked.options).arg("--").arg(&asked.path);
        command.args(&asked.arguments).stdin(Stdio::null());
        command
            .stderr(Stdio::inherit())
            .output()
            .map_err(|e| Error::machine(format!("could not start metalshim again: {}", plain(&e))))
    };
    if context.variables.disable {
        return Err(Error::user(format!(
            "{}=1 keeps the overrides away, so there is nothing to measure",
            crate::variables::DISABLE
        ))
        .hint("unset it"));
    }
    let output = ask(true)?;
    let told = String::from_utf8_lossy(&output.stdout);
    let verdict = serde_json::from_str(&told).ok();
    let verdict = verdict.and_then(|mut v: Value| v.get_mut("verdict").map(Value::take));
    let allowed = verdict.and_then(|verdict| serde_json::from_value(verdict).ok());
    match (allowed, output.status.code()) {
        (Some(allowed), Some(0)) => Ok(Ok(allowed)),
        (_, Some(125)) if !told.is_empty() => {
            let refused = match context.printer.json {
                true => told.into_owned(),
                false => String::from_utf8_lossy(&ask(false)?.stdout).into_owned(),
            };
            Ok(Err(refused))
        }
        (_, _) => Err(
            Error::machine("`metalshim run --dry-run` gave no verdict").hint(format!(
                "look what `metalshim run --dry-run -- {}` says",
                asked.path.display()
            )),
        ),
    }
}

/// Whether a run of the tool gives one sample.
fn of_one(tool: Tool) -> bool {
    matches!(tool, Tool::Time)
}

impl Measure {
    fn tool(&self, asked: &Asked) -> Result<Tool, Error> {
        if self.time {
            return Ok(Tool::Time);
        }
        let program = base_name(asked.path.as_os_str());
        let words = without_folders(&asked.arguments);
        let tool = self.tool.or_else(|| Tool::recognise(&program, &words));
        tool.ok_or_else(|| {
            Error::user(format!("{program}: bench does not know what it prints"))
                .hint("--time measures any program by the clock; --tool says what it prints")
        })
    }

    fn idle(&self) -> Result<Option<Load>, Error> {
        let load = Load::now();
        match load.filter(|l| l.is_busy()) {
            Some(busy) if !self.busy_ok => Err(Error::machine(format!(
                "this machine is busy: a load of {:.2} in the last minute on {} processors",
                busy.one_minute, busy.processors
            ))
            .hint("end what runs beside it and wait a minute; look at the host too, which this cannot see")
            .hint("--busy-ok measures all the same, and the result says so")),
            _ => Ok(load),
        }
    }
}

/// A baseline of another host, or of another build of it.
fn unlike_host(machine: &Machine, baseline: Option<&Baseline>) -> Option<String> {
    let (host, baseline) = (machine.facts.host.as_ref()?, baseline?);
    (host.build != baseline.build).then(|| {
        format!(
            "the baseline is of a host on {}, and this host is on {}",
            baseline.build, host.build
        )
    })
}

fn result(tool: Tool, asked: &Asked, turns: Turns, conditions: Option<Conditions>) -> Bench {
    let runs = &turns.runs;
    let (series, mut warnings) = compare(&runs.stock, &runs.shimmed, &runs.host);
    warnings.extend(turns.warnings);
    let said = &turns.capabilities;
    if tool == Tool::LlamaBench && said.shimmed.is_empty() {
        warnings.push(
            "the log says nothing of the device: with -v llama-bench tells what it found"
                .to_owned(),
        );
    }
    Bench {
        tool: tool.to_string(),
        program: base_name(asked.path.as_os_str()),
        arguments: without_folders(&asked.arguments),
        conditions,
        series,
        capabilities: turns.capabilities,
        warnings,
    }
}

fn record_host(args: &RecordHost, context: &Context) -> Result<Outcome, Error> {
    let machine = context.machine(None)?;
    let here = &machine.facts.guest;
    if here.vm {
        return Err(Error::user(format!(
            "this is a virtual machine ({}): a host's baseline is measured on the host itself",
            here.model
        ))
        .hint(
            "install metalshim on the host and start this there; then copy the file into the guest",
        ));
    }
    let asked = asked(&args.program, context, Vec::new())?;
    let tool = args.measure.tool(&asked)?;
    let load = args.measure.idle()?;
    let runs = args
        .runs
        .unwrap_or(if of_one(tool) { RUNS_OF_ONE } else { RUNS });
    let turns = turns(&asked, tool, &[Leg::Stock], runs, &context.printer)?;
    let baseline = Baseline {
        tool,
        program: base_name(asked.path.as_os_str()),
        arguments: without_folders(&asked.arguments),
        at: machine.now,
        build: here.build.clone(),
        model: here.model.clone(),
        chip: here.chip.clone(),
        load: load.map(Load::of_each),
        capabilities: turns.capabilities.stock,
        runs: turns.runs.stock,
    };
    write(&args.out, &context.printer.json_of(&baseline)?)?;
    context.printer.report(&baseline)?;
    context.printer.note(&format!(
        "written to {}; in the guest: metalshim bench --baseline {} -- ...",
        args.out.display(),
        base_name(args.out.as_os_str())
    ));
    Ok(Outcome::Yes)
}

fn summarise(args: &Summarise, context: &Context) -> Result<Outcome, Error> {
    let mut runs = Sides::default();
    let mut capabilities = Sides::default();
    let mut tools = Vec::new();
    let mut read = |paths: &[PathBuf]| -> Result<_, Error> {
        let mut all = Vec::new();
        let mut said = std::collections::BTreeMap::new();
        for path in paths {
            let samples = files::samples(path)?;
            tools.push(samples.tool);
            all.extend(samples.runs);
            said.extend(samples.baseline.map(|b| b.capabilities).unwrap_or_default());
            said.extend(capabilities_of(path));
        }
        Ok((all, said))
    };
    (runs.stock, capabilities.stock) = read(&args.stock)?;
    (runs.shimmed, capabilities.shimmed) = read(&args.shimmed)?;
    (runs.host, capabilities.host) = read(&args.host)?;
    let tool = tools.first().map(ToString::to_string).unwrap_or_default();
    let (series, warnings) = compare(&runs.stock, &runs.shimmed, &runs.host);
    if series.is_empty() {
        return Err(Error::user(format!(
            "the files have nothing in common: {}",
            warnings.join("; ")
        ))
        .hint("compare files of the same model and the same test"));
    }
    let bench = Bench {
        program: tool.clone(),
        tool,
        arguments: Vec::new(),
        conditions: None,
        series,
        capabilities,
        warnings,
    };
    show(bench, &args.show, context)
}

/// What `bench` found, for the printer.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Shown {
    bench: Bench,
    #[serde(skip)]
    markdown: bool,
}

impl Report for Shown {
    const SCHEMA: &'static str = compatdb::bench::SCHEMA;

    fn text(&self, style: Style) -> String {
        match self.markdown {
            true => markdown::markdown(&self.bench),
            false => markdown::text(&self.bench, style, stdout_width()),
        }
    }
}

fn show(bench: Bench, show: &Show, context: &Context) -> Result<Outcome, Error> {
    if bench.series.is_empty() {
        return Err(Error::user(format!(
            "nothing could be compared: {}",
            bench.warnings.join("; ")
        )));
    }
    let shown = Shown {
        bench,
        markdown: show.markdown,
    };
    if let Some(path) = &show.out {
        write(path, &context.printer.json_of(&shown)?)?;
    }
    if let Some(path) = &show.svg {
        write(path, &picture::svg(&shown.bench))?;
    }
    context.printer.report(&shown)?;
    for path in [&show.out, &show.svg].into_iter().flatten() {
        context
            .printer
            .note(&format!("written to {}", path.display()));
    }
    Ok(Outcome::Yes)
}

/// A file that the user named: as a whole, or the one that was there before.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Error> {
    let failed = |e| Error::user(format!("could not write {}: {}", path.display(), plain(&e)));
    // A rename would put a file in the place of a device or a pipe.
    if path.metadata().is_ok_and(|m| !m.is_file()) {
        return Err(Error::user(format!(
            "could not write {}: it is not a regular file",
            path.display()
        )));
    }
    let path = std::path::absolute(path).map_err(failed)?;
    atomic::write(&path, text.as_bytes(), Durability::Synced).map_err(failed)
}
