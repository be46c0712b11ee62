//! `metalshim service`: looks for updates by itself, for those without `brew services`.
//!
//! **Contract.** One job, `metalshim update --automatic`, four times a day: a LaunchAgent on a Mac,
//! a systemd user timer elsewhere. What is recorded is a path that outlives an upgrade. Installed
//! twice it is there once; uninstalled twice is no error. An installation of Homebrew is pointed to
//! `brew services`.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::launchd::{self, Domain, Starts};
use crate::managed::Manager;
use crate::printer::{Report, Style};
use crate::update::automatic::Check;
use crate::{install, regular, systemd, variables};

/// The label of the LaunchAgent, and of its file.
const LABEL: &str = "metalshim.update";
/// The name of the systemd units.
const UNIT: &str = "metalshim-update";
/// Every so many hours, at this minute; each machine then waits a random time of its own.
const HOURS: u32 = 6;
const MINUTE: u32 = 17;
/// No unit of ours is larger.
const MAX_UNIT: u64 = 1 << 20;

/// Looks for updates by itself, every six hours, where there is no `brew services`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metalshim service install     a LaunchAgent (a systemd user timer on Linux)
  metalshim service status      is it there, and what came of the last check?
  metalshim service uninstall   nothing of it stays

With Homebrew: brew services start metalshim. It shows `scheduled`, not `started`: the job runs
four times a day and ends. The job is `metalshim update --automatic`.
Exit codes: 0 done, or it is at work; 1 it is not; 2 could not tell.")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    /// The other kind of timer, for tests
    #[arg(long, hide = true, global = true, value_enum, default_value_t = Kind::HERE)]
    kind: Kind,
}

#[derive(Clone, Copy, Debug, clap::Subcommand)]
enum Action {
    /// Look every six hours from now on
    Install,
    /// Stop that, and remove it
    Uninstall,
    /// Is it there, and what came of the last check?
    Status,
}

/// Who starts the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Launchd,
    Systemd,
}

impl Kind {
    const HERE: Self = if cfg!(target_os = "macos") {
        Self::Launchd
    } else {
        Self::Systemd
    };

    const fn says(self) -> &'static str {
        match self {
            Self::Launchd => "LaunchAgent",
            Self::Systemd => "systemd user timer",
        }
    }
}

#[derive(Debug, Serialize)]
struct Service {
    /// Whether it is there and at work.
    active: bool,
    kind: Kind,
    /// Where it is, or would be.
    file: PathBuf,
    /// What it starts.
    program: PathBuf,
    /// Where its lines go; none where the system keeps them.
    log: Option<PathBuf>,
    /// Who keeps this installation current.
    manager: Manager,
    /// The last automatic check, whoever asked for it.
    last_check: Option<Check>,
    /// In a sentence.
    says: String,
    /// What is not as it should be.
    warnings: Vec<String>,
}

/// Runs it.
///
/// # Errors
/// No home, or launchd or systemd refuses.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    let here = Here::new(args.kind, context)?;
    match args.action {
        Action::Install => here.install(context),
        Action::Uninstall => here.uninstall(context),
        Action::Status => here.status(context),
    }
}

struct Here {
    kind: Kind,
    folder: PathBuf,
    program: PathBuf,
    log: Option<PathBuf>,
    manager: Manager,
}

impl Here {
    fn new(kind: Kind, context: &Context) -> Result<Self, Error> {
        let variables = &context.variables;
        let home = variables.home.clone().ok_or_else(|| {
            Error::machine(format!(
                "there is no home folder: {} is not set",
                variables::HOME
            ))
            .hint("set it, or start `metalshim update --automatic` by a timer of your own")
        })?;
        let (folder, log) = match kind {
            Kind::Launchd => (
                Domain::Gui.folder(&home),
                Some(home.join("Library/Logs/metalshim.log")),
            ),
            Kind::Systemd => {
                let config = variables.xdg_config_home.clone();
                let config = config.unwrap_or_else(|| home.join(".config"));
                (config.join("systemd/user"), None)
            }
        };
        Ok(Self {
            kind,
            folder,
            log,
            program: install::recorded()?,
            manager: Manager::here()?,
        })
    }

    fn file(&self) -> PathBuf {
        match self.kind {
            Kind::Launchd => launchd::file(&self.folder, LABEL),
            Kind::Systemd => {
                let [_, timer] = systemd::Job::files(UNIT, &self.folder);
                timer
            }
        }
    }

    fn install(&self, context: &Context) -> Result<Outcome, Error> {
        if self.manager == Manager::Homebrew {
            let says = "Homebrew keeps its own services: brew services start metalshim";
            context.printer.report(&self.report(context, false, says))?;
            return Ok(Outcome::No);
        }
        let arguments = self.arguments()?;
        let environment = environment(context)?;
        match self.kind {
            Kind::Launchd => {
                let job = launchd::Job {
                    label: LABEL.to_owned(),
                    arguments,
                    environment,
                    starts: Starts::Every {
                        hours: HOURS,
                        minute: MINUTE,
                    },
                    background: true,
                    log: self.log.clone().unwrap_or_default(),
                };
                launchd::install(&job, &self.folder, Domain::of_this_user())?;
            }
            Kind::Systemd => {
                let job = systemd::Job {
                    name: UNIT.to_owned(),
                    says: "Looks for a newer metalshim database".to_owned(),
                    arguments,
                    environment,
                    calendar: format!("*-*-* 00/{HOURS}:{MINUTE}:00"),
                };
                systemd::install(&job, &self.folder)?;
            }
        }
        let says = "it looks for updates every six hours from now on";
        context.printer.report(&self.report(context, true, says))?;
        Ok(Outcome::Yes)
    }

