//! What a name that the library imports, or asks `dlsym` for, means here.
//!
//! Every name needs a rule. A name that means the same on both systems is the
//! host's; one that differs has a wrapper; for any other the answer is that it does
//! not exist, so that a difference nobody has looked at is never run.

use std::ffi::{CStr, CString, c_char, c_void};

use crate::{images, interpose, wrappers};

/// Same arguments, same meaning, same constants (in as far as there are any).
const SAME: &[&str] = &[
    "_exit",
    "abort",
    "close",
    "dup",
    "dup2",
    "execv",
    "execve",
    "execvp",
    "fork",
    "free",
    "getegid",
    "getenv",
    "geteuid",
    "getgid",
    "getpgrp",
    "getpid",
    "getppid",
    "getuid",
    "lseek",
    "malloc",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "pipe",
    "popen",
    "pread",
    "pwrite",
    "read",
    "readlink",
    "realpath",
    "sched_yield",
    "rename",
    "strchr",
    "strcmp",
    "strlen",
    "strncmp",
    "strnlen",
    "strrchr",
    "system",
    "unlink",
    "write",
    // Answered by the simulated guest; absent in a program without one.
    "sysctlbyname",
];

/// The Objective-C runtime's C functions begin with one of these. GNU's runtime has
/// most of them with the same meaning; those it has not are absent.
const OBJECTIVE_C: &[&str] = &[
    "objc_",
    "class_",
    "method_",
    "sel_",
    "object_",
    "ivar_",
    "protocol_",
];

/// The address for an import, given as the file spells it.
pub(crate) fn resolve(symbol: &str) -> Result<usize, String> {
    let name = symbol.strip_prefix('_').unwrap_or(symbol);
    // One that has no underscore in C: the helper of lazy binding.
    let name = if symbol == "dyld_stub_binder" {
        symbol
    } else {
        name
    };
    lookup(name).ok_or_else(|| {
        format!(
            "imports {name}, which the loader knows no rule for, or this system does not have; \
             compare its meaning on both systems, then add it to symbols.rs"
        )
    })
}

/// The address for a name as C spells it.
pub(crate) fn lookup(name: &str) -> Option<usize> {
    if let Some(address) = wrappers::find(name) {
        return Some(address);
    }
    let known = SAME.contains(&name) || OBJECTIVE_C.iter().any(|start| name.starts_with(start));
    if !known {
        return None;
    }
    if interpose::stands_before(name) {
        return next(name);
    }
    // macOS searches every image; Linux those only that were not opened for their opener alone.
    host(libc::RTLD_DEFAULT, name).or_else(|| images::search(name))
}

/// The function of that name behind this library in the search order.
pub(crate) fn next(name: &str) -> Option<usize> {
    host(libc::RTLD_NEXT, name)
}

pub(crate) fn host(handle: *mut c_void, name: &str) -> Option<usize> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name is a C string; both handles are dlsym's own.
    let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
    (!address.is_null()).then_some(address as usize)
}

/// `dlsym` with macOS's special handles.
pub(crate) unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // RTLD_NEXT, RTLD_DEFAULT, RTLD_SELF and RTLD_MAIN_ONLY: all the same search here,
    // since the library itself defines nothing that anyone looks up.
    const SPECIAL: [isize; 4] = [-1, -2, -3, -5];
    if name.is_null() {
        return std::ptr::null_mut();
    }
    if !SPECIAL.contains(&(handle as isize)) {
        // SAFETY: a handle that dlopen gave out, and the caller's C string.
        return unsafe { libc::dlsym(handle, name) };
    }
    // SAFETY: not null, and a C string as dlsym asks for.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_str()
        .ok()
        .and_then(lookup)
        .map_or(std::ptr::null_mut(), |address| address as *mut c_void)
}
