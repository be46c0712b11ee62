//! Bytes that stay as long as the process, one behind the other in one place: a process touches
//! only the pages that its own texts fill, and each is written where it stays. What was large on
//! the stack and then copied into a place of its own cost 14 page faults at every start.

use super::report::PATH;
use crate::text;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The ticket's path twice, the inserting variable, the ticket itself, and what stands around them.
const SIZE: usize = 2 * PATH + 1024 + metalshim_ticket::MAX_LEN + 128;

struct Place(UnsafeCell<[u8; SIZE]>);

// SAFETY: `room` gives every part of it away at most once.
unsafe impl Sync for Place {}

static PLACE: Place = Place(UnsafeCell::new([0; SIZE]));
static USED: AtomicUsize = AtomicUsize::new(0);

/// That many zero bytes, nobody else's from here on; `None` when there are not so many left.
pub(crate) fn room(size: usize) -> Option<&'static mut [u8]> {
    let from = USED.fetch_add(size, Ordering::Relaxed);
    if from.checked_add(size)? > SIZE {
        return None;
    }
    // SAFETY: `from` lies within the place.
    let start = unsafe { PLACE.0.get().cast::<u8>().add(from) };
    // SAFETY: as many bytes are left, and `USED` has passed them: no other call gives them away.
    Some(unsafe { core::slice::from_raw_parts_mut(start, size) })
}

/// The parts, one behind the other, kept.
pub(crate) fn text(parts: &[&[u8]]) -> Option<&'static [u8]> {
    let place = room(parts.iter().map(|part| part.len()).sum())?;
    text::append(place, &mut 0, parts).then_some(place)
}
