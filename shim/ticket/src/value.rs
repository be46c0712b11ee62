//! Which values a key may have. The same rules for reading and for writing.

use crate::{Key, Problem};

/// The value as text, if the key may have it.
pub(crate) fn text(key: Key, value: &[u8]) -> Result<&str, Problem> {
    let valid = match key {
        Key::GuestBuild => is_build(value),
        Key::BootSession | Key::MetalUuid | Key::DriverUuid => is_uuid(value),
        Key::DeviceClass => is_identifier(value),
        Key::Record => is_record(value),
        Key::Database => is_database(value),
        Key::Follow => is_follow(value),
        _ => true,
    };
    if !valid {
        return Err(Problem::Value(key));
    }
    core::str::from_utf8(value).map_err(|_| Problem::NotAscii)
}

/// A GPU family: 1001 to 1009.
pub(crate) fn family(key: Key, value: &[u8]) -> Result<u16, Problem> {
    match number(value) {
        Some(n @ 1001..=1009) => u16::try_from(n).map_err(|_| Problem::Value(key)),
        _ => Err(Problem::Value(key)),
    }
}

/// Bytes of threadgroup memory: 1 to 65,536.
pub(crate) fn memory(key: Key, value: &[u8]) -> Result<u32, Problem> {
    match number(value) {
        Some(n @ 1..=65_536) => Ok(n),
        _ => Err(Problem::Value(key)),
    }
}

/// Decimal digits without leading zeros, as they are written.
pub(crate) fn number(value: &[u8]) -> Option<u32> {
    match value {
        [] | [b'0', _, ..] => return None,
        _ => {}
    }
    value.iter().try_fold(0u32, |n, &b| {
        let digit = char::from(b).to_digit(10)?;
        n.checked_mul(10)?.checked_add(digit)
    })
}

fn is_build(value: &[u8]) -> bool {
    let [tens, ones, letter, rest @ ..] = value else {
        return false;
    };
    let digits = match rest {
        [digits @ .., last] if last.is_ascii_lowercase() => digits,
        digits => digits,
    };
    tens.is_ascii_digit()
        && ones.is_ascii_digit()
        && letter.is_ascii_uppercase()
        && (1..=5).contains(&digits.len())
        && digits.iter().all(u8::is_ascii_digit)
}

fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

fn is_identifier(value: &[u8]) -> bool {
    let [first, rest @ ..] = value else {
        return false;
    };
    value.len() <= 128
        && (first.is_ascii_alphabetic() || *first == b'_')
        && rest.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

fn is_record(value: &[u8]) -> bool {
    (1..=128).contains(&value.len())
        && value
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(b))
}

fn is_database(value: &[u8]) -> bool {
    let mut parts = value.split(|b| *b == b':');
    let (Some(seq), Some(hash), None) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let hex = |b: &u8| b.is_ascii_digit() || (b'a'..=b'f').contains(b);
    (1..=19).contains(&seq.len())
        && seq.iter().all(u8::is_ascii_digit)
        && hash.len() == 16
        && hash.iter().all(hex)
}

fn is_follow(value: &[u8]) -> bool {
    let printable = |b: &u8| (b' '..=b'~').contains(b) && *b != b'/';
    let name = |n: &[u8]| !n.is_empty() && n.iter().all(printable) && n != b"none" && n != b"all";
    value == b"none"
        || value == b"all"
        || (value.len() <= 1024 && value.split(|b| *b == b',').all(name))
}
