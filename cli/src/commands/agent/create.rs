//! `metalshim agent create LABEL -- PROGRAM ARGS..`

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plist::{Dictionary, Value};
use serde::Serialize;

use super::jobs::Kind;
use crate::context::Context;
use crate::decide::Known;
use crate::error::{Error, Outcome};
use crate::launchd::{self, Domain, Job, Starts};
use crate::printer::{Report, Style};
use crate::{find, install, variables, wrappers};

/// How programs of `brew services` are started with the overrides, in the help and in
/// docs/enabled.md.
pub const BREW: &str = "\
Programs of `brew services`: Homebrew writes their property lists anew at every start and upgrade, \
so they are not edited. Stop the service, and have metalshim start the same program with what its \
formula sets (`brew cat ollama` shows that):
  brew services stop ollama
  metalshim agent create local.ollama --env OLLAMA_FLASH_ATTENTION=1 -- ollama serve
It is the server that has to be started, not `ollama run`: the server starts the runners, and those \
get the overrides. Back: metalshim agent remove local.ollama; brew services start ollama";

/// What else there is to know, in the help and in docs/enabled.md.
pub const HELP: &str = "\
The program is started when you log in (a daemon: when the machine starts) and again when it fails, \
as `metalshim run --or-stock --quiet --read-share` does: the check happens at every start, and where \
it refuses, the program runs stock. With --require it does not run then, and is tried again every 30 \
seconds: the way for an image whose host is known only some time after its start.
Its output goes to ~/Library/Logs/LABEL.log, a daemon's to /Library/Logs/LABEL.log.
Without a login session, as over SSH, an agent is loaded into the user's background domain; it is in \
the login session from the next login on. Where nobody ever logs in, use --daemon.";

