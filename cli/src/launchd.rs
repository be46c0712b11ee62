//! LaunchAgents and LaunchDaemons: their property lists, and `launchctl`.
//!
//! **Contract.** The file is whole and valid before launchd is told of it, its name is its label,
//! and every path in it is absolute. A job is loaded by `bootstrap` and removed by `bootout`; what
//! was loaded before under the same label is replaced. Nothing is written for `System` that root
//! does not own: only root can.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use plist::{Dictionary, Value};
use rustix::process::getuid;

use crate::error::{Error, plain};
use crate::regular;
use crate::state::atomic::{self, Durability};

/// `bootout` is not over when it returns, and until it is, `bootstrap` fails.
const ATTEMPTS: u32 = 10;
const BETWEEN: Duration = Duration::from_millis(200);
/// No property list of a job is larger.
const MAX_LEN: u64 = 1 << 20;

/// When a job starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// When it is loaded (at login, for a LaunchAgent), and with `keep_alive` again whenever it
    /// ends.
    AtLoad {
        /// Started again whenever it ends.
        keep_alive: bool,
    },
    /// At this minute of every so many hours, counted from midnight. What falls into the Mac's
    /// sleep is made up for once, when it wakes.
    Every {
        /// 1 to 24.
        hours: u32,
        /// 0 to 59.
        minute: u32,
    },
}

/// One job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its name, and that of its file.
    pub label: String,
    /// The program, an absolute path, and its arguments.
    pub arguments: Vec<String>,
    /// What its environment has beyond the little that launchd gives.
    pub environment: Vec<(String, String)>,
    /// When it starts.
    pub starts: Starts,
    /// For work that nobody waits for: less of the processor and of the disk.
    pub background: bool,
    /// Where stdout and stderr go.
    pub log: PathBuf,
}

impl Job {
    /// The property list, as XML.
    ///
    /// # Errors
    /// A path is not absolute, or not text.
    pub fn plist(&self) -> Result<Vec<u8>, Error> {
        self.plist_with(Dictionary::new())
    }

    /// The same with `more` keys, which win.
    ///
    /// # Errors
    /// As [`Self::plist`].
    pub fn plist_with(&self, more: Dictionary) -> Result<Vec<u8>, Error> {
        let absolute = self.arguments.first().is_some_and(|p| p.starts_with('/'));
        if !absolute || !self.log.is_absolute() {
            return Err(Error::project(format!(
                "the job {} has a path that is not absolute",
                self.label
            )));
        }
        let text = |path: &Path| {
            path.to_str().map(str::to_owned).ok_or_else(|| {
                Error::machine(format!(
                    "a property list cannot name {}: it is not UTF-8",
                    path.display()
                ))
                .hint("use a path that is UTF-8 text")
            })
        };
        let mut job = Dictionary::new();
        let mut put = |key: &str, value: Value| drop(job.insert(key.to_owned(), value));
        put("Label", self.label.as_str().into());
        let arguments = self.arguments.iter().map(|a| a.as_str().into());
        put("ProgramArguments", Value::Array(arguments.collect()));
        if !self.environment.is_empty() {
            let pairs = self.environment.iter();
            let pairs = pairs.map(|(name, value)| (name.clone(), Value::from(value.as_str())));
            put(
                "EnvironmentVariables",
                Value::Dictionary(pairs.collect::<Dictionary>()),
            );
        }
        match self.starts {
            Starts::AtLoad { keep_alive } => {
                put("RunAtLoad", true.into());
                if keep_alive {
                    put("KeepAlive", true.into());
                }
            }
            Starts::Every { hours, minute } => {
                let step = usize::try_from(hours.max(1)).unwrap_or(1);
                let times = (0..24_i64).step_by(step).map(|hour| {
                    let mut time = Dictionary::new();
                    time.insert("Hour".to_owned(), hour.into());
                    time.insert("Minute".to_owned(), i64::from(minute).into());
                    Value::Dictionary(time)
                });
                put("RunAtLoad", false.into());
                put("StartCalendarInterval", Value::Array(times.collect()));
            }
        }
        if self.background {
            put("ProcessType", "Background".into());
            put("Nice", 10_i64.into());
        }
        let log = text(&self.log)?;
        put("StandardOutPath", log.as_str().into());
        put("StandardErrorPath", log.as_str().into());
        for (key, value) in more {
            job.insert(key, value);
        }
        let mut bytes = Vec::new();
        Value::Dictionary(job)
            .to_writer_xml(&mut bytes)
            .map_err(|e| Error::project(format!("the job {}: {e}", self.label)))?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// Where a job lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// This user's login session.
    Gui,
    /// This user without one, as over SSH.
    User,
    /// The machine: LaunchDaemons.
    System,
}

impl Domain {
    /// This user's login session where there is one, else the user's background domain.
    pub fn of_this_user() -> Self {
        match launchctl(&[OsStr::new("print"), Self::Gui.target().as_ref()]) {
            Ok(answer) if answer.ok => Self::Gui,
            _ => Self::User,
        }
    }

