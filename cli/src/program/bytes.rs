//! Reading a little of a file that may be large, cut or hostile.
//!
//! Everything that looks into a program reads through [`Bytes`], asks for an exact range,
//! and says what the range is, so that a cut file gives an error that names what is
//! missing. Nothing is allocated for a size that only the file claims.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A program's bytes, wherever they are.
pub trait Bytes {
    /// How many there are.
    fn size(&self) -> u64;

    /// Fills `into` from `offset`.
    ///
    /// # Errors
    /// The bytes are not all there, or cannot be read.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()>;
}

impl Bytes for &[u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let from = usize::try_from(offset).ok();
        let range = from.and_then(|from| self.get(from..from.checked_add(into.len())?));
        into.copy_from_slice(range.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// An open file and its size when it was opened.
pub(super) struct OpenFile {
    file: File,
    size: u64,
}

impl OpenFile {
    pub(super) fn new(file: File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        Ok(Self { file, size })
    }
}

impl Bytes for OpenFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, offset)
    }
}

/// A part of other bytes: one slice of a fat file.
pub(super) struct Window<'a> {
    bytes: &'a dyn Bytes,
    start: u64,
    size: u64,
}

impl<'a> Window<'a> {
    /// The part of `size` bytes from `start`.
    pub(super) fn new(bytes: &'a dyn Bytes, start: u64, size: u64) -> Result<Self, Damage> {
        within(start, size, bytes.size(), "a slice of the fat file")?;
        Ok(Self { bytes, start, size })
    }
}

impl Bytes for Window<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        if !fits(offset, into.len() as u64, self.size) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.bytes.read_at(self.start + offset, into)
    }
}

/// Why a file cannot be read to the end of the question.
#[derive(Debug)]
pub(super) enum Damage {
    /// It ends before the end of this.
    Cut(&'static str),
    /// This makes no sense.
    Bad(&'static str),
    /// The system would not read it.
    Io(io::Error),
}

fn fits(offset: u64, size: u64, total: u64) -> bool {
    offset.checked_add(size).is_some_and(|end| end <= total)
}

/// Whether `size` bytes from `offset` lie within the `total`.
pub(super) fn within(offset: u64, size: u64, total: u64, what: &'static str) -> Result<(), Damage> {
    if fits(offset, size, total) {
        Ok(())
    } else {
        Err(Damage::Cut(what))
    }
}

/// The `size` bytes from `offset`: at most `limit`.
pub(super) fn take(
    bytes: &dyn Bytes,
    offset: u64,
    size: u64,
    limit: usize,
    what: &'static str,
) -> Result<Vec<u8>, Damage> {
    within(offset, size, bytes.size(), what)?;
    let size = usize::try_from(size).ok().filter(|size| *size <= limit);
    let mut into = vec![0; size.ok_or(Damage::Bad(what))?];
    bytes.read_at(offset, &mut into).map_err(Damage::Io)?;
    Ok(into)
}

/// The bytes from `offset` up to the first zero one, which has to come within `limit` bytes
/// and before `end`; lossy, since names are only shown and compared.
pub(super) fn text(
    bytes: &dyn Bytes,
    offset: u64,
    end: u64,
    limit: usize,
    what: &'static str,
) -> Result<String, Damage> {
    let end = end.min(bytes.size());
    let left = end.checked_sub(offset).ok_or(Damage::Cut(what))?;
    let raw = take(bytes, offset, left.min(limit as u64), limit, what)?;
    let stop = raw
        .iter()
        .position(|byte| *byte == 0)
        .ok_or(Damage::Bad(what))?;
    Ok(String::from_utf8_lossy(&raw[..stop]).into_owned())
}

/// The number in the four bytes at `at`, big-endian; none past the end.
pub(super) fn be32(data: &[u8], at: usize) -> Option<u32> {
    let four = data.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}
