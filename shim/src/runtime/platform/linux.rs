//! Linux, in front of the simulated guest.

use super::super::{children, libc, watch};
use super::Image;
use crate::child::Program;
use crate::insert::base_name;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::{MaybeUninit, transmute};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

pub(crate) const INSERT: &[u8] = b"LD_PRELOAD=";
pub(crate) const SEPARATORS: &[u8] = b": ";
pub(crate) const LIBRARY: &[u8] = b"libmetalshim.so";

pub(crate) const OPEN_READ: c_int = 0;
pub(crate) const OPEN_APPEND: c_int = 0o1 | 0o2000 | 0o100;
/// `O_NOFOLLOW`, for files of ours; programs may be links.
pub(crate) const OPEN_NO_LINK: c_int = if cfg!(target_arch = "aarch64") {
    0o100_000
} else {
    0o400_000
};
/// `O_NONBLOCK | O_CLOEXEC`
pub(crate) const OPEN_ALWAYS: c_int = 0o4000 | 0o2_000_000;
pub(crate) const ENOENT: c_int = 2;
pub(crate) const ELOOP: c_int = 40;

const RTLD_NEXT: *mut c_void = usize::MAX as *mut c_void;
const RTLD_LAZY_NOLOAD: c_int = 1 | 4;

unsafe extern "C" {
    safe fn __errno_location() -> *mut c_int;
    fn fstat(fd: c_int, to: *mut Stat) -> c_int;
    fn dl_iterate_phdr(
        each: extern "C" fn(*const PhdrInfo, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

#[unsafe(link_section = ".init_array")]
#[used]
static START: extern "C" fn() = super::super::start::start;

#[repr(C)]
struct Stat {
    dev: u64,
    ino: u64,
    #[cfg(target_arch = "x86_64")]
    links: u64,
    mode: u32,
    #[cfg(not(target_arch = "x86_64"))]
    links: u32,
    uid: u32,
    rest: [u64; 20],
}

pub(crate) fn info(fd: c_int) -> Option<Program> {
    let mut stat = MaybeUninit::<Stat>::zeroed();
    // SAFETY: `Stat` begins like the system's structure and is larger than it.
    if unsafe { fstat(fd, stat.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: every bit pattern is a value of these integers, and all bytes were set.
    let stat = unsafe { stat.assume_init() };
    Some(Program {
        device: stat.dev,
        inode: stat.ino,
        mode: stat.mode,
        owner: stat.uid,
        restricted: false,
    })
}

pub(crate) fn errno_place() -> *mut c_int {
    __errno_location()
}

/// `RTLD_DEFAULT`, then Metal's own image and what it depends on: an interpreter loads those as
/// local, where macOS would still find them.
pub(crate) fn find(name: &CStr) -> *mut c_void {
    // SAFETY: the name ends with a zero byte.
    let found = unsafe { libc::dlsym(null_mut(), name.as_ptr()) };
    if !found.is_null() || !watch::metal_seen() {
        return found;
    }
    // SAFETY: RTLD_NOLOAD only looks among what is loaded; the name ends with a zero byte.
    let metal = unsafe { real_dlopen(c"libMetal.so".as_ptr(), RTLD_LAZY_NOLOAD) };
    if metal.is_null() {
        return null_mut();
    }
    // SAFETY: a handle that `dlopen` gave, and a name that ends with a zero byte.
    unsafe { libc::dlsym(metal, name.as_ptr()) }
}

/// Where the environment's own pointer is.
pub(crate) fn environment_place() -> *mut *mut *mut c_char {
    find(c"environ").cast()
}

/// The path of the running program.
pub(crate) fn program_path() -> Option<&'static [u8]> {
    // glibc keeps what the kernel told, the path as it was started.
    let getauxval = find(c"getauxval");
    if getauxval.is_null() {
        return None;
    }
    const AT_EXECFN: u64 = 31;
    // SAFETY: that is the type of the C library's function of this name.
    let getauxval = unsafe { transmute::<*mut c_void, extern "C" fn(u64) -> u64>(getauxval) };
    let path = getauxval(AT_EXECFN) as *const c_char;
    // SAFETY: null, or the string that the kernel placed above the stack for the whole run.
    unsafe { libc::bytes(path) }
}

/// The running program's own file.
pub(crate) fn own_program() -> Option<Program> {
    libc::File::open(b"/proc/self/exe\0", OPEN_READ)?.info()
}

/// Whether this image's code is Metal's or the driver's.
pub(crate) fn is_system_image(path: &[u8]) -> bool {
    which(path).is_some()
}

/// Whether the facts can be asked for: they come with the stand-in. To look up a symbol that is not
/// there costs a start more than everything else that is done in it.
pub(crate) fn facts_here() -> bool {
    seen().facts
}

fn which(path: &[u8]) -> Option<Image> {
    match base_name(path) {
        b"libMetal.so" => Some(Image::Metal),
        b"libAppleParavirtGPU.so" => Some(Image::Driver),
        _ => None,
    }
}

/// Which of the two images are loaded: Metal, the driver.
pub(crate) fn images() -> (bool, bool) {
    let seen = seen();
    (seen.metal, seen.driver)
}

/// What is loaded of the stand-in.
#[derive(Default)]
struct Seen {
    metal: bool,
    driver: bool,
    facts: bool,
}

fn seen() -> Seen {
    let mut seen = Seen::default();
    let data: *mut Seen = &raw mut seen;
    // SAFETY: `look` is called for each image during this call, with `data` as it is given.
    unsafe { dl_iterate_phdr(look, data.cast()) };
    seen
}

#[repr(C)]
struct PhdrInfo {
    base: usize,
    name: *const c_char,
}

extern "C" fn look(info: *const PhdrInfo, _size: usize, data: *mut c_void) -> c_int {
    // SAFETY: the C library passes a valid structure, which begins with these fields.
    let name = unsafe { (*info).name };
    // SAFETY: null or the image's path, which stays during this call.
    let name = unsafe { libc::bytes(name) }.unwrap_or_default();
    // SAFETY: the pointer that `seen` gave, to a value that outlives the walk.
    let seen = unsafe { &mut *data.cast::<Seen>() };
    match which(name) {
        Some(Image::Metal) => seen.metal = true,
        Some(Image::Driver) => seen.driver = true,
        None => seen.facts |= base_name(name) == b"libguestsystem.so",
    }
    0
}

/// The UUID that the image would have on a Mac: the stand-in knows it.
pub(crate) fn image_uuid(image: Image) -> Option<[u8; 16]> {
    let asked = find(c"metalshim_guest_image_uuid");
    if asked.is_null() {
        return None;
    }
    type ImageUuid = unsafe extern "C" fn(*const c_char) -> *const c_char;
    // SAFETY: that is the type of the simulated guest's function of this name.
    let ask = unsafe { transmute::<*mut c_void, ImageUuid>(asked) };
    let name = match image {
        Image::Metal => c"Metal",
        Image::Driver => c"driver",
    };
    // SAFETY: a name that ends with a zero byte.
    let text = unsafe { ask(name.as_ptr()) };
    // SAFETY: null, or a string that lasts as long as the process.
    crate::uuid::of_text(unsafe { libc::bytes(text) }?)
}

/// Asks to be told of later images: here our `dlopen` sees them, so nothing is to be done.
pub(crate) fn watch_images() -> bool {
    true
}

/// The C library's own function behind one that is overridden here. Looked up once.
struct Next {
    name: &'static CStr,
    /// Apart from the name, so that nothing written at run time comes out of the file.
    known: &'static AtomicPtr<c_void>,
}

impl Next {
    fn get(&self) -> *mut c_void {
        let known = self.known.load(Ordering::Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: the name ends with a zero byte.
        let found = unsafe { libc::dlsym(RTLD_NEXT, self.name.as_ptr()) };
        self.known.store(found, Ordering::Relaxed);
        found
    }
}

macro_rules! next {
    ($name:literal) => {{
        static KNOWN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
        Next {
            name: $name,
            known: &KNOWN,
        }
    }};
}

static DLOPEN: Next = next!(c"dlopen");
static EXECVE: Next = next!(c"execve");
static EXECVPE: Next = next!(c"execvpe");
static SPAWN: Next = next!(c"posix_spawn");
static SPAWNP: Next = next!(c"posix_spawnp");

#[unsafe(link_section = ".init_array")]
#[used]
static READY: extern "C" fn() = ready;

/// Looks the overridden functions up before `main`, with a ticket or without: whoever forks has
/// these hooks, and between fork and exec nothing can be looked up any more.
extern "C" fn ready() {
    for next in [&DLOPEN, &EXECVE, &EXECVPE, &SPAWN, &SPAWNP] {
        next.get();
    }
}

/// Nothing is left to look up: see `ready`.
pub(crate) fn ready_children() {}

/// # Safety
///
/// As for `dlopen`.
unsafe fn real_dlopen(path: *const c_char, flags: c_int) -> *mut c_void {
    let next = DLOPEN.get();
    if next.is_null() {
        return null_mut();
    }
    type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
    // SAFETY: that is the type of the C library's function of this name.
    let dlopen = unsafe { transmute::<*mut c_void, Dlopen>(next) };
    // SAFETY: the caller's promise.
    unsafe { dlopen(path, flags) }
}

/// Stands for dyld's add-image callback. A bare name is searched for from here and not by the run
/// path of whoever calls: the price of seeing it, paid in the simulated guest only.
///
/// # Safety
///
/// As for the C library's `dlopen`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void {
    let before = watch::before();
    // SAFETY: the caller's promise.
    let handle = unsafe { real_dlopen(path, flags) };
    if !handle.is_null() {
        watch::after(before);
    }
    handle
}

type Strings = *const *const c_char;
type Execve = unsafe extern "C" fn(*const c_char, Strings, Strings) -> c_int;
type Spawn = unsafe extern "C" fn(
    *mut c_int,
    *const c_char,
    *const c_void,
    *const c_void,
    Strings,
    Strings,
) -> c_int;

const ENOSYS: c_int = 38;

/// # Safety
///
/// As for the C library's function behind `next`.
unsafe fn exec(
    next: &Next,
    search: bool,
    path: *const c_char,
    args: Strings,
    env: Strings,
) -> c_int {
    let next = next.get();
    if next.is_null() {
        libc::set_errno(ENOSYS);
        return -1;
    }
    // SAFETY: `execve` and `execvpe` are of this type.
    let call = unsafe { transmute::<*mut c_void, Execve>(next) };
    // SAFETY: the caller's strings, and an environment that lasts for the call.
    let call = |env: Strings| unsafe { call(path, args, env) };
    // SAFETY: the caller's promise.
    unsafe { children::with_environment(path, search, true, env, &call) }
}

/// # Safety
///
/// As for the C library's `execve`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn execve(path: *const c_char, args: Strings, env: Strings) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { exec(&EXECVE, false, path, args, env) }
}

/// # Safety
///
/// As for the C library's `execv`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn execv(path: *const c_char, args: Strings) -> c_int {
    // SAFETY: the caller's promise; `execv` is `execve` with the program's own environment.
    unsafe { exec(&EXECVE, false, path, args, children::own_environment()) }
}

/// # Safety
///
/// As for the C library's `execvpe`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn execvpe(path: *const c_char, args: Strings, env: Strings) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { exec(&EXECVPE, true, path, args, env) }
}

/// # Safety
///
/// As for the C library's `execvp`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn execvp(path: *const c_char, args: Strings) -> c_int {
    // SAFETY: the caller's promise; `execvp` is `execvpe` with the program's own environment.
    unsafe { exec(&EXECVPE, true, path, args, children::own_environment()) }
}

