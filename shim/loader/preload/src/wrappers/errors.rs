//! `__error`: macOS's name for the place of `errno`.

use std::ffi::c_int;

/// The host's own `errno`, so that saving and restoring it works. What the library's
/// calls leave there is in macOS's numbers where a wrapper fails (see [`translate`]); 1 to
/// 34 mean the same on both systems but for EDEADLK and EAGAIN.
pub(crate) extern "C" fn location() -> *mut c_int {
    // SAFETY: gives the address of the C library's per-thread variable.
    unsafe { libc::__errno_location() }
}

/// Turns the `errno` of a call that has just failed into macOS's number.
pub(crate) fn translate(result: c_int) -> c_int {
    if result >= 0 {
        return result;
    }
    let place = location();
    // SAFETY: this thread's own variable.
    let host = unsafe { place.read() };
    let number = match host {
        libc::EAGAIN => 35,
        libc::EDEADLK => 11,
        libc::ENAMETOOLONG => 63,
        libc::ELOOP => 62,
        libc::EOVERFLOW => 84,
        libc::EOPNOTSUPP => 102,
        libc::ESTALE => 70,
        libc::EDQUOT => 69,
        other if other <= 34 => other,
        // EIO, rather than a number that means something else there.
        _ => 5,
    };
    // SAFETY: this thread's own variable.
    unsafe { place.write(number) };
    result
}

/// Sets `errno` and gives the failure value of system calls.
pub(crate) fn fail(host: c_int) -> c_int {
    let place = location();
    // SAFETY: this thread's own variable.
    unsafe { place.write(host) };
    -1
}
