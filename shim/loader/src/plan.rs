//! The plan: what the runtime half carries out without looking at the file again.

use std::collections::BTreeMap;

use crate::bytes::Bytes;
use crate::commands::{Commands, PROT_EXECUTE, PROT_WRITE, Segment};
use crate::{Problem, chained, classic};

/// What to write into one 8-byte word of the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FixupKind {
    /// The image's own address plus `target`, with `top` in the highest byte.
    Rebase {
        /// Bytes from the image's base; inside the image.
        target: u64,
        /// The highest byte of the word, nearly always 0.
        top: u8,
    },
    /// The address of a symbol plus `addend`.
    Bind {
        /// The symbol as the file spells it, with its leading underscore.
        symbol: String,
        /// Added to the address.
        addend: i64,
        /// A missing symbol gives 0 instead of an error.
        weak: bool,
    },
}

/// One word to change before the library's code runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixup {
    /// Bytes from the image's base; all 8 bytes lie in a writable segment.
    pub offset: u64,
    /// What goes there.
    pub kind: FixupKind,
}

/// One pair of `__interpose`: calls of `symbol` made by other images go to
/// `replacement`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpose {
    /// The function's place, in bytes from the base; in an executable segment.
    pub replacement: u64,
    /// The symbol as the file spells it.
    pub symbol: String,
}

/// A library ready to be carried into a process. Every address in it has been
/// checked (see the module of the crate).
#[derive(Debug, Clone)]
pub struct Plan {
    /// What the load commands say.
    pub commands: Commands,
    /// Words to change, by address, each address once.
    pub fixups: Vec<Fixup>,
    /// Calls to redirect.
    pub interposes: Vec<Interpose>,
    /// Functions to run, in order, in bytes from the base.
    pub initialisers: Vec<u64>,
}

impl Plan {
    /// Reads a whole thin Mach-O file.
    ///
    /// # Errors
    /// [`Problem`], as described there.
    pub fn read(file: &[u8]) -> Result<Plan, Problem> {
        let commands = Commands::read(file)?;
        let bytes = Bytes::new(file, "file");
        let mut table = Table {
            commands: &commands,
            file: bytes,
            words: BTreeMap::new(),
            count: 0,
        };
        match commands.chained {
            Some(place) => chained::read(bytes, place, &mut table)?,
            None => classic::read(bytes, &mut table)?,
        }
        let words = table.words;
        let mut interposes = Vec::new();
        let mut initialisers = Vec::new();
        for segment in &commands.segments {
            for section in &segment.sections {
                let range = (section.offset, section.size);
                match section.kind {
                    0x09 => initialisers.extend(mod_init(&commands, &words, range)?),
                    0x16 => initialisers.extend(init_offsets(&commands, bytes, segment, range)?),
                    0x0d => interposes.extend(interpose(&commands, &words, range)?),
                    _ if section.name == "__interpose" => {
                        interposes.extend(interpose(&commands, &words, range)?);
                    }
                    _ => {}
                }
            }
        }
        let fixups = words
            .into_iter()
            .map(|(offset, kind)| Fixup { offset, kind })
            .collect();
        Ok(Plan {
            commands,
            fixups,
            interposes,
            initialisers,
        })
    }
}

type Words = BTreeMap<u64, FixupKind>;

/// Collects the fixups of either format, and checks each.
pub(crate) struct Table<'a> {
    pub(crate) commands: &'a Commands,
    file: Bytes<'a>,
    words: Words,
    count: u32,
}

