//! `metalshim report`: what this machine found out about its pair of builds, for whoever keeps
//! the database.
//!
//! **Contract.** It asks the parts that users have: `probe` and `canary` are run as commands, a
//! benchmark's result is taken from its file after its figures were made again from the samples.
//! Nothing is sent. The file holds no name of a user, machine or folder, and is shown before
//! anybody sends it. What could not be found out is said in it.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use compatdb::bench::Bench;
use compatdb::records::VmSoftware;
use compatdb::report::{
    Answers, CanaryRun, DatabaseUsed, Decided, GuestSeen, Probe, Report as Found, SCHEMA, Versions,
};
use compatdb::{OsBuild, Profile, Verdict, sha256_hex};
use metalshim_ticket::SHIM_ABI;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bench::files;
use crate::context::Context;
use crate::decide::{Decision, Known, Question};
use crate::doctor::anonymous::Anonymous;
use crate::error::{Error, Outcome, plain};
use crate::facts::{self, Source};
use crate::printer::{Report, Style};
use crate::state::StateFolder;
use crate::{install, regular};

/// This machine's number for reports, in the state folder.
const ID_FILE: &str = "report-id.json";
/// No shim is larger.
const MAX_SHIM: u64 = 16 << 20;

/// Writes down what this machine found out, for the project: facts, probe, canary, benchmarks.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metalshim report                          see what there is to report
  metalshim bench --out gain.json -- llama-bench -m model.gguf -v
  metalshim report --bench gain.json --vm Lume@0.5.3 --by my-name --out report.json

It takes as long as probe and canary take. Nothing is sent: read the file, then send it where the
last line says. No name of a user, machine or folder is in it. --vm is needed for evidence, and
so is --bench; --by lets two reports count as two.

Exit codes: 0 the report was made; 2 it could not be.")]
pub struct Args {
    /// A result of `metalshim bench --out`, measured on this boot
    #[arg(long, value_name = "FILE")]
    pub bench: Vec<PathBuf>,
    /// The file to write; without it the report follows the summary
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// What runs this virtual machine, and its version
    #[arg(long, value_name = "NAME[@VERSION]", value_parser = vm_software)]
    pub vm: Option<VmSoftware>,
    /// Who reports: a public name of your choice
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
    /// The address of the public CI run that makes this report
    #[arg(long, value_name = "URL")]
    pub ci_run: Option<String>,
    /// The host's macOS build, like 25G76: `sw_vers -buildVersion` on the host prints it
    #[arg(long, value_name = "BUILD")]
    pub host_build: Option<OsBuild>,
}

#[allow(clippy::unnecessary_wraps, reason = "what clap wants of a parser")]
fn vm_software(text: &str) -> Result<VmSoftware, String> {
    let (name, version) = match text.split_once('@') {
        Some((name, version)) => (name, Some(version.to_owned())),
        None => (text, None),
    };
    Ok(VmSoftware {
        name: name.to_owned(),
        version,
    })
}

/// Runs it.
///
/// # Errors
/// Facts or state cannot be read, or a file is no result of a benchmark.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    let shown = Shown {
        found: gather(args, context)?,
        file: args.out.is_none(),
    };
    let json = context.printer.json_of(&shown)?;
    if let Some(path) = &args.out {
        super::bench::write(path, &json)?;
    }
    context.printer.report(&shown)?;
    if let Some(path) = &args.out {
        context
            .printer
            .note(&format!("written to {}", path.display()));
    }
    Ok(Outcome::Yes)
}

