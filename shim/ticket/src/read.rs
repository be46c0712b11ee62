//! From bytes to a ticket.

use crate::{HEAD, Key, MAX_LEN, Problem, SHIM_ABI, TAIL, TAIL_LEN, Ticket, value};

impl<'a> Ticket<'a> {
    /// Reads a whole ticket file.
    ///
    /// # Errors
    ///
    /// The first [`Problem`] found, in this order: length, ASCII, version, last line, hash, then
    /// line by line.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Problem> {
        let lines = body(bytes)?;
        let mut values: [Option<&'a [u8]>; Key::ALL.len()] = [None; Key::ALL.len()];
        let mut last = None;
        for line in lines.split_inclusive(|b| *b == b'\n') {
            let line = line.strip_suffix(b"\n").ok_or(Problem::Incomplete)?;
            let equals = line.iter().position(|b| *b == b'=');
            let (name, rest) = equals
                .and_then(|at| line.split_at_checked(at))
                .ok_or(Problem::Line)?;
            let text = rest.strip_prefix(b"=").ok_or(Problem::Line)?;
            let key = Key::ALL
                .into_iter()
                .find(|key| key.name().as_bytes() == name)
                .ok_or(Problem::KeyUnknown)?;
            let slot = values.get_mut(key as usize).ok_or(Problem::KeyUnknown)?;
            if slot.replace(text).is_some() {
                return Err(Problem::KeyDoubled(key));
            }
            if last.is_some_and(|last| last > key) {
                return Err(Problem::KeyOrder(key));
            }
            last = Some(key);
        }
        let may = |key: Key| values.get(key as usize).copied().flatten();
        let must = |key: Key| may(key).ok_or(Problem::KeyMissing(key));
        let text = |key: Key| value::text(key, must(key)?);
        let uuid = |key: Key| may(key).map(|v| value::text(key, v)).transpose();
        if value::number(must(Key::ShimAbi)?) != Some(SHIM_ABI) {
            return Err(Problem::Value(Key::ShimAbi));
        }
        Ok(Self {
            guest_build: text(Key::GuestBuild)?,
            boot_session: text(Key::BootSession)?,
            device_class: text(Key::DeviceClass)?,
            stock_apple_family: family(Key::StockAppleFamily, must)?,
            stock_max_threadgroup_memory: memory(Key::StockMaxThreadgroupMemory, must)?,
            apple_family_max: family(Key::AppleFamilyMax, must)?,
            max_threadgroup_memory: memory(Key::MaxThreadgroupMemory, must)?,
            metal_uuid: uuid(Key::MetalUuid)?,
            driver_uuid: uuid(Key::DriverUuid)?,
            record: text(Key::Record)?,
            database: text(Key::Database)?,
            follow: text(Key::Follow)?,
        })
    }
}

type Lookup<'a> = Result<&'a [u8], Problem>;

fn family<'a>(key: Key, get: impl Fn(Key) -> Lookup<'a>) -> Result<u16, Problem> {
    value::family(key, get(key)?)
}

fn memory<'a>(key: Key, get: impl Fn(Key) -> Lookup<'a>) -> Result<u32, Problem> {
    value::memory(key, get(key)?)
}

/// The lines between the first and the last, when both of those are as they should be.
fn body(bytes: &[u8]) -> Result<&[u8], Problem> {
    if bytes.is_empty() {
        return Err(Problem::Empty);
    }
    if bytes.len() > MAX_LEN {
        return Err(Problem::TooLong);
    }
    if !bytes.is_ascii() {
        return Err(Problem::NotAscii);
    }
    if !bytes.starts_with(HEAD) {
        // The beginning of the right first line is a ticket cut short.
        let cut = HEAD.starts_with(bytes);
        return Err(if cut {
            Problem::Incomplete
        } else {
            Problem::Version
        });
    }
    let (before, last) = bytes
        .len()
        .checked_sub(TAIL_LEN)
        .and_then(|at| bytes.split_at_checked(at))
        .ok_or(Problem::Incomplete)?;
    let told = last
        .strip_prefix(TAIL)
        .and_then(|rest| rest.strip_suffix(b"\n"))
        .filter(|hex| {
            hex.iter()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b))
        })
        .ok_or(Problem::Incomplete)?;
    let lines = before.strip_prefix(HEAD).ok_or(Problem::Incomplete)?;
    if !before.ends_with(b"\n") {
        return Err(Problem::Incomplete);
    }
    if !crate::write::hex_digest(before).iter().eq(told) {
        return Err(Problem::Hash);
    }
    Ok(lines)
}
