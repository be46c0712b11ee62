//! macOS.

use super::super::{children, libc, watch};
use super::Image;
use crate::child::Program;
use crate::insert::base_name;
use crate::uuid;
use children::Strings;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::{MaybeUninit, transmute};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

pub(crate) const INSERT: &[u8] = b"DYLD_INSERT_LIBRARIES=";
pub(crate) const SEPARATORS: &[u8] = b":";
pub(crate) const LIBRARY: &[u8] = b"libmetalshim.dylib";

pub(crate) const OPEN_READ: c_int = 0;
/// `O_WRONLY | O_APPEND | O_CREAT`
pub(crate) const OPEN_APPEND: c_int = 0x1 | 0x8 | 0x200;
/// `O_NOFOLLOW`, for files of ours; programs may be links.
pub(crate) const OPEN_NO_LINK: c_int = 0x100;
/// `O_NONBLOCK | O_CLOEXEC`
pub(crate) const OPEN_ALWAYS: c_int = 0x4 | 0x100_0000;
pub(crate) const ENOENT: c_int = 2;
pub(crate) const ELOOP: c_int = 62;

const RTLD_DEFAULT: *mut c_void = -2isize as *mut c_void;

type Spawn = unsafe extern "C" fn(
    *mut c_int,
    *const c_char,
    *const c_void,
    *const c_void,
    Strings,
    Strings,
) -> c_int;
type Execve = unsafe extern "C" fn(*const c_char, Strings, Strings) -> c_int;

#[link(name = "System")]
unsafe extern "C" {
    safe fn __error() -> *mut c_int;
    #[cfg_attr(target_arch = "x86_64", link_name = "fstat$INODE64")]
    fn fstat(fd: c_int, to: *mut Stat) -> c_int;
    fn execve(path: *const c_char, args: Strings, env: Strings) -> c_int;
    fn posix_spawn(
        pid: *mut c_int,
        path: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        args: Strings,
        env: Strings,
    ) -> c_int;
    fn posix_spawnp(
        pid: *mut c_int,
        path: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        args: Strings,
        env: Strings,
    ) -> c_int;
}

#[unsafe(link_section = "__DATA,__mod_init_func")]
#[used]
static START: extern "C" fn() = super::super::start::start;

/// A function, and the one that every other image of the process calls instead. Our own image
/// goes on calling the first.
#[repr(C)]
struct Interpose<F>(F, F);

#[unsafe(link_section = "__DATA,__interpose")]
#[used]
static EXECVE: Interpose<Execve> = Interpose(execve_ours, execve);
#[unsafe(link_section = "__DATA,__interpose")]
#[used]
static SPAWN: Interpose<Spawn> = Interpose(spawn_ours, posix_spawn);
#[unsafe(link_section = "__DATA,__interpose")]
#[used]
static SPAWNP: Interpose<Spawn> = Interpose(spawnp_ours, posix_spawnp);

#[repr(C)]
struct Stat {
    dev: i32,
    mode: u16,
    links: u16,
    ino: u64,
    uid: u32,
    gid: u32,
    rdev: i32,
    times: [i64; 8],
    size: i64,
    blocks: i64,
    block_size: i32,
    flags: u32,
    rest: [u64; 8],
}

