//! Mach-O headers: which slices a file has, and what one image says of itself.

use object::endian::{BigEndian as BE, LittleEndian as LE};
use object::macho::{self, FatArch32, FatArch64, FatHeader, MachHeader64};
use object::pod;
use object::read::macho::{LoadCommandVariant, MachHeader as _, Segment as _};

use super::bytes::{Bytes, Damage, Window, take, within};

/// More than any linker writes (a large browser needs about 10 KB), and little to read.
const MAX_COMMANDS: usize = 1 << 20;

/// The kernel looks for the table in the first page only; no real file has ten.
const MAX_SLICES: u32 = 40;

/// More than any program links.
const MAX_LIBRARIES: usize = 4096;

/// One architecture of a file: all there is in a thin one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    /// `CPU_TYPE_..`.
    pub(super) cpu: u32,
    /// `CPU_SUBTYPE_..` without the capability bits.
    pub(super) subtype: u32,
    /// `MH_..`; none where the slice is no Mach-O image (an archive of objects).
    pub(super) kind: Option<u32>,
    /// Where it starts in the file.
    pub(super) offset: u64,
    /// In bytes.
    pub(super) size: u64,
}

pub(super) const ARM64: u32 = macho::CPU_TYPE_ARM64.0;
pub(super) const X86_64: u32 = macho::CPU_TYPE_X86_64.0;
pub(super) const EXECUTE: u32 = macho::MH_EXECUTE.0;

/// What one image says of itself.
#[derive(Debug, Default)]
pub(super) struct Image {
    /// It names a dynamic linker, which is what reads the variables.
    pub(super) dynamic: bool,
    /// It has a segment `__RESTRICT`.
    pub(super) restrict_segment: bool,
    /// Names of the libraries it links, in order.
    pub(super) libraries: Vec<String>,
    /// Offset and size of its code signature.
    pub(super) signature: Option<(u64, u64)>,
}

/// What the first bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Magic {
    Thin,
    Fat32,
    Fat64,
}

/// Whether these are the first bytes of a Mach-O file.
pub(super) fn magic(start: &[u8]) -> Option<Magic> {
    match super::bytes::be32(start, 0)? {
        // Little-endian and big-endian, 32 and 64 bits.
        0xfeed_face | 0xfeed_facf | 0xcefa_edfe | 0xcffa_edfe => Some(Magic::Thin),
        // A Java class starts the same; its next word is a version, at least 45.
        0xcafe_babe if super::bytes::be32(start, 4).is_none_or(|n| n <= MAX_SLICES) => {
            Some(Magic::Fat32)
        }
        0xcafe_babf => Some(Magic::Fat64),
        _ => None,
    }
}

/// The slices of a file, in the file's order, all within the file.
pub(super) fn slices(bytes: &dyn Bytes, magic: Magic) -> Result<Vec<Slice>, Damage> {
    if magic == Magic::Thin {
        return Ok(vec![thin(bytes, 0, bytes.size())?]);
    }
    const WHAT: &str = "the fat header";
    let head = take(bytes, 0, 8, 8, WHAT)?;
    let (header, _) = pod::from_bytes::<FatHeader>(&head).map_err(|()| Damage::Cut(WHAT))?;
    let count = header.nfat_arch.get(BE);
    if count == 0 || count > MAX_SLICES {
        return Err(Damage::Bad("the number of slices in the fat header"));
    }
    let entry = if magic == Magic::Fat32 { 20 } else { 32 };
    let table = take(bytes, 8, u64::from(count) * entry, 4096, WHAT)?;
    let mut slices = Vec::new();
    for one in table.chunks_exact(entry as usize) {
        let (cpu, subtype, offset, size) = if magic == Magic::Fat32 {
            let (arch, _) = pod::from_bytes::<FatArch32>(one).map_err(|()| Damage::Cut(WHAT))?;
            let (offset, size) = (arch.offset.get(BE), arch.size.get(BE));
            (
                arch.cputype.get(BE),
                arch.cpusubtype.get(BE),
                offset.into(),
                size.into(),
            )
        } else {
            let (arch, _) = pod::from_bytes::<FatArch64>(one).map_err(|()| Damage::Cut(WHAT))?;
            let (offset, size) = (arch.offset.get(BE), arch.size.get(BE));
            (arch.cputype.get(BE), arch.cpusubtype.get(BE), offset, size)
        };
        within(offset, size, bytes.size(), "a slice of the fat file")?;
        let slice = match thin(bytes, offset, size) {
            Ok(slice) => slice,
            Err(Damage::Bad(_)) if is_archive(bytes, offset, size)? => Slice {
                cpu: cpu.0,
                subtype: subtype.id().0,
                kind: None,
                offset,
                size,
            },
            Err(other) => return Err(other),
        };
        if (slice.cpu, slice.subtype) != (cpu.0, subtype.id().0) {
            return Err(Damage::Bad(
                "the fat header: a slice is of another architecture",
            ));
        }
        // Which of two equal ones runs is nobody's to guess; `arm64v8` is arm64 by another name.
        let same = |other: &Slice| {
            let plain = |subtype: u32| cpu.0 == ARM64 && subtype <= 1;
            let subtypes = (other.subtype, subtype.id().0);
            other.cpu == cpu.0
                && (subtypes.0 == subtypes.1 || (plain(subtypes.0) && plain(subtypes.1)))
        };
        if slices.iter().any(same) {
            return Err(Damage::Bad(
                "the fat header: two slices of one architecture",
            ));
        }
        slices.push(slice);
    }
    Ok(slices)
}

