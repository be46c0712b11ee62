//! The constructor: one look at the environment, and the rest only with a ticket in it.

use super::libc::File;
use super::report::{self, PATH, Session};
use super::{children, environ, kept, libc, platform, watch};
use crate::insert;
use crate::state::Reason;
use metalshim_ticket::{MAX_LEN, Ticket};

/// Runs before the program's own code.
pub(crate) extern "C" fn start() {
    let Some(path) = libc::variable(c"METALSHIM_TICKET") else {
        return;
    };
    let errno = libc::errno();
    begin(path);
    libc::set_errno(errno);
}

fn begin(path: &'static [u8]) {
    let required = libc::variable(c"METALSHIM_REQUIRE") == Some(b"1");
    let own = environ::clean();
    // A relative path would name another file once the program changes its folder.
    let usable = path.starts_with(b"/") && path.len() < PATH;
    let texts = usable
        .then(|| kept::text(&[insert::TICKET, path, b"\0"]).zip(kept::text(&[path, b".status\0"])))
        .flatten();
    let (variable, status) = texts.unwrap_or_default();
    report::SESSION.set(Session { status, required });
    let ticket = match variable.strip_prefix(insert::TICKET) {
        Some(path) => read(path),
        None => Err(Reason::TicketPath),
    };
    children::begin(variable, own, required, ticket.ok());
    match ticket {
        Ok(ticket) => {
            if let Some(ticket) = report::TICKET.set(ticket) {
                watch::begin(ticket);
            }
        }
        Err(reason) => report::refuse(reason),
    }
    if required && report::state() == crate::state::State::Refused && !watch::metal_here() {
        // Refused, and Metal may still come: then the process must not go on.
        watch::wait();
    }
}

/// Opens, looks at and reads the ticket. `path` ends with a zero byte.
fn read(path: &[u8]) -> Result<Ticket<'static>, Reason> {
    const TYPE: u32 = 0o170_000;
    const REGULAR: u32 = 0o100_000;
    const OTHERS_WRITE: u32 = 0o022;
    let flags = platform::OPEN_READ | platform::OPEN_NO_LINK;
    let file = File::open(path, flags).ok_or_else(|| match libc::errno() {
        platform::ENOENT => Reason::TicketGone,
        platform::ELOOP => Reason::TicketLink,
        _ => Reason::TicketUnreadable,
    })?;
    let info = file.info().ok_or(Reason::TicketUnreadable)?;
    if info.mode & TYPE != REGULAR {
        return Err(Reason::TicketNotRegular);
    }
    if info.owner != libc::user() {
        return Err(Reason::TicketOwner);
    }
    if info.mode & OTHERS_WRITE != 0 {
        return Err(Reason::TicketMode);
    }
    // One byte more than may be, to see that there are too many.
    let bytes = kept::room(MAX_LEN + 1).ok_or(Reason::TicketUnreadable)?;
    let len = file.fill(bytes).ok_or(Reason::TicketUnreadable)?;
    Ticket::parse(bytes.get(..len).unwrap_or_default()).map_err(Reason::Ticket)
}
