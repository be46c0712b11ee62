//! `metalshim host attest DIR`: what this host is, in a file that its guests read.
//!
//! **Contract.** The file is replaced whole: a guest reads the old one or the new one. (Guests
//! also keep what they once read of a file that is changed in place: a new file is seen.)

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde::Serialize;

use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::facts::share::{self, Attestation};
use crate::host::ThisHost;
use crate::install;
use crate::launchd::{self, Domain, Job, Starts};
use crate::printer::{Report, Style};

/// Write metalshim-host.json into a folder that is shared with the guests: build, model, chip,
/// the GPU's highest family, the preference, the time, and the database's seq.
///
/// A guest believes it as the host's own word if it was written since the guest's boot or within
/// the two hours before the guest read it, so it has to be kept fresh: with --agent, --watch, or
/// this command before each start of a virtual machine. docs/hosts.md has the command that shares
/// the folder, for Lume, Tart, UTM, VirtualBuddy and Anka.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The shared folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Stay, and write it again every so often, until ended
    #[arg(long, conflicts_with = "agent")]
    watch: bool,
    /// With --watch: how often, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, requires = "watch", value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,
    /// Have a LaunchAgent do that from every login on; `metalshim agent remove` ends it
    #[arg(long)]
    agent: bool,
}

/// The label of the LaunchAgent that keeps a folder attested.
pub(crate) const LABEL: &str = "metalshim.host-attest";
const SCHEMA: &str = "metalshim.host-attestation/1";
/// How long a wait is slept in one piece: after the Mac's own sleep the time is looked at again.
const NAP: Duration = Duration::from_secs(15);

/// The file.
#[derive(Debug, Serialize)]
struct File<'a> {
    schema: &'static str,
    #[serde(flatten)]
    attestation: &'a Attestation,
}

#[derive(Debug, Serialize)]
struct Attested {
    /// The file.
    path: String,
    attestation: Attestation,
    /// The LaunchAgent that keeps it true, if one was made.
    agent: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    let folder = std::path::absolute(&args.folder)
        .map_err(|e| Error::file("find", &args.folder, &e).hint("name a folder"))?;
    if !folder.is_dir() {
        return Err(
            Error::user(format!("{} is not a folder", folder.display())).hint(format!(
                "make it, and share it with the guests: mkdir -p '{}'",
                folder.display()
            )),
        );
    }
    let (path, attestation) = write(&folder, context)?;
    let agent = match args.agent {
        true => Some(install_agent(&folder, context)?.display().to_string()),
        false => None,
    };
    context.printer.report(&Attested {
        path: path.display().to_string(),
        attestation,
        agent,
    })?;
    if args.watch {
        watch(&folder, Duration::from_secs(args.every), context);
    }
    Ok(Outcome::Yes)
}

fn write(folder: &Path, context: &Context) -> Result<(PathBuf, Attestation), Error> {
    let attestation = ThisHost::read_real()?.attestation(seq(context), Timestamp::now());
    let file = File {
        schema: SCHEMA,
        attestation: &attestation,
    };
    let mut text = serde_json::to_string_pretty(&file)
        .map_err(|e| Error::project(format!("could not write {} as JSON: {e}", share::NAME)))?;
    text.push('\n');
    let path = folder.join(share::NAME);
    compatdb::write_file(&path, text.as_bytes()).map_err(|e| {
        Error::machine(e.to_string()).hint(format!(
            "look who owns {}, and whether the disk is full",
            folder.display()
        ))
    })?;
    Ok((path, attestation))
}

/// The `seq` of the database in use; none where there is no database.
pub(super) fn seq(context: &Context) -> Option<u64> {
    Some(context.database().ok()?.database.meta().seq)
}

/// Writes again and again. What goes wrong is said once, and tried again.
fn watch(folder: &Path, every: Duration, context: &Context) -> ! {
    let mut said = String::new();
    loop {
        let wrote = SystemTime::now();
        // A clock that was set back counts as time that passed.
        let passed = || wrote.elapsed().unwrap_or(every);
        while passed() < every {
            std::thread::sleep(NAP.min(every));
        }
        let says = match write(folder, context) {
            Ok(_) => String::new(),
            Err(error) => error.says,
        };
        if says != said && !says.is_empty() {
            context.printer.note(&says);
        }
        said = says;
    }
}

fn install_agent(folder: &Path, context: &Context) -> Result<PathBuf, Error> {
    let home = context.home()?;
    let text = |path: &Path| {
        path.to_str().map(str::to_owned).ok_or_else(|| {
            Error::user(format!("{} is not UTF-8", path.display()))
                .hint("a property list cannot name it: use another folder")
        })
    };
    let job = Job {
        label: LABEL.to_owned(),
        arguments: vec![
            text(&install::recorded()?)?,
            "host".to_owned(),
            "attest".to_owned(),
            text(folder)?,
            "--watch".to_owned(),
        ],
        environment: Vec::new(),
        starts: Starts::AtLoad { keep_alive: true },
        background: true,
        log: home.join("Library/Logs").join(format!("{LABEL}.log")),
    };
    let domain = Domain::of_this_user();
    launchd::install(&job, &domain.folder(&home), domain)
}

/// The folder that a LaunchAgent of this user keeps attested.
pub(super) fn agent_folder(context: &Context) -> Option<String> {
    let home = context.home().ok()?;
    let job = launchd::read(&launchd::file(&Domain::Gui.folder(&home), LABEL)).ok()?;
    job.arguments.get(3).cloned()
}

impl Report for Attested {
    const SCHEMA: &'static str = "metalshim.host-attest/1";

    fn text(&self, style: Style) -> String {
        let a = &self.attestation;
        let mut lines = vec![format!(
            "{} {}: {}{}",
            style.green("wrote"),
            self.path,
            style.bold(a.build.as_str()),
            a.chip
                .as_ref()
                .map(|c| format!(", {c}"))
                .unwrap_or_default()
        )];
        lines.push(match &self.agent {
            Some(agent) => format!("kept true by {agent}"),
            None => {
                "a guest believes it for two hours; --agent or --watch keeps it true".to_owned()
            }
        });
        lines.push(
            "in the guest: `metalshim enable` or `metalshim doctor` finds it below /Volumes/My Shared Files"
                .to_owned(),
        );
        lines.join("\n") + "\n"
    }
}
