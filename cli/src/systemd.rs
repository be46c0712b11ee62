//! A systemd user timer, for systems without launchd.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Error, plain};
use crate::state::atomic::{self, Durability};

/// One job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The name of its two units.
    pub name: String,
    /// What it is, in a line.
    pub says: String,
    /// The program, an absolute path, and its arguments.
    pub arguments: Vec<String>,
    /// What its environment has beyond that of all user units.
    pub environment: Vec<(String, String)>,
    /// systemd.time(7), like `*-*-* 00/6:17:00`.
    pub calendar: String,
}

impl Job {
    /// The service.
    pub fn service(&self) -> String {
        let mut unit = format!(
            "[Unit]\nDescription={}\n\n[Service]\nType=oneshot\nNice=10\n",
            self.says
        );
        for (name, value) in &self.environment {
            unit.push_str(&format!(
                "Environment={}\n",
                quoted(&format!("{name}={value}"), "$")
            ));
        }
        unit.push_str(&format!("ExecStart={}\n", command(&self.arguments)));
        unit
    }

    /// The timer. What falls into a time in which the machine is off is made up for once.
    pub fn timer(&self) -> String {
        format!(
            "[Unit]\nDescription={}\n\n[Timer]\nOnCalendar={}\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n",
            self.says, self.calendar
        )
    }

    /// The units' files in `folder`: service, timer.
    pub fn files(name: &str, folder: &Path) -> [PathBuf; 2] {
        ["service", "timer"].map(|kind| folder.join(format!("{name}.{kind}")))
    }
}

/// The command line that starts `arguments`. Variables are put into arguments only: in the path of
/// the program a `$` is itself.
pub fn command(arguments: &[String]) -> String {
    let dollars = std::iter::once("$").chain(std::iter::repeat("$$"));
    let words = arguments.iter().zip(dollars);
    let words: Vec<String> = words.map(|(word, dollar)| quoted(word, dollar)).collect();
    words.join(" ")
}

/// As systemd.syntax(7) and systemd.service(5) read it back; what a `$` is depends on where it is.
fn quoted(word: &str, dollar: &str) -> String {
    let mut text = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '%' => text.push_str("%%"),
            '$' => text.push_str(dollar),
            c if c.is_ascii_control() => text.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

/// Writes the units into `folder` and starts the timer. Where systemd refuses, what was there
/// before is put back.
///
/// # Errors
/// A file cannot be written, or systemd refuses.
pub fn install(job: &Job, folder: &Path) -> Result<PathBuf, Error> {
    std::fs::create_dir_all(folder).map_err(|e| {
        Error::file("make the folder", folder, &e).hint("look who owns the folder above it")
    })?;
    let [service, timer] = Job::files(&job.name, folder);
    let before = [&service, &timer].map(|path| std::fs::read(path).ok());
    let write = |path: &Path, bytes: &[u8]| {
        atomic::write(path, bytes, Durability::Synced)
            .map_err(|e| Error::file("write", path, &e).hint("look who owns its folder"))
    };
    let unit = format!("{}.timer", job.name);
    let started = write(&service, job.service().as_bytes())
        .and_then(|()| write(&timer, job.timer().as_bytes()))
        .and_then(|()| needed(&["daemon-reload"]))
        .and_then(|()| needed(&["enable", "--now", &unit]))
        // One that ran already keeps the times that it was started with.
        .and_then(|()| needed(&["restart", &unit]));
    if let Err(error) = started {
        // The first error is the one to tell.
        for (path, before) in [&service, &timer].into_iter().zip(before) {
            let _ = match before {
                Some(before) => write(path, &before).ok(),
                None => std::fs::remove_file(path).ok(),
            };
        }
        return Err(error);
    }
    Ok(timer)
}

/// Ends the timer and removes its units; whether there was one. They are removed where systemd
/// refuses, too: there may be none to start anything.
///
/// # Errors
/// systemd refuses, or a file cannot be removed.
pub fn remove(name: &str, folder: &Path) -> Result<bool, Error> {
    let files = Job::files(name, folder);
    if !files.iter().any(|path| path.symlink_metadata().is_ok()) {
        return Ok(false);
    }
    let timer = format!("{name}.timer");
    let ended = needed(&["disable", "--now", &timer]);
    // What `enable` made; gone already where `disable` did its work.
    let wanted = folder.join("timers.target.wants").join(&timer);
    for path in files.iter().chain([&wanted]) {
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::file("remove", path, &e).hint("look who owns it and its folder"));
            }
            _ => {}
        }
    }
    ended
        .and_then(|()| needed(&["daemon-reload"]))
        .map_err(|e| {
            e.hint("its files are removed; a timer that still runs ends with this login")
        })?;
    Ok(true)
}

/// Whether the timer runs.
///
/// # Errors
/// There is no systemctl.
pub fn is_active(name: &str) -> Result<bool, Error> {
    Ok(systemctl(&["is-active", &format!("{name}.timer")])?.0)
}

fn needed(arguments: &[&str]) -> Result<(), Error> {
    match systemctl(arguments)? {
        (true, _) => Ok(()),
        (false, says) => Err(Error::machine(format!(
            "systemd refuses: systemctl --user {}: {says}",
            arguments.join(" ")
        ))
        .hint("over SSH or in a container there may be no systemd of this user: `loginctl enable-linger` starts one")),
    }
}

fn systemctl(arguments: &[&str]) -> Result<(bool, String), Error> {
    let output = Command::new("systemctl")
        .arg("--user")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| {
            Error::machine(format!("systemctl cannot be started: {}", plain(&e)))
                .hint("without systemd, put `metalshim update --automatic` into your crontab")
        })?;
    let says = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Ok((output.status.success(), says))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_through_systemds_own_rules() {
        let job = |word: &str| command(&["/a b/c".to_owned(), word.to_owned()]);
        assert_eq!(
            job("50% \"$HOME\" \\"),
            "\"/a b/c\" \"50%% \\\"$$HOME\\\" \\\\\""
        );
        assert_eq!(job("a\n\tb"), "\"/a b/c\" \"a\\x0a\\x09b\"");
    }
}
