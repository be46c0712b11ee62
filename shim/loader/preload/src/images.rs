//! dyld's view of the process: its images, and who is called when one arrives.
//!
//! The order is dyld's: a callback hears of an image *before* any code of it has
//! run, so the classes that the image brings do not exist yet; they are there when
//! the next image arrives. An image is announced when the program's `dlopen` names
//! it; what it links against is in the list afterwards, unannounced.
//!
//! Each image has a small Mach-O header of our making, because readers on a Mac
//! look there for `LC_UUID`. The simulated guest's Metal and driver carry their
//! Mac's path and the UUID that the guest gives them.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::wrappers::process;
use crate::{map, symbols};

type AddCallback = unsafe extern "C" fn(*const c_void, isize);

/// A `mach_header_64` and one `LC_UUID`.
#[repr(C)]
struct Header {
    words: [u32; 8],
    uuid_command: [u32; 2],
    uuid: [u8; 16],
}

struct Image {
    /// The file as Linux names it; empty for the program itself.
    file: CString,
    /// The name shown to the library.
    name: CString,
    /// Never freed, and only its UUID changes (once, see [`fill_uuids`]).
    header: *mut Header,
}

// SAFETY: the header is only written under the lock that holds the list.
unsafe impl Send for Image {}

#[derive(Default)]
struct List {
    images: Vec<Image>,
    callbacks: Vec<AddCallback>,
}

fn list() -> MutexGuard<'static, List> {
    static LIST: OnceLock<Mutex<List>> = OnceLock::new();
    LIST.get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

/// The list, with everything in it that is mapped at this moment.
fn current() -> MutexGuard<'static, List> {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _: usize,
        files: *mut c_void,
    ) -> c_int {
        // SAFETY: the pointer that `current` passes below.
        let files = unsafe { &mut *files.cast::<Vec<CString>>() };
        // SAFETY: the C library's own description of one image.
        let name = unsafe { (*info).dlpi_name };
        if !name.is_null() {
            // SAFETY: a C string of the C library's.
            files.push(unsafe { CStr::from_ptr(name) }.to_owned());
        }
        0
    }
    let mut files: Vec<CString> = Vec::new();
    // SAFETY: the callback takes what is passed here.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut files).cast()) };
    let mut list = list();
    for file in files {
        list.add(file);
    }
    list.fill_uuids();
    list
}

impl List {
    fn add(&mut self, file: CString) -> usize {
        if let Some(index) = self
            .images
            .iter()
            .position(|image| same(&image.file, &file))
        {
            return index;
        }
        let header = Header {
            // Magic, processor, sub-type, MH_DYLIB, one command, its size, MH_TWOLEVEL.
            words: [0xfeed_facf, processor(), 0, 6, 1, 24, 0x80, 0],
            uuid_command: [0x1b, 24],
            uuid: [0; 16],
        };
        let name = mac_name(&file);
        self.images.push(Image {
            file,
            name,
            header: Box::into_raw(Box::new(header)),
        });
        self.images.len() - 1
    }

    /// A symbol of any image, in the order of the list.
    fn search(&self, name: &str) -> Option<usize> {
        self.images
            .iter()
            .filter(|image| !image.file.is_empty())
            .find_map(|image| {
                // SAFETY: a C string; only asks for what is loaded.
                let handle = unsafe {
                    real_dlopen()(image.file.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY)
                };
                if handle.is_null() {
                    return None;
                }
                let found = symbols::host(handle, name);
                // SAFETY: the handle just got; the image stays, others hold it.
                unsafe { libc::dlclose(handle) };
                found
            })
    }

    /// The image that a made-up header is of.
    fn of_header(&self, address: *const c_void) -> Option<&Image> {
        self.images
            .iter()
            .find(|image| image.header.cast_const().cast() == address)
    }

    /// Asks the simulated guest for its UUIDs, as soon as it is there to be asked.
    fn fill_uuids(&mut self) {
        type Ask = unsafe extern "C" fn(*const c_char) -> *const c_char;
        // SAFETY: a look-up by name.
        let ask =
            unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"metalshim_guest_image_uuid".as_ptr()) };
        if ask.is_null() {
            return;
        }
        // SAFETY: the guest declares it so (shim/guest/system/guest.h).
        let ask = unsafe { core::mem::transmute::<*mut c_void, Ask>(ask) };
        for image in &self.images {
            let which = match image.name.as_bytes() {
                METAL => c"Metal",
                DRIVER => c"driver",
                _ => continue,
            };
            // SAFETY: the argument is a C string.
            let answer = unsafe { ask(which.as_ptr()) };
            if answer.is_null() {
                continue;
            }
            // SAFETY: the guest answers with a C string that stays.
            let text = unsafe { CStr::from_ptr(answer) };
            if let Some(uuid) = parse_uuid(text) {
                // SAFETY: a leaked header, written under the lock only.
                unsafe { (*image.header).uuid = uuid };
            }
        }
    }
}

