//! The process's environment, edited in place.

use super::{kept, libc, platform};
use crate::insert::{self, Entry};
use core::ffi::c_char;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

/// The longest path of our own library that is handed on.
const OWN: usize = 1023;

/// Where the environment's own pointer is, looked up once: null if that is not found.
pub(crate) fn place() -> *mut *mut *mut c_char {
    static PLACE: AtomicPtr<*mut *mut c_char> = AtomicPtr::new(null_mut());
    let mut place = PLACE.load(Ordering::Relaxed);
    if place.is_null() {
        place = platform::environment_place();
        PLACE.store(place, Ordering::Relaxed);
    }
    place
}

/// Takes our entry and our variables out. Every other variable stays where it was; of the
/// inserting variable, everything that is not ours.
///
/// Returns the inserting variable with our entry alone and a zero byte, when that was there and is
/// not too long.
pub(crate) fn clean() -> Option<&'static [u8]> {
    let place = place();
    if place.is_null() {
        return None;
    }
    let mut own = None;
    // SAFETY: the place of the environment's pointer, in the constructor: no other thread changes it.
    let list = unsafe { place.read() };
    let (mut from, mut to) = (list, list);
    if list.is_null() {
        return None;
    }
    loop {
        // SAFETY: the list goes on to its null pointer, which ends this loop.
        let entry = unsafe { from.read() };
        if entry.is_null() || keep(entry, &mut own) {
            // SAFETY: `to` is never beyond `from`, so within the list.
            unsafe { to.write(entry) };
            // SAFETY: as above; behind the null pointer it is not used again.
            to = unsafe { to.add(1) };
        }
        if entry.is_null() {
            return own;
        }
        // SAFETY: the entry was not the last.
        from = unsafe { from.add(1) };
    }
}

/// Whether the entry stays; the inserting variable's is shortened on the way.
fn keep(entry: *mut c_char, own: &mut Option<&'static [u8]>) -> bool {
    // SAFETY: an entry of the environment, a string; the constructor alone looks at it.
    let Some(text) = (unsafe { libc::bytes(entry) }) else {
        return true;
    };
    match insert::sort(text, platform::INSERT) {
        Entry::Other => true,
        Entry::Ticket | Entry::Require => false,
        Entry::Insert => {
            let name = platform::INSERT.len();
            let value = text.get(name..).unwrap_or_default();
            let Some(found) = insert::find(value, platform::SEPARATORS, platform::LIBRARY) else {
                return true;
            };
            if own.is_none() && found.len() <= OWN {
                *own = kept::text(&[platform::INSERT, found, b"\0"]);
            }
            let len = value.len();
            // SAFETY: the value lies `name` bytes into the entry.
            let start = unsafe { entry.add(name) }.cast::<u8>();
            // SAFETY: the value's bytes, which nothing else refers to from here on; the
            // environment's strings may be written.
            let value = unsafe { core::slice::from_raw_parts_mut(start, len) };
            let kept = insert::take_out(value, platform::SEPARATORS, platform::LIBRARY);
            // Shorter than before: our entry is gone from it.
            if let Some(end) = value.get_mut(kept) {
                *end = 0;
            }
            kept > 0
        }
    }
}