pub(crate) fn info(fd: c_int) -> Option<Program> {
    const SF_RESTRICTED: u32 = 0x0008_0000;
    let mut stat = MaybeUninit::<Stat>::zeroed();
    // SAFETY: `Stat` begins like the system's structure and is larger than it.
    if unsafe { fstat(fd, stat.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: every bit pattern is a value of these integers, and all bytes were set.
    let stat = unsafe { stat.assume_init() };
    Some(Program {
        device: u64::from(stat.dev.unsigned_abs()),
        inode: stat.ino,
        mode: stat.mode.into(),
        owner: stat.uid,
        restricted: stat.flags & SF_RESTRICTED != 0,
    })
}

pub(crate) fn errno_place() -> *mut c_int {
    __error()
}

pub(crate) fn find(name: &CStr) -> *mut c_void {
    // SAFETY: the name ends with a zero byte.
    unsafe { libc::dlsym(RTLD_DEFAULT, name.as_ptr()) }
}

/// Whether the facts can be asked for: here always.
pub(crate) fn facts_here() -> bool {
    true
}

/// A function without arguments that gives the place of a pointer.
type Place<T> = extern "C" fn() -> *mut T;

/// Where the environment's own pointer is.
pub(crate) fn environment_place() -> *mut *mut *mut c_char {
    let found = find(c"_NSGetEnviron");
    if found.is_null() {
        return null_mut();
    }
    // SAFETY: that is the type of the system's function of this name.
    let place = unsafe { transmute::<*mut c_void, Place<*mut *mut c_char>>(found) };
    place()
}

/// The path of the running program, as it was started.
pub(crate) fn program_path() -> Option<&'static [u8]> {
    // The main program is always the first image.
    let names = find(c"_dyld_get_image_name");
    if names.is_null() {
        return None;
    }
    // SAFETY: that is the type of dyld's function of this name.
    let name = unsafe { transmute::<*mut c_void, ImageName>(names) }(0);
    // SAFETY: null, or the path of an image that is never unloaded.
    unsafe { libc::bytes(name) }
}

/// The running program's own file.
pub(crate) fn own_program() -> Option<Program> {
    let mut path = crate::text::Fixed::<1100>::new();
    let whole = path.push_all(&[program_path()?, b"\0"]);
    libc::File::open(path.as_bytes(), OPEN_READ)
        .filter(|_| whole)?
        .info()
}

/// Whether this image's code is the system's own. What a driver's class inherits may come from
/// frameworks between it and Metal; no shim can lie in the system's folder.
pub(crate) fn is_system_image(path: &[u8]) -> bool {
    path.starts_with(b"/System/") || (cfg!(feature = "simulate") && which(path).is_some())
}

fn which(path: &[u8]) -> Option<Image> {
    match base_name(path) {
        b"Metal" => Some(Image::Metal),
        b"AppleParavirtGPUMetalIOGPUFamily" => Some(Image::Driver),
        b"libMetal.dylib" if cfg!(feature = "simulate") => Some(Image::Metal),
        b"libAppleParavirtGPU.dylib" if cfg!(feature = "simulate") => Some(Image::Driver),
        _ => None,
    }
}

type Count = extern "C" fn() -> u32;
type ImageName = extern "C" fn(u32) -> *const c_char;
type ImageHeader = extern "C" fn(u32) -> *const Header;

/// The images that are loaded, until `each` says that it is enough.
fn walk(mut each: impl FnMut(u32, &[u8]) -> bool) {
    let (count, names) = (find(c"_dyld_image_count"), find(c"_dyld_get_image_name"));
    if count.is_null() || names.is_null() {
        return;
    }
    // SAFETY: that is the type of dyld's function of this name.
    let count = unsafe { transmute::<*mut c_void, Count>(count) };
    // SAFETY: that is the type of dyld's function of this name.
    let names = unsafe { transmute::<*mut c_void, ImageName>(names) };
    for index in 0..count() {
        // SAFETY: null, or a path that stays as long as the image, which is not unloaded here.
        let name = unsafe { libc::bytes(names(index)) };
        if name.is_some_and(|name| each(index, name)) {
            return;
        }
    }
}

/// Which of the two images are loaded: Metal, the driver.
pub(crate) fn images() -> (bool, bool) {
    let mut seen = (false, false);
    walk(|_, name| {
        match which(name) {
            Some(Image::Metal) => seen.0 = true,
            Some(Image::Driver) => seen.1 = true,
            None => {}
        }
        seen == (true, true)
    });
    seen
}

#[repr(C)]
struct Header {
    magic: u32,
    cpu: [u32; 3],
    count: u32,
    size: u32,
    rest: [u32; 2],
}

/// The `LC_UUID` of the loaded image.
pub(crate) fn image_uuid(image: Image) -> Option<[u8; 16]> {
    const MAGIC_64: u32 = 0xfeed_facf;
    let headers = find(c"_dyld_get_image_header");
    if headers.is_null() {
        return None;
    }
    // SAFETY: that is the type of dyld's function of this name.
    let headers = unsafe { transmute::<*mut c_void, ImageHeader>(headers) };
    let mut found = None;
    walk(|index, name| {
        if which(name) == Some(image) {
            found = Some(headers(index));
        }
        found.is_some()
    });
    let header = found.filter(|header| !header.is_null())?;
    // SAFETY: the header of an image that stays loaded.
    let Header { magic, size, .. } = *unsafe { &*header };
    if magic != MAGIC_64 {
        return None;
    }
    // SAFETY: the load commands come behind the header, which is as long as `Header`.
    let commands = unsafe { header.add(1) }.cast::<u8>();
    // SAFETY: that many bytes of load commands are there, mapped as long as the image.
    uuid::of_commands(unsafe { core::slice::from_raw_parts(commands, size as usize) })
}

/// Asks dyld to be told of later images. It tells of all present ones at once, which are passed
/// over, since nobody watches yet.
pub(crate) fn watch_images() -> bool {
    let register = find(c"_dyld_register_func_for_add_image");
    if register.is_null() {
        return false;
    }
    // SAFETY: that is the type of dyld's function of this name.
    let register = unsafe { transmute::<*mut c_void, extern "C" fn(Added)>(register) };
    register(added);
    true
}

type Added = extern "C" fn(*const Header, isize);

#[repr(C)]
struct Info {
    path: *const c_char,
    rest: [*const c_void; 3],
}

extern "C" fn added(header: *const Header, _slide: isize) {
    if !watch::is_watching() {
        return;
    }
    let found = find(c"dladdr");
    if found.is_null() {
        return;
    }
    type Dladdr = unsafe extern "C" fn(*const Header, *mut Info) -> c_int;
    // SAFETY: that is the type of dyld's function of this name.
    let dladdr = unsafe { transmute::<*mut c_void, Dladdr>(found) };
    let mut info = MaybeUninit::<Info>::zeroed();
    // SAFETY: any address may be asked for; there is room for the answer.
    if unsafe { dladdr(header, info.as_mut_ptr()) } == 0 {
        return;
    }
    // SAFETY: null pointers are values of this structure, and the call filled it.
    let info = unsafe { info.assume_init() };
    // SAFETY: null, or the path of the image, which stays during this call.
    let path = unsafe { libc::bytes(info.path) }.unwrap_or_default();
    let which = which(path);
    watch::announced(which == Some(Image::Metal), which == Some(Image::Driver));
}

static GET_FLAGS: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Looks up what the hooks may not look up any more.
pub(crate) fn ready_children() {
    GET_FLAGS.store(find(c"posix_spawnattr_getflags"), Ordering::Relaxed);
}

/// Whether the attributes say that the new image replaces the process's own.
fn replaces(attributes: *const c_void) -> bool {
    const SETEXEC: i16 = 0x40;
    let get = GET_FLAGS.load(Ordering::Relaxed);
    if attributes.is_null() || get.is_null() {
        return false;
    }
    type GetFlags = unsafe extern "C" fn(*const c_void, *mut i16) -> c_int;
    // SAFETY: that is the type of the system's function of this name.
    let get = unsafe { transmute::<*mut c_void, GetFlags>(get) };
    let mut flags = 0;
    // SAFETY: the caller's attributes, and room for the flags.
    let failed = unsafe { get(attributes, &raw mut flags) };
    failed == 0 && flags & SETEXEC != 0
}

unsafe extern "C" fn execve_ours(path: *const c_char, args: Strings, env: Strings) -> c_int {
    // SAFETY: the caller's strings, and an environment that lasts for the call.
    let call = |env: Strings| unsafe { execve(path, args, env) };
    // SAFETY: the caller's promise.
    unsafe { children::with_environment(path, false, true, env, &call) }
}

unsafe extern "C" fn spawn_ours(
    pid: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    args: Strings,
    env: Strings,
) -> c_int {
    let replaces = replaces(attributes);
    // SAFETY: the caller's strings, and an environment that lasts for the call.
    let call = |env: Strings| unsafe { posix_spawn(pid, path, actions, attributes, args, env) };
    // SAFETY: the caller's promise.
    unsafe { children::with_environment(path, false, replaces, env, &call) }
}

unsafe extern "C" fn spawnp_ours(
    pid: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    args: Strings,
    env: Strings,
) -> c_int {
    let replaces = replaces(attributes);
    // SAFETY: the caller's strings, and an environment that lasts for the call.
    let call = |env: Strings| unsafe { posix_spawnp(pid, path, actions, attributes, args, env) };
    // SAFETY: the caller's promise.
    unsafe { children::with_environment(path, true, replaces, env, &call) }
}
