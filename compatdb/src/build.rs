//! Builds a database from records.
//!
//! **Contract.** The same records give the same bytes, whatever order they come in and
//! wherever they are built: no clock, no path, no random number goes in, and `VACUUM INTO`
//! lays the pages out anew in the order of the keys. The file's header
//! holds SQLite's own version, so the bundled SQLite is pinned by Cargo.lock.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, params};
use serde::Serialize;

use crate::records::{Records, Release};
use crate::rows::{self, Pair, Status};
use crate::schema::{self, build_key};

/// Why a database could not be built.
#[derive(Debug)]
pub enum BuildError {
    /// Two records of one kind have the same id.
    Twice(String),
    /// A pair's id is not `P` and at least four digits.
    Id(String),
    /// SQLite could not.
    Sqlite(rusqlite::Error),
    /// A row could not be written as JSON.
    Row(String, serde_json::Error),
    /// The temporary or the final file could not be written.
    Write(PathBuf, io::Error),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Twice(id) => write!(f, "two records are called {id}: ids are given once"),
            Self::Id(id) => write!(
                f,
                "\"{}\" is not the id of a pair: it looks like P0001",
                id.escape_default()
            ),
            Self::Sqlite(e) => write!(f, "SQLite could not build the database: {e}"),
            Self::Row(id, e) => write!(f, "record {id} cannot be written as JSON: {e}"),
            Self::Write(path, e) => write!(f, "cannot write {}: {e}", path.display()),
        }
    }
}

impl std::error::Error for BuildError {}

impl From<rusqlite::Error> for BuildError {
    fn from(e: rusqlite::Error) -> Self {
        Self::Sqlite(e)
    }
}

/// The bytes of the database that these records make, published as `release` says.
///
/// The records are taken as they are: run [`crate::lint`] first.
///
/// # Errors
/// Two records with one id, or no room for a temporary file.
pub fn build_database(records: &Records, release: &Release) -> Result<Vec<u8>, BuildError> {
    let mut sql = Connection::open_in_memory()?;
    sql.pragma_update(None, "page_size", schema::PAGE_SIZE)?;
    sql.pragma_update(None, "encoding", "UTF-8")?;
    sql.pragma_update(None, "auto_vacuum", "NONE")?;
    sql.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    sql.pragma_update(None, "user_version", schema::VERSION)?;
    let transaction = sql.transaction()?;
    for (_, _, text) in schema::OBJECTS {
        transaction.execute(text, [])?;
    }
    fill(&transaction, records, release)?;
    transaction.commit()?;
    vacuum_into_bytes(&sql)
}

fn fill(sql: &Transaction<'_>, records: &Records, release: &Release) -> Result<(), BuildError> {
    let meta = [
        ("min_cli", release.min_cli.to_string()),
        ("published_at", release.published_at.to_string()),
        ("seq", release.seq.to_string()),
    ];
    for (key, value) in meta {
        sql.execute("INSERT INTO meta VALUES (?1, ?2)", params![key, value])?;
    }
    simple(
        sql,
        "client",
        records.clients.iter().map(|r| (&r.id, &r.record)),
    )?;
    simple(
        sql,
        "deny",
        records.denies.iter().map(|r| (&r.id, &r.record)),
    )?;
    simple(
        sql,
        "fault",
        records.faults.iter().map(|r| (&r.id, &r.record)),
    )?;
    simple(
        sql,
        "lead",
        records.leads.iter().map(|r| (&r.id, &r.record)),
    )?;
    simple(
        sql,
        "stock",
        records.stock_reports.iter().map(|r| (&r.id, &r.record)),
    )?;
    let mut insert = sql.prepare("INSERT INTO build VALUES (?1, ?2)")?;
    for row in &records.builds.build {
        let name = row.build.as_str();
        once(
            name,
            insert.execute(params![build_key(&row.build), body(name, row)?]),
        )?;
    }
    fill_pairs(sql, records.pairs.iter().map(|filed| &filed.record))
}

