//! The calls that are imported. Each means the same on both systems but where it says otherwise;
//! whatever may be missing is not here but looked up by [`find`].

use super::platform;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;

#[cfg_attr(target_os = "macos", link(name = "System"))]
#[cfg_attr(not(target_os = "macos"), link(name = "c"))]
unsafe extern "C" {
    fn getenv(name: *const c_char) -> *mut c_char;
    pub(super) fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    // Flag values differ, and on arm64 macOS the mode travels on the stack: hence the dots.
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    safe fn close(fd: c_int) -> c_int;
    fn read(fd: c_int, to: *mut c_void, size: usize) -> isize;
    fn pread(fd: c_int, to: *mut c_void, size: usize, offset: i64) -> isize;
    fn write(fd: c_int, from: *const c_void, size: usize) -> isize;
    safe fn getpid() -> c_int;
    safe fn geteuid() -> u32;
}

/// A symbol of any image of the process, or null.
pub(crate) fn find(name: &CStr) -> *mut c_void {
    platform::find(name)
}

/// The process's id.
pub(crate) fn pid() -> u32 {
    getpid().unsigned_abs()
}

/// The user that files are opened as.
pub(crate) fn user() -> u32 {
    geteuid()
}

/// Lets another thread run.
pub(crate) fn give_way() {
    let found = find(c"sched_yield");
    if !found.is_null() {
        // SAFETY: that is the type of the system's function of this name.
        let call = unsafe { transmute::<*mut c_void, extern "C" fn() -> c_int>(found) };
        call();
    }
}

/// Ends the process at once.
pub(crate) fn end(code: c_int) {
    let found = find(c"_exit");
    if !found.is_null() {
        // SAFETY: that is the type of the system's function of this name.
        let call = unsafe { transmute::<*mut c_void, extern "C" fn(c_int)>(found) };
        call(code);
    }
}

/// The value of a variable: the bytes in the environment itself.
pub(crate) fn variable(name: &CStr) -> Option<&'static [u8]> {
    // SAFETY: `name` ends with a zero byte; the call only reads the environment.
    let value = unsafe { getenv(name.as_ptr()) };
    // SAFETY: what `getenv` returns is null or a string in the environment, which this is called
    // for only in the constructor, before the program could change it.
    unsafe { bytes(value) }
}

/// The bytes before the zero; `None` for null.
///
/// # Safety
///
/// `text` is null or a string that ends with a zero byte and stays as it is for `'a`.
pub(crate) unsafe fn bytes<'a>(text: *const c_char) -> Option<&'a [u8]> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    Some(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// Up to `most` bytes before the zero; none for null. Between fork and exec this is cheaper than
/// [`bytes`], which would map one more page of the C library.
///
/// # Safety
///
/// As for [`bytes`].
pub(crate) unsafe fn head<'a>(text: *const c_char, most: usize) -> &'a [u8] {
    let mut len = 0usize;
    while !text.is_null() && len < most {
        // SAFETY: no byte before this one was the zero, so it is part of the string.
        let at = unsafe { text.add(len) };
        // SAFETY: as above.
        if unsafe { at.read() } == 0 {
            break;
        }
        len = len.saturating_add(1);
    }
    if len == 0 {
        return &[];
    }
    // SAFETY: that many bytes come before the zero; they stay by the caller's promise.
    unsafe { core::slice::from_raw_parts(text.cast(), len) }
}

/// The pointer to a text that is known to end with a zero byte.
pub(crate) fn terminated(text: &[u8]) -> Option<*const c_char> {
    text.ends_with(b"\0").then_some(text.as_ptr().cast())
}

/// An open file; closed when dropped.
pub(crate) struct File(c_int);

impl Drop for File {
    fn drop(&mut self) {
        close(self.0);
    }
}

impl File {
    /// Opens a path, which must end with a zero byte. Whatever descriptor it gets is free again
    /// when this value goes: one of 0 to 2 that the program has closed is not kept either.
    pub(crate) fn open(path: &[u8], flags: c_int) -> Option<Self> {
        const PRIVATE: c_int = 0o600;
        let path = terminated(path)?;
        // SAFETY: `path` ends with a zero byte; the mode is read only where a file is made.
        let fd = unsafe { open(path, flags | platform::OPEN_ALWAYS, PRIVATE) };
        // Made only when there is one: a value that is not kept would be closed.
        (fd >= 0).then(|| Self(fd))
    }

    /// What the file is.
    pub(crate) fn info(&self) -> Option<crate::child::Program> {
        platform::info(self.0)
    }

    /// Reads from where it stands, until the buffer is full or the file at its end.
    pub(crate) fn fill(&self, to: &mut [u8]) -> Option<usize> {
        let mut len = 0usize;
        while let Some(rest) = to.get_mut(len..).filter(|rest| !rest.is_empty()) {
            // SAFETY: the pointer and the size are those of one live slice.
            let got = unsafe { read(self.0, rest.as_mut_ptr().cast(), rest.len()) };
            match usize::try_from(got) {
                Ok(0) => break,
                Ok(n) => len = len.saturating_add(n),
                Err(_) => return None,
            }
        }
        Some(len)
    }

    /// Reads once, from an offset; 0 at the end and on failure.
    pub(crate) fn read_at(&self, offset: u64, to: &mut [u8]) -> usize {
        let Ok(offset) = i64::try_from(offset) else {
            return 0;
        };
        // SAFETY: the pointer and the size are those of one live slice.
        let got = unsafe { pread(self.0, to.as_mut_ptr().cast(), to.len(), offset) };
        usize::try_from(got).unwrap_or(0)
    }

    /// Writes once.
    pub(crate) fn put(&self, bytes: &[u8]) {
        put(self.0, bytes);
    }
}

/// Writes once to a descriptor that is not ours; what comes of it does not matter.
pub(crate) fn put(fd: c_int, bytes: &[u8]) {
    // SAFETY: the pointer and the size are those of one live slice.
    let _ = unsafe { write(fd, bytes.as_ptr().cast(), bytes.len()) };
}

/// The thread's error number.
pub(crate) fn errno() -> c_int {
    let place = platform::errno_place();
    // SAFETY: the place of this thread's error number, valid as long as the thread runs.
    unsafe { place.read() }
}

/// Sets the thread's error number: what is done for the program's own call leaves no trace in it.
pub(crate) fn set_errno(value: c_int) {
    let place = platform::errno_place();
    // SAFETY: as above.
    unsafe { place.write(value) };
}
