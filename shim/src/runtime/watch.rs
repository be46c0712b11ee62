//! Waiting for Metal's image, where it is not there from the start.
//!
//! A process that never loads Metal pays for nothing but a look at each image's name as it is
//! loaded: the Objective-C runtime is asked only when Metal is there.

use super::install::{self, Hooked};
use super::{libc, platform, report};
use crate::gate::{self, Facts};
use crate::state::{Reason, State};
use core::ffi::{CStr, c_char, c_void};
use core::mem::transmute;
use core::sync::atomic::{AtomicBool, Ordering};
use metalshim_ticket::Ticket;

/// Metal's image was seen.
static METAL: AtomicBool = AtomicBool::new(false);
/// Later images are looked at.
static WATCHING: AtomicBool = AtomicBool::new(false);
/// The facts were compared with the ticket.
static CHECKED: AtomicBool = AtomicBool::new(false);
/// A thread is looking at an image.
static BUSY: AtomicBool = AtomicBool::new(false);

/// Whether Metal's image was seen so far.
#[cfg_attr(target_os = "macos", allow(dead_code))]
pub(crate) fn metal_seen() -> bool {
    METAL.load(Ordering::Acquire)
}

/// Whether later images are looked at.
#[cfg_attr(not(target_os = "macos"), allow(dead_code))]
pub(crate) fn is_watching() -> bool {
    WATCHING.load(Ordering::Acquire)
}

/// Whether Metal's image is loaded.
pub(crate) fn metal_here() -> bool {
    if !METAL.load(Ordering::Acquire) && platform::images().0 {
        METAL.store(true, Ordering::Release);
    }
    METAL.load(Ordering::Acquire)
}

/// In the constructor, with a ticket that could be read.
pub(crate) fn begin(ticket: &Ticket<'static>) {
    let metal = metal_here();
    match check(ticket) {
        // On Linux the stand-in brings the facts along; without Metal nothing is lost by waiting.
        Err(Reason::FactsMissing) if !metal => {}
        Err(reason) => return report::refuse(reason),
        Ok(()) => CHECKED.store(true, Ordering::Relaxed),
    }
    if !metal {
        wait();
    } else if !arm(ticket, false) && report::state() == State::Inert {
        // All images of the start are read by the runtime before any constructor runs.
        report::refuse(Reason::DriftClass);
    }
}

/// From here on later images are looked at.
pub(crate) fn wait() {
    if !platform::watch_images() {
        report::refuse(Reason::WatchMissing);
    }
    WATCHING.store(true, Ordering::Release);
    if metal_here() {
        // Loaded by another thread meanwhile.
        image(false);
    }
}

/// What is known before an image is loaded, for [`after`].
#[cfg_attr(target_os = "macos", allow(dead_code))]
pub(crate) fn before() -> (bool, bool) {
    if WATCHING.load(Ordering::Acquire) {
        platform::images()
    } else {
        (false, false)
    }
}

/// An image was loaded whole, its classes included.
#[cfg_attr(target_os = "macos", allow(dead_code))]
pub(crate) fn after(before: (bool, bool)) {
    if !WATCHING.load(Ordering::Acquire) {
        return;
    }
    let now = platform::images();
    if now.0 {
        METAL.store(true, Ordering::Release);
        let before_driver = before.1;
        image(now.1 && !before_driver);
        if report::state() == State::Inert {
            report::refuse(Reason::DriftClass);
        }
    }
}

/// dyld's notice of a new image, which may come before the runtime has read it: Metal's own comes
/// too early, so it is tried again at each later one. The driver's is the last chance, since the
/// first device comes right behind it.
#[cfg_attr(not(target_os = "macos"), allow(dead_code))]
pub(crate) fn announced(metal: bool, driver: bool) {
    if !WATCHING.load(Ordering::Acquire) {
        return;
    }
    if metal {
        METAL.store(true, Ordering::Release);
    }
    // The driver needs Metal, which may have come unannounced.
    if metal_seen() || (driver && metal_here()) {
        image(driver);
        if driver && report::state() == State::Inert {
            report::refuse(Reason::DriftClass);
        }
    }
}

/// Metal is there, and an image has come.
fn image(driver_is_new: bool) {
    match report::state() {
        State::Inert => {
            if let Some(ticket) = report::TICKET.get() {
                arm(ticket, driver_is_new);
            }
        }
        State::Refused => {
            WATCHING.store(false, Ordering::Release);
            report::end_if_required(true);
        }
        State::Armed | State::Installing | State::Installed => {
            WATCHING.store(false, Ordering::Release);
        }
    }
}

/// Hooks the device's initialisation, if the class is there. One thread at a time; another one
/// waits for it, for it may be about to make a device.
fn arm(ticket: &Ticket<'_>, driver_is_new: bool) -> bool {
    let mut turns = 100_000u32;
    while BUSY.swap(true, Ordering::AcqRel) {
        turns = turns.saturating_sub(1);
        if turns == 0 {
            return false;
        }
        libc::give_way();
    }
    let hooked = report::state() == State::Inert && try_arm(ticket, driver_is_new);
    BUSY.store(false, Ordering::Release);
    hooked
}

fn try_arm(ticket: &Ticket<'_>, driver_is_new: bool) -> bool {
    if !CHECKED.load(Ordering::Relaxed) {
        if let Err(reason) = check(ticket) {
            report::refuse(reason);
            return false;
        }
        CHECKED.store(true, Ordering::Relaxed);
    }
    match install::hook(ticket, driver_is_new) {
        Ok(Hooked::Yes) => report::advance(State::Armed),
        Ok(Hooked::NoClass) => false,
        Err(reason) => {
            report::refuse(reason);
            false
        }
    }
}

/// The ticket against what the system says of itself.
fn check(ticket: &Ticket<'_>) -> Result<(), Reason> {
    if !metal_here() && !platform::facts_here() {
        return Err(Reason::FactsMissing);
    }
    let sysctl = libc::find(c"sysctlbyname");
    if sysctl.is_null() {
        return Err(Reason::FactsMissing);
    }
    // SAFETY: that is the type of the system's function of this name.
    let ask = unsafe { transmute::<*mut c_void, Sysctl>(sysctl) };
    let (mut build, mut boot, mut vm) = ([0u8; 64], [0u8; 64], [0u8; 4]);
    let vm_size = value(ask, c"kern.hv_vmm_present", &mut vm).ok_or(Reason::FactsMissing)?;
    let facts = Facts {
        build: text(ask, c"kern.osversion", &mut build).ok_or(Reason::FactsMissing)?,
        boot_session: text(ask, c"kern.bootsessionuuid", &mut boot).ok_or(Reason::FactsMissing)?,
        vm: vm_size == 4 && u32::from_ne_bytes(vm) == 1,
    };
    gate::check(ticket, &facts)
}

type Sysctl =
    unsafe extern "C" fn(*const c_char, *mut c_void, *mut usize, *const c_void, usize) -> i32;

fn value(ask: Sysctl, name: &CStr, to: &mut [u8]) -> Option<usize> {
    let mut size = to.len();
    // SAFETY: a name that ends with a zero byte, room of the size that is told, and no new value.
    let failed = unsafe {
        ask(
            name.as_ptr(),
            to.as_mut_ptr().cast(),
            &raw mut size,
            core::ptr::null(),
            0,
        )
    };
    (failed == 0).then_some(size)
}

fn text<'a>(ask: Sysctl, name: &CStr, to: &'a mut [u8; 64]) -> Option<&'a [u8]> {
    let size = value(ask, name, to)?;
    let text = to.get(..size)?;
    text.split(|b| *b == 0).next()
}
