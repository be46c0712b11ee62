//! Whether a Mach-O program can load a plain library of one architecture.

use super::Window;

/// The architecture that the library is built for.
#[cfg(target_arch = "x86_64")]
const OWN: u32 = CPU_X86_64;
#[cfg(not(target_arch = "x86_64"))]
const OWN: u32 = CPU_ARM64;

#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
const CPU_X86_64: u32 = 0x0100_0007;
const CPU_ARM64: u32 = 0x0100_000c;
/// The low byte of a sub-type; above it are capability bits.
const SUBTYPE: u32 = 0x00ff_ffff;
const MAGIC_64: u32 = 0xfeed_facf;
const FAT: u32 = 0xcafe_babe;
const EXECUTE: u32 = 2;
const LC_SEGMENT_64: u32 = 0x19;
const LC_CODE_SIGNATURE: u32 = 0x1d;
const LC_LOAD_DYLINKER: u32 = 0x0e;
/// More load commands than any program has.
const COMMANDS: u32 = 1024;
const SLICES: u32 = 16;

/// Whether the program in the file can load the library: a dynamic executable for this
/// architecture and its plain sub-type, neither hardened nor restricted.
pub(crate) fn can_load(read: impl FnMut(u64, &mut [u8]) -> usize) -> bool {
    decide(&mut Window::new(read), OWN) == Some(true)
}

/// The same for any architecture; `None` where the file is not understood.
pub(crate) fn decide<R: FnMut(u64, &mut [u8]) -> usize>(
    file: &mut Window<R>,
    own: u32,
) -> Option<bool> {
    let slice = match file.big32(0)? {
        FAT => slice(file, own)?,
        _ => 0,
    };
    let header = |at: u64| slice.checked_add(at);
    if file.little32(slice)? != MAGIC_64
        || file.little32(header(4)?)? != own
        || !is_plain(own, file.little32(header(8)?)?)
        || file.little32(header(12)?)? != EXECUTE
    {
        return Some(false);
    }
    let count = file.little32(header(16)?)?;
    if count > COMMANDS {
        return None;
    }
    let mut at = header(32)?;
    let mut dynamic = false;
    for _ in 0..count {
        let size = file.little32(at.checked_add(4)?)?;
        match file.little32(at)? {
            LC_LOAD_DYLINKER => dynamic = true,
            LC_SEGMENT_64 if &file.at::<11>(at.checked_add(8)?)? == b"__RESTRICT\0" => {
                return Some(false);
            }
            LC_CODE_SIGNATURE => {
                let offset = file.little32(at.checked_add(8)?)?;
                if is_guarded(file, slice.checked_add(offset.into())?)? {
                    return Some(false);
                }
            }
            _ => {}
        }
        if size < 8 {
            return None;
        }
        at = at.checked_add(size.into())?;
    }
    Some(dynamic)
}

/// The slice that the system takes for this architecture. On arm64 that is an arm64e one, or one
/// of a sub-type not known here, before the plain one: then the program cannot load the library.
fn slice<R: FnMut(u64, &mut [u8]) -> usize>(file: &mut Window<R>, own: u32) -> Option<u64> {
    let count = file.big32(4)?;
    if count > SLICES {
        return None;
    }
    let mut plain = None;
    for i in 0..u64::from(count) {
        let at = i.checked_mul(20)?.checked_add(8)?;
        if file.big32(at)? != own {
            continue;
        }
        // Nor is it anybody's to guess which of two plain ones the system takes.
        if plain.is_some() || !is_plain(own, file.big32(at.checked_add(4)?)?) {
            return None;
        }
        plain = Some(u64::from(file.big32(at.checked_add(8)?)?));
    }
    plain
}

/// Not arm64e, nor any sub-type that is newer than this code. `x86_64h` is refused as well: it is
/// not what the library is.
fn is_plain(own: u32, subtype: u32) -> bool {
    let subtype = subtype & SUBTYPE;
    match own {
        CPU_ARM64 => subtype <= 1,
        _ => subtype == 3,
    }
}

/// Whether a code directory has a flag that keeps the library out: restricted, library
/// validation, hardened runtime. The entitlements that would let it in all the same are not read:
/// a hardened child is never followed.
fn is_guarded<R: FnMut(u64, &mut [u8]) -> usize>(file: &mut Window<R>, at: u64) -> Option<bool> {
    const SUPERBLOB: u32 = 0xfade_0cc0;
    const DIRECTORY: u32 = 0xfade_0c02;
    const SLOT_DIRECTORY: u32 = 0;
    /// Directories with other hashes: the system chooses which one it takes.
    const SLOTS_ALTERNATE: core::ops::Range<u32> = 0x1000..0x1005;
    const BLOBS: u32 = 64;
    const GUARDS: u32 = 0x800 | 0x2000 | 0x1_0000;
    if file.big32(at)? != SUPERBLOB {
        return None;
    }
    let count = file.big32(at.checked_add(8)?)?;
    if count > BLOBS {
        return None;
    }
    let mut guards = None;
    for i in 0..u64::from(count) {
        let index = at.checked_add(12)?.checked_add(i.checked_mul(8)?)?;
        let slot = file.big32(index)?;
        if slot != SLOT_DIRECTORY && !SLOTS_ALTERNATE.contains(&slot) {
            continue;
        }
        let offset = file.big32(index.checked_add(4)?)?;
        let directory = at.checked_add(offset.into())?;
        if file.big32(directory)? != DIRECTORY {
            return None;
        }
        let flags = file.big32(directory.checked_add(12)?)? & GUARDS;
        // Other than 0 in what belongs to the system itself.
        let [platform] = file.at(directory.checked_add(38)?)?;
        guards = Some(guards == Some(true) || flags != 0 || platform != 0);
    }
    guards
}
