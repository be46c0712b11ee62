//! Whether an ELF program can load the library: the Linux form's stand-in for Mach-O.

use super::Window;

/// `e_machine` of the library's own architecture.
#[cfg(target_arch = "x86_64")]
const OWN: u16 = 62;
#[cfg(not(target_arch = "x86_64"))]
const OWN: u16 = 183;

const IDENT: [u8; 6] = *b"\x7fELF\x02\x01";
const EXEC: u16 = 2;
const DYN: u16 = 3;
const PT_INTERP: u32 = 3;
/// glibc's dynamic linkers: no other loads a library that needs glibc.
const LINKERS: [&[u8]; 2] = [
    b"/lib64/ld-linux-x86-64.so.2",
    b"/lib/ld-linux-aarch64.so.1",
];

/// Whether the program in the file can load the library: a dynamic executable for this
/// architecture and this C library.
pub(crate) fn can_load(read: impl FnMut(u64, &mut [u8]) -> usize) -> bool {
    decide(&mut Window::new(read), OWN) == Some(true)
}

fn decide<R: FnMut(u64, &mut [u8]) -> usize>(file: &mut Window<R>, own: u16) -> Option<bool> {
    let kind = file.at(16).map(u16::from_le_bytes)?;
    if file.at::<6>(0)? != IDENT
        || (kind != EXEC && kind != DYN)
        || file.at(18).map(u16::from_le_bytes)? != own
    {
        return Some(false);
    }
    let table = file.at(32).map(u64::from_le_bytes)?;
    let size = file.at(54).map(u16::from_le_bytes)?;
    let count = file.at(56).map(u16::from_le_bytes)?;
    for i in 0..u64::from(count.min(256)) {
        let at = table.checked_add(i.checked_mul(size.into())?)?;
        if file.little32(at)? == PT_INTERP {
            let name = file.at(at.checked_add(8)?).map(u64::from_le_bytes)?;
            let text = file.at::<27>(name)?;
            return Some(LINKERS.iter().any(|linker| text.starts_with(linker)));
        }
    }
    Some(false)
}
