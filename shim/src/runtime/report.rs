//! The state of this process, and telling it.

use super::cell::Once;
use super::{libc, platform, watch};
use crate::state::{Reason, State};
use crate::text;
use core::sync::atomic::{AtomicU8, Ordering};
use metalshim_ticket::Ticket;

/// The longest path of a ticket that is taken, its zero byte included.
pub(crate) const PATH: usize = 4096;

/// What the constructor found, for as long as the process runs.
pub(crate) struct Session {
    /// `<path of the ticket>.status` and a zero byte; empty where the path is not usable.
    pub(crate) status: &'static [u8],
    /// `METALSHIM_REQUIRE=1` was there.
    pub(crate) required: bool,
}

pub(crate) static SESSION: Once<Session> = Once::new();
/// The ticket, when it could be read.
pub(crate) static TICKET: Once<Ticket<'static>> = Once::new();

static STATE: AtomicU8 = AtomicU8::new(State::Inert as u8);
static REASON: Once<Reason> = Once::new();

/// Where the shim is.
pub(crate) fn state() -> State {
    State::from_u8(STATE.load(Ordering::Acquire))
}

/// Goes on to `next`, if the present state lets it; one thread alone is told `true`.
pub(crate) fn advance(next: State) -> bool {
    let mut now = STATE.load(Ordering::Acquire);
    while State::from_u8(now).may_become(next) {
        match STATE.compare_exchange(now, next as u8, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return true,
            Err(other) => now = other,
        }
    }
    false
}

/// Stock for good, told once. Ends the process where that was asked for and Metal is there.
pub(crate) fn refuse(reason: Reason) {
    if !advance(State::Refused) {
        return;
    }
    REASON.set(reason);
    tell(State::Refused, Some(reason));
    end_if_required(watch::metal_here());
}

/// Both overrides are in place.
pub(crate) fn installed() -> bool {
    let first = advance(State::Installed);
    if first {
        tell(State::Installed, None);
    }
    first
}

/// Refused, required, and Metal is there: the process must not go on as stock.
pub(crate) fn end_if_required(metal: bool) {
    const EX_CONFIG: i32 = 78;
    const STDERR: i32 = 2;
    let (Some(session), Some(reason)) = (SESSION.get(), REASON.get()) else {
        return;
    };
    if metal && session.required {
        let path = session.status.strip_suffix(b"\0").unwrap_or_default();
        libc::put(STDERR, text::required_line(*reason, path).as_bytes());
        libc::end(EX_CONFIG);
    }
}

/// Appends one line to the ticket's status file. What comes of it changes nothing.
fn tell(state: State, reason: Option<Reason>) {
    let Some(session) = SESSION.get() else {
        return;
    };
    let flags = platform::OPEN_APPEND | platform::OPEN_NO_LINK;
    let Some(file) = libc::File::open(session.status, flags) else {
        return;
    };
    let program = platform::program_path().unwrap_or(b"-");
    file.put(text::status_line(libc::pid(), state, reason, program).as_bytes());
}