/// # Safety
///
/// As for the C library's function behind `next`.
unsafe fn spawn(
    next: &Next,
    search: bool,
    to: (*mut c_int, *const c_char),
    how: (*const c_void, *const c_void),
    args: Strings,
    env: Strings,
) -> c_int {
    let next = next.get();
    if next.is_null() {
        return ENOSYS;
    }
    // SAFETY: `posix_spawn` and `posix_spawnp` are of this type.
    let call = unsafe { transmute::<*mut c_void, Spawn>(next) };
    let (pid, path) = to;
    // SAFETY: the caller's strings, and an environment that lasts for the call.
    let call = |env: Strings| unsafe { call(pid, path, how.0, how.1, args, env) };
    // SAFETY: the caller's promise.
    unsafe { children::with_environment(path, search, false, env, &call) }
}

/// # Safety
///
/// As for the C library's `posix_spawn`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn posix_spawn(
    pid: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    args: Strings,
    env: Strings,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { spawn(&SPAWN, false, (pid, path), (actions, attributes), args, env) }
}

/// # Safety
///
/// As for the C library's `posix_spawnp`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn posix_spawnp(
    pid: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    args: Strings,
    env: Strings,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { spawn(&SPAWNP, true, (pid, path), (actions, attributes), args, env) }
}
