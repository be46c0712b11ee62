//! The load commands: segments, sections, names, where the fixups are.

use crate::Problem;
use crate::bytes::Bytes;
use crate::image::{Cpu, FLAG_TWOLEVEL, HEADER_SIZE, Header};

/// Largest image taken, in bytes of address space. The shim has 64 KB; the limit
/// keeps a damaged size field from asking the system for terabytes.
const MAX_SPAN: u64 = 256 << 20;
/// Segments start on a multiple of this, the smallest page of any system in use.
pub(crate) const MIN_PAGE: u64 = 4096;

pub(crate) const PROT_WRITE: u32 = 2;
pub(crate) const PROT_EXECUTE: u32 = 4;

/// One `LC_SEGMENT_64`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Name, such as `__TEXT`.
    pub name: String,
    /// Where it goes, in bytes from the image's base.
    pub offset: u64,
    /// Bytes of address space.
    pub size: u64,
    /// Where its contents are in the file.
    pub file_offset: u64,
    /// Bytes in the file; the rest of `size` is zero. Never more than `size`.
    pub file_size: u64,
    /// Protection while the program runs: 1 read, 2 write, 4 execute. Never
    /// write and execute together.
    pub protection: u32,
    /// `SG_READ_ONLY`: writable only until the fixups are done.
    pub read_only_after_fixups: bool,
    /// Its sections, in file order.
    pub sections: Vec<Section>,
}

impl Segment {
    /// Whether `len` bytes at `offset` (from the image's base) lie inside.
    pub(crate) fn holds(&self, offset: u64, len: u64) -> bool {
        offset >= self.offset
            && offset
                .checked_add(len)
                .is_some_and(|end| end <= self.offset + self.size)
    }
}

/// One section of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Name, such as `__interpose`.
    pub name: String,
    /// Where it is, in bytes from the image's base.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The lowest byte of the flags: `S_REGULAR` and so on.
    pub kind: u8,
}

/// `LC_BUILD_VERSION`: the platform (1 is macOS) and the oldest system version
/// the file runs on, in nibbles `xxxx.yy.zz` (0x000d0000 is 13.0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildVersion {
    /// Platform number.
    pub platform: u32,
    /// Minimum version.
    pub minimum: u32,
}

/// A place in the file: offset and size in bytes.
pub(crate) type Place = (u64, u64);

/// Everything the load commands say, checked against the file's length.
#[derive(Debug, Clone)]
pub struct Commands {
    /// The processor.
    pub cpu: Cpu,
    /// Whether names are bound per library (`MH_TWOLEVEL`).
    pub two_level: bool,
    /// `LC_ID_DYLIB`; empty for a bundle.
    pub install_name: String,
    /// The libraries it names, in order.
    pub libraries: Vec<String>,
    /// `LC_UUID`, if it has one.
    pub uuid: Option<[u8; 16]>,
    /// `LC_BUILD_VERSION`, if it has one.
    pub build_version: Option<BuildVersion>,
    /// The segments, in file order, which is also that of their addresses.
    pub segments: Vec<Segment>,
    /// Bytes of address space from the base to the end of the last segment.
    pub span: u64,
    /// The address that the file's own pointers take for the base.
    pub base: u64,
    pub(crate) rebase: Option<Place>,
    pub(crate) bind: Option<Place>,
    pub(crate) weak_bind: Option<Place>,
    pub(crate) lazy_bind: Option<Place>,
    pub(crate) chained: Option<Place>,
}

impl Commands {
    /// Reads the header and the load commands of a thin Mach-O dylib or bundle.
    ///
    /// # Errors
    /// [`Problem`], as described there.
    pub fn read(file: &[u8]) -> Result<Commands, Problem> {
        let file = Bytes::new(file, "file");
        let header = Header::read(file)?;
        let area = file.part(HEADER_SIZE, header.commands_size.into(), "load commands")?;
        let mut found = Commands {
            cpu: header.cpu,
            two_level: header.flags & FLAG_TWOLEVEL != 0,
            install_name: String::new(),
            libraries: Vec::new(),
            uuid: None,
            build_version: None,
            segments: Vec::new(),
            span: 0,
            base: 0,
            rebase: None,
            bind: None,
            weak_bind: None,
            lazy_bind: None,
            chained: None,
        };
        let mut at = 0_u64;
        for number in 0..header.commands {
            let head = area.part(at, 8, "load command")?;
            let (id, size) = (head.u32(0)?, u64::from(head.u32(4)?));
            if size < 8 || size % 4 != 0 {
                return Err(Problem::damaged(format_args!(
                    "load command {number} says it has {size} bytes"
                )));
            }
            found.take(id, area.part(at, size, "load command")?)?;
            at += size;
        }
        if at != u64::from(header.commands_size) {
            return Err(Problem::damaged(format_args!(
                "the load commands take {at} bytes, the header says {}",
                header.commands_size
            )));
        }
        found.lay_out(file)?;
        Ok(found)
    }

