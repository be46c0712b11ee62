//! The process's environment, edited in place.

use super::{libc, platform};
use crate::insert::{self, Entry};
use crate::text::Fixed;
use core::ffi::c_char;

/// The library's own entry in the inserting variable, as it stood there.
pub(crate) type Own = Fixed<1024>;

/// Takes our entry and our variables out. Every other variable stays where it was; of the
/// inserting variable, everything that is not ours.
///
/// Returns our entry, when it was there and is not too long.
pub(crate) fn clean() -> Option<Own> {
    let place = platform::environment_place();
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
fn keep(entry: *mut c_char, own: &mut Option<Own>) -> bool {
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
            let mut copy = Own::new();
            if own.is_none() && copy.push(found) {
                *own = Some(copy);
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
