//! `LC_DYLD_INFO`: rebases and binds as small programs of opcodes.

use crate::Problem;
use crate::bytes::Bytes;
use crate::commands::Place;
use crate::plan::{FixupKind, Table};

/// Size of a pointer, which most opcodes advance by.
const WORD: u64 = 8;
/// The one kind of rebase and bind that 64-bit files use.
const TYPE_POINTER: u8 = 1;

pub(crate) fn read(file: Bytes<'_>, table: &mut Table<'_>) -> Result<(), Problem> {
    let commands = table.commands;
    if commands.weak_bind.is_some() {
        return Err(Problem::unsupported(
            "symbols merged between libraries (weak binds)",
        ));
    }
    if let Some(place) = commands.rebase {
        rebases(part(file, place, "rebase opcodes")?, table)?;
    }
    if let Some(place) = commands.bind {
        binds(part(file, place, "bind opcodes")?, table, false)?;
    }
    // All lazy ones at once: dyld does the same for a library that is inserted.
    if let Some(place) = commands.lazy_bind {
        binds(part(file, place, "lazy bind opcodes")?, table, true)?;
    }
    Ok(())
}

fn part<'a>(
    file: Bytes<'a>,
    (offset, size): Place,
    what: &'static str,
) -> Result<Bytes<'a>, Problem> {
    file.part(offset, size, what)
}

/// The place the next fixup goes to. Arithmetic wraps, as the opcodes expect
/// (negative steps are written as huge ones); the table checks the result.
#[derive(Default)]
struct Cursor(Option<u64>);

impl Cursor {
    fn set(&mut self, table: &Table<'_>, segment: u8, offset: u64) -> Result<(), Problem> {
        self.0 = Some(table.segment(segment.into())?.offset.wrapping_add(offset));
        Ok(())
    }

    fn get(&self) -> Result<u64, Problem> {
        self.0
            .ok_or_else(|| Problem::damaged("a fixup before any segment was named"))
    }

    fn advance(&mut self, by: u64) -> Result<(), Problem> {
        self.0 = Some(self.get()?.wrapping_add(by));
        Ok(())
    }
}

fn rebases(code: Bytes<'_>, table: &mut Table<'_>) -> Result<(), Problem> {
    let mut at = 0;
    let mut cursor = Cursor::default();
    while at < code.len() {
        let byte = code.u8(at)?;
        at += 1;
        let low = byte & 0x0f;
        let (times, skip) = match byte & 0xf0 {
            0x00 => break,
            0x10 if low == TYPE_POINTER => continue,
            0x20 => {
                cursor.set(table, low, code.uleb(&mut at)?)?;
                continue;
            }
            0x30 => {
                cursor.advance(code.uleb(&mut at)?)?;
                continue;
            }
            0x40 => {
                cursor.advance(u64::from(low) * WORD)?;
                continue;
            }
            0x50 => (low.into(), 0),
            0x60 => (code.uleb(&mut at)?, 0),
            0x70 => (1, code.uleb(&mut at)?),
            0x80 => (code.uleb(&mut at)?, code.uleb(&mut at)?),
            _ => {
                return Err(Problem::unsupported(format_args!(
                    "rebase opcode 0x{byte:02x}"
                )));
            }
        };
        for _ in 0..times {
            table.rebase_stored(cursor.get()?)?;
            cursor.advance(skip.wrapping_add(WORD))?;
        }
    }
    Ok(())
}

fn binds(code: Bytes<'_>, table: &mut Table<'_>, lazy: bool) -> Result<(), Problem> {
    let mut at = 0;
    let mut cursor = Cursor::default();
    let mut symbol: Option<String> = None;
    let (mut weak, mut addend) = (false, 0);
    while at < code.len() {
        let byte = code.u8(at)?;
        at += 1;
        let low = byte & 0x0f;
        let (times, skip) = match byte & 0xf0 {
            // Ends the program; between lazy binds it only separates them.
            0x00 if lazy => continue,
            0x00 => break,
            // Which library the symbol is from: names are looked up by the host's rules.
            0x10 | 0x30 => continue,
            0x20 => {
                code.uleb(&mut at)?;
                continue;
            }
            0x40 => {
                const WEAK_IMPORT: u8 = 1;
                let name = code.c_string(at)?;
                at += name.len() + 1;
                weak = low & WEAK_IMPORT != 0;
                symbol = Some(name);
                continue;
            }
            0x50 if low == TYPE_POINTER => continue,
            0x60 => {
                addend = code.sleb(&mut at)?;
                continue;
            }
            0x70 => {
                cursor.set(table, low, code.uleb(&mut at)?)?;
                continue;
            }
            0x80 => {
                cursor.advance(code.uleb(&mut at)?)?;
                continue;
            }
            0x90 => (1, 0),
            0xa0 => (1, code.uleb(&mut at)?),
            0xb0 => (1, u64::from(low) * WORD),
            0xc0 => (code.uleb(&mut at)?, code.uleb(&mut at)?),
            _ => {
                return Err(Problem::unsupported(format_args!(
                    "bind opcode 0x{byte:02x}"
                )));
            }
        };
        for _ in 0..times {
            let symbol = symbol
                .clone()
                .ok_or_else(|| Problem::damaged("a bind before any symbol was named"))?;
            table.set(
                cursor.get()?,
                FixupKind::Bind {
                    symbol,
                    addend,
                    weak,
                },
            )?;
            cursor.advance(skip.wrapping_add(WORD))?;
        }
    }
    Ok(())
}
