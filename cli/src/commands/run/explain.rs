//! `run --explain`: starts the program as a child, and tells at the end what the shim decided
//! in it and in the children that were followed.
//!
//! **Contract.** Signals that are sent to us are sent on to the program. Those that a
//! terminal sends go to the program by themselves, as it is in our process group: sending
//! them on as well would make two of one. A program that a signal ended gives 128 and the
//! signal's number, as in a shell.

use std::os::unix::process::ExitStatusExt;
use std::process::Child;

use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::Signals;

use super::plan::Shimmed;
use crate::context::Context;
use crate::error::{Error, Outcome, plain};
use crate::printer::Style;
use crate::tickets::{self, Reported};

/// Starts it, waits for its end, and tells.
pub(super) fn run(context: &Context, plan: &Shimmed) -> Result<Outcome, Error> {
    let printer = &context.printer;
    let allow = &plan.allow;
    let record = allow.record.as_deref().unwrap_or("no record, unverified");
    printer.note(&format!("told {} ({record})", allow.profile));
    let machine = &plan.known.machine;
    for warning in machine.warnings.iter().chain(&allow.warnings) {
        printer.note(&format!("warning: {warning}"));
    }
    // Before the child is there, so that no signal is lost in between.
    let all = [
        SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH,
    ];
    let signals = Signals::new(all)
        .map_err(|e| Error::machine(format!("could not listen to signals: {}", plain(&e))))?;
    let mut child = plan.start.spawn()?;
    let pid = child.id();
    forward(signals, &child);
    let status = child
        .wait()
        .map_err(|e| Error::machine(format!("could not wait for process {pid}: {}", plain(&e))))?;
    let reported = tickets::reported(&plan.ticket);
    for line in text(pid, &reported, printer.err_style()) {
        printer.note(&line);
    }
    tickets::remove(&plan.ticket);
    let code = status.code().or(status.signal().map(|s| 128 + s));
    Ok(Outcome::Code(
        code.and_then(|c| u8::try_from(c).ok()).unwrap_or(125),
    ))
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

fn text(main: u32, reported: &[Reported], style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    if !reported.iter().any(|line| line.pid == main) {
        lines.push(
            "the program reported nothing: it never made a Metal device, or could not load the shim"
                .to_owned(),
        );
    }
    lines.extend(reported.iter().map(|line| line.says(style)));
    lines
}
