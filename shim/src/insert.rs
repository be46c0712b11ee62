//! The variables that brought the shim here, and how they are taken out of a list in place.

/// The variable that names the ticket, with its `=`.
pub(crate) const TICKET: &[u8] = b"METALSHIM_TICKET=";
/// The variable that makes a refusal end the process, with its `=`.
pub(crate) const REQUIRE: &[u8] = b"METALSHIM_REQUIRE=";

/// The longest of the names that [`sort`] knows, with its `=`.
pub(crate) const LONGEST: usize = b"DYLD_INSERT_LIBRARIES=".len();

/// What an entry of the environment is to the shim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// `METALSHIM_TICKET`
    Ticket,
    /// `METALSHIM_REQUIRE`
    Require,
    /// The variable that lists libraries to insert.
    Insert,
    /// Anything else.
    Other,
}

/// Sorts one `NAME=value`; `insert` is the inserting variable's name with its `=`.
pub(crate) fn sort(entry: &[u8], insert: &[u8]) -> Entry {
    if entry.starts_with(TICKET) {
        Entry::Ticket
    } else if entry.starts_with(REQUIRE) {
        Entry::Require
    } else if entry.starts_with(insert) {
        Entry::Insert
    } else {
        Entry::Other
    }
}

/// The part behind the last slash.
#[inline(never)]
pub(crate) fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|b| *b == b'/').next().unwrap_or_default()
}

/// The first entry of the list whose base name is `library`.
pub(crate) fn find<'a>(list: &'a [u8], separators: &[u8], library: &[u8]) -> Option<&'a [u8]> {
    list.split(|b| separators.contains(b))
        .find(|entry| base_name(entry) == library)
}

/// Takes every entry whose base name is `library` out of the list, each with the separator before
/// it (the first one with that behind it). All other bytes stay, in their order. Returns the new
/// length.
pub(crate) fn take_out(list: &mut [u8], separators: &[u8], library: &[u8]) -> usize {
    let (mut from, mut to) = (0usize, 0usize);
    let mut kept_one = false;
    while from <= list.len() {
        let rest = list.get(from..).unwrap_or_default();
        let size = rest
            .iter()
            .position(|b| separators.contains(b))
            .unwrap_or(rest.len());
        let end = from.saturating_add(size);
        let ours = base_name(rest.get(..size).unwrap_or_default()) == library;
        if !ours {
            // With the separator before it, unless nothing was kept before.
            let start = from.saturating_sub(usize::from(kept_one));
            for at in start..end {
                let byte = list.get(at).copied().unwrap_or(0);
                if let Some(slot) = list.get_mut(to) {
                    *slot = byte;
                }
                to = to.saturating_add(1);
            }
            kept_one = true;
        }
        from = end.saturating_add(1);
    }
    to
}
