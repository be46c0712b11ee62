//! The database's schema: one text, compared as a whole when a database is opened.
//!
//! Every table has an explicit key and no hidden row number, and every page follows from
//! the rows alone, so that the same records give the same bytes. Keys and the columns that
//! lists show are columns; the whole row is JSON in `body` ([`crate::rows`]).

use crate::OsBuild;

/// `application_id`: "mshm".
pub const APPLICATION_ID: i32 = 0x6d73_686d;
/// `user_version`.
pub const VERSION: u32 = 1;
/// Bytes of one page.
pub(crate) const PAGE_SIZE: u32 = 4096;

/// Name and text of everything in `sqlite_schema`, in the order of names.
///
/// `pair_verified` answers "the nearest verified pair" without looking at others.
pub(crate) const OBJECTS: [(&str, &str, &str); 11] = [
    (
        "build",
        "table",
        "CREATE TABLE build (key INTEGER NOT NULL, build TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (key, build)) STRICT, WITHOUT ROWID",
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
        "pair",
        "table",
        "CREATE TABLE pair (guest_key INTEGER NOT NULL, host_key INTEGER NOT NULL, id TEXT NOT NULL, guest_build TEXT NOT NULL, host_build TEXT NOT NULL, status TEXT NOT NULL, evidence_level INTEGER NOT NULL, apple_family_max INTEGER NOT NULL, max_threadgroup_memory INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (guest_key, host_key, id)) STRICT, WITHOUT ROWID",
    ),
    (
        "pair_by_host",
        "index",
        "CREATE INDEX pair_by_host ON pair (host_key, guest_key, id)",
    ),
    (
        "pair_by_id",
        "index",
        "CREATE UNIQUE INDEX pair_by_id ON pair (id)",
    ),
    (
        "pair_verified",
        "index",
        "CREATE INDEX pair_verified ON pair (guest_key, host_key, id) WHERE status = 'verified'",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_the_order_of_builds() {
        let order = [
            "22A379", "22A5266r", "22B1", "25F84", "25G76", "26A5378j", "26A5378n",
        ];
        let keys: Vec<i64> = order
            .iter()
            .map(|b| build_key(&b.parse().unwrap()))
            .collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
    }
}
