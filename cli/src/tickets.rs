//! Tickets and what the shim answered to them: `tickets/<pid>-<start>` and beside it
//! `.status`; `.revoked` is what was in a ticket that an update took back.
//!
//! **Contract.** A ticket lives as long as the process that it was made for, or any process
//! that reported under it; [`sweep`] removes the others, and those of other boots. `start`
//! tells two processes with the same id apart: on Linux it is the start of the process in
//! clock ticks since boot, elsewhere the milliseconds since 1970 at which the ticket was made.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use metalshim_ticket::{Key, MAX_LEN, Problem, Ticket};
use rustix::process::{Pid, test_kill_process};
use serde::Serialize;

use crate::error::Error;
use crate::printer::{Style, escaped};
use crate::regular;
use crate::state::StateFolder;
use crate::state::atomic::{self, Durability};

/// No longer list of children fits a ticket.
const MAX_FOLLOW: usize = 1024;
/// What a status file is called beyond its ticket.
const STATUS: &str = ".status";
/// What is kept of a ticket that was taken back is called so.
const REVOKED: &str = ".revoked";
/// No status file is read further than this.
const MAX_STATUS: u64 = 256 << 10;

/// Whether `ticket` can be written at all; nothing is.
///
/// # Errors
/// It holds what no ticket may hold.
pub fn check(ticket: &Ticket<'_>) -> Result<(), Error> {
    let written = ticket.write(&mut [0; MAX_LEN]);
    written.map(drop).map_err(|e| refused(ticket, e))
}

/// Writes `ticket` for this process, and returns its path and text.
pub fn write(state: &StateFolder, ticket: &Ticket<'_>) -> Result<(PathBuf, String), Error> {
    let mut buffer = [0; MAX_LEN];
    let len = ticket.write(&mut buffer).map_err(|e| refused(ticket, e))?;
    let bytes = &buffer[..len];
    let pid = std::process::id();
    let start = start_of(pid).unwrap_or_default();
    let path = state.tickets().join(format!("{pid}-{start}"));
    let put = || {
        state.ensure()?;
        Ok(atomic::write(&path, bytes, Durability::Renamed))
    };
    let written = match put()? {
        // A `disable --purge` removed the folder in between.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => put()?,
        written => written,
    };
    written.map_err(|e| state.unusable(&path, &e))?;
    Ok((path, String::from_utf8_lossy(bytes).into_owned()))
}

/// A value that no ticket may hold: it comes from the facts or from `--follow`.
fn refused(ticket: &Ticket<'_>, problem: Problem) -> Error {
    let follow = ticket.follow;
    let unprintable = !follow.bytes().all(|b| (b' '..=b'~').contains(&b));
    match problem {
        _ if follow.len() > MAX_FOLLOW => Error::user(format!(
            "the children to follow cannot be told to the shim: they are {} bytes, and {MAX_FOLLOW} is the most",
            follow.len()
        ))
        .hint("--follow all follows every child"),
        problem if unprintable || problem == Problem::Value(Key::Follow) => Error::user(format!(
            "the children to follow cannot be told to the shim: \"{}\"",
            follow.escape_default()
        ))
        .hint("--follow takes none, all, or a comma list of self and names of programs, without paths"),
        Problem::Value(Key::BootSession) => Error::user(format!(
            "this boot's id is not a UUID: \"{}\"",
            ticket.boot_session.escape_default()
        ))
        .hint("kern.bootsessionuuid has 36 characters; in a facts file it is guest.boot_session"),
        problem => Error::project(format!("the ticket cannot be written: {}", problem.code())),
    }
}

/// One process's line in a status file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reported {
    /// Its process id.
    pub pid: u32,
    /// Its executable.
    pub program: String,
    /// `installed`, `refused`, ...: docs/shim.md lists them.
    pub state: String,
    /// Why it was refused.
    pub reason: Option<String>,
    /// The record that its ticket was made from.
    pub record: Option<String>,
    /// Whether that record was taken back since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub revoked: bool,
}

impl Reported {
    /// As users read it, on one line.
    pub fn says(&self, style: Style) -> String {
        let state = match self.state.as_str() {
            "installed" => style.green("installed"),
            other => style.red(&escaped(other)),
        };
        let reason = self.reason.as_ref().map(|r| format!(" ({})", escaped(r)));
        let record = self.record.as_ref().map(|r| format!(", {}", escaped(r)));
        let revoked = match self.revoked {
            true => style.red(", which was taken back: start it again, and it runs stock"),
            false => String::new(),
        };
        format!(
            "process {} {}: {state}{}{}{revoked}",
            self.pid,
            escaped(&self.program),
            reason.unwrap_or_default(),
            record.unwrap_or_default()
        )
    }
}