fn is_archive(bytes: &dyn Bytes, offset: u64, size: u64) -> Result<bool, Damage> {
    let start = take(bytes, offset, size.min(8), 8, "a slice of the fat file")?;
    Ok(start == b"!<arch>\n")
}

/// The image at `offset`, of whatever architecture.
fn thin(bytes: &dyn Bytes, offset: u64, size: u64) -> Result<Slice, Damage> {
    const WHAT: &str = "the Mach-O header";
    // The fields up to the file type are the same for 32 and 64 bits.
    within(0, 28, size, WHAT)?;
    let head = take(bytes, offset, 16, 16, WHAT)?;
    let word = |at: usize, big: bool| {
        let value = super::bytes::be32(&head, at).unwrap_or_default();
        if big { value } else { value.swap_bytes() }
    };
    let big = match word(0, true) {
        0xfeed_face | 0xfeed_facf => true,
        0xcefa_edfe | 0xcffa_edfe => false,
        _ => return Err(Damage::Bad("the Mach-O header: unknown first bytes")),
    };
    Ok(Slice {
        cpu: word(4, big),
        subtype: macho::CpuSubtype(word(8, big)).id().0,
        kind: Some(word(12, big)),
        offset,
        size,
    })
}

/// Reads the load commands of one 64-bit little-endian image: all that runs today.
pub(super) fn image(bytes: &dyn Bytes, slice: &Slice) -> Result<Image, Damage> {
    const HEADER: &str = "the Mach-O header";
    const COMMANDS: &str = "the load commands";
    let window = Window::new(bytes, slice.offset, slice.size)?;
    let size = size_of::<MachHeader64<LE>>();
    let head = take(&window, 0, size as u64, size, HEADER)?;
    let (header, _) =
        pod::from_bytes::<MachHeader64<LE>>(&head).map_err(|()| Damage::Cut(HEADER))?;
    if !header.is_supported() || !header.is_little_endian() {
        return Err(Damage::Bad("the Mach-O header: not 64-bit"));
    }
    let length = u64::from(header.sizeofcmds.get(LE));
    let whole = take(&window, 0, size as u64 + length, MAX_COMMANDS, COMMANDS)?;
    let bad = |_| Damage::Bad(COMMANDS);
    let mut commands = header.load_commands(LE, whole.as_slice(), 0).map_err(bad)?;
    let mut image = Image::default();
    while let Some(command) = commands.next().map_err(bad)? {
        match command.variant().map_err(bad)? {
            LoadCommandVariant::Segment64(segment, _) => {
                let (at, length) = segment.file_range(LE);
                within(at, length, window.size(), "a segment")?;
                image.restrict_segment |= segment.name() == b"__RESTRICT";
            }
            LoadCommandVariant::LoadDylinker(_) => image.dynamic = true,
            LoadCommandVariant::Dylib(dylib) => {
                let name = command.string(LE, dylib.dylib.name).map_err(bad)?;
                if image.libraries.len() == MAX_LIBRARIES {
                    return Err(Damage::Bad("the number of linked libraries"));
                }
                image
                    .libraries
                    .push(String::from_utf8_lossy(name).into_owned());
            }
            LoadCommandVariant::LinkeditData(data) if command.cmd() == macho::LC_CODE_SIGNATURE => {
                let at = (data.dataoff.get(LE).into(), data.datasize.get(LE).into());
                within(at.0, at.1, window.size(), "the code signature")?;
                if image.signature.replace(at).is_some() {
                    return Err(Damage::Bad("the load commands: two code signatures"));
                }
            }
            _ => {}
        }
    }
    Ok(image)
}

/// What an architecture is called, as `lipo` does.
pub(super) fn arch_name(cpu: u32, subtype: u32) -> String {
    match (cpu, subtype) {
        (ARM64, 0 | 1) => "arm64".into(),
        (ARM64, 2) => "arm64e".into(),
        (ARM64, other) => format!("arm64 (unknown sub-type {other})"),
        (X86_64, 8) => "x86_64h".into(),
        (X86_64, _) => "x86_64".into(),
        (7, _) => "i386".into(),
        (12, _) => "arm".into(),
        (0x0200_000c, _) => "arm64_32".into(),
        (18, _) => "ppc".into(),
        (0x0100_0012, _) => "ppc64".into(),
        (other, _) => format!("cpu type {other}"),
    }
}

/// What a file type is called.
pub(super) fn kind_name(kind: Option<u32>) -> &'static str {
    match kind {
        None => "archive",
        Some(1) => "object",
        Some(2) => "executable",
        Some(4) => "core",
        Some(6) => "library",
        Some(7) => "dynamic linker",
        Some(8) => "bundle",
        Some(9) => "library stub",
        Some(10) => "debug symbols",
        Some(11) => "kernel extension",
        Some(_) => "unknown kind",
    }
}
