//! A value that is written once and then only read.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU8, Ordering};

const EMPTY: u8 = 0;
const WRITING: u8 = 1;
const SET: u8 = 2;

/// Written at most once, without a lock; readers see nothing until it is whole.
pub(crate) struct Once<T> {
    state: AtomicU8,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: `value` is written only by the one thread that moved `state` from EMPTY to WRITING, and
// read only after SET was stored with release order; from then on it is never written.
unsafe impl<T: Send + Sync> Sync for Once<T> {}

impl<T> Once<T> {
    pub(crate) const fn new() -> Self {
        Self {
            state: AtomicU8::new(EMPTY),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Sets it, if nobody has; returns what is set.
    pub(crate) fn set(&self, value: T) -> Option<&T> {
        let free =
            self.state
                .compare_exchange(EMPTY, WRITING, Ordering::Acquire, Ordering::Relaxed);
        if free.is_ok() {
            // SAFETY: this thread alone moved the state to WRITING, and nobody reads before SET.
            let place = unsafe { &mut *self.value.get() };
            place.write(value);
            self.state.store(SET, Ordering::Release);
        }
        self.get()
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        if self.state.load(Ordering::Acquire) == SET {
            // SAFETY: SET means that the value is not written again, so it may be shared.
            let value = unsafe { &*self.value.get() };
            // SAFETY: SET means that the value was written whole.
            Some(unsafe { value.assume_init_ref() })
        } else {
            None
        }
    }
}
