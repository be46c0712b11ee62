//! Is a file a library that this system's programs can load?

use std::fs::File;

use super::bytes::{Bytes, Damage, OpenFile, take};
use super::{System, elf, macho};

/// `MH_DYLIB`
const DYLIB: u32 = 6;

/// Whether `file` is a library for arm64 programs of a Mac, or, on Linux, for those of this
/// build's own processor. Headers only are read.
///
/// # Errors
/// Why not, as the end of a sentence that starts with the file's name.
pub fn is_library(file: File, system: System) -> Result<(), String> {
    let file = OpenFile::new(file).map_err(|e| format!("cannot be read: {e}"))?;
    judge(&file, system)
}

fn judge(bytes: &dyn Bytes, system: System) -> Result<(), String> {
    let judged = match system {
        System::Mac => mach_o(bytes),
        System::Linux => elf(bytes),
    };
    judged.unwrap_or_else(|damage| {
        Err(match damage {
            Damage::Cut(what) => {
                format!("is damaged: the file ends before the end of {what}")
            }
            Damage::Bad(what) => format!("is damaged: {what}"),
            Damage::Io(error) => format!("cannot be read: {error}"),
        })
    })
}

fn start(bytes: &dyn Bytes) -> Result<Vec<u8>, Damage> {
    let length = bytes.size().min(8);
    take(bytes, 0, length, 8, "its first bytes")
}

fn mach_o(bytes: &dyn Bytes) -> Result<Result<(), String>, Damage> {
    let Some(magic) = macho::magic(&start(bytes)?) else {
        return Ok(Err("is not a Mach-O library".to_owned()));
    };
    let slices = macho::slices(bytes, magic)?;
    let name = |slice: &macho::Slice| macho::arch_name(slice.cpu, slice.subtype);
    // arm64 programs take any other arm64 slice before a plain one, and cannot load it.
    let other = slices
        .iter()
        .find(|s| s.cpu == macho::ARM64 && s.subtype > 1);
    if let Some(other) = other {
        let says = format!(
            "has a slice for {}, which no plain arm64 program can load",
            name(other)
        );
        return Ok(Err(says));
    }
    let Some(ours) = slices.iter().find(|s| s.cpu == macho::ARM64) else {
        let all: Vec<String> = slices.iter().map(name).collect();
        return Ok(Err(format!("is for {}, not for arm64", all.join(" and "))));
    };
    if ours.kind != Some(DYLIB) {
        let says = format!("is not a library: {}", macho::kind_name(ours.kind));
        return Ok(Err(says));
    }
    macho::image(bytes, ours).map(|_| Ok(()))
}

fn elf(bytes: &dyn Bytes) -> Result<Result<(), String>, Damage> {
    if !elf::magic(&start(bytes)?) {
        return Ok(Err("is not an ELF library".to_owned()));
    }
    Ok(match elf::read(bytes)? {
        Some(elf) if elf.machine != elf::own_machine() => {
            Err("is for another processor".to_owned())
        }
        Some(elf) if elf.kind == elf::Kind::Other => Ok(()),
        Some(_) => Err("is a program, not a library".to_owned()),
        None => Err("is not for a 64-bit processor of this kind".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Mach-O image that is a header only.
    fn image(cpu: u32, subtype: u32, kind: u32) -> Vec<u8> {
        let words = [0xfeed_facf, cpu, subtype, kind, 0, 0, 0, 0];
        words
            .iter()
            .flat_map(|word: &u32| word.to_le_bytes())
            .collect()
    }

    #[test]
    fn only_a_plain_arm64_library_is_one_on_a_mac() {
        let says = |bytes: &[u8]| judge(&bytes, System::Mac).err().unwrap_or_default();
        assert_eq!(says(&image(macho::ARM64, 0, DYLIB)), "");
        for (bytes, part) in [
            (image(macho::ARM64, 2, DYLIB), "arm64e"),
            (image(macho::X86_64, 3, DYLIB), "is for x86_64"),
            (image(macho::ARM64, 0, 2), "executable"),
            (b"garbage of some length".to_vec(), "not a Mach-O"),
            (Vec::new(), "not a Mach-O"),
            (image(macho::ARM64, 0, DYLIB)[..20].to_vec(), "ends before"),
        ] {
            assert!(says(&bytes).contains(part), "{part}: {}", says(&bytes));
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_program_is_no_library_and_a_cut_library_is_damaged() {
        let says = |bytes: &[u8]| judge(&bytes, System::Linux).err().unwrap_or_default();
        let this = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(says(&this).contains("is a program"), "{}", says(&this));
        let cut = &this[..this.len() / 2];
        assert!(says(cut).contains("ends before"), "{}", says(cut));
    }
}