fn gather(args: &Args, context: &Context) -> Result<Found, Error> {
    let state = context.state()?;
    let mut missing = facts::find_out(&state, &context.machine(args.host_build.as_ref())?)?;
    let bench: Result<Vec<_>, _> = args.bench.iter().map(|path| files::result(path)).collect();
    let bench = bench?.into_iter().map(without_words).collect();
    let probe = probe(args, context, &mut missing);
    let canary = canary(args, context, &mut missing);
    let known = Known::gather(context, args.host_build.as_ref())?;
    let decision = known.decide(Question {
        at_most: context.settings()?.profile,
        ..Question::default()
    })?;
    let facts = &known.machine.facts;
    let guest = &facts.guest;
    let found = Found {
        made_at: known.machine.now,
        simulated: known.machine.source != Source::ThisMachine,
        machine: machine_id(&state)?,
        boot: sha256_hex(guest.boot_session.as_bytes()),
        reporter: args.by.clone(),
        ci_run: args.ci_run.clone(),
        vm_software: args.vm.clone(),
        metalshim: Versions {
            version: env!("CARGO_PKG_VERSION").parse().map_err(|e| {
                Error::project(format!("this build's own version cannot be read: {e}"))
            })?,
            shim_sha256: shim_sha256(&mut missing),
            shim_abi: SHIM_ABI,
        },
        database: known.database.as_ref().ok().map(|loaded| DatabaseUsed {
            seq: loaded.database.seq(),
            sha256: loaded.database.meta().sha256.clone(),
            origin: loaded.origin.says().to_owned(),
        }),
        guest: GuestSeen {
            build: guest.build.clone(),
            version: guest.version.clone(),
            model: guest.model.clone(),
            chip: guest.chip.clone(),
            sip: guest.sip,
        },
        host: facts.host.clone(),
        verdict: decided(&decision),
        probe,
        canary,
        bench,
        missing,
    };
    without_names(found, context)
}

fn decided(decision: &Decision) -> Decided {
    match &decision.verdict {
        Verdict::Allow(allow) => Decided {
            allowed: true,
            reason: None,
            record: allow.record.clone(),
            profile: Some(allow.profile),
        },
        Verdict::Refuse(refusal) => Decided {
            allowed: false,
            reason: Some(refusal.reason.code().to_owned()),
            record: None,
            profile: None,
        },
    }
}

/// What a program was told to do may be a person's own words.
fn without_words(mut bench: Bench) -> Bench {
    if matches!(bench.tool.as_str(), "ollama" | "time") {
        bench.arguments.clear();
    }
    if bench.tool == "time" {
        for row in &mut bench.series {
            row.workload.clone_from(&bench.program);
        }
    }
    bench
}

/// Free text without names; the rest is numbers, builds and words of Apple's.
fn without_names(mut found: Found, context: &Context) -> Result<Found, Error> {
    let mut anonymous = Anonymous::here(&context.variables);
    let mut texts: Vec<&mut String> = found.missing.iter_mut().collect();
    texts.extend(found.probe.iter_mut().flat_map(|p| &mut p.wrong));
    for bench in &mut found.bench {
        texts.extend(bench.arguments.iter_mut().chain(&mut bench.warnings));
        texts.extend(bench.series.iter_mut().map(|row| &mut row.workload));
    }
    for text in texts {
        *text = anonymous.text(text);
    }
    let cleaned = found.cleaned();
    cleaned.map_err(|e| Error::project(format!("the report cannot be written: {e}")))
}

#[derive(Serialize, Deserialize)]
struct Id {
    schema: String,
    id: String,
}

/// Drawn once: it tells two reports of this machine, and nothing else.
fn machine_id(state: &StateFolder) -> Result<String, Error> {
    let _lock = state.lock()?;
    if let Some(id) = state.read_json::<Id>(ID_FILE)? {
        return Ok(id.id);
    }
    let path = std::path::Path::new("/dev/urandom");
    let mut bytes = [0; 16];
    let read = std::fs::File::open(path)
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes));
    read.map_err(|e| Error::file("read", path, &e))?;
    let id = Id {
        schema: "metalshim.report-id/1".to_owned(),
        id: bytes.iter().map(|b| format!("{b:02x}")).collect(),
    };
    state.write_json(ID_FILE, &id)?;
    Ok(id.id)
}

