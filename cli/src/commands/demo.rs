//! `metalshim demo`: the whole path, on the simulated guest.
//!
//! **Contract.** For each scene the sample programs are started as separate processes,
//! directly and through this very executable's `run`; what they print is the story, and no
//! value in it is made up here. It uses a state, configuration and home folder of its own,
//! gone at the end, so that nothing of the user's is read or changed. It needs the programs
//! of the simulated guest (`make guest`), and on a Mac the feature `simulate`.

mod scenes;
mod story;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

pub use self::story::{Answers, Pair, Run, Story};
use crate::context::Context;
use crate::error::{Error, Outcome};

use crate::table::stdout_width;
use crate::variables;
use scenes::{Program, Scene};

/// The facts that the first scene plays on: the simulated guest's own sample.
const SAMPLE: &str = include_str!("../../../shim/guest/facts/sample.toml");

/// The arguments of `metalshim demo`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Plays all scenes and tells the story.
///
/// # Errors
///
/// When the sample programs are not built, or cannot be started, or print what cannot be
/// read.
pub fn run(_: &Args, context: &Context) -> Result<Outcome, Error> {
    let printer = &context.printer;
    let stage = Stage::new()?;
    let mut runs = Vec::new();
    for scene in scenes::ALL {
        runs.extend(stage.play(scene)?);
    }
    let wrong = runs.iter().filter_map(Run::wrong).collect::<Vec<_>>();
    let right = wrong.is_empty();
    if printer.json {
        for says in &wrong {
            printer.line(&format!("metalshim: not as it has to be: {says}"));
        }
    }
    printer.report(&Story {
        runs,
        wrong,
        width: stdout_width(),
    })?;
    Ok(if right { Outcome::Yes } else { Outcome::No })
}

/// Where the demo plays.
struct Stage {
    /// This executable.
    metalshim: PathBuf,
    /// The folder of the sample programs.
    guest: PathBuf,
    /// State, configuration, home and facts of the demo; removed at the end.
    folder: tempfile::TempDir,
}

impl Stage {
    fn new() -> Result<Self, Error> {
        let metalshim = std::env::current_exe()
            .and_then(|path| path.canonicalize())
            .map_err(|e| Error::file("find", Path::new("this executable"), &e))?;
        let guest = metalshim
            .parent()
            .and_then(Path::parent)
            .map(|folder| folder.join("guest"))
            .unwrap_or_default();
        let folder = tempfile::Builder::new()
            .prefix("metalshim-demo-")
            .tempdir()
            .map_err(|e| Error::file("make a folder in", &std::env::temp_dir(), &e))?;
        Ok(Self {
            metalshim,
            guest,
            folder,
        })
    }

    fn play(&self, scene: &'static Scene) -> Result<Vec<Run>, Error> {
        let facts = scene
            .facts(SAMPLE)
            .map_err(|e| Error::project(format!("the built-in sample facts are broken: {e}")))?;
        let path = self.folder.path().join("facts.toml");
        std::fs::write(&path, facts.to_string()).map_err(|e| Error::file("write", &path, &e))?;
        let build = |section: &str| {
            let build = facts.get(section)?.get("build")?.as_str()?;
            Some(build.to_owned())
        };
        let pair = Pair {
            host: build("host"),
            guest: build("guest").unwrap_or_default(),
        };
        let play = |program: &'static Program| {
            let file = self.guest.join(program.file);
            if !file.is_file() {
                return Err(self.not_built(&file));
            }
            Ok(Run {
                pair: pair.clone(),
                client: program.file,
                verdict: self.verdict(program, &file, &path)?,
                stock: self.answers(self.command(&file, &path), program)?,
                shimmed: self.answers(self.run(program, &file, &path), program)?,
                scene,
                program,
            })
        };
        scene.programs.iter().map(play).collect()
    }

    /// An installed copy has no simulated guest, and no `make guest` helps it.
    fn not_built(&self, file: &Path) -> Error {
        let error = Error::machine(format!(
            "the simulated guest's programs are not here: {} is missing",
            file.display()
        ));
        let folder = self.metalshim.parent().and_then(Path::file_name);
        if folder.is_some_and(|name| name == "release" || name == "debug") {
            return error.hint("in a checkout of the project, build them with: make guest");
        }
        let home = env!("CARGO_PKG_REPOSITORY");
        error
            .hint(format!(
                "an installed copy has none; to see the demo: git clone {home} && cd metalshim && make demo"
            ))
            .hint("to see what this copy would do on this machine: metalshim doctor, or metalshim run --dry-run -- PROGRAM")
            .hint("to see what others measured: metalshim db pairs")
    }

    /// `program`, with nothing of ours in its environment but the demo's own folders.
    fn command(&self, program: &Path, facts: &Path) -> Command {
        let mut command = Command::new(program);
        for variable in variables::ALL {
            if variable.name.starts_with("METALSHIM_") {
                command.env_remove(variable.name);
            }
        }
        let folder = self.folder.path();
        command
            .env_remove(variables::INSERT_LIBRARIES)
            .env(variables::FACTS, facts)
            .env(variables::STATE_DIR, folder.join("state"))
            .env(variables::XDG_STATE_HOME, folder.join("state-home"))
            .env(variables::XDG_CONFIG_HOME, folder.join("config-home"))
            .env(variables::HOME, folder)
            .env(variables::NO_UPDATE_CHECK, "1");
        command
    }

    fn run(&self, program: &Program, file: &Path, facts: &Path) -> Command {
        let mut command = self.command(&self.metalshim, facts);
        command.args(["run", "--or-stock", "--quiet"]);
        told_client(&mut command, program);
        command.arg("--").arg(file);
        command
    }

    fn verdict(&self, program: &Program, file: &Path, facts: &Path) -> Result<Value, Error> {
        let mut command = self.command(&self.metalshim, facts);
        command.args(["run", "--dry-run", "--json"]);
        told_client(&mut command, program);
        command.arg("--").arg(file);
        // Its exit code says no more than the verdict: 125 for a refusal.
        let printed = output(&mut command)?;
        let report: Option<Value> = serde_json::from_str(&printed.out).ok();
        report
            .and_then(|mut report| report.get_mut("verdict").map(Value::take))
            .ok_or_else(|| {
                Error::project(format!(
                    "`metalshim run --dry-run --json` for {} printed no verdict: {}",
                    file.display(),
                    printed.err.trim()
                ))
            })
    }

    fn answers(&self, mut command: Command, program: &Program) -> Result<Answers, Error> {
        let printed = output(&mut command)?;
        Answers::parse(&printed.out).map_err(|missing| {
            Error::machine(format!(
                "the sample program {} printed {missing}: {}",
                program.file,
                printed.err.trim()
            ))
            .hint("build the simulated guest and the library again: make guest shim")
        })
    }
}

fn told_client(command: &mut Command, program: &Program) {
    if let Some(client) = program.client {
        command.args(["--client", client]);
    }
}

struct Printed {
    out: String,
    err: String,
}

fn output(command: &mut Command) -> Result<Printed, Error> {
    let output = command
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|e| Error::file("start", Path::new(command.get_program()), &e))?;
    Ok(Printed {
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
