//! Bounds-checked reading of little-endian fields, names and LEB128 numbers.

use crate::Problem;

/// A named piece of the file. Offsets in messages are offsets into this piece.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes<'a> {
    data: &'a [u8],
    what: &'static str,
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(data: &'a [u8], what: &'static str) -> Self {
        Bytes { data, what }
    }

    pub(crate) fn len(&self) -> usize {
        self.data.len()
    }

    /// `len` bytes from `offset`, as another piece.
    pub(crate) fn part(
        &self,
        offset: u64,
        len: u64,
        what: &'static str,
    ) -> Result<Bytes<'a>, Problem> {
        let range = usize::try_from(offset).ok().zip(usize::try_from(len).ok());
        range
            .and_then(|(start, len)| self.data.get(start..start.checked_add(len)?))
            .map(|data| Bytes { data, what })
            .ok_or_else(|| {
                Problem::damaged(format_args!(
                    "{what} would be {len} bytes at offset {offset} of the {}, which has {}",
                    self.what,
                    self.data.len()
                ))
            })
    }

    fn array<const N: usize>(&self, offset: usize) -> Result<[u8; N], Problem> {
        self.data
            .get(offset..)
            .and_then(|rest| rest.first_chunk::<N>())
            .copied()
            .ok_or_else(|| {
                Problem::damaged(format_args!(
                    "the {} ends at {} bytes, {N} are wanted at {offset}",
                    self.what,
                    self.data.len()
                ))
            })
    }

    pub(crate) fn u8(&self, offset: usize) -> Result<u8, Problem> {
        Ok(self.array::<1>(offset)?[0])
    }

    pub(crate) fn u16(&self, offset: usize) -> Result<u16, Problem> {
        Ok(u16::from_le_bytes(self.array(offset)?))
    }

    pub(crate) fn u32(&self, offset: usize) -> Result<u32, Problem> {
        Ok(u32::from_le_bytes(self.array(offset)?))
    }

    pub(crate) fn u64(&self, offset: usize) -> Result<u64, Problem> {
        Ok(u64::from_le_bytes(self.array(offset)?))
    }

    pub(crate) fn array16(&self, offset: usize) -> Result<[u8; 16], Problem> {
        self.array(offset)
    }

    /// A fixed field of 16 bytes, filled up with zeros (segment and section names).
    pub(crate) fn name16(&self, offset: usize) -> Result<String, Problem> {
        let field = self.array::<16>(offset)?;
        let end = field.iter().position(|&b| b == 0).unwrap_or(field.len());
        text(&field[..end], self.what)
    }

    /// The name that starts at `offset` and ends before a zero byte.
    pub(crate) fn c_string(&self, offset: usize) -> Result<String, Problem> {
        // A limit, so that a damaged file of many names stays cheap to read.
        const LONGEST: usize = 4096;
        let rest = self.data.get(offset..).unwrap_or_default();
        let end = rest
            .iter()
            .take(LONGEST)
            .position(|&b| b == 0)
            .ok_or_else(|| {
                Problem::damaged(format_args!(
                    "the name at {offset} in the {} has no end within {LONGEST} bytes",
                    self.what
                ))
            })?;
        text(&rest[..end], self.what)
    }

    /// An unsigned LEB128 number at `*at`, which moves behind it.
    pub(crate) fn uleb(&self, at: &mut usize) -> Result<u64, Problem> {
        let start = *at;
        let mut value = 0_u64;
        for shift in (0..).step_by(7) {
            let byte = self.u8(*at)?;
            *at += 1;
            let bits = u64::from(byte & 0x7f);
            if shift > 63 || (bits << shift) >> shift != bits {
                return Err(Problem::damaged(format_args!(
                    "the number at {start} in the {} does not fit 64 bits",
                    self.what
                )));
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok(value)
    }

    /// A signed LEB128 number at `*at`, which moves behind it.
    pub(crate) fn sleb(&self, at: &mut usize) -> Result<i64, Problem> {
        let start = *at;
        let mut value = 0_i64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8(*at)?;
            *at += 1;
            value |= i64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                let used = shift + 7;
                if used < 64 && byte & 0x40 != 0 {
                    value |= -1_i64 << used;
                }
                return Ok(value);
            }
        }
        Err(Problem::damaged(format_args!(
            "the number at {start} in the {} does not fit 64 bits",
            self.what
        )))
    }
}

fn text(bytes: &[u8], what: &str) -> Result<String, Problem> {
    core::str::from_utf8(bytes)
        .map(str::to_owned)
        .map_err(|_| Problem::damaged(format_args!("a name in the {what} is not text")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leb128_both_signs_and_too_long() {
        let read = |data: &[u8]| Bytes::new(data, "test").uleb(&mut 0);
        assert_eq!(read(&[0xe5, 0x8e, 0x26]), Ok(624_485));
        assert_eq!(
            read(&[0xff; 9].iter().copied().chain([1]).collect::<Vec<_>>()),
            Ok(u64::MAX)
        );
        assert!(read(&[0xff; 10]).is_err());
        assert!(read(&[0x80]).is_err(), "a number that ends with the data");
        let signed = |data: &[u8]| Bytes::new(data, "test").sleb(&mut 0);
        assert_eq!(signed(&[0x7f]), Ok(-1));
        assert_eq!(signed(&[0xc0, 0xbb, 0x78]), Ok(-123_456));
        assert_eq!(signed(&[0x3f]), Ok(63));
    }
}
