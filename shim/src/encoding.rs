//! Objective-C type encodings, compared by type.
//!
//! An encoding is a list of types, each followed by an offset into the frame, like `B24@0:8q16`.
//! The offsets say how some compiler laid out arguments that travel in registers, and may differ
//! for the same types; so they are skipped, and so are the qualifiers that change no type.

/// A method of no arguments that returns one register or nothing.
pub(crate) const INIT: &[&[u8]] = &[b"vBcCiIqQ@#", b"@", b":"];
/// `BOOL (id, SEL, NSInteger)`. BOOL is `B` on arm64 macOS, `c` on x86_64, `C` in GNU's runtime:
/// one byte in all of them.
pub(crate) const SUPPORTS_FAMILY: &[&[u8]] = &[b"BcC", b"@", b":", b"q"];
/// `NSUInteger (id, SEL)`.
pub(crate) const THREADGROUP_MEMORY: &[&[u8]] = &[b"Q", b"@", b":"];

/// Whether `encoding` is of as many types as `expected`, and each is one of those named there.
///
/// Types of more than one character (structures, pointers, arrays, blocks) are never expected.
pub(crate) fn matches(encoding: &[u8], expected: &[&[u8]]) -> bool {
    let mut types = encoding
        .iter()
        .filter(|b| !b.is_ascii_digit() && !b"+-rnNoORV".contains(b));
    let each = expected
        .iter()
        .all(|choice| types.next().is_some_and(|t| choice.contains(t)));
    each && types.next().is_none()
}