    fn uninstall(&self, context: &Context) -> Result<Outcome, Error> {
        let was = match self.kind {
            Kind::Launchd => launchd::remove(LABEL, &self.folder, Domain::of_this_user())?,
            Kind::Systemd => systemd::remove(UNIT, &self.folder)?,
        };
        let says = match was {
            true => "it was removed, and looks for nothing by itself any more",
            false => "there was none",
        };
        context.printer.report(&self.report(context, false, says))?;
        Ok(Outcome::Yes)
    }

    fn status(&self, context: &Context) -> Result<Outcome, Error> {
        let file = self.file();
        let loaded = match self.kind {
            Kind::Launchd => launchd::is_loaded(LABEL, Domain::of_this_user()),
            Kind::Systemd => systemd::is_active(UNIT),
        };
        let there = file.exists();
        // Without the file there is nothing to ask about, and no need of the tool.
        let loaded = match (there, loaded) {
            (false, Err(_)) => false,
            (_, loaded) => loaded?,
        };
        let says = match (there, loaded) {
            (true, true) => "it looks for updates every six hours",
            (true, false) => {
                "it is installed, and not at work: `metalshim service install` mends that"
            }
            (false, true) => "it is at work until the next login only: its file is gone",
            (false, false) if self.manager == Manager::Homebrew => {
                "not installed; with Homebrew: brew services start metalshim"
            }
            (false, false) => "not installed: `metalshim service install`",
        };
        let mut service = self.report(context, there && loaded, says);
        if there && self.starts_another() {
            service.warnings.push(format!(
                "it starts something else than {}: `metalshim service install` mends that",
                self.program.display()
            ));
        }
        context.printer.report(&service)?;
        Ok(match service.active {
            true => Outcome::Yes,
            false => Outcome::No,
        })
    }

    /// Whether what is there starts anything else than this would.
    fn starts_another(&self) -> bool {
        let Ok(ours) = self.arguments() else {
            return true;
        };
        match self.kind {
            Kind::Launchd => launchd::read(&self.file()).is_ok_and(|job| job.arguments != ours),
            Kind::Systemd => {
                let [service, _] = systemd::Job::files(UNIT, &self.folder);
                let line = format!("ExecStart={}", systemd::command(&ours));
                let text = regular::open(&service).and_then(|file| regular::text(file, MAX_UNIT));
                text.is_ok_and(|text| !text.lines().any(|there| there == line))
            }
        }
    }

    fn arguments(&self) -> Result<Vec<String>, Error> {
        let program = text(&self.program)?;
        Ok(vec![program, "update".to_owned(), "--automatic".to_owned()])
    }

    fn report(&self, context: &Context, active: bool, says: &str) -> Service {
        let state = context.state().ok();
        let config = context.config().map(|config| config.automatic);
        let mut warnings = Vec::new();
        if active && config.is_ok_and(|a| a == crate::config::Automatic::Off) {
            warnings.push("automatic = \"off\" in config.toml keeps it from looking".to_owned());
        }
        Service {
            active,
            kind: self.kind,
            file: self.file(),
            program: self.program.clone(),
            log: self.log.clone(),
            manager: self.manager.clone(),
            last_check: state.as_ref().and_then(Check::last),
            says: says.to_owned(),
            warnings,
        }
    }
}

fn text(path: &Path) -> Result<String, Error> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Error::machine(format!("the path {} is not UTF-8 text", path.display()))
            .hint("install metalshim in another folder")
    })
}

/// What of this environment the job needs as well: launchd and systemd start it with their own.
fn environment(context: &Context) -> Result<Vec<(String, String)>, Error> {
    let variables = &context.variables;
    let mut pairs = Vec::new();
    let paths = [
        (variables::STATE_DIR, &variables.state_dir),
        (variables::XDG_STATE_HOME, &variables.xdg_state_home),
        (variables::XDG_CONFIG_HOME, &variables.xdg_config_home),
    ];
    for (name, path) in paths {
        if let Some(path) = path {
            pairs.push((name.to_owned(), text(path)?));
        }
    }
    if let Some(repository) = &variables.repository {
        pairs.push((variables::REPOSITORY.to_owned(), repository.clone()));
    }
    Ok(pairs)
}

impl Report for Service {
    const SCHEMA: &'static str = "metalshim.service/1";

    fn text(&self, style: Style) -> String {
        let kind = self.kind.says();
        let head = match self.active {
            true => style.green(kind),
            false => style.bold(kind),
        };
        let mut lines = vec![format!("{head}: {}", self.says)];
        if self.active {
            lines.push(format!("  file       {}", self.file.display()));
            lines.push(format!(
                "  starts     {} update --automatic",
                self.program.display()
            ));
            lines.push(match &self.log {
                Some(log) => format!("  log        {}", log.display()),
                None => format!("  log        journalctl --user -u {UNIT}"),
            });
        }
        if let Some(last) = &self.last_check {
            let at = last.at.strftime("%F %R UTC");
            lines.push(format!("  last check {at}: {}", last.says));
        }
        let warnings = self.warnings.iter();
        lines.extend(warnings.map(|w| format!("{} {w}", style.yellow("warning:"))));
        lines.join("\n") + "\n"
    }
}