    /// As launchctl names it, like `gui/501`.
    pub fn target(self) -> String {
        let user = getuid().as_raw();
        match self {
            Self::Gui => format!("gui/{user}"),
            Self::User => format!("user/{user}"),
            Self::System => "system".to_owned(),
        }
    }

    /// The folder of its property lists.
    pub fn folder(self, home: &Path) -> PathBuf {
        match self {
            Self::Gui | Self::User => home.join("Library/LaunchAgents"),
            Self::System => PathBuf::from("/Library/LaunchDaemons"),
        }
    }
}

/// Where the property list of a label is.
pub fn file(folder: &Path, label: &str) -> PathBuf {
    folder.join(format!("{label}.plist"))
}

/// Writes the job's property list into `folder` and loads it; the file.
///
/// # Errors
/// A folder or the file cannot be written, or launchd refuses the job.
pub fn install(job: &Job, folder: &Path, domain: Domain) -> Result<PathBuf, Error> {
    install_with(job, Dictionary::new(), folder, domain)
}

/// The same with `more` keys in the property list, which win. Where launchd refuses the job,
/// what was there before is put back and loaded again.
///
/// # Errors
/// As [`install`].
pub fn install_with(
    job: &Job,
    more: Dictionary,
    folder: &Path,
    domain: Domain,
) -> Result<PathBuf, Error> {
    let bytes = job.plist_with(more)?;
    let logs = job.log.parent().unwrap_or(folder);
    for needed in [folder, logs] {
        std::fs::create_dir_all(needed).map_err(|e| {
            Error::file("make the folder", needed, &e).hint("look who owns the folder above it")
        })?;
    }
    let path = file(folder, &job.label);
    let before = std::fs::read(&path).ok();
    let was_loaded = unload(&job.label, domain)?;
    let write = |bytes: &[u8]| {
        atomic::write(&path, bytes, Durability::Synced)
            .map_err(|e| Error::file("write", &path, &e).hint("look who owns its folder"))
    };
    write(&bytes)?;
    let loaded = match domain {
        // Others may look at what the machine starts, as at every file in that folder.
        Domain::System => std::fs::set_permissions(&path, Permissions::from_mode(0o644))
            .map_err(|e| Error::file("open to readers", &path, &e)),
        _ => Ok(()),
    };
    if let Err(error) = loaded.and_then(|()| load(&path, domain)) {
        // The first error is the one to tell.
        match before {
            Some(before) => {
                let _ = write(&before);
                let _ = was_loaded.then(|| load(&path, domain));
            }
            None => drop(std::fs::remove_file(&path)),
        }
        return Err(error);
    }
    Ok(path)
}

/// What a property list starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its label.
    pub label: String,
    /// The program and its arguments.
    pub arguments: Vec<String>,
}

/// Reads the property list at `path`.
///
/// # Errors
/// It cannot be read, or has no label or no arguments.
pub fn read(path: &Path) -> Result<Listed, Error> {
    let unusable = |says: String| {
        Error::machine(format!(
            "{} is no job that can be read: {says}",
            path.display()
        ))
        .hint(format!("look what `plutil -p '{}'` prints", path.display()))
    };
    let bytes = regular::open(path)
        .and_then(|file| regular::bytes(file, MAX_LEN))
        .map_err(|e| unusable(plain(&e)))?;
    let value =
        Value::from_reader(std::io::Cursor::new(bytes)).map_err(|e| unusable(e.to_string()))?;
    let job = value.as_dictionary();
    let text = |value: &Value| value.as_string().map(str::to_owned);
    let label = job.and_then(|job| text(job.get("Label")?));
    let arguments = job.and_then(|job| {
        let all = job.get("ProgramArguments")?.as_array()?;
        all.iter().map(text).collect::<Option<Vec<_>>>()
    });
    match (label, arguments) {
        (Some(label), Some(arguments)) => Ok(Listed { label, arguments }),
        _ => Err(unusable("it has no label, or no arguments".to_owned())),
    }
}

/// Ends the job and removes its file; whether there was either.
///
/// # Errors
/// launchd refuses, or the file cannot be removed.
pub fn remove(label: &str, folder: &Path, domain: Domain) -> Result<bool, Error> {
    let was_loaded = unload(label, domain)?;
    let path = file(folder, label);
    match std::fs::remove_file(&path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(was_loaded),
        Err(e) => Err(Error::file("remove", &path, &e).hint("look who owns it and its folder")),
    }
}

