//! The database's schema: one text, compared as a whole when a database is opened.
//!
//! Every table has an explicit key and no hidden row number, and every page follows from
//! the rows alone, so that the same records give the same bytes.
//!
//! `pair` holds what decides and what lists show, as numbers: every start reads and hashes
//! the whole file, so a pair costs about fifty bytes. Everything else of a record is JSON in
//! `detail`, kept once where several pairs share it. `nearest` has one row for each guest
//! build with a verified pair: the one with the newest host, of a release where there is one. It answers "what else is
//! verified near here" without an index over all pairs.
//!
//! | column | holds |
//! |---|---|
//! | `guest_key`, `host_key`, `build.key` | a build as a number of the same order (`build_key`) |
//! | `pair.id`, `nearest.id` | the number in `P0001` |
//! | `pair.status` | 0 verified, 1 broken, 2 revoked |
//! | `body` | the record as JSON |

use crate::OsBuild;
use crate::rows::Status;

/// `application_id`: "mshm".
pub const APPLICATION_ID: i32 = 0x6d73_686d;
/// `user_version`.
pub const VERSION: u32 = 1;
/// Bytes of one page.
pub(crate) const PAGE_SIZE: u32 = 4096;

/// Name, kind and text of everything in `sqlite_schema`, in the order of names.
pub(crate) const OBJECTS: [(&str, &str, &str); 11] = [
    (
        "build",
        "table",
        "CREATE TABLE build (key INTEGER NOT NULL PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID",
    ),
    (
        "client",
        "table",
        "CREATE TABLE client (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID",
    ),
    (
        "deny",
        "table",
        "CREATE TABLE deny (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID",
    ),
    (
        "detail",
        "table",
        "CREATE TABLE detail (key INTEGER NOT NULL PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID",
    ),
    (
        "fault",
        "table",
        "CREATE TABLE fault (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID",
    ),
    (
        "lead",
        "table",
        "CREATE TABLE lead (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID",
    ),
    (
        "meta",
        "table",
        "CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    ),
    (
        "nearest",
        "table",
        "CREATE TABLE nearest (guest_key INTEGER NOT NULL PRIMARY KEY, host_key INTEGER NOT NULL, id INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    ),
    (
        "pair",
        "table",
        "CREATE TABLE pair (guest_key INTEGER NOT NULL, host_key INTEGER NOT NULL, id INTEGER NOT NULL, status INTEGER NOT NULL, evidence_level INTEGER NOT NULL, apple_family_max INTEGER NOT NULL, max_threadgroup_memory INTEGER NOT NULL, detail INTEGER NOT NULL, PRIMARY KEY (guest_key, host_key, id)) STRICT, WITHOUT ROWID",
    ),
    (
        "pair_by_host",
        "index",
        "CREATE INDEX pair_by_host ON pair (host_key, guest_key, id)",
    ),
    (
        "stock",
        "table",
        "CREATE TABLE stock (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID",
    ),
];

/// A build as a number of the same order, for keys.
pub(crate) fn build_key(build: &OsBuild) -> i64 {
    let (major, letter, number, suffix) = build.parts();
    let letter = i64::from(letter.saturating_sub(b'A'));
    let suffix = match suffix {
        0 => 0,
        s => i64::from(s - b'a') + 1,
    };
    ((i64::from(major) * 26 + letter) * 100_000 + i64::from(number)) * 27 + suffix
}

/// The build of a key; none for a number that is not one.
pub(crate) fn build_of(key: i64) -> Option<OsBuild> {
    let key = u64::try_from(key).ok()?;
    let (rest, suffix) = (key / 27, u8::try_from(key % 27).ok()?);
    let (rest, number) = (rest / 100_000, rest % 100_000);
    let (major, letter) = (rest / 26, u8::try_from(rest % 26).ok()?);
    let letter = char::from(b'A' + letter);
    let mut text = format!("{major:02}{letter}{number}");
    if suffix > 0 {
        text.push(char::from(b'a' + suffix - 1));
    }
    text.parse().ok()
}

/// The number in the id of a pair: 1 of `P0001`.
pub(crate) fn pair_number(id: &str) -> Option<i64> {
    let number = id.strip_prefix('P')?.parse().ok()?;
    (number >= 0 && pair_id(number) == id).then_some(number)
}

/// The id of a pair's number.
pub(crate) fn pair_id(number: i64) -> String {
    format!("P{number:04}")
}

/// A status as a number.
pub(crate) const fn status_number(status: Status) -> i64 {
    match status {
        Status::Verified => 0,
        Status::Broken => 1,
        Status::Revoked => 2,
    }
}

/// The status of a number.
pub(crate) fn status_of(number: i64) -> Option<Status> {
    [Status::Verified, Status::Broken, Status::Revoked]
        .into_iter()
        .find(|s| status_number(*s) == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_the_order_of_builds() {
        let order = [
            "00A0", "22A379", "22A5266r", "22B1", "25F84", "25G76", "26A5378j", "26A5378n",
        ];
        let keys: Vec<i64> = order
            .iter()
            .map(|b| build_key(&b.parse().unwrap()))
            .collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        let back: Vec<_> = keys.iter().filter_map(|k| build_of(*k)).collect();
        assert!(back.iter().map(OsBuild::as_str).eq(order));
        for wrong in [-1, i64::MIN, i64::MAX, -27, build_key(&back[1]) * 1000] {
            assert_eq!(build_of(wrong), None);
        }
    }

    #[test]
    fn ids_are_numbers_and_back() {
        for id in ["P0001", "P9999", "P10000"] {
            assert_eq!(pair_number(id).map(pair_id).as_deref(), Some(id));
        }
        for wrong in ["P1", "P00001", "D0001", "P", "P-001", "P+001", ""] {
            assert_eq!(pair_number(wrong), None, "{wrong}");
        }
    }
}
