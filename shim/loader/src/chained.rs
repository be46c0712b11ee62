//! `LC_DYLD_CHAINED_FIXUPS`: each word to change says where the next one is.

use crate::Problem;
use crate::bytes::Bytes;
use crate::commands::Place;
use crate::plan::{FixupKind, Table};

/// Target is an address of the file.
const PTR_64: u16 = 2;
/// Target is an offset from the base.
const PTR_64_OFFSET: u16 = 6;
/// A page without a fixup.
const NO_START: u16 = 0xffff;

struct Import {
    symbol: String,
    addend: i64,
    weak: bool,
}

pub(crate) fn read(
    file: Bytes<'_>,
    (offset, size): Place,
    table: &mut Table<'_>,
) -> Result<(), Problem> {
    let data = file.part(offset, size, "chained fixups")?;
    let version = data.u32(0)?;
    if version != 0 {
        return Err(Problem::unsupported(format_args!(
            "chained fixups of version {version}"
        )));
    }
    let imports = imports(data)?;
    let starts_at = u64::from(data.u32(4)?);
    let starts = data.part(
        starts_at,
        data.len() as u64 - starts_at.min(data.len() as u64),
        "chain starts",
    )?;
    let segments = starts.u32(0)?;
    for number in 0..segments as usize {
        // Bounded by the data: each turn reads a word of it.
        let at = starts.u32(4 + number * 4)?;
        if at != 0 {
            segment(starts, at as usize, number, &imports, table)?;
        }
    }
    Ok(())
}

fn imports(data: Bytes<'_>) -> Result<Vec<Import>, Problem> {
    let (at, names, count) = (data.u32(8)?, data.u32(12)?, data.u32(16)?);
    let (format, compressed) = (data.u32(20)?, data.u32(24)?);
    if compressed != 0 {
        return Err(Problem::unsupported("compressed symbol names"));
    }
    let mut found = Vec::new();
    for number in 0..count as usize {
        let entry =
            |size: usize| data.part(at as u64 + (number * size) as u64, size as u64, "import");
        let (name, weak, addend) = match format {
            1 | 2 => {
                let entry = entry(format as usize * 4)?;
                let word = entry.u32(0)?;
                let addend = if format == 2 {
                    i64::from(entry.u32(4)?.cast_signed())
                } else {
                    0
                };
                (word >> 9, word & 0x100 != 0, addend)
            }
            3 => {
                let entry = entry(16)?;
                let word = entry.u64(0)?;
                (
                    (word >> 32) as u32,
                    word & 0x1_0000 != 0,
                    entry.u64(8)?.cast_signed(),
                )
            }
            other => {
                return Err(Problem::unsupported(format_args!(
                    "imports of format {other}"
                )));
            }
        };
        let symbol = data.c_string(names as usize + name as usize)?;
        found.push(Import {
            symbol,
            addend,
            weak,
        });
    }
    Ok(found)
}

fn segment(
    starts: Bytes<'_>,
    at: usize,
    number: usize,
    imports: &[Import],
    table: &mut Table<'_>,
) -> Result<(), Problem> {
    let page_size = u64::from(starts.u16(at + 4)?);
    let format = starts.u16(at + 6)?;
    let pages = starts.u16(at + 20)?;
    if format != PTR_64 && format != PTR_64_OFFSET {
        return Err(Problem::unsupported(format_args!(
            "chained pointers of format {format} (1, 7, 9 and 12 are arm64e)"
        )));
    }
    let base = table.segment(number)?.offset;
    for page in 0..pages {
        let start = starts.u16(at + 22 + usize::from(page) * 2)?;
        if start == NO_START {
            continue;
        }
        if u64::from(start) >= page_size {
            return Err(Problem::damaged(format_args!(
                "the chain of page {page} starts at {start}, beyond the page"
            )));
        }
        let mut offset = base + u64::from(page) * page_size + u64::from(start);
        loop {
            let word = table.stored(offset)?;
            let next = (word >> 51) & 0xfff;
            let kind = if word >> 63 == 1 {
                bind(word, imports)?
            } else {
                let target = word & 0xf_ffff_ffff;
                let target = if format == PTR_64 {
                    target.wrapping_sub(table.commands.base)
                } else {
                    target
                };
                FixupKind::Rebase {
                    target,
                    top: (word >> 36) as u8,
                }
            };
            table.set(offset, kind)?;
            if next == 0 {
                break;
            }
            offset += next * 4;
        }
    }
    Ok(())
}

fn bind(word: u64, imports: &[Import]) -> Result<FixupKind, Problem> {
    let ordinal = (word & 0xff_ffff) as usize;
    let import = imports.get(ordinal).ok_or_else(|| {
        Problem::damaged(format_args!(
            "a fixup names import {ordinal} of {}",
            imports.len()
        ))
    })?;
    let addend = import.addend.wrapping_add(((word >> 24) & 0xff) as i64);
    Ok(FixupKind::Bind {
        symbol: import.symbol.clone(),
        addend,
        weak: import.weak,
    })
}