/// Make an agent, and start it.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{HELP}\n\n{BREW}"))]
pub(super) struct Args {
    /// Its name, like local.ollama
    #[arg(value_name = "LABEL", value_parser = label)]
    label: String,
    /// A variable for the program; may be repeated
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    variables: Vec<(String, String)>,
    /// Do not start the program without the overrides: try again until they are allowed
    #[arg(long)]
    require: bool,
    /// A LaunchDaemon, which needs no login session; as root
    #[arg(long)]
    daemon: bool,
    /// With --daemon: the user that it runs as (without it, whoever called sudo)
    #[arg(long, value_name = "NAME", requires = "daemon", value_parser = user_name)]
    user: Option<String>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

#[derive(Debug, Serialize)]
struct Created {
    label: String,
    /// The property list.
    file: String,
    kind: Kind,
    /// Where launchd has it, like `gui/501`.
    domain: String,
    /// What launchd starts.
    arguments: Vec<String>,
    log: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    let kind = if args.daemon {
        Kind::Daemon
    } else {
        Kind::Agent
    };
    let own_home = context.home()?;
    let known = Known::gather(context, None)?;
    let (name, arguments) = args
        .program
        .split_first()
        .ok_or_else(|| Error::user("no program was given"))?;
    let found = find::program(name, context.variables.path.as_deref())?;
    // As it was found, links and all: a Homebrew link survives an upgrade.
    let program = std::path::absolute(&found).map_err(|e| Error::file("find", &found, &e))?;
    wrappers::injectable(&program, arguments, &known)?;
    let owner = match kind {
        Kind::Daemon => Some(owner(args, context)?),
        Kind::Agent => None,
    };
    let home = owner.as_ref().map_or(&own_home, |owner| &owner.home);
    let folder = kind.folder(&own_home);
    not_somebody_elses(&launchd::file(&folder, &args.label))?;
    let logs = match kind {
        Kind::Daemon if cfg!(target_os = "macos") => PathBuf::from("/Library/Logs"),
        _ => own_home.join("Library/Logs"),
    };
    let mut words = vec![utf8(&install::recorded()?)?, "run".to_owned()];
    words.push(
        if args.require {
            "--require"
        } else {
            "--or-stock"
        }
        .to_owned(),
    );
    words.extend(["--quiet", "--read-share", "--"].map(str::to_owned));
    words.push(utf8(&program)?);
    for argument in arguments {
        words.push(utf8(Path::new(argument))?);
    }
    let job = Job {
        label: args.label.clone(),
        arguments: words,
        environment: environment(args, &program, owner.as_ref())?,
        starts: Starts::AtLoad { keep_alive: false },
        background: false,
        log: logs.join(format!("{}.log", args.label)),
    };
    let domain = match kind {
        Kind::Daemon => Domain::System,
        Kind::Agent => Domain::of_this_user(),
    };
    let more = more(home, owner.as_ref())?;
    let file = launchd::install_with(&job, more, &folder, domain)?;
    context.printer.report(&Created {
        label: job.label,
        file: file.display().to_string(),
        kind,
        domain: domain.target(),
        arguments: job.arguments,
        log: job.log.display().to_string(),
    })?;
    Ok(Outcome::Yes)
}

/// Whom a daemon runs as.
struct Owner {
    name: String,
    home: PathBuf,
}

fn owner(args: &Args, context: &Context) -> Result<Owner, Error> {
    if !rustix::process::geteuid().is_root() {
        return Err(
            Error::user("a LaunchDaemon is the machine's, and only root can make one")
                .hint("type the same with sudo in front"),
        );
    }
    let name = args
        .user
        .clone()
        .or_else(|| context.variables.sudo_user.clone());
    let Some(name) = name else {
        return Err(
            Error::user("it is not known which user the daemon is to run as").hint(
                "name one with --user: a server of models does not need root, and metalshim keeps its state in a user's home",
            ),
        );
    };
    let name = user_name(&name).map_err(Error::user)?;
    let home = home_of(&name).ok_or_else(|| {
        Error::user(format!("there is no user {name} with a home folder"))
            .hint("name a user of this machine with --user")
    })?;
    Ok(Owner { name, home })
}

/// As the shell expands `~name`; the name is plain.
fn home_of(name: &str) -> Option<PathBuf> {
    let script = format!("printf %s ~{name}");
    let output = Command::new("/bin/sh")
        .args(["-c", &script])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let home = PathBuf::from(String::from_utf8(output.stdout).ok()?);
    (home.is_absolute() && home.is_dir()).then_some(home)
}

fn environment(
    args: &Args,
    program: &Path,
    owner: Option<&Owner>,
) -> Result<Vec<(String, String)>, Error> {
    let mut all = args.variables.clone();
    let mut put = |name: &str, value: String| {
        if !all.iter().any(|(there, _)| there == name) {
            all.push((name.to_owned(), value));
        }
    };
    // launchd's own PATH has no folder that a user installs into.
    let beside = utf8(program.parent().unwrap_or(program))?;
    put(
        variables::PATH,
        format!("{beside}:/usr/bin:/bin:/usr/sbin:/sbin"),
    );
    if let Some(owner) = owner {
        put(variables::HOME, utf8(&owner.home)?);
    }
    Ok(all)
}

/// What a job of ours has beyond the common keys.
fn more(home: &Path, owner: Option<&Owner>) -> Result<Dictionary, Error> {
    let mut more = Dictionary::new();
    let mut put = |key: &str, value: Value| drop(more.insert(key.to_owned(), value));
    let mut again = Dictionary::new();
    again.insert("SuccessfulExit".to_owned(), false.into());
    put("KeepAlive", Value::Dictionary(again));
    put("ThrottleInterval", 30_i64.into());
    put("WorkingDirectory", utf8(home)?.into());
    match owner {
        Some(owner) => put("UserName", owner.name.as_str().into()),
        None => {
            // Without Background it would not be loaded where nobody has logged in.
            let sessions = ["Aqua", "Background"].map(Value::from);
            put("LimitLoadToSessionType", Value::Array(sessions.to_vec()));
        }
    }
    Ok(more)
}

fn not_somebody_elses(file: &Path) -> Result<(), Error> {
    if !file.exists() {
        return Ok(());
    }
    let ours = launchd::read(file).is_ok_and(|job| {
        let command = job.arguments.first();
        command.is_some_and(|it| {
            Path::new(it)
                .file_name()
                .is_some_and(|name| name == "metalshim")
        })
    });
    if ours {
        return Ok(());
    }
    Err(Error::user(format!(
        "{} is there already, and metalshim did not make it",
        file.display()
    ))
    .hint("choose another label"))
}

fn utf8(path: &Path) -> Result<String, Error> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Error::user(format!("{} is not UTF-8", path.display()))
            .hint("a property list holds UTF-8 text only: use another path or argument")
    })
}

fn plain(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    !text.is_empty() && text.len() <= 100 && text.bytes().all(allowed)
}

fn label(text: &str) -> Result<String, String> {
    if !plain(text) || text.starts_with(['.', '-']) {
        return Err("a label is made of letters, digits, dots, dashes and underscores, like local.ollama, at most 100".to_owned());
    }
    for taken in ["com.apple.", "homebrew."] {
        if text.starts_with(taken) {
            return Err(format!(
                "labels that start with {taken} are somebody else's"
            ));
        }
    }
    Ok(text.to_owned())
}

fn user_name(text: &str) -> Result<String, String> {
    match plain(text) && !text.starts_with('-') {
        true => Ok(text.to_owned()),
        false => Err(format!("{text} is no user's name")),
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        return Err("a variable is NAME=VALUE".to_owned());
    };
    let ours = [variables::TICKET, variables::REQUIRE, variables::WRAPPED].contains(&name);
    if name.starts_with("DYLD_") || name == variables::INSERT_LIBRARIES || ours {
        return Err(format!("{name} is set by metalshim, for the program alone"));
    }
    if text.chars().any(char::is_control) {
        return Err(format!("{name} has a control character in it"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

impl Report for Created {
    const SCHEMA: &'static str = "metalshim.agent-create/1";

    fn text(&self, style: Style) -> String {
        format!(
            "{} {}, loaded into {}\nlog: {}\nto end it: metalshim agent remove {}\n",
            style.green("made"),
            self.file,
            self.domain,
            self.log,
            self.label
        )
    }
}