const METAL: &[u8] = b"/System/Library/Frameworks/Metal.framework/Versions/A/Metal";
const DRIVER: &[u8] = b"/System/Library/Extensions/AppleParavirtGPUMetalIOGPUFamily.bundle/Contents/MacOS/AppleParavirtGPUMetalIOGPUFamily";

/// The path a Mac would show for a part of the simulated guest; else the file's own.
fn mac_name(file: &CStr) -> CString {
    if file.is_empty() {
        return CString::new(process::executable()).unwrap_or_default();
    }
    let base = base(file);
    let name = if base == b"libMetal.so" {
        METAL
    } else if base.windows(13).any(|part| part == b"AppleParavirt") {
        DRIVER
    } else {
        return file.to_owned();
    };
    CString::new(name).unwrap_or_default()
}

fn base(file: &CStr) -> &[u8] {
    file.to_bytes()
        .rsplit(|&byte| byte == b'/')
        .next()
        .unwrap_or_default()
}

/// `dlopen` may be given a bare name where the list has the path it was found at.
fn same(one: &CStr, other: &CStr) -> bool {
    let bare = |name: &CStr| !name.is_empty() && !name.to_bytes().contains(&b'/');
    one == other || ((bare(one) || bare(other)) && base(one) == base(other))
}

fn processor() -> u32 {
    if cfg!(target_arch = "aarch64") {
        0x0100_000c
    } else {
        0x0100_0007
    }
}

fn parse_uuid(text: &CStr) -> Option<[u8; 16]> {
    let digits: Vec<u32> = text
        .to_bytes()
        .iter()
        .filter(|&&byte| byte != b'-')
        .map(|&byte| char::from(byte).to_digit(16))
        .collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits
        .chunks_exact(2)
        .map(|pair| (pair[0] * 16 + pair[1]) as u8)
        .collect();
    bytes.try_into().ok()
}

/// A symbol of any image of the process, those included that were opened locally.
pub(crate) fn search(name: &str) -> Option<usize> {
    current().search(name)
}

/// `_dyld_register_func_for_add_image`: called for every image there is, then for
/// each that arrives.
pub(crate) unsafe extern "C" fn register_add(callback: AddCallback) {
    let headers: Vec<usize> = {
        let mut list = current();
        list.callbacks.push(callback);
        list.images
            .iter()
            .map(|image| image.header as usize)
            .collect()
    };
    for header in headers {
        // SAFETY: the library's own function, of dyld's type. No lock is held.
        unsafe { callback(header as *const c_void, 0) };
    }
}

/// Tells the callbacks of a file that is about to be opened, unless it is there already.
fn announce(file: &CStr) {
    // SAFETY: only asks; the handle is given back at once.
    let present = unsafe { real_dlopen()(file.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
    if !present.is_null() {
        // SAFETY: the handle just got.
        unsafe { libc::dlclose(present) };
        return;
    }
    let (header, callbacks) = {
        let mut list = current();
        let index = list.add(file.to_owned());
        (list.images[index].header as usize, list.callbacks.clone())
    };
    for callback in callbacks {
        // SAFETY: registered by the library as a function of this type.
        unsafe { callback(header as *const c_void, 0) };
    }
}

type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;

/// The C library's `dlopen`: the name alone would find the one below.
fn real_dlopen() -> Dlopen {
    static REAL: OnceLock<usize> = OnceLock::new();
    let address = *REAL.get_or_init(|| symbols::next("dlopen").unwrap_or(0));
    // SAFETY: the C library's function of that name; this library links the C library,
    // so it is there.
    unsafe { core::mem::transmute::<usize, Dlopen>(address) }
}

/// Called by the exported `dlopen`; gives the real one.
unsafe extern "C" fn before_dlopen(file: *const c_char) -> Dlopen {
    if map::loaded().is_some() && !file.is_null() {
        // SAFETY: not null, and a C string as dlopen asks for.
        announce(unsafe { CStr::from_ptr(file) });
    }
    real_dlopen()
}

/// Stands in front of the C library's `dlopen`. It jumps to the real one instead of
/// calling it: that looks at the return address to learn whose search path to use.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn dlopen(_file: *const c_char, _flags: c_int) -> *mut c_void {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {before}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        before = sym before_dlopen,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        "stp x0, x1, [sp, #-32]!",
        "str x30, [sp, #16]",
        "bl {before}",
        "mov x16, x0",
        "ldr x30, [sp, #16]",
        "ldp x0, x1, [sp], #32",
        "br x16",
        before = sym before_dlopen,
    );
}

