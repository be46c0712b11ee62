//! `posix_spawn` with attributes: Linux has no `POSIX_SPAWN_SETEXEC`.
//!
//! Its value there is one that glibc keeps and gives no meaning to, so a program can set it by
//! glibc's own call. A spawn with it replaces the process's image, as on a Mac. The new program of a
//! test is a Mach-O file, which cannot run here: `METALSHIM_LOADER_PROGRAM` names the one that is
//! started in its place, with the arguments and the environment that it would have had.

use std::ffi::{c_char, c_int, c_short, c_void};
use std::sync::OnceLock;

use crate::symbols;

const SETEXEC: c_short = 0x40;

type Strings = *const *const c_char;
type Spawn = unsafe extern "C" fn(
    *mut c_int,
    *const c_char,
    *const c_void,
    *const libc::posix_spawnattr_t,
    Strings,
    Strings,
) -> c_int;
type Execve = unsafe extern "C" fn(*const c_char, Strings, Strings) -> c_int;

/// The real functions, looked up when the library is bound: not between fork and exec.
static SPAWN: OnceLock<usize> = OnceLock::new();
static SPAWNP: OnceLock<usize> = OnceLock::new();
static EXECVE: OnceLock<usize> = OnceLock::new();

/// The address of the wrapper for one of the two.
pub(crate) fn find(search: bool) -> Option<usize> {
    EXECVE.get_or_init(|| symbols::next("execve").unwrap_or(0));
    let (real, name, ours) = if search {
        (&SPAWNP, "posix_spawnp", spawnp as *const c_void)
    } else {
        (&SPAWN, "posix_spawn", spawn as *const c_void)
    };
    let real = *real.get_or_init(|| symbols::next(name).unwrap_or(0));
    (real != 0).then_some(ours as usize)
}

/// `posix_spawn`
unsafe extern "C" fn spawn(
    pid: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const libc::posix_spawnattr_t,
    argv: Strings,
    envp: Strings,
) -> c_int {
    // SAFETY: the caller's own promise.
    unsafe { start(&SPAWN, pid, path, actions, attributes, argv, envp) }
}

/// `posix_spawnp`
unsafe extern "C" fn spawnp(
    pid: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const libc::posix_spawnattr_t,
    argv: Strings,
    envp: Strings,
) -> c_int {
    // SAFETY: the caller's own promise.
    unsafe { start(&SPAWNP, pid, path, actions, attributes, argv, envp) }
}

/// # Safety
/// As for `posix_spawn`.
unsafe fn start(
    real: &OnceLock<usize>,
    pid: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const libc::posix_spawnattr_t,
    argv: Strings,
    envp: Strings,
) -> c_int {
    let (Some(real), Some(execve)) = (real.get(), EXECVE.get()) else {
        return libc::ENOSYS;
    };
    let mut flags = 0;
    if !attributes.is_null() {
        // SAFETY: not null, and the caller's attributes.
        let failed = unsafe { libc::posix_spawnattr_getflags(attributes, &raw mut flags) } != 0;
        if failed {
            return libc::EINVAL;
        }
    }
    if flags & SETEXEC == 0 {
        // SAFETY: the C library's function of this type, found in `find`.
        let real = unsafe { std::mem::transmute::<usize, Spawn>(*real) };
        // SAFETY: the caller's own promise.
        return unsafe { real(pid, path, actions, attributes, argv, envp) };
    }
    // SAFETY: a name that ends with a zero byte.
    let stand_in = unsafe { libc::getenv(c"METALSHIM_LOADER_PROGRAM".as_ptr()) };
    let program = if stand_in.is_null() {
        path
    } else {
        stand_in.cast_const()
    };
    // SAFETY: the C library's function of this type, found in `find`.
    let execve = unsafe { std::mem::transmute::<usize, Execve>(*execve) };
    // SAFETY: the caller's own promise.
    unsafe { execve(program, argv, envp) };
    std::io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EINVAL)
}
