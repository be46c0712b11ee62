//! From a ticket to bytes.

use crate::{HEAD, Key, MAX_LEN, Problem, SHIM_ABI, TAIL, Ticket};

impl Ticket<'_> {
    /// Writes the ticket into `out` and returns how many bytes it takes.
    ///
    /// # Errors
    ///
    /// [`Problem::TooLong`] when it does not fit, otherwise what [`Ticket::parse`] would say to
    /// the result: nothing is written that could not be read.
    pub fn write(&self, out: &mut [u8; MAX_LEN]) -> Result<usize, Problem> {
        let mut to = Cursor { out, at: 0 };
        to.put(HEAD)?;
        for key in Key::ALL {
            let mut digits = [0u8; 10];
            let value = match key {
                Key::GuestBuild => Some(self.guest_build.as_bytes()),
                Key::BootSession => Some(self.boot_session.as_bytes()),
                Key::DeviceClass => Some(self.device_class.as_bytes()),
                Key::StockAppleFamily => decimal(self.stock_apple_family.into(), &mut digits),
                Key::StockMaxThreadgroupMemory => {
                    decimal(self.stock_max_threadgroup_memory, &mut digits)
                }
                Key::AppleFamilyMax => decimal(self.apple_family_max.into(), &mut digits),
                Key::MaxThreadgroupMemory => decimal(self.max_threadgroup_memory, &mut digits),
                Key::MetalUuid => self.metal_uuid.map(str::as_bytes),
                Key::DriverUuid => self.driver_uuid.map(str::as_bytes),
                Key::Record => Some(self.record.as_bytes()),
                Key::Database => Some(self.database.as_bytes()),
                Key::ShimAbi => decimal(SHIM_ABI, &mut digits),
                Key::Follow => Some(self.follow.as_bytes()),
            };
            let Some(value) = value else { continue };
            to.put(key.name().as_bytes())?;
            to.put(b"=")?;
            to.put(value)?;
            to.put(b"\n")?;
        }
        let digest = hex_digest(to.written());
        to.put(TAIL)?;
        to.put(&digest)?;
        to.put(b"\n")?;
        if Ticket::parse(to.written())? == *self {
            Ok(to.at)
        } else {
            // A value with a line of its own in it would have to read back as another ticket.
            Err(Problem::Line)
        }
    }
}

/// SHA-256 as 64 small hexadecimal digits.
pub(crate) fn hex_digest(bytes: &[u8]) -> [u8; 64] {
    let digest = hmac_sha256::Hash::hash(bytes);
    let mut hex = [0u8; 64];
    for (pair, byte) in hex.chunks_exact_mut(2).zip(digest) {
        for (digit, nibble) in pair.iter_mut().zip([byte >> 4, byte & 15]) {
            *digit = if nibble < 10 {
                b'0' + nibble
            } else {
                b'a' + nibble - 10
            };
        }
    }
    hex
}

fn decimal(mut n: u32, digits: &mut [u8; 10]) -> Option<&[u8]> {
    let mut used = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(n % 10).unwrap_or_default();
        n /= 10;
        used += 1;
        if n == 0 {
            break;
        }
    }
    digits.get(digits.len().saturating_sub(used)..)
}

struct Cursor<'a> {
    out: &'a mut [u8; MAX_LEN],
    at: usize,
}

impl Cursor<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let end = self.at.checked_add(bytes.len()).ok_or(Problem::TooLong)?;
        let room = self.out.get_mut(self.at..end).ok_or(Problem::TooLong)?;
        for (to, from) in room.iter_mut().zip(bytes) {
            *to = *from;
        }
        self.at = end;
        Ok(())
    }

    fn written(&self) -> &[u8] {
        self.out.get(..self.at).unwrap_or_default()
    }
}
