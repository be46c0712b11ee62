//! Files: flag values and `struct stat` differ, and on arm64 macOS passes the
//! arguments behind `...` on the stack, Linux in registers.

use std::ffi::{c_char, c_int, c_long, c_void};

use super::errors::{fail, translate};

/// Wraps a function with `...` so that its one optional argument is where
/// macOS's callers put it. A caller that passes none leaves whatever is on its
/// stack; the function called does not look at it then.
macro_rules! variadic {
    ($(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),*; $register:literal) => $fixed:ident) => {
        $(#[$doc])*
        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                concat!("ldr ", $register, ", [sp]"),
                "b {fixed}",
                fixed = sym $fixed,
            )
        }

        $(#[$doc])*
        #[cfg(not(target_arch = "aarch64"))]
        pub(crate) unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            // SAFETY: on this processor both systems pass them the same way.
            unsafe { $fixed($($argument),*) }
        }
    };
}

variadic! {
    /// `open(path, flags, ...)`
    open(path: *const c_char, flags: c_int, mode: c_long; "x2") => open_fixed
}
variadic! {
    /// `openat(directory, path, flags, ...)`
    openat(directory: c_int, path: *const c_char, flags: c_int, mode: c_long; "x3") => openat_fixed
}
variadic! {
    /// `fcntl(fd, command, ...)`
    fcntl(fd: c_int, command: c_int, value: c_long; "x2") => fcntl_fixed
}

/// macOS's `AT_FDCWD`.
const MACOS_AT_FDCWD: c_int = -2;

unsafe extern "C" fn open_fixed(path: *const c_char, flags: c_int, mode: c_long) -> c_int {
    // SAFETY: the caller's own promise for open().
    unsafe { openat_fixed(MACOS_AT_FDCWD, path, flags, mode) }
}

unsafe extern "C" fn openat_fixed(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mode: c_long,
) -> c_int {
    let directory = if directory == MACOS_AT_FDCWD {
        libc::AT_FDCWD
    } else {
        directory
    };
    match open_flags(flags) {
        Some(flags) => {
            // SAFETY: the caller's own promise for openat().
            translate(unsafe { libc::openat(directory, path, flags, mode as libc::c_uint) })
        }
        None => fail(libc::EINVAL),
    }
}

/// Linux's value of macOS's open flags; `None` where one has no counterpart.
fn open_flags(flags: c_int) -> Option<c_int> {
    const FLAGS: [(c_int, c_int); 11] = [
        (0x4, libc::O_NONBLOCK),
        (0x8, libc::O_APPEND),
        (0x80, libc::O_SYNC),
        (0x100, libc::O_NOFOLLOW),
        (0x200, libc::O_CREAT),
        (0x400, libc::O_TRUNC),
        (0x800, libc::O_EXCL),
        (0x2_0000, libc::O_NOCTTY),
        (0x10_0000, libc::O_DIRECTORY),
        (0x40_0000, libc::O_DSYNC),
        (0x100_0000, libc::O_CLOEXEC),
    ];
    const ACCESS: c_int = 3;
    let mut result = flags & ACCESS;
    let mut left = flags & !ACCESS;
    for (macos, linux) in FLAGS {
        if flags & macos != 0 {
            result |= linux;
            left &= !macos;
        }
    }
    (left == 0).then_some(result)
}

unsafe extern "C" fn fcntl_fixed(fd: c_int, command: c_int, value: c_long) -> c_int {
    const DUPFD_CLOEXEC: c_int = 67;
    let command = match command {
        // F_DUPFD, F_GETFD, F_SETFD: the same, and FD_CLOEXEC is 1 on both.
        0..=2 => command,
        DUPFD_CLOEXEC => libc::F_DUPFD_CLOEXEC,
        _ => return fail(libc::EINVAL),
    };
    // SAFETY: commands that take a number.
    unsafe { libc::fcntl(fd, command, value) }
}

/// `mmap`: the bit for anonymous memory differs.
pub(crate) unsafe extern "C" fn mmap(
    address: *mut c_void,
    size: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> *mut c_void {
    const ANONYMOUS: c_int = 0x1000;
    // MAP_SHARED, MAP_PRIVATE and MAP_FIXED are the same.
    const SAME: c_int = 0x13;
    if flags & !(ANONYMOUS | SAME) != 0 {
        fail(libc::EINVAL);
        return libc::MAP_FAILED;
    }
    let anonymous = if flags & ANONYMOUS != 0 {
        libc::MAP_ANONYMOUS
    } else {
        0
    };
    // SAFETY: the caller's own promise for mmap().
    unsafe {
        libc::mmap(
            address,
            size,
            protection,
            flags & SAME | anonymous,
            fd,
            offset,
        )
    }
}

/// macOS's `struct stat` (64-bit inodes), 144 bytes.
#[repr(C)]
pub(crate) struct Stat {
    device: i32,
    mode: u16,
    links: u16,
    inode: u64,
    user: u32,
    group: u32,
    special_device: i32,
    accessed: [i64; 2],
    modified: [i64; 2],
    changed: [i64; 2],
    born: [i64; 2],
    size: i64,
    blocks: i64,
    block_size: i32,
    flags: u32,
    generation: u32,
    spare: i32,
    spares: [i64; 2],
}

const _: () = assert!(size_of::<Stat>() == 144);

type Ask<T> = unsafe extern "C" fn(T, *mut libc::stat) -> c_int;

/// # Safety
/// `what` as the function wants it; `to` has room for macOS's `struct stat`.
unsafe fn convert<T>(ask: Ask<T>, what: T, to: *mut Stat) -> c_int {
    let mut host = core::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: room for the host's struct; `what` is the caller's promise.
    let result = unsafe { ask(what, host.as_mut_ptr()) };
    if result != 0 {
        return translate(result);
    }
    // SAFETY: zero bytes are a valid `stat`, and the call has filled it in.
    let host = unsafe { host.assume_init() };
    let stat = Stat {
        device: host.st_dev as i32,
        mode: host.st_mode as u16,
        links: host.st_nlink as u16,
        inode: host.st_ino,
        user: host.st_uid,
        group: host.st_gid,
        special_device: host.st_rdev as i32,
        accessed: [host.st_atime, host.st_atime_nsec],
        modified: [host.st_mtime, host.st_mtime_nsec],
        changed: [host.st_ctime, host.st_ctime_nsec],
        born: [0, 0],
        size: host.st_size,
        blocks: host.st_blocks,
        block_size: host.st_blksize as i32,
        flags: 0,
        generation: 0,
        spare: 0,
        spares: [0, 0],
    };
    // SAFETY: the caller's promise.
    unsafe { to.write(stat) };
    0
}

/// `fstat`
pub(crate) unsafe extern "C" fn fstat(fd: c_int, to: *mut Stat) -> c_int {
    // SAFETY: the caller's own promise for fstat().
    unsafe { convert(libc::fstat, fd, to) }
}

/// `stat`
pub(crate) unsafe extern "C" fn stat(path: *const c_char, to: *mut Stat) -> c_int {
    // SAFETY: the caller's own promise for stat().
    unsafe { convert(libc::stat, path, to) }
}

/// `lstat`
pub(crate) unsafe extern "C" fn lstat(path: *const c_char, to: *mut Stat) -> c_int {
    // SAFETY: the caller's own promise for lstat().
    unsafe { convert(libc::lstat, path, to) }
}