impl Table<'_> {
    /// The segment a load command or opcode means by its number.
    pub(crate) fn segment(&self, number: usize) -> Result<&Segment, Problem> {
        self.commands.segments.get(number).ok_or_else(|| {
            Problem::damaged(format_args!(
                "the fixups name segment {number} of {}",
                self.commands.segments.len()
            ))
        })
    }

    /// The word at `offset` as the file has it.
    pub(crate) fn stored(&self, offset: u64) -> Result<u64, Problem> {
        let segment = self.writable(offset)?;
        let within = offset - segment.offset;
        let contents = self
            .file
            .part(segment.file_offset, segment.file_size, "segment")?;
        contents.part(within, 8, "word to be changed")?.u64(0)
    }

    fn writable(&self, offset: u64) -> Result<&Segment, Problem> {
        self.commands
            .segments
            .iter()
            .find(|segment| segment.holds(offset, 8) && segment.protection & PROT_WRITE != 0)
            .ok_or_else(|| {
                Problem::damaged(format_args!(
                    "a fixup at offset 0x{offset:x}, which is in no writable segment"
                ))
            })
    }

    /// Notes one fixup; a later one for the same word replaces an earlier one (a
    /// lazily bound word is first rebased to its helper).
    pub(crate) fn set(&mut self, offset: u64, kind: FixupKind) -> Result<(), Problem> {
        // More than one for each word of the largest image would be a loop.
        const LIMIT: u32 = 1 << 20;
        self.count += 1;
        if self.count > LIMIT {
            return Err(Problem::damaged(format_args!("more than {LIMIT} fixups")));
        }
        self.writable(offset)?;
        if let FixupKind::Rebase { target, .. } = kind
            && target >= self.commands.span
        {
            return Err(Problem::damaged(format_args!(
                "the word at offset 0x{offset:x} points to 0x{target:x}, outside the image"
            )));
        }
        self.words.insert(offset, kind);
        Ok(())
    }

    /// Notes a rebase of the word that holds one of the file's own addresses.
    pub(crate) fn rebase_stored(&mut self, offset: u64) -> Result<(), Problem> {
        let target = self.stored(offset)?.wrapping_sub(self.commands.base);
        self.set(offset, FixupKind::Rebase { target, top: 0 })
    }
}

fn executable(commands: &Commands, offset: u64, what: &str) -> Result<u64, Problem> {
    let inside = commands
        .segments
        .iter()
        .any(|segment| segment.holds(offset, 1) && segment.protection & PROT_EXECUTE != 0);
    if inside {
        Ok(offset)
    } else {
        Err(Problem::damaged(format_args!(
            "{what} at offset 0x{offset:x}, where no code is"
        )))
    }
}

fn function(commands: &Commands, words: &Words, at: u64, what: &str) -> Result<u64, Problem> {
    match words.get(&at) {
        Some(FixupKind::Rebase { target, .. }) => executable(commands, *target, what),
        _ => Err(Problem::damaged(format_args!(
            "{what}: the word at offset 0x{at:x} does not point into the image"
        ))),
    }
}

fn mod_init(
    commands: &Commands,
    words: &Words,
    (start, size): (u64, u64),
) -> Result<Vec<u64>, Problem> {
    slots(start, size, 8, "__mod_init_func")?
        .map(|at| function(commands, words, at, "an initialiser"))
        .collect()
}

fn init_offsets(
    commands: &Commands,
    file: Bytes<'_>,
    segment: &Segment,
    (start, size): (u64, u64),
) -> Result<Vec<u64>, Problem> {
    let contents = file.part(segment.file_offset, segment.file_size, "segment")?;
    slots(start, size, 4, "__init_offsets")?
        .map(|at| {
            let offset = contents
                .part(at - segment.offset, 4, "initialiser's offset")?
                .u32(0)?;
            executable(commands, offset.into(), "an initialiser")
        })
        .collect()
}

fn interpose(
    commands: &Commands,
    words: &Words,
    (start, size): (u64, u64),
) -> Result<Vec<Interpose>, Problem> {
    slots(start, size, 16, "__interpose")?
        .map(|at| {
            let replacement = function(commands, words, at, "a replacement function")?;
            match words.get(&(at + 8)) {
                Some(FixupKind::Bind {
                    symbol, addend: 0, ..
                }) => Ok(Interpose {
                    replacement,
                    symbol: symbol.clone(),
                }),
                _ => Err(Problem::damaged(format_args!(
                    "the replaced function at offset 0x{:x} is not an import",
                    at + 8
                ))),
            }
        })
        .collect()
}

fn slots(
    start: u64,
    size: u64,
    each: u64,
    what: &str,
) -> Result<impl Iterator<Item = u64>, Problem> {
    if size.is_multiple_of(each) {
        Ok((0..size / each).map(move |number| start + number * each))
    } else {
        Err(Problem::damaged(format_args!(
            "{what} has {size} bytes, not a multiple of {each}"
        )))
    }
}
