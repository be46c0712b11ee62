//! `__error`: macOS's name for the place of `errno`.

use std::ffi::c_int;

/// The host's own `errno`, so that saving and restoring it works. Its numbers are the
/// host's: 1 to 34 mean the same on both systems but for 11 and 35 (EDEADLK, EAGAIN),
/// and a library that compares larger ones needs a rule here.
pub(crate) extern "C" fn location() -> *mut c_int {
    // SAFETY: gives the address of the C library's per-thread variable.
    unsafe { libc::__errno_location() }
}

/// Sets `errno` and gives the failure value of system calls.
pub(crate) fn fail(host: c_int) -> c_int {
    let place = location();
    // SAFETY: this thread's own variable.
    unsafe { place.write(host) };
    -1
}