/// Whether launchd has the job.
///
/// # Errors
/// There is no launchctl.
pub fn is_loaded(label: &str, domain: Domain) -> Result<bool, Error> {
    let service = format!("{}/{label}", domain.target());
    Ok(launchctl(&[OsStr::new("print"), service.as_ref()])?.ok)
}

fn load(path: &Path, domain: Domain) -> Result<(), Error> {
    let target = domain.target();
    if let Some(label) = path.file_stem().and_then(OsStr::to_str) {
        // A job that was once disabled is not loaded, and no error says so.
        let service = format!("{target}/{label}");
        launchctl(&[OsStr::new("enable"), service.as_ref()])?;
    }
    let mut left = ATTEMPTS;
    loop {
        let answer = launchctl(&[OsStr::new("bootstrap"), target.as_ref(), path.as_os_str()])?;
        if answer.ok {
            return Ok(());
        }
        left -= 1;
        if left == 0 {
            return Err(Error::machine(format!(
                "launchd does not take {}: {}",
                path.display(),
                answer.says
            ))
            .hint(format!("try it by hand: launchctl bootstrap {target} FILE")));
        }
        std::thread::sleep(BETWEEN);
    }
}

/// Whether it was loaded.
fn unload(label: &str, domain: Domain) -> Result<bool, Error> {
    if !is_loaded(label, domain)? {
        return Ok(false);
    }
    let service = format!("{}/{label}", domain.target());
    let answer = launchctl(&[OsStr::new("bootout"), service.as_ref()])?;
    let mut left = ATTEMPTS;
    while left > 0 && is_loaded(label, domain)? {
        left -= 1;
        std::thread::sleep(BETWEEN);
    }
    if left == 0 {
        return Err(Error::machine(format!(
            "launchd does not end the job {label}: {}",
            answer.says
        ))
        .hint(format!("try it by hand: launchctl bootout {service}")));
    }
    Ok(true)
}

struct Answer {
    ok: bool,
    says: String,
}

fn launchctl(arguments: &[&OsStr]) -> Result<Answer, Error> {
    let output = Command::new("launchctl")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| {
            Error::machine(format!("launchctl cannot be started: {}", plain(&e)))
                .hint("it is part of macOS, in /bin: look at PATH")
        })?;
    let says = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Ok(Answer {
        ok: output.status.success(),
        says: match says.is_empty() {
            true => output.status.to_string(),
            false => says,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(starts: Starts) -> Job {
        Job {
            label: "metalshim.test".to_owned(),
            arguments: vec!["/opt/m/bin/metalshim".to_owned(), "a <b> & c".to_owned()],
            environment: vec![("NAME".to_owned(), "value \"1\"".to_owned())],
            starts,
            background: true,
            log: PathBuf::from("/tmp/metalshim.log"),
        }
    }

    fn read(job: &Job) -> Dictionary {
        let bytes = job.plist().unwrap();
        let value = Value::from_reader_xml(bytes.as_slice()).unwrap();
        value.into_dictionary().unwrap()
    }

    #[test]
    fn every_six_hours_is_four_times_a_day_and_not_at_load() {
        let hours = Starts::Every {
            hours: 6,
            minute: 17,
        };
        let dictionary = read(&job(hours));
        let times = dictionary["StartCalendarInterval"].as_array().unwrap();
        let times: Vec<_> = times
            .iter()
            .map(|t| t.as_dictionary().unwrap())
            .map(|t| {
                (
                    t["Hour"].as_signed_integer(),
                    t["Minute"].as_signed_integer(),
                )
            })
            .collect();
        let at = |hour| (Some(hour), Some(17));
        assert_eq!(times, [at(0), at(6), at(12), at(18)]);
        assert_eq!(dictionary["RunAtLoad"].as_boolean(), Some(false));
        assert_eq!(dictionary["ProcessType"].as_string(), Some("Background"));
        assert!(!dictionary.contains_key("KeepAlive"));
    }

    #[test]
    fn arguments_and_environment_come_through_as_they_are() {
        let dictionary = read(&job(Starts::AtLoad { keep_alive: true }));
        let arguments = dictionary["ProgramArguments"].as_array().unwrap();
        assert_eq!(arguments[1].as_string(), Some("a <b> & c"));
        let environment = dictionary["EnvironmentVariables"].as_dictionary().unwrap();
        assert_eq!(environment["NAME"].as_string(), Some("value \"1\""));
        assert_eq!(dictionary["KeepAlive"].as_boolean(), Some(true));
        assert!(!dictionary.contains_key("StartCalendarInterval"));
    }

    #[test]
    fn a_relative_program_is_never_recorded() {
        let mut job = job(Starts::AtLoad { keep_alive: false });
        job.arguments[0] = "metalshim".to_owned();
        assert!(job.plist().is_err());
    }
}
