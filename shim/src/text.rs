//! Text in a buffer of fixed size, and the line that tells the outcome.

use crate::state::{Reason, State};

/// Up to `N` bytes.
pub(crate) struct Fixed<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Fixed<N> {
    pub(crate) const fn new() -> Self {
        Self {
            bytes: [0; N],
            len: 0,
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Appends all of it, or nothing and says `false`.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        self.push_all(&[bytes])
    }

    /// Appends every part, or says `false` (what fits is there then).
    pub(crate) fn push_all(&mut self, parts: &[&[u8]]) -> bool {
        append(&mut self.bytes, &mut self.len, parts)
    }

    /// Appends a number in decimal digits.
    pub(crate) fn push_number(&mut self, mut n: u32) -> bool {
        let mut digits = [0u8; 10];
        let mut used = 0;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' | (n % 10) as u8;
            n /= 10;
            used += 1;
            if n == 0 {
                break;
            }
        }
        let from = digits.len().saturating_sub(used);
        self.push(digits.get(from..).unwrap_or_default())
    }
}

/// Writes every part into `to` behind the first `len` bytes, or says `false` (what fits is there
/// then). One copy for every size of buffer.
#[inline(never)]
pub(crate) fn append(to: &mut [u8], len: &mut usize, parts: &[&[u8]]) -> bool {
    parts.iter().all(|part| {
        let end = len.saturating_add(part.len());
        let Some(room) = to.get_mut(*len..end) else {
            return false;
        };
        for (slot, byte) in room.iter_mut().zip(*part) {
            *slot = *byte;
        }
        *len = end;
        true
    })
}

/// The longest status line.
pub(crate) const LINE: usize = 1280;
/// The most of the program's path that a line holds.
const PROGRAM: usize = 1024;

/// One status line: `pid=<n> state=<state> reason=<code or -> program=<path, to the line's end>`.
/// Bytes below the space in the path become `?`; a longer path is cut at its beginning.
pub(crate) fn status_line(
    pid: u32,
    state: State,
    reason: Option<Reason>,
    program: &[u8],
) -> Fixed<LINE> {
    let mut line = Fixed::new();
    line.push(b"pid=");
    line.push_number(pid);
    line.push_all(&[
        b" state=",
        state.name().as_bytes(),
        b" reason=",
        reason.map_or("-", Reason::code).as_bytes(),
        b" program=",
    ]);
    let cut = program.len().saturating_sub(PROGRAM);
    for byte in program.iter().skip(cut) {
        line.push(&[if *byte < b' ' || *byte == 0x7f {
            b'?'
        } else {
            *byte
        }]);
    }
    line.push(b"\n");
    line
}

/// The one line on standard error, when the overrides are required and refused.
pub(crate) fn required_line(reason: Reason, status: &[u8]) -> Fixed<4400> {
    let mut line = Fixed::new();
    line.push_all(&[
        b"metalshim: required but refused (",
        reason.code().as_bytes(),
        b"); `metalshim doctor` explains it",
    ]);
    if !status.is_empty() {
        line.push_all(&[b"; noted in ", status]);
    }
    line.push(b"\n");
    line
}