/// `dlopen` as the library itself calls it: flag values differ.
pub(crate) unsafe extern "C" fn dlopen_for_library(
    file: *const c_char,
    flags: c_int,
) -> *mut c_void {
    const NOLOAD: c_int = 0x10;
    // RTLD_LAZY and RTLD_NOW are the same; local is the default here.
    let mut host = flags & 3;
    if flags & NOLOAD != 0 {
        host |= libc::RTLD_NOLOAD;
    }
    if flags & !(3 | 0xc | NOLOAD) != 0 || file.is_null() {
        return std::ptr::null_mut();
    }
    // SAFETY: not null, and a C string as dlopen asks for.
    let asked = unsafe { CStr::from_ptr(file) };
    let file = {
        let list = current();
        list.images
            .iter()
            .find(|image| image.name.as_c_str() == asked)
            .map(|image| image.file.clone())
    };
    let file = file.unwrap_or_else(|| asked.to_owned());
    // SAFETY: a C string.
    unsafe { real_dlopen()(file.as_ptr(), host) }
}

/// `_dyld_image_count`
pub(crate) extern "C" fn count() -> u32 {
    current().images.len() as u32
}

/// `_dyld_get_image_name`; null beyond the end.
pub(crate) extern "C" fn name(index: u32) -> *const c_char {
    // The list only grows, and a `CString` stays where it is when its owner moves.
    current()
        .images
        .get(index as usize)
        .map_or(std::ptr::null(), |image| image.name.as_ptr())
}

/// `_dyld_get_image_header`; null beyond the end.
pub(crate) extern "C" fn header(index: u32) -> *const c_void {
    current()
        .images
        .get(index as usize)
        .map_or(std::ptr::null(), |image| image.header.cast_const().cast())
}

/// `_dyld_get_image_vmaddr_slide`; the made-up headers are where they say they are.
pub(crate) extern "C" fn slide(_index: u32) -> isize {
    0
}

/// `dladdr`: the library's own addresses, and made-up headers for the others.
pub(crate) unsafe extern "C" fn dladdr(address: *const c_void, info: *mut libc::Dl_info) -> c_int {
    if let Some(image) = map::loaded().filter(|image| image.holds(address as usize)) {
        let found = libc::Dl_info {
            dli_fname: image.name.as_ptr(),
            dli_fbase: image.base as *mut c_void,
            dli_sname: std::ptr::null(),
            dli_saddr: std::ptr::null_mut(),
        };
        // SAFETY: the caller's own promise for dladdr().
        unsafe { info.write(found) };
        return 1;
    }
    let of_header = list().of_header(address).map(|image| libc::Dl_info {
        dli_fname: image.name.as_ptr(),
        dli_fbase: image.header.cast(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    });
    if let Some(found) = of_header {
        // SAFETY: the caller's own promise for dladdr().
        unsafe { info.write(found) };
        return 1;
    }
    // SAFETY: the caller's own promise for dladdr().
    let result = unsafe { libc::dladdr(address, info) };
    if result == 0 {
        return 0;
    }
    // SAFETY: filled in by the call.
    let file = unsafe { (*info).dli_fname };
    if file.is_null() {
        return result;
    }
    // SAFETY: a C string of the C library's.
    let file = unsafe { CStr::from_ptr(file) };
    let list = current();
    if let Some(image) = list.images.iter().find(|image| same(&image.file, file)) {
        // SAFETY: the caller's struct; the name stays (see `name`).
        unsafe { (*info).dli_fname = image.name.as_ptr() };
        // SAFETY: as above.
        unsafe { (*info).dli_fbase = image.header.cast() };
    }
    result
}
