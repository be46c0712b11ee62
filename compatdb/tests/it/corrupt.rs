//! Bytes that are not what they should be. Nothing panics, and what opens answers.

use compatdb::{Database, DenyList, OpenError, PairFilter, sha256_hex};
use rusqlite::Connection;

use crate::samples::{build, bytes, sample};

/// Asks everything; errors are fine, panics are not.
fn ask_everything(db: &Database) -> Vec<String> {
    let (guest, host) = (build("25F84"), build("25G76"));
    let list = DenyList::default();
    vec![
        format!(
            "{:?}",
            db.lookup(&guest, Some(&host), Some(&list))
                .map_err(|e| e.to_string())
        ),
        format!(
            "{:?}",
            db.pairs(&PairFilter::default()).map_err(|e| e.to_string())
        ),
        format!("{:?}", db.clients().map_err(|e| e.to_string())),
        format!("{:?}", db.deny_ranges().map_err(|e| e.to_string())),
        format!("{:?}", db.faults().map_err(|e| e.to_string())),
        format!("{:?}", db.leads().map_err(|e| e.to_string())),
        format!("{:?}", db.builds().map_err(|e| e.to_string())),
        format!("{:?}", db.stock_reports().map_err(|e| e.to_string())),
        format!("{:?}", db.show("P0001").map_err(|e| e.to_string())),
        format!("{:?}", db.quick_check().map_err(|e| e.to_string())),
    ]
}

/// The hash tells every change; opening tells some. Every byte that holds something is
/// turned over, and of the zeros that fill pages up every 61st.
#[test]
fn one_changed_byte_never_panics_and_never_keeps_the_hash() {
    let whole = bytes(&sample());
    let hash = sha256_hex(&whole);
    let mut changed = whole.clone();
    let (mut refused, mut tried) = (0, 0);
    for at in 0..whole.len() {
        if whole[at] == 0 && at % 61 != 0 {
            continue;
        }
        changed[at] ^= 0xff;
        tried += 1;
        match Database::open(&changed) {
            Ok(db) => {
                assert_ne!(db.sha256(), hash);
                ask_everything(&db);
            }
            Err(_) => refused += 1,
        }
        changed[at] = whole[at];
    }
    assert!(refused > 0 && refused < tried, "{refused} of {tried}");
    let db = Database::open(&whole).unwrap();
    assert_eq!(db.sha256(), hash);
    db.quick_check().unwrap();
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let whole = bytes(&sample());
    let ends = (0..200)
        .chain((200..whole.len()).step_by(509))
        .chain([whole.len() - 1, 4096, 8192]);
    for end in ends {
        let error = Database::open(&whole[..end]).unwrap_err();
        assert!(matches!(error, OpenError::Damaged(_)), "{end}: {error}");
    }
    let longer = [whole.as_slice(), &[0; 4096]].concat();
    assert!(Database::open(longer).is_err());
}

/// The sample, changed by SQL.
fn changed(sql: &str) -> OpenError {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    std::fs::write(&path, bytes(&sample())).unwrap();
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    Database::open(std::fs::read(&path).unwrap()).unwrap_err()
}

#[test]
fn other_databases_are_told_apart() {
    let error = changed("PRAGMA application_id = 5");
    assert!(matches!(error, OpenError::OtherApplication(5)), "{error}");
    let error = changed("PRAGMA user_version = 2");
    assert!(matches!(error, OpenError::OtherSchema(2)), "{error}");
    assert!(error.to_string().contains("update metalshim"), "{error}");
    let error = changed("PRAGMA user_version = 0");
    assert!(error.to_string().contains("update the database"), "{error}");
    let error = Database::open(b"{}").unwrap_err();
    assert!(error.to_string().contains("not a SQLite file"), "{error}");
}

#[test]
fn a_schema_with_anything_else_in_it_is_refused() {
    for (sql, name) in [
        ("CREATE TABLE zz (a)", "zz"),
        ("CREATE VIEW aa AS SELECT 1", "aa"),
        (
            "CREATE TRIGGER mm AFTER INSERT ON client BEGIN DELETE FROM pair; END",
            "mm",
        ),
        ("DROP INDEX pair_by_host", "stock"),
        ("ALTER TABLE deny ADD COLUMN extra TEXT", "deny"),
        ("DROP TABLE stock", "stock"),
    ] {
        let error = changed(sql);
        assert!(
            matches!(&error, OpenError::SchemaText(n) if n == name),
            "{sql}: {error}"
        );
    }
}

#[test]
fn meta_must_be_there_and_readable() {
    for (sql, key) in [
        ("UPDATE meta SET value = '-1' WHERE key = 'seq'", "seq"),
        ("DELETE FROM meta WHERE key = 'min_cli'", "min_cli"),
        (
            "UPDATE meta SET value = 'soon' WHERE key = 'published_at'",
            "published_at",
        ),
    ] {
        let error = changed(sql);
        assert!(
            matches!(&error, OpenError::Meta(k, _) if *k == key),
            "{sql}: {error}"
        );
    }
}

#[test]
fn a_row_that_is_not_a_pair_is_not_answered() {
    for (sql, says) in [
        ("UPDATE pair SET status = 3", "3 is not a status"),
        ("UPDATE pair SET max_threadgroup_memory = -1", "range"),
        ("UPDATE detail SET body = '{'", "cannot be read"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        std::fs::write(&path, bytes(&sample())).unwrap();
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let db = Database::open(std::fs::read(&path).unwrap()).unwrap();
        let error = db
            .lookup(&build("25F84"), Some(&build("25G80")), None)
            .unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}
