//! The constructor: one look at the environment, and the rest only with a ticket in it.

use super::libc::File;
use super::report::{self, Session};
use super::{children, environ, libc, platform, watch};
use crate::state::Reason;
use crate::text::Fixed;
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

/// The ticket's bytes; one more than may be, to see that there are too many.
struct Bytes {
    bytes: [u8; MAX_LEN + 1],
    len: usize,
}

static BYTES: super::cell::Once<Bytes> = super::cell::Once::new();

fn begin(path: &[u8]) {
    let required = libc::variable(c"METALSHIM_REQUIRE") == Some(b"1");
    let mut session = Session {
        path: Fixed::new(),
        status: Fixed::new(),
        required,
    };
    // A relative path would name another file once the program changes its folder.
    let usable = path.starts_with(b"/")
        && session.path.push_all(&[path, b"\0"])
        && session.status.push_all(&[path, b".status\0"]);
    let own = environ::clean();
    if !usable {
        session.status = Fixed::new();
    }
    let Some(session) = report::SESSION.set(session) else {
        return;
    };
    let ticket = if usable {
        read(session.path.as_bytes())
    } else {
        Err(Reason::TicketPath)
    };
    children::begin(session, own.as_ref(), ticket.ok());
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
    let mut bytes = [0; MAX_LEN + 1];
    let len = file.fill(&mut bytes).ok_or(Reason::TicketUnreadable)?;
    let bytes = BYTES
        .set(Bytes { bytes, len })
        .ok_or(Reason::TicketUnreadable)?;
    Ticket::parse(bytes.bytes.get(..bytes.len).unwrap_or_default()).map_err(Reason::Ticket)
}
