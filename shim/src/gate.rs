//! The ticket against the guest that it is used in.

use crate::state::Reason;
use metalshim_ticket::Ticket;

/// What the system says of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    /// `kern.osversion`
    pub(crate) build: &'a [u8],
    /// `kern.bootsessionuuid`
    pub(crate) boot_session: &'a [u8],
    /// `kern.hv_vmm_present`
    pub(crate) vm: bool,
}

/// Whether the ticket is for this guest, this boot, and a VM at all.
pub(crate) fn check(ticket: &Ticket<'_>, facts: &Facts<'_>) -> Result<(), Reason> {
    if facts.build != ticket.guest_build.as_bytes() {
        return Err(Reason::OtherBuild);
    }
    if !facts
        .boot_session
        .eq_ignore_ascii_case(ticket.boot_session.as_bytes())
    {
        return Err(Reason::OtherBoot);
    }
    if !facts.vm {
        return Err(Reason::NotAVm);
    }
    Ok(())
}