/// What processes that still run have reported last, in the order of their ids.
pub fn running(state: &StateFolder, boot_session: &str) -> Vec<Reported> {
    let mut running = Vec::new();
    for entry in entries(state) {
        let taken_back = content(&revoked_path(&entry.path)).ok();
        let revoked = taken_back.is_some();
        let content = taken_back.or_else(|| content(&entry.path).ok());
        let content = content.unwrap_or_default();
        let ticket = Ticket::parse(&content).ok();
        if ticket.is_some_and(|t| t.boot_session != boot_session) {
            continue;
        }
        let lines = reported(&entry.path).into_iter();
        let mut last: BTreeMap<u32, Reported> = lines.map(|line| (line.pid, line)).collect();
        if revoked && is_running(entry.pid, Some(entry.start)) {
            // It has the ticket in memory, and may still use it.
            last.entry(entry.pid).or_insert_with(|| Reported {
                pid: entry.pid,
                program: name_of(entry.pid),
                state: "not-reported".to_owned(),
                reason: None,
                record: None,
                revoked,
            });
        }
        for line in last.into_values() {
            if is_running(line.pid, None) {
                running.push(Reported {
                    record: ticket.map(|t| t.record.to_owned()),
                    revoked,
                    ..line
                });
            }
        }
    }
    running.sort_by_key(|line| line.pid);
    running
}

/// A refusal because this guest's Metal is not as the ticket had it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drifted {
    /// The ticket's guest build.
    pub guest_build: String,
    /// The ticket's record.
    pub record: String,
    /// The ticket's database.
    pub database: String,
    /// The shim's code.
    pub reason: String,
    /// The executable.
    pub program: String,
}

/// The last such refusal of this boot, of processes that run or have ended, whose status was
/// written after `seen`.
pub fn drifted(
    state: &StateFolder,
    boot_session: &str,
    seen: Option<SystemTime>,
) -> Option<Drifted> {
    let newer = |ticket: &Path| {
        let written = fs::metadata(status_path(ticket)).and_then(|m| m.modified());
        let written = written.ok()?;
        seen.is_none_or(|seen| written > seen).then_some(written)
    };
    let mut found = Vec::new();
    for entry in entries(state) {
        let Some(written) = newer(&entry.path) else {
            continue;
        };
        let content = content(&entry.path).unwrap_or_default();
        let Ok(ticket) = Ticket::parse(&content) else {
            continue;
        };
        let mut lines = reported(&entry.path).into_iter().filter_map(|line| {
            let reason = line.reason.filter(|r| r.starts_with("drift-"))?;
            (line.state == "refused").then_some((reason, line.program))
        });
        if let Some((reason, program)) = lines
            .next_back()
            .filter(|_| ticket.boot_session == boot_session)
        {
            let drifted = Drifted {
                guest_build: ticket.guest_build.to_owned(),
                record: ticket.record.to_owned(),
                database: ticket.database.to_owned(),
                reason,
                program,
            };
            found.push((written, drifted));
        }
    }
    let last = found.into_iter().max_by_key(|(written, _)| *written);
    last.map(|(_, drifted)| drifted)
}

/// What was reported under one ticket, in the order in which it was written.
pub fn reported(ticket: &Path) -> Vec<Reported> {
    let mut bytes = Vec::new();
    // A status that cannot be read says nothing; it is never needed to start anything.
    let read = regular::open(&status_path(ticket))
        .and_then(|file| file.take(MAX_STATUS).read_to_end(&mut bytes));
    if read.is_err() {
        return Vec::new();
    }
    lines(&bytes)
}

/// The lines of a status file, but for those that are none.
pub fn lines(bytes: &[u8]) -> Vec<Reported> {
    // A program's path can be any bytes; the other lines count all the same.
    let text = String::from_utf8_lossy(bytes);
    text.lines().filter_map(parse_line).collect()
}

/// `pid=<n> state=<state> reason=<code or -> program=<rest of the line>`
fn parse_line(line: &str) -> Option<Reported> {
    let rest = line.strip_prefix("pid=")?;
    let (pid, rest) = rest.split_once(" state=")?;
    let (state, rest) = rest.split_once(" reason=")?;
    let (reason, program) = rest.split_once(" program=")?;
    Some(Reported {
        pid: pid.parse().ok()?,
        program: program.to_owned(),
        state: state.to_owned(),
        reason: (reason != "-").then(|| reason.to_owned()),
        record: None,
        revoked: false,
    })
}

/// Removes tickets that nobody needs any more, with their status files. What cannot be
/// removed stays: the next time may do better, and nothing depends on it.
pub fn sweep(state: &StateFolder, boot_session: &str) {
    for entry in entries(state) {
        let needed = is_running(entry.pid, Some(entry.start))
            || reported(&entry.path)
                .iter()
                .any(|line| is_running(line.pid, None));
        if !needed || is_of_another_boot(&entry.path, boot_session) {
            remove(&entry.path);
        }
    }
    sweep_temporary(state);
}

