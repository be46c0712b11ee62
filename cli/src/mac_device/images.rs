//! LC_UUID of a loaded image, read from its load commands in memory: system images have no
//! file of their own.

use std::ffi::{CStr, c_char, c_void};

/// `mach_header_64`, as far as it is used.
#[repr(C)]
struct Header {
    magic: u32,
    cpu_type: i32,
    cpu_subtype: i32,
    file_type: u32,
    command_count: u32,
    commands_size: u32,
    flags: u32,
    reserved: u32,
}

const MAGIC_64: u32 = 0xfeed_facf;
const LC_UUID: u32 = 0x1b;

#[repr(C)]
struct DlInfo {
    file: *const c_char,
    base: *const c_void,
    symbol: *const c_char,
    address: *const c_void,
}

unsafe extern "C" {
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> i32;
}

/// The UUID of the image that a class is defined in, as upper-case text.
pub(super) fn uuid_of_class(name: &CStr) -> Option<String> {
    let class = objc2::runtime::AnyClass::get(name)?;
    let mut info = DlInfo {
        file: std::ptr::null(),
        base: std::ptr::null(),
        symbol: std::ptr::null(),
        address: std::ptr::null(),
    };
    let address = std::ptr::from_ref(class).cast();
    // SAFETY: dladdr takes any address and writes only to the structure, which it is given
    // whole.
    let found = unsafe { dladdr(address, &raw mut info) };
    if found == 0 || info.base.is_null() {
        return None;
    }
    // SAFETY: the base of an image that holds a registered class is its Mach-O header, which
    // stays mapped: images with Objective-C classes are never unloaded.
    let header = unsafe { &*info.base.cast::<Header>() };
    if header.magic != MAGIC_64 {
        return None;
    }
    let size = usize::try_from(header.commands_size).ok()?;
    let first = info.base.cast::<u8>().wrapping_add(size_of::<Header>());
    // SAFETY: the load commands follow the header in the same mapping, and the header says how
    // many bytes they are; dyld has read them already.
    let commands = unsafe { std::slice::from_raw_parts(first, size) };
    of_commands(commands).map(text)
}

fn of_commands(mut commands: &[u8]) -> Option<[u8; 16]> {
    loop {
        let (head, _) = commands.split_first_chunk::<8>()?;
        let [a, b, c, d, e, f, g, h] = *head;
        let size = usize::try_from(u32::from_ne_bytes([e, f, g, h])).ok()?;
        if u32::from_ne_bytes([a, b, c, d]) == LC_UUID {
            return commands.get(8..)?.first_chunk::<16>().copied();
        }
        commands = commands.get(size.max(8)..)?;
    }
}

fn text(bytes: [u8; 16]) -> String {
    let hex = |range: std::ops::Range<usize>| -> String {
        bytes[range].iter().map(|b| format!("{b:02X}")).collect()
    };
    [hex(0..4), hex(4..6), hex(6..8), hex(8..10), hex(10..16)].join("-")
}
