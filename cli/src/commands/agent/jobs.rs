//! The jobs that metalshim made, as they are now.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::Error;
use crate::launchd::{self, Domain};
use crate::printer::Style;

/// Who starts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// launchd, for this user.
    Agent,
    /// launchd, for the machine.
    Daemon,
}

impl Kind {
    /// Where its property lists are. Elsewhere than on a Mac the machine's are in the home too:
    /// nothing there has a `/Library`.
    pub(super) fn folder(self, home: &Path) -> PathBuf {
        match self {
            Self::Daemon if cfg!(target_os = "macos") => Domain::System.folder(home),
            Self::Daemon => home.join("Library/LaunchDaemons"),
            Self::Agent => Domain::Gui.folder(home),
        }
    }

    /// Where it may be loaded.
    fn domains(self) -> &'static [Domain] {
        match self {
            Self::Agent => &[Domain::Gui, Domain::User],
            Self::Daemon => &[Domain::System],
        }
    }
}

/// One job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Listed {
    /// Its label.
    pub(crate) label: String,
    /// Who starts it.
    pub(crate) kind: Kind,
    /// What it starts: the program and its arguments, or `host attest DIR`.
    pub(crate) starts: Vec<String>,
    /// `--require`: it does not start stock.
    pub(crate) require: bool,
    /// Whether launchd has it; none where that cannot be told.
    pub(crate) loaded: Option<bool>,
    /// Why it does not do what it was made for.
    pub(crate) problem: Option<String>,
    /// The command that mends it.
    pub(crate) mend: Option<String>,
}

/// All jobs of this user and of the machine whose program is metalshim, by label. (The service
/// that looks for updates has a command of its own.)
pub(crate) fn all(home: &Path) -> Vec<Listed> {
    let mut jobs = Vec::new();
    for kind in [Kind::Agent, Kind::Daemon] {
        let entries = std::fs::read_dir(kind.folder(home));
        let paths = entries.into_iter().flatten().flatten().map(|e| e.path());
        let lists = paths.filter(|path| path.extension().is_some_and(|it| it == "plist"));
        jobs.extend(lists.filter_map(|path| job(kind, &path)));
    }
    jobs.sort_by(|a: &Listed, b| a.label.cmp(&b.label));
    jobs
}

fn job(kind: Kind, path: &Path) -> Option<Listed> {
    let launchd::Listed { label, arguments } = launchd::read(path).ok()?;
    let (command, rest) = arguments.split_first()?;
    if Path::new(command).file_name()? != "metalshim" {
        return None;
    }
    let starts = match rest.first()?.as_str() {
        "run" => {
            let dashes = rest.iter().position(|word| word == "--")?;
            rest[dashes + 1..].to_vec()
        }
        "host" => rest.to_vec(),
        _ => return None,
    };
    let program = starts.first().filter(|word| word.starts_with('/'));
    let loaded = kind
        .domains()
        .iter()
        .map(|domain| launchd::is_loaded(&label, *domain).ok())
        .reduce(|one, other| Some(one? || other?))
        .flatten();
    let file = path.file_stem().and_then(|stem| stem.to_str());
    let again = || Some(format!("metalshim agent remove {label}"));
    let (problem, mend) = if file != Some(label.as_str()) {
        (Some(format!("its file is called {}", path.display())), None)
    } else if !Path::new(command).exists() {
        (
            Some(format!("metalshim is not at {command} any more")),
            again(),
        )
    } else if let Some(program) = program.filter(|program| !Path::new(program).exists()) {
        (Some(format!("there is no {program} any more")), again())
    } else if loaded == Some(false) {
        let target = match kind {
            Kind::Agent => Domain::of_this_user().target(),
            Kind::Daemon => Domain::System.target(),
        };
        (
            Some("launchd has not loaded it".to_owned()),
            Some(format!("launchctl bootstrap {target} '{}'", path.display())),
        )
    } else {
        (None, None)
    };
    Some(Listed {
        require: rest.iter().any(|word| word == "--require"),
        label,
        kind,
        starts,
        loaded,
        problem,
        mend,
    })
}

impl Listed {
    pub(super) fn folder(&self, home: &Path) -> PathBuf {
        self.kind.folder(home)
    }

    /// Ends it and removes its file.
    pub(super) fn remove(&self, home: &Path) -> Result<(), Error> {
        let folder = self.folder(home);
        for domain in self.kind.domains() {
            launchd::remove(&self.label, &folder, *domain)?;
        }
        Ok(())
    }

    /// As a person reads it.
    pub(crate) fn says(&self, style: Style) -> String {
        let kind = match self.kind {
            Kind::Agent => "agent",
            Kind::Daemon => "daemon",
        };
        let require = if self.require { ", or not at all" } else { "" };
        let mut text = format!(
            "{kind} {}: {}{require}",
            style.bold(&self.label),
            self.starts.join(" ")
        );
        if let Some(problem) = &self.problem {
            text += &format!("; {} {problem}", style.yellow("but"));
        }
        if let Some(mend) = &self.mend {
            text += &format!("\n    {mend}");
        }
        text
    }
}