    fn take(&mut self, id: u32, command: Bytes<'_>) -> Result<(), Problem> {
        // Commands with this bit may not be ignored by a loader.
        const REQUIRED: u32 = 0x8000_0000;
        match id {
            0x19 => self.segments.push(segment(command)?),
            0x0d => self.install_name = command.c_string(command.u32(8)? as usize)?,
            // Plain, weak, re-exported, upward and lazy libraries.
            0x0c | 0x8000_0018 | 0x8000_001f | 0x8000_0023 | 0x20 => {
                self.libraries
                    .push(command.c_string(command.u32(8)? as usize)?);
            }
            0x1b => self.uuid = Some(command.array16(8)?),
            0x32 => {
                self.build_version = Some(BuildVersion {
                    platform: command.u32(8)?,
                    minimum: command.u32(12)?,
                });
            }
            0x22 | 0x8000_0022 => {
                self.rebase = place(command, 8)?;
                self.bind = place(command, 16)?;
                self.weak_bind = place(command, 24)?;
                self.lazy_bind = place(command, 32)?;
            }
            0x8000_0034 => self.chained = place(command, 8)?,
            // Search paths and the export table: not needed to run one library.
            0x8000_001c | 0x8000_0033 => {}
            0x1a | 0x11 => {
                return Err(Problem::unsupported(
                    "an initialiser of the old kind (LC_ROUTINES)",
                ));
            }
            0x21 | 0x2c => {
                return Err(Problem::unsupported(
                    "an encrypted file (LC_ENCRYPTION_INFO)",
                ));
            }
            0x01 => return Err(Problem::unsupported("a 32-bit segment")),
            other if other & REQUIRED != 0 => {
                return Err(Problem::unsupported(format_args!(
                    "load command 0x{other:x}"
                )));
            }
            _ => {}
        }
        Ok(())
    }

    /// Makes addresses relative to the base and checks the whole layout.
    fn lay_out(&mut self, file: Bytes<'_>) -> Result<(), Problem> {
        let Some(first) = self.segments.first() else {
            return Err(Problem::damaged("it has no segments"));
        };
        if first.file_offset != 0 || first.file_size < HEADER_SIZE {
            return Err(Problem::damaged(format_args!(
                "the first segment, {}, does not hold the header",
                first.name
            )));
        }
        self.base = first.offset;
        let mut end = 0;
        for segment in &mut self.segments {
            let name = &segment.name;
            // Fixups name segments by their number, so the order is kept as it is.
            segment.offset = segment.offset.checked_sub(self.base).ok_or_else(|| {
                Problem::unsupported(format_args!("segment {name} lies below the first one"))
            })?;
            if segment.offset % MIN_PAGE != 0 {
                return Err(Problem::damaged(format_args!(
                    "segment {name} does not start on a page"
                )));
            }
            if segment.offset < end {
                return Err(Problem::damaged(format_args!(
                    "segment {name} overlaps the one before"
                )));
            }
            end = segment
                .offset
                .checked_add(segment.size)
                .filter(|&end| end <= MAX_SPAN)
                .ok_or_else(|| {
                    Problem::unsupported(format_args!(
                        "segment {name} ends beyond {MAX_SPAN} bytes from the base"
                    ))
                })?;
            if segment.file_size > segment.size {
                return Err(Problem::damaged(format_args!(
                    "segment {name} has more contents than room"
                )));
            }
            file.part(segment.file_offset, segment.file_size, "segment's contents")?;
            if segment.protection & (PROT_WRITE | PROT_EXECUTE) == PROT_WRITE | PROT_EXECUTE {
                return Err(Problem::unsupported(format_args!(
                    "segment {name} is writable and executable at once"
                )));
            }
            for section in &mut segment.sections {
                section.offset = section.offset.wrapping_sub(self.base);
            }
            for section in &segment.sections {
                if !segment.holds(section.offset, section.size) {
                    return Err(Problem::damaged(format_args!(
                        "section {} lies outside its segment {name}",
                        section.name
                    )));
                }
                refuse(section)?;
            }
        }
        self.span = end;
        Ok(())
    }
}

/// Sections that mean work for a runtime which is not there.
fn refuse(section: &Section) -> Result<(), Problem> {
    let Section { name, kind, .. } = section;
    let what = match kind {
        _ if section.size == 0 => return Ok(()),
        0x0a => "functions to run at unload",
        0x11..=0x15 => "thread-local variables",
        _ if name.starts_with("__objc_") => "Objective-C metadata",
        _ if name.starts_with("__swift5_") => "Swift metadata",
        _ => return Ok(()),
    };
    Err(Problem::unsupported(format_args!(
        "{what} (section {name})"
    )))
}

/// An offset and a size in the file, `None` where the size is zero.
fn place(command: Bytes<'_>, at: usize) -> Result<Option<Place>, Problem> {
    let (offset, size) = (command.u32(at)?, command.u32(at + 4)?);
    Ok((size != 0).then_some((offset.into(), size.into())))
}

fn segment(command: Bytes<'_>) -> Result<Segment, Problem> {
    const FIXED: u64 = 72;
    const SECTION: u64 = 80;
    const SG_READ_ONLY: u32 = 0x10;
    let name = command.name16(8)?;
    let count = u64::from(command.u32(64)?);
    if FIXED + count * SECTION != command.len() as u64 {
        return Err(Problem::damaged(format_args!(
            "segment {name} says it has {count} sections, its load command has {} bytes",
            command.len()
        )));
    }
    let mut sections = Vec::new();
    for number in 0..count {
        let section = command.part(FIXED + number * SECTION, SECTION, "section")?;
        sections.push(Section {
            name: section.name16(0)?,
            offset: section.u64(32)?,
            size: section.u64(40)?,
            kind: section.u8(64)?,
        });
    }
    Ok(Segment {
        name,
        offset: command.u64(24)?,
        size: command.u64(32)?,
        file_offset: command.u64(40)?,
        file_size: command.u64(48)?,
        protection: command.u32(60)?,
        read_only_after_fixups: command.u32(68)? & SG_READ_ONLY != 0,
        sections,
    })
}
