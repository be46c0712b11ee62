//! The two entitlements that decide, read from a property list: XML, and the DER form that
//! macOS 12 and later prefer.
//!
//! Present but false is false, so the list is parsed and never searched. Where a program
//! has both forms, both have to say yes: which one counts depends on the macOS.

use std::io::Cursor;

use plist::Value;
use serde::Serialize;

const ALLOW_VARIABLES: &str = "com.apple.security.cs.allow-dyld-environment-variables";
const ANY_LIBRARY: &str = "com.apple.security.cs.disable-library-validation";

/// More than any program's; also bounds how deep a list can be nested.
pub(super) const MAX_SIZE: usize = 256 << 10;

/// How deep lists may be nested. Real ones have two levels.
const MAX_DEPTH: usize = 32;

/// The entitlements that decide whether a hardened program loads a foreign library. None:
/// not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Entitlements {
    /// `com.apple.security.cs.allow-dyld-environment-variables`.
    pub allow_dyld_environment_variables: Option<bool>,
    /// `com.apple.security.cs.disable-library-validation`.
    pub disable_library_validation: Option<bool>,
}

impl Entitlements {
    /// What holds where a program has these and the other ones: the lesser.
    pub(super) fn and(self, other: Self) -> Self {
        let both = |a: Option<bool>, b: Option<bool>| match (a, b) {
            (Some(a), Some(b)) => Some(a && b),
            // Named in one form only: not granted, but the user should see it is there.
            (Some(_), None) | (None, Some(_)) => Some(false),
            (None, None) => None,
        };
        Self {
            allow_dyld_environment_variables: both(
                self.allow_dyld_environment_variables,
                other.allow_dyld_environment_variables,
            ),
            disable_library_validation: both(
                self.disable_library_validation,
                other.disable_library_validation,
            ),
        }
    }

    /// Takes one entry in; false for one that is there already, since a key that comes
    /// twice could be read as either.
    fn note(&mut self, key: &[u8], value: Option<bool>) -> bool {
        let place = if key == ALLOW_VARIABLES.as_bytes() {
            &mut self.allow_dyld_environment_variables
        } else if key == ANY_LIBRARY.as_bytes() {
            &mut self.disable_library_validation
        } else {
            return true;
        };
        // A value that is no boolean grants nothing.
        place.replace(value == Some(true)).is_none()
    }
}

/// From the XML form. None: not a property list with a dictionary at its top.
pub(super) fn from_xml(xml: &[u8]) -> Option<Entitlements> {
    // The parser builds nested values; what is nested by the thousand is no list of
    // entitlements, and freeing it would need as deep a stack.
    let count = |part: &[u8]| {
        xml.windows(part.len())
            .filter(|window| *window == part)
            .count()
    };
    if xml.len() > MAX_SIZE || count(b"<array") + count(b"<dict") > 1024 {
        return None;
    }
    // The parser keeps the last of two equal keys; another one might keep the first.
    if count(ALLOW_VARIABLES.as_bytes()) > 1 || count(ANY_LIBRARY.as_bytes()) > 1 {
        return None;
    }
    // What follows the list does not count: signers leave a zero there, or a stray `</xml>`
    // that was in the file they were given.
    const END: &[u8] = b"</plist>";
    let end = xml.windows(END.len()).position(|window| window == END)?;
    let list = Value::from_reader_xml(Cursor::new(&xml[..end + END.len()])).ok()?;
    let mut found = Entitlements::default();
    for (key, value) in list.as_dictionary()? {
        let _new = found.note(key.as_bytes(), value.as_boolean());
    }
    Some(found)
}

const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const UTF8: u8 = 0x0c;
const SEQUENCE: u8 = 0x30;
/// `[APPLICATION 16]`, constructed: the whole.
const OUTER: u8 = 0x70;
/// `[CONTEXT 16]`, constructed: a dictionary.
const DICTIONARY: u8 = 0xb0;

/// From the DER form: `[APPLICATION 16] { version INTEGER 1, [CONTEXT 16] { SEQUENCE {
/// key UTF8String, value } .. } }`. None: anything else, to the last byte.
pub(super) fn from_der(der: &[u8]) -> Option<Entitlements> {
    let mut all = Reader(der);
    let mut outer = Reader(all.value(OUTER)?);
    let version = outer.value(INTEGER)?;
    let dictionary = outer.value(DICTIONARY)?;
    if version != [1] || !all.0.is_empty() || !outer.0.is_empty() {
        return None;
    }
    let mut found = Entitlements::default();
    let mut entries = Reader(dictionary);
    while !entries.0.is_empty() {
        let mut pair = Reader(entries.value(SEQUENCE)?);
        let key = pair.value(UTF8)?;
        let (tag, value) = pair.any()?;
        check(tag, value, 0)?;
        let value = (tag == BOOLEAN).then(|| value == [0xff]);
        if !pair.0.is_empty() || !found.note(key, value) {
            return None;
        }
    }
    Some(found)
}

/// Whether a value is one that entitlements are made of.
fn check(tag: u8, value: &[u8], depth: usize) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    match tag {
        BOOLEAN => (value == [0] || value == [0xff]).then_some(()),
        INTEGER => (!value.is_empty()).then_some(()),
        UTF8 => std::str::from_utf8(value).ok().map(|_| ()),
        SEQUENCE | DICTIONARY => {
            let mut inside = Reader(value);
            while !inside.0.is_empty() {
                let (tag, value) = inside.any()?;
                check(tag, value, depth + 1)?;
            }
            Some(())
        }
        // Octet strings (data) and dates: nothing that decides here.
        _ => Some(()),
    }
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The next value, which has to have this tag.
    fn value(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (found, value) = self.any()?;
        (found == tag).then_some(value)
    }

    /// The next tag and value. Lengths have to be in their shortest form.
    fn any(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        if tag & 0x1f == 0x1f {
            return None; // A tag of several bytes: not used here.
        }
        let (&first, mut rest) = rest.split_first()?;
        let length = if first < 0x80 {
            usize::from(first)
        } else {
            let count = usize::from(first & 0x7f);
            if count == 0 || count > 4 {
                return None;
            }
            let (digits, after) = rest.split_at_checked(count)?;
            rest = after;
            let length = digits
                .iter()
                .fold(0, |sum, digit| (sum << 8) | usize::from(*digit));
            if digits[0] == 0 || length < 0x80 {
                return None;
            }
            length
        };
        let (value, after) = rest.split_at_checked(length)?;
        self.0 = after;
        Some((tag, value))
    }
}