fn shim_sha256(missing: &mut Vec<String>) -> Option<String> {
    let read = install::shim().and_then(|path| {
        regular::open(&path)
            .and_then(|file| regular::bytes(file, MAX_SHIM))
            .map_err(|e| Error::file("read", &path, &e))
    });
    match read {
        Ok(bytes) => Some(sha256_hex(&bytes)),
        Err(e) => {
            missing.push(e.says);
            None
        }
    }
}

/// What `command --json` printed; a sentence in `missing` where that is nothing.
fn ask<T: DeserializeOwned>(
    name: &str,
    args: &Args,
    context: &Context,
    missing: &mut Vec<String>,
) -> Option<T> {
    let mut failed = |why: String| {
        missing.push(format!("{name}: {why}"));
        None
    };
    let own = match install::command() {
        Ok(own) => own,
        Err(e) => return failed(e.says),
    };
    let mut command = Command::new(own);
    command.args([name, "--json"]);
    if let Some(build) = &args.host_build {
        command.args(["--host-build", build.as_str()]);
    }
    if let Some(policy) = &context.extra_policy {
        command.arg("--policy").arg(policy);
    }
    context.printer.progress(name);
    let output = command.stdin(Stdio::null()).output();
    context.printer.progress("");
    let output = match output {
        Ok(output) => output,
        Err(e) => return failed(plain(&e)),
    };
    let read = serde_json::from_slice(&output.stdout);
    match read {
        Ok(read) => Some(read),
        Err(_) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().next().unwrap_or("it printed no JSON");
            failed(said.trim_start_matches("error: ").to_owned())
        }
    }
}

#[derive(Deserialize)]
struct Probed {
    stock: Option<Answers>,
    shimmed: Option<Answers>,
    profile: Option<Profile>,
    #[serde(default)]
    wrong: Vec<String>,
}

fn probe(args: &Args, context: &Context, missing: &mut Vec<String>) -> Option<Probe> {
    let probed: Probed = ask("probe", args, context, missing)?;
    Some(Probe {
        stock: probed.stock?,
        shimmed: probed.shimmed,
        profile: probed.profile,
        wrong: probed.wrong,
    })
}

#[derive(Deserialize)]
struct Canaries {
    outcome: Option<String>,
    profile: Option<Profile>,
    #[serde(default)]
    cases: Vec<Value>,
}

