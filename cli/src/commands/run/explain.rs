//! `run --explain`: starts the same `run` as a child, which becomes the program, and tells at
//! the end what it was told and why, what the shim decided in it and in the children that were
//! followed, and what the codes mean.
//!
//! **Contract.** The program starts exactly as without `--explain`: a ticket carries the id
//! of the process that becomes the program, so that cannot be this one. Signals that are sent
//! to us are sent on to the program. Those that a terminal sends go to it by themselves, as it
//! is in our process group: sending them on as well would make two of one. A program that a
//! signal ended gives 128 and the signal's number, as in a shell. What was ignored when we
//! were started, as `nohup` has it, stays so: a handler would make it the default in the program.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use compatdb::Verdict;
use metalshim_ticket::Ticket;
use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;
use signal_hook::consts::{
    SIGCONT, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH,
};
use signal_hook::iterator::Signals;

use super::Args;
use super::plan;
use crate::context::Context;
use crate::error::{Error, Outcome, plain};
use crate::launch;
use crate::printer::{Style, escaped};
use crate::ready::{Program, Ready};
use crate::tickets::{self, Reported};
use crate::{drift, reasons};

/// Starts it, waits for its end, and tells.
pub(super) fn run(args: &Args, context: &Context, program: &Program) -> Result<Outcome, Error> {
    let state = context.state()?;
    // What keeps it from being asked for keeps the child from starting, which says so.
    let ready = plan::look(args, context, program).ok();
    // Before the child is there, so that no signal is lost in between.
    let all = [
        SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH,
    ];
    let ignored = ignored();
    let signals = Signals::new(all.iter().filter(|s| !ignored.contains(s)))
        .map_err(|e| Error::machine(format!("could not listen to signals: {}", plain(&e))))?;
    let mut child = same_without_explain(args, context)?;
    let pid = child.id();
    forward(signals, &child);
    let failed = |why: String| Error::machine(format!("could not wait for process {pid}: {why}"));
    launch::ended(&child).map_err(|e| failed(plain(&e)))?;
    if let Some(ticket) = tickets::of(&state, pid) {
        tell(context, &ticket, pid, ready.as_ref());
        if let Some(ready) = &ready {
            let machine = &ready.known.machine;
            drift::remember(&state, &machine.facts.guest.boot_session, machine.now);
        }
        tickets::remove(&ticket);
    }
    let status = child.wait().map_err(|e| failed(plain(&e)))?;
    let code = status.code().or(status.signal().map(|s| 128 + s));
    let code = code.and_then(|c| u8::try_from(c).ok());
    Ok(Outcome::Code(code.unwrap_or(125)))
}

/// This command line again, but for `--explain`, which can only be before the program.
fn same_without_explain(args: &Args, context: &Context) -> Result<Child, Error> {
    let all = &context.arguments;
    let ours = all.len().saturating_sub(args.program.len());
    let (ours, program) = all.split_at(ours);
    let ours = ours.iter().skip(1).filter(|a| *a != "--explain");
    let own = std::env::current_exe();
    own.and_then(|own| Command::new(own).args(ours).args(program).spawn())
        .map_err(|e| Error::machine(format!("could not start metalshim again: {}", plain(&e))))
}

/// The signals that are ignored in this process. Where nothing tells, only the one that
/// `nohup` is about: a program that outlives its terminal beats one that can be told by it.
fn ignored() -> Vec<i32> {
    let Some(mask) = proc_mask().or_else(ps_mask).filter(|m| is_in(SIGPIPE, *m)) else {
        return vec![SIGHUP];
    };
    (1..=64).filter(|s| is_in(*s, mask)).collect()
}

/// SIGPIPE is in every true mask: Rust's runtime ignores it before `main`.
fn is_in(signal: i32, mask: u64) -> bool {
    mask >> (signal - 1) & 1 == 1
}

fn proc_mask() -> Option<u64> {
    let status = std::fs::read("/proc/self/status").ok()?;
    // The name of the executable may be anything.
    let status = String::from_utf8_lossy(&status);
    let mask = status.lines().find_map(|l| l.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// A Mac has no `/proc`; asking the kernel about our own handlers is not safe Rust.
fn ps_mask() -> Option<u64> {
    let pid = std::process::id().to_string();
    let mut ps = Command::new("/bin/ps");
    let told = ps
        .args(["-o", "sigignore=", "-p", &pid])
        .stdin(Stdio::null());
    let told = told.stderr(Stdio::null()).output().ok()?;
    u64::from_str_radix(std::str::from_utf8(&told.stdout).ok()?.trim(), 16).ok()
}

fn forward(mut signals: Signals, child: &Child) {
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return;
    };
    std::thread::spawn(move || {
        for number in signals.forever() {
            let typed = matches!(number, SIGINT | SIGQUIT | SIGWINCH) && in_the_foreground();
            if let (false, Some(signal)) = (typed, Signal::from_named_raw(number)) {
                // It may have ended a moment ago.
                let _ = kill_process(pid, signal);
            }
        }
    });
}

/// Whether a terminal sends its signals to our process group.
fn in_the_foreground() -> bool {
    let terminal = std::fs::File::open("/dev/tty");
    terminal.is_ok_and(|tty| tcgetpgrp(tty).is_ok_and(|group| group == getpgrp()))
}

fn tell(context: &Context, path: &Path, pid: u32, ready: Option<&Ready>) {
    let printer = &context.printer;
    let content = std::fs::read(path).unwrap_or_default();
    if let Ok(ticket) = Ticket::parse(&content) {
        printer.note(&format!(
            "profile: up to {}/{} instead of {}/{}, by {} of database {}",
            ticket.apple_family_max,
            ticket.max_threadgroup_memory,
            ticket.stock_apple_family,
            ticket.stock_max_threadgroup_memory,
            match ticket.record.strip_prefix("unverified:") {
                Some(build) => format!("--allow-unverified {build}, and no record"),
                None => format!("record {}", ticket.record),
            },
            ticket.database.split(':').next().unwrap_or_default(),
        ));
    }
    if let Some(Verdict::Allow(allow)) = ready.map(|ready| &ready.decision.verdict) {
        for cap in &allow.capped_by {
            printer.note(&format!("capped at {}: {}", cap.profile, cap.says));
        }
    }
    for line in text(pid, &tickets::reported(path), printer.err_style()) {
        printer.note(&line);
    }
}

fn text(main: u32, reported: &[Reported], style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    if !reported.iter().any(|line| line.pid == main) {
        lines.push(
            "the program reported nothing: it never made a Metal device, or could not load the shim"
                .to_owned(),
        );
    }
    lines.extend(reported.iter().map(|line| line.says(style)));
    if reported.iter().any(|line| line.state == "installed") {
        lines.push("installed: the overrides are at work in that process".to_owned());
    }
    let codes: BTreeSet<&str> = reported
        .iter()
        .filter_map(|l| l.reason.as_deref())
        .collect();
    for code in codes {
        let meaning = reasons::meaning(code).unwrap_or("docs/shim.md lists the codes");
        lines.push(format!("{}: {meaning}; stock", escaped(code)));
    }
    lines
}
