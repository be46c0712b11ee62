//! Which libraries a program links, read from its file: Mach-O or ELF.
//!
//! **Contract.** Only what is asked for is read, never the whole file. Whatever is not
//! understood has no libraries: this is for recognising a client, and an unknown client is
//! nothing to fear.

use std::fs::File;
use std::path::Path;

use object::macho::{FatArch32, FatArch64, MachHeader32, MachHeader64};
use object::read::elf::{Dyn, FileHeader, SectionHeader as _};
use object::read::macho::{FatArch, LoadCommandVariant, MachHeader, MachOFatFile};
use object::read::{FileKind, ReadCache, ReadRef};
use object::{Endianness, elf};

/// No program links more libraries than this; a file that says so is broken.
const MAX_LIBRARIES: usize = 512;

/// The names of the libraries that the program at `path` links, as they stand in it: install
/// names on a Mac, sonames elsewhere.
pub fn libraries(path: &Path) -> Vec<String> {
    let Ok(file) = File::open(path) else {
        return Vec::new();
    };
    let cache = ReadCache::new(file);
    of_file(&cache).unwrap_or_default()
}

fn of_file<'data, R: ReadRef<'data>>(data: R) -> Option<Vec<String>> {
    match FileKind::parse(data).ok()? {
        FileKind::Elf32 => elf_needed::<elf::FileHeader32<Endianness>, R>(data),
        FileKind::Elf64 => elf_needed::<elf::FileHeader64<Endianness>, R>(data),
        FileKind::MachO32 => mach_dylibs::<MachHeader32<Endianness>, R>(data, 0),
        FileKind::MachO64 => mach_dylibs::<MachHeader64<Endianness>, R>(data, 0),
        FileKind::MachOFat32 => fat::<FatArch32, R>(data),
        FileKind::MachOFat64 => fat::<FatArch64, R>(data),
        _ => None,
    }
}

fn fat<'data, A: FatArch, R: ReadRef<'data>>(data: R) -> Option<Vec<String>> {
    let fat = MachOFatFile::<A>::parse(data).ok()?;
    let arm64 = |a: &&A| a.architecture() == object::Architecture::Aarch64;
    let slice = fat.arches().iter().find(arm64).or(fat.arches().first())?;
    mach_dylibs::<MachHeader64<Endianness>, R>(data, slice.file_range().0)
}

fn mach_dylibs<'data, M: MachHeader<Endian = Endianness>, R: ReadRef<'data>>(
    data: R,
    at: u64,
) -> Option<Vec<String>> {
    let header = M::parse(data, at).ok()?;
    let endian = header.endian().ok()?;
    let mut commands = header.load_commands(endian, data, at).ok()?;
    let mut names = Vec::new();
    while let Ok(Some(command)) = commands.next() {
        let Ok(LoadCommandVariant::Dylib(dylib)) = command.variant() else {
            continue;
        };
        let name = command.string(endian, dylib.dylib.name).ok()?;
        names.push(String::from_utf8_lossy(name).into_owned());
        if names.len() == MAX_LIBRARIES {
            break;
        }
    }
    Some(names)
}

fn elf_needed<'data, E: FileHeader<Endian = Endianness>, R: ReadRef<'data>>(
    data: R,
) -> Option<Vec<String>> {
    let header = E::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let (entries, link) = sections.dynamic(endian, data).ok()??;
    let strings = sections.section(link).ok()?;
    let (start, size) = strings.file_range(endian)?;
    let mut names = Vec::new();
    for entry in entries.iter().take_while(|e| !is_null(*e, endian)) {
        if entry.tag(endian) != elf::DT_NEEDED {
            continue;
        }
        let offset = start.checked_add(entry.val32(endian)?.into())?;
        let name = data
            .read_bytes_at_until(offset..start.checked_add(size)?, 0)
            .ok()?;
        names.push(String::from_utf8_lossy(name).into_owned());
        if names.len() == MAX_LIBRARIES {
            break;
        }
    }
    Some(names)
}

fn is_null<D: Dyn<Endian = Endianness>>(entry: &D, endian: Endianness) -> bool {
    entry.tag(endian) == elf::DT_NULL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_links_what_every_program_links() {
        let own = std::env::current_exe().unwrap();
        let libraries = libraries(&own);
        let base = if cfg!(target_os = "macos") {
            "libSystem"
        } else {
            "libc.so"
        };
        assert!(libraries.iter().any(|l| l.contains(base)), "{libraries:?}");
    }

    #[test]
    fn other_files_link_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        for (name, content) in [
            ("empty", &b""[..]),
            ("script", b"#!/bin/sh\n"),
            ("cut", &own[..own.len().min(1000)]),
        ] {
            let path = dir.path().join(name);
            std::fs::write(&path, content).unwrap();
            assert_eq!(libraries(&path), Vec::<String>::new(), "{name}");
        }
        assert_eq!(libraries(dir.path()), Vec::<String>::new());
    }
}