fn canary(args: &Args, context: &Context, missing: &mut Vec<String>) -> Option<CanaryRun> {
    let run: Canaries = ask("canary", args, context, missing)?;
    let (Some(outcome), Some(profile)) = (run.outcome, run.profile) else {
        missing.push("canary: no kernel was run".to_owned());
        return None;
    };
    Some(CanaryRun {
        outcome,
        profile,
        cases: u32::try_from(run.cases.len()).unwrap_or(u32::MAX),
    })
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Shown {
    found: Found,
    /// Whether the file follows the summary.
    #[serde(skip)]
    file: bool,
}

impl Report for Shown {
    const SCHEMA: &'static str = SCHEMA;

    fn text(&self, style: Style) -> String {
        let mut text = self.summary(style);
        if self.file {
            let found = serde_json::to_value(&self.found).unwrap_or_default();
            let mut object = serde_json::Map::from_iter([("schema".to_owned(), SCHEMA.into())]);
            object.extend(found.as_object().cloned().unwrap_or_default());
            text.push_str(&format!(
                "\n{} (--out FILE writes it)\n{:#}\n",
                style.bold("the file"),
                Value::Object(object)
            ));
        }
        let home = env!("CARGO_PKG_REPOSITORY");
        text.push_str(&format!(
            "\nNothing was sent. Read the file, then attach it to an issue at {home}/issues/new\n"
        ));
        text
    }
}

impl Shown {
    fn summary(&self, style: Style) -> String {
        let found = &self.found;
        let host = found
            .host
            .as_ref()
            .map_or("host not known".to_owned(), |h| {
                let how = match h.source {
                    compatdb::facts::HostSource::Attested => "attested",
                    compatdb::facts::HostSource::Stated => "stated",
                };
                format!("host {} ({how})", h.build)
            });
        let simulated = if found.simulated { ", simulated" } else { "" };
        let mut lines = vec![style.bold(&format!(
            "guest {} ({}), {host}, {}{simulated}",
            found.guest.build, found.guest.version, found.guest.chip
        ))];
        let profile = |p: Option<Profile>| p.map_or("nothing".to_owned(), |p| p.to_string());
        lines.push(format!(
            "verdict   {}",
            match &found.verdict {
                Decided {
                    allowed: true,
                    record: Some(id),
                    profile: p,
                    ..
                } => {
                    format!("allowed by {id}, {}", profile(*p))
                }
                Decided {
                    allowed: true,
                    profile: p,
                    ..
                } => {
                    format!("allowed without a record, {}", profile(*p))
                }
                Decided { reason, .. } => {
                    format!("refused: {}", reason.as_deref().unwrap_or("not said"))
                }
            }
        ));
        lines.push(format!("probe     {}", probe_text(found.probe.as_ref())));
        lines.push(format!(
            "canary    {}",
            match &found.canary {
                Some(canary) => format!(
                    "{}, {} cases, {}",
                    canary.outcome, canary.cases, canary.profile
                ),
                None => "not run".to_owned(),
            }
        ));
        let series = found.bench.iter().flat_map(|b| &b.series);
        let rows: Vec<String> = series
            .map(|row| format!("bench     {}, {}: {}", row.workload, row.metric, row.says()))
            .collect();
        if rows.is_empty() {
            lines.push("bench     nothing measured (--bench FILE)".to_owned());
        }
        lines.extend(rows);
        let shim = found
            .metalshim
            .shim_sha256
            .as_deref()
            .and_then(|s| s.get(..16));
        lines.push(format!(
            "versions  metalshim {}, shim {}, {}",
            found.metalshim.version,
            shim.unwrap_or("missing"),
            match &found.database {
                Some(database) => format!("{}, seq {}", database.origin, database.seq),
                None => "no database".to_owned(),
            }
        ));
        lines.extend(found.missing.iter().map(|m| format!("missing   {m}")));
        let lacks = self.lacks();
        if !lacks.is_empty() {
            lines.push(format!("As evidence it lacks: {}.", lacks.join("; ")));
        }
        lines.join("\n") + "\n"
    }

    /// What a maintainer would have to ask for.
    fn lacks(&self) -> Vec<&'static str> {
        let found = &self.found;
        let shimmed = found.probe.as_ref().is_some_and(|p| p.shimmed.is_some());
        let passed = found.canary.as_ref().is_some_and(|c| c.outcome == "passed");
        [
            (
                found.host.is_some(),
                "the host's build (--host-build, or metalshim host attest on the host)",
            ),
            (
                found.verdict.allowed,
                "the overrides in use (run --allow-unverified BUILD allows them once)",
            ),
            (shimmed, "a probe with the overrides"),
            (passed, "a canary that passed"),
            (
                found.bench.iter().any(Bench::gains),
                "a benchmark with a gain (--bench)",
            ),
            (
                found.vm_software.is_some(),
                "what runs the virtual machine (--vm)",
            ),
            (!found.simulated, "a real guest"),
        ]
        .into_iter()
        .filter_map(|(there, what)| (!there).then_some(what))
        .collect()
    }
}

fn probe_text(probe: Option<&Probe>) -> String {
    let Some(probe) = probe else {
        return "not made".to_owned();
    };
    let said = |a: &Answers| {
        let family = a.highest(1001, 1999).unwrap_or_default();
        format!("{family}/{}", a.max_threadgroup_memory)
    };
    match &probe.shimmed {
        None => format!("stock {}", said(&probe.stock)),
        Some(shimmed) if probe.wrong.is_empty() => format!(
            "stock {}, with the overrides {}, nothing else changed",
            said(&probe.stock),
            said(shimmed)
        ),
        Some(_) => format!("wrong: {}", probe.wrong.join("; ")),
    }
}
