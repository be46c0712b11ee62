//! What macOS tells a process about itself through calls that Linux has not.

use std::ffi::{c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
    static program_invocation_short_name: *const c_char;
}

/// `_NSGetEnviron`: the address of `environ`.
pub(crate) extern "C" fn environ_place() -> *mut *mut *mut c_char {
    &raw mut environ
}

/// `_NSGetExecutablePath`: 0, or -1 with the size that is needed.
pub(crate) unsafe extern "C" fn executable_path(to: *mut c_char, size: *mut u32) -> c_int {
    let path = executable();
    let needed = path.len() as u32 + 1;
    // SAFETY: the caller passes the size of the room.
    let room = unsafe { size.replace(needed) };
    if room < needed {
        return -1;
    }
    // SAFETY: there is room, as just compared.
    unsafe { put(&path, to) };
    0
}

/// `proc_pidpath`, for this process only: length, or 0.
pub(crate) unsafe extern "C" fn pid_path(pid: c_int, to: *mut c_char, room: u32) -> c_int {
    let path = executable();
    if pid != std::process::id() as c_int || room as usize <= path.len() {
        super::errors::fail(libc::ESRCH);
        return 0;
    }
    // SAFETY: there is room, as just compared.
    unsafe { put(&path, to) };
    path.len() as c_int
}

/// The running program. Under qemu's user mode `/proc/self/exe` is the program too.
pub(crate) fn executable() -> Vec<u8> {
    std::fs::read_link("/proc/self/exe")
        .map(|path| path.as_os_str().as_bytes().to_vec())
        .unwrap_or_default()
}

/// # Safety
/// `to` has room for the path and a zero byte.
unsafe fn put(path: &[u8], to: *mut c_char) {
    // SAFETY: the caller's promise; the two do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(path.as_ptr(), to.cast(), path.len()) };
    // SAFETY: the caller's promise.
    let end = unsafe { to.add(path.len()) };
    // SAFETY: the caller's promise.
    unsafe { end.write(0) };
}

/// `getprogname`
pub(crate) extern "C" fn program_name() -> *const c_char {
    // SAFETY: set once by the C library, before any constructor.
    unsafe { program_invocation_short_name }
}

/// `issetugid`
pub(crate) extern "C" fn is_set_id() -> c_int {
    // SAFETY: asks the C library for a number.
    c_int::from(unsafe { libc::getauxval(libc::AT_SECURE) } != 0)
}

/// `bzero`, under the name compilers call it by.
pub(crate) unsafe extern "C" fn zero(to: *mut c_void, size: usize) {
    // SAFETY: the caller's own promise for bzero().
    unsafe { libc::memset(to, 0, size) };
}

/// `object_getClass`: an inline function of GNU's headers, so not to be looked up.
pub(crate) unsafe extern "C" fn class_of(object: *const *const c_void) -> *const c_void {
    if object.is_null() {
        return std::ptr::null();
    }
    // SAFETY: an object begins with the pointer to its class.
    unsafe { *object }
}

/// Everything is bound before the first call.
pub(crate) extern "C" fn never_lazy() -> ! {
    std::process::abort()
}