/// Removes what killed processes left of files that they were writing.
fn sweep_temporary(state: &StateFolder) {
    let folders = [state.path().to_owned(), state.tickets()];
    let entries = folders.iter().filter_map(|f| fs::read_dir(f).ok());
    for entry in entries.flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(atomic::writer) else {
            continue;
        };
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        // Nobody writes for an hour: the id is another process's by now.
        let modified = metadata.modified().ok().and_then(|m| m.elapsed().ok());
        let old = modified.is_some_and(|age| age > Duration::from_secs(3600));
        if metadata.is_file() && (old || !is_running(pid, None)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Takes back the tickets of this boot whose record `is_denied`: they are gone for the shim, so that
/// what is started from now on, children included, starts stock. What was in them is kept aside as
/// long as their processes run, so that those can be named.
pub fn take_back(state: &StateFolder, boot_session: &str, is_denied: impl Fn(&str) -> bool) {
    for entry in entries(state) {
        let Ok(bytes) = content(&entry.path) else {
            continue;
        };
        let denied = Ticket::parse(&bytes)
            .is_ok_and(|t| t.boot_session == boot_session && is_denied(t.record));
        // A ticket that cannot be taken back is refused by nobody: better none at all.
        if denied && fs::rename(&entry.path, revoked_path(&entry.path)).is_err() {
            let _ = fs::remove_file(&entry.path);
        }
    }
}

/// The ticket of the process `pid`, if it has one; of several, the newest.
pub fn of(state: &StateFolder, pid: u32) -> Option<PathBuf> {
    let own = entries(state).into_iter().filter(|e| e.pid == pid);
    own.max_by_key(|e| e.start).map(|e| e.path)
}

/// Removes all of them, also those in use: what runs keeps what it has.
pub fn remove_all(state: &StateFolder) {
    for entry in every(state) {
        remove(&entry.path);
    }
    sweep_temporary(state);
}

/// Removes one ticket and its status.
pub fn remove(ticket: &Path) {
    for path in [status_path(ticket), revoked_path(ticket), ticket.to_owned()] {
        let _ = fs::remove_file(path);
    }
}

struct Entry {
    path: PathBuf,
    pid: u32,
    start: u64,
}

/// Every ticket, also those of which only the status is left.
fn entries(state: &StateFolder) -> Vec<Entry> {
    // What others can write reports nothing, and is not swept.
    if state.check().is_err() {
        return Vec::new();
    }
    every(state)
}

fn every(state: &StateFolder) -> Vec<Entry> {
    let Ok(folder) = fs::read_dir(state.tickets()) else {
        return Vec::new();
    };
    let mut entries: Vec<Entry> = folder
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?;
            let (pid, start) = name
                .strip_suffix(STATUS)
                .or_else(|| name.strip_suffix(REVOKED))
                .unwrap_or(name)
                .split_once('-')?;
            let (pid, start) = (pid.parse().ok()?, start.parse().ok()?);
            let path = path.with_file_name(format!("{pid}-{start}"));
            Some(Entry { path, pid, start })
        })
        .collect();
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    entries.dedup_by(|a, b| a.path == b.path);
    entries
}

fn status_path(ticket: &Path) -> PathBuf {
    beside(ticket, STATUS)
}

fn revoked_path(ticket: &Path) -> PathBuf {
    beside(ticket, REVOKED)
}

fn beside(ticket: &Path, ending: &str) -> PathBuf {
    let mut name = ticket.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// The program of a process that has not reported, where the system tells.
fn name_of(pid: u32) -> String {
    let path = fs::read_link(format!("/proc/{pid}/exe"));
    path.map_or_else(
        |_| "(a program that has not asked Metal yet)".to_owned(),
        |path| path.to_string_lossy().into_owned(),
    )
}

fn content(ticket: &Path) -> std::io::Result<Vec<u8>> {
    regular::bytes(regular::open(ticket)?, MAX_LEN as u64)
}

fn is_of_another_boot(ticket: &Path, boot_session: &str) -> bool {
    let Ok(content) = content(ticket).or_else(|_| content(&revoked_path(ticket))) else {
        return false;
    };
    Ticket::parse(&content).is_ok_and(|t| t.boot_session != boot_session)
}

/// Whether the process `pid` runs, and is the one that started at `start`, if that is known.
fn is_running(pid: u32, start: Option<u64>) -> bool {
    let Some(pid_) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    match test_kill_process(pid_) {
        // There is one, and it is somebody else's.
        Err(rustix::io::Errno::PERM) | Ok(()) => {}
        Err(_) => return false,
    }
    match (start, started_in_ticks(pid)) {
        (Some(start), Some(ticks)) => start == ticks,
        _ => true,
    }
}

fn start_of(pid: u32) -> Option<u64> {
    started_in_ticks(pid).or_else(|| u64::try_from(jiff::Timestamp::now().as_millisecond()).ok())
}

/// Field 22 of `/proc/<pid>/stat`; none where there is no such file.
fn started_in_ticks(pid: u32) -> Option<u64> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything; what follows the last bracket does not.
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests;