/// Pairs in the order of their ids: details are numbered as they come.
fn fill_pairs<'a>(
    sql: &Transaction<'_>,
    pairs: impl Iterator<Item = &'a Pair>,
) -> Result<(), BuildError> {
    let mut by_number = BTreeMap::new();
    for pair in pairs {
        let number =
            schema::pair_number(&pair.id).ok_or_else(|| BuildError::Id(pair.id.clone()))?;
        if by_number.insert(number, pair).is_some() {
            return Err(BuildError::Twice(pair.id.clone()));
        }
    }
    let mut details: HashMap<String, i64> = HashMap::new();
    // Per guest, the newest host: of releases before betas, which few have.
    let mut nearest: BTreeMap<i64, (bool, i64, i64)> = BTreeMap::new();
    let mut insert_detail = sql.prepare("INSERT INTO detail VALUES (?1, ?2)")?;
    let mut insert = sql.prepare("INSERT INTO pair VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    for (number, pair) in by_number {
        let text = body(&pair.id, &rows::without_columns(pair))?;
        let next = i64::try_from(details.len()).unwrap_or(i64::MAX);
        let detail = *details.entry(text.clone()).or_insert(next);
        if detail == next {
            insert_detail.execute(params![detail, text])?;
        }
        let (guest, host) = (build_key(&pair.guest.build), build_key(&pair.host.build));
        insert.execute(params![
            guest,
            host,
            number,
            schema::status_number(pair.status),
            pair.evidence.level,
            pair.profile.apple_family_max,
            pair.profile.max_threadgroup_memory,
            detail,
        ])?;
        if pair.status == Status::Verified && pair.evidence.level >= 1 {
            let this = (!pair.host.build.is_beta(), host, number);
            let newest = nearest.entry(guest).or_insert(this);
            *newest = (*newest).max(this);
        }
    }
    let mut insert = sql.prepare("INSERT INTO nearest VALUES (?1, ?2, ?3)")?;
    for (guest, (_, host, number)) in nearest {
        insert.execute(params![guest, host, number])?;
    }
    Ok(())
}

/// Fills a table of ids and bodies. In whatever order: VACUUM writes them by their keys.
fn simple<'a, T: Serialize + 'a>(
    sql: &Transaction<'_>,
    table: &str,
    rows: impl Iterator<Item = (&'a String, &'a T)>,
) -> Result<(), BuildError> {
    let mut insert = sql.prepare(&format!("INSERT INTO {table} VALUES (?1, ?2)"))?;
    for (id, row) in rows {
        once(id, insert.execute(params![id, body(id, row)?]))?;
    }
    Ok(())
}

fn body<T: Serialize>(id: &str, row: &T) -> Result<String, BuildError> {
    serde_json::to_string(row).map_err(|e| BuildError::Row(id.to_owned(), e))
}

fn once(id: &str, inserted: rusqlite::Result<usize>) -> Result<(), BuildError> {
    match inserted {
        Ok(_) => Ok(()),
        Err(e) if e.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) => {
            Err(BuildError::Twice(id.to_owned()))
        }
        Err(e) => Err(e.into()),
    }
}

/// `VACUUM INTO` wants a file: one in a temporary folder, gone afterwards.
fn vacuum_into_bytes(sql: &Connection) -> Result<Vec<u8>, BuildError> {
    let write = |path: &Path, e| BuildError::Write(path.to_owned(), e);
    let dir = tempfile::tempdir().map_err(|e| write(&std::env::temp_dir(), e))?;
    let path = dir.path().join("compat.sqlite");
    let Some(text) = path.to_str() else {
        let e = io::Error::other("the temporary folder's name is not text; set TMPDIR");
        return Err(write(&path, e));
    };
    sql.execute("VACUUM INTO ?1", [text])?;
    std::fs::read(&path).map_err(|e| write(&path, e))
}

/// Writes a file so that a reader, or a crash, meets the old one or the new one, whole.
///
/// # Errors
/// What the file system says, with the path.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let write = || -> io::Result<()> {
        // A device or a pipe would be replaced, for everybody who uses it.
        if path.metadata().is_ok_and(|there| !there.is_file()) {
            return Err(io::Error::other("what is there is not a regular file"));
        }
        let mut file = tempfile::Builder::new()
            .permissions(permissions())
            .tempfile_in(dir)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|e| e.error)?;
        // The rename itself lives in the folder.
        File::open(dir)?.sync_all()
    };
    write().map_err(|e| BuildError::Write(path.to_owned(), e))
}

/// A database is for everybody to read; the umask still takes away.
fn permissions() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::Permissions::from_mode(0o644)
}
