//! ELF programs: the simulated guest's on Linux, where `LD_PRELOAD` stands for
//! `DYLD_INSERT_LIBRARIES`. 64-bit little-endian ones, which is what the library is built for.

use object::elf::{self, Dyn64, FileHeader64, ProgramHeader64};
use object::endian::LittleEndian as LE;
use object::pod::{self, Pod};

use super::bytes::{Bytes, Damage, take, text, within};

/// A kernel takes at most one page of them.
const MAX_HEADERS: u16 = 1024;
/// A large program has some hundred entries.
const MAX_DYNAMIC: usize = 1 << 20;
const MAX_LIBRARIES: usize = 4096;

/// What kind of ELF file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A program that names glibc's dynamic linker.
    Dynamic,
    /// A program that names another one.
    OtherLinker,
    /// A program without one: nothing reads the variables.
    Static,
    /// A library, an object, a core.
    Other,
}

/// What an ELF file says of itself.
#[derive(Debug)]
pub(super) struct Elf {
    /// `EM_..`.
    pub(super) machine: u16,
    pub(super) kind: Kind,
    /// Names of the libraries it links, in order.
    pub(super) libraries: Vec<String>,
}

/// This build's own `EM_..`: the library is built for the same.
pub(super) fn own_machine() -> u16 {
    if cfg!(target_arch = "aarch64") {
        elf::EM_AARCH64.0
    } else {
        elf::EM_X86_64.0
    }
}

/// Whether these are the first bytes of an ELF file.
pub(super) fn magic(start: &[u8]) -> bool {
    start.starts_with(b"\x7fELF")
}

/// Reads the headers. None: not 64-bit little-endian.
pub(super) fn read(bytes: &dyn Bytes) -> Result<Option<Elf>, Damage> {
    const HEADER: &str = "the ELF header";
    const DYNAMIC: &str = "the dynamic section";
    const LINKER: &str = "the name of the dynamic linker";
    let ident = take(bytes, 0, 16, 16, HEADER)?;
    if ident[4] != 2 || ident[5] != 1 {
        return Ok(None);
    }
    let size = size_of::<FileHeader64<LE>>();
    let head = take(bytes, 0, size as u64, size, HEADER)?;
    let header = one::<FileHeader64<LE>>(&head, HEADER)?;
    let count = header.e_phnum.get(LE);
    let entry = size_of::<ProgramHeader64<LE>>();
    let has_segments = count > 0;
    if count > MAX_HEADERS || (has_segments && usize::from(header.e_phentsize.get(LE)) != entry) {
        return Err(Damage::Bad("the ELF header: its program headers"));
    }
    // Sections are not needed to run, but they are what a cut file has lost first.
    let sections = u64::from(header.e_shnum.get(LE)) * u64::from(header.e_shentsize.get(LE));
    within(
        header.e_shoff.get(LE),
        sections,
        bytes.size(),
        "the section headers",
    )?;

    let table = usize::from(count) * entry;
    let raw = take(
        bytes,
        header.e_phoff.get(LE),
        table as u64,
        table,
        "the program headers",
    )?;
    let mut segments = Vec::new();
    for part in raw.chunks_exact(entry) {
        segments.push(*one::<ProgramHeader64<LE>>(part, "the program headers")?);
    }
    let mut interpreter = None;
    let mut dynamic = Vec::new();
    for segment in &segments {
        let (at, length) = (segment.p_offset.get(LE), segment.p_filesz.get(LE));
        within(at, length, bytes.size(), "a segment")?;
        match segment.p_type.get(LE) {
            elf::PT_INTERP => {
                interpreter = Some(text(bytes, at, at.saturating_add(length), 4096, LINKER)?);
            }
            elf::PT_DYNAMIC => dynamic = take(bytes, at, length, MAX_DYNAMIC, DYNAMIC)?,
            _ => {}
        }
    }
    let mut entries = Vec::new();
    for part in dynamic.chunks_exact(size_of::<Dyn64<LE>>()) {
        let entry = one::<Dyn64<LE>>(part, DYNAMIC)?;
        let (tag, value) = (entry.d_tag.get(LE), entry.d_val.get(LE));
        if tag == elf::DT_NULL {
            break;
        }
        entries.push((tag, value));
    }
    let pie = entries
        .iter()
        .any(|(tag, value)| *tag == elf::DT_FLAGS_1 && value & elf::DF_1_PIE.0 != 0);
    // The library needs glibc, whose linkers have this name everywhere.
    let glibc = |linker: &String| {
        linker
            .rsplit('/')
            .next()
            .is_some_and(|it| it.starts_with("ld-linux"))
    };
    let kind = match header.e_type.get(LE) {
        elf::ET_EXEC | elf::ET_DYN if interpreter.as_ref().is_some_and(glibc) => Kind::Dynamic,
        elf::ET_EXEC | elf::ET_DYN if interpreter.is_some() => Kind::OtherLinker,
        elf::ET_EXEC => Kind::Static,
        elf::ET_DYN if pie => Kind::Static,
        _ => Kind::Other,
    };
    let libraries = libraries(bytes, &segments, &entries)?;
    Ok(Some(Elf {
        machine: header.e_machine.get(LE).0,
        kind,
        libraries,
    }))
}

/// The names that `DT_NEEDED` point to.
fn libraries(
    bytes: &dyn Bytes,
    segments: &[ProgramHeader64<LE>],
    entries: &[(elf::DynamicTag, u64)],
) -> Result<Vec<String>, Damage> {
    const WHAT: &str = "the names of linked libraries";
    let value = |wanted| {
        entries
            .iter()
            .find(|(tag, _)| *tag == wanted)
            .map(|(_, value)| *value)
    };
    let needed = entries.iter().filter(|(tag, _)| *tag == elf::DT_NEEDED);
    let needed: Vec<u64> = needed.map(|(_, value)| *value).collect();
    if needed.is_empty() {
        return Ok(Vec::new());
    }
    if needed.len() > MAX_LIBRARIES {
        return Err(Damage::Bad("the number of linked libraries"));
    }
    let (Some(address), Some(size)) = (value(elf::DT_STRTAB), value(elf::DT_STRSZ)) else {
        return Err(Damage::Bad(WHAT));
    };
    // The table is given by its address: find the segment that is loaded there.
    let place = segments.iter().find_map(|segment| {
        let inside = address.checked_sub(segment.p_vaddr.get(LE))?;
        let loaded = segment.p_type.get(LE) == elf::PT_LOAD;
        (loaded && inside < segment.p_filesz.get(LE))
            .then(|| segment.p_offset.get(LE).checked_add(inside))
            .flatten()
    });
    let start = place.ok_or(Damage::Bad(WHAT))?;
    let end = start.checked_add(size).ok_or(Damage::Bad(WHAT))?;
    needed
        .into_iter()
        .map(|at| {
            let at = start.checked_add(at).ok_or(Damage::Bad(WHAT))?;
            text(bytes, at, end, 4096, WHAT)
        })
        .collect()
}

fn one<'a, T: Pod>(data: &'a [u8], what: &'static str) -> Result<&'a T, Damage> {
    Ok(pod::from_bytes::<T>(data)
        .map_err(|()| Damage::Cut(what))?
        .0)
}
