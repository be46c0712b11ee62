//! Opens a database from bytes in memory.
//!
//! **Contract.** The bytes that are hashed are the bytes that are opened: no file, no race,
//! nothing written beside it, and a read-only place will do. Bytes are never trusted: the
//! connection can neither write, attach, nor run anything that the schema brings along, and
//! the schema must be the expected text. Nothing panics, whatever the bytes are.
//!
//! **Honest scope.** A changed byte inside a row is found by the hash, which is the caller's
//! to compare: SQLite's own checks see about one in five of such changes.

use jiff::Timestamp;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, MAIN_DB};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::schema;

/// The largest database that is opened, in bytes: 64 MiB.
pub const MAX_LEN: usize = 64 * 1024 * 1024;

/// An opened database.
pub struct Database {
    pub(crate) sql: Connection,
    meta: Meta,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Database").field(&self.meta).finish()
    }
}

/// What a database says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Meta {
    /// Counts up with every database that is published.
    pub seq: u64,
    /// When it was published.
    pub published_at: Timestamp,
    /// The oldest command that may use it.
    pub min_cli: semver::Version,
    /// The schema, `user_version`.
    pub schema: u32,
    /// SHA-256 of its bytes, 64 hexadecimal digits.
    pub sha256: String,
    /// Its length, in bytes.
    pub len: usize,
}

/// Why bytes are not a database that may be used.
#[derive(Debug)]
pub enum OpenError {
    /// Longer than [`MAX_LEN`].
    TooLong(usize),
    /// Not a SQLite file, cut off, or damaged.
    Damaged(String),
    /// A SQLite file of another program.
    OtherApplication(i32),
    /// Another schema than this build reads.
    OtherSchema(i64),
    /// The right schema number, but other tables.
    SchemaText(String),
    /// A value of the meta table is missing or not what it should be.
    Meta(&'static str, String),
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLong(len) => write!(
                f,
                "the compatibility database has {len} bytes, more than the {MAX_LEN} that are read"
            ),
            Self::Damaged(why) => write!(f, "the compatibility database is damaged: {why}"),
            Self::OtherApplication(id) => write!(
                f,
                "this is not a compatibility database: its application id is {id:#010x}, not {:#010x}",
                schema::APPLICATION_ID
            ),
            Self::OtherSchema(found) if *found > i64::from(schema::VERSION) => write!(
                f,
                "the compatibility database has schema {found}, and this metalshim reads schema {}: update metalshim",
                schema::VERSION
            ),
            Self::OtherSchema(found) => write!(
                f,
                "the compatibility database has schema {found}, and this metalshim reads schema {}: update the database",
                schema::VERSION
            ),
            Self::SchemaText(name) => write!(
                f,
                "the compatibility database does not have the tables of its schema: `{name}` is missing, unknown or different"
            ),
            Self::Meta(key, why) => {
                write!(
                    f,
                    "the compatibility database's `{key}` cannot be used: {why}"
                )
            }
        }
    }
}

impl std::error::Error for OpenError {}

impl From<rusqlite::Error> for OpenError {
    fn from(e: rusqlite::Error) -> Self {
        Self::Damaged(e.to_string())
    }
}

/// The hash that names a database: SHA-256, 64 hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

impl Database {
    /// Opens the bytes of a database file. They are copied once, into SQLite's memory.
    ///
    /// # Errors
    /// See [`OpenError`]: whatever is not exactly a database of this schema.
    pub fn open(bytes: impl AsRef<[u8]>) -> Result<Self, OpenError> {
        let bytes = bytes.as_ref();
        if bytes.len() > MAX_LEN {
            return Err(OpenError::TooLong(bytes.len()));
        }
        check_header(bytes)?;
        let mut sql = Connection::open_in_memory()?;
        harden(&sql)?;
        sql.deserialize_read_exact(MAIN_DB, bytes, bytes.len(), true)?;
        sql.pragma_update(None, "query_only", true)?;
        check_schema(&sql)?;
        let meta = read_meta(&sql, bytes)?;
        Ok(Self { sql, meta })
    }

    /// What it says of itself.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// SHA-256 of its bytes, 64 hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.meta.sha256
    }

    /// Counts up with every database that is published.
    pub fn seq(&self) -> u64 {
        self.meta.seq
    }

    /// When it was published.
    pub fn published_at(&self) -> Timestamp {
        self.meta.published_at
    }

    /// The oldest command that may use it.
    pub fn min_cli(&self) -> &semver::Version {
        &self.meta.min_cli
    }

    /// How a ticket names it: `<seq>:<first 16 digits of its hash>`.
    pub fn name(&self) -> String {
        format!("{}:{:.16}", self.meta.seq, self.meta.sha256)
    }

    /// Its bytes: those that were opened.
    ///
    /// # Errors
    /// SQLite has no memory left for a copy.
    pub fn bytes(&mut self) -> Result<Vec<u8>, OpenError> {
        Ok(self.sql.serialize(MAIN_DB)?.to_vec())
    }

    /// Looks at every page and row. For taking a database in, not for every start.
    ///
    /// # Errors
    /// The first damage found.
    pub fn quick_check(&self) -> Result<(), OpenError> {
        let says: String = self
            .sql
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        match says.as_str() {
            "ok" => Ok(()),
            _ => Err(OpenError::Damaged(says)),
        }
    }
}

/// Ids are looked at before SQLite sees the bytes: they are at fixed places.
fn check_header(bytes: &[u8]) -> Result<(), OpenError> {
    let field = |at: usize| -> Option<u32> {
        let four = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_be_bytes(four))
    };
    if !bytes.starts_with(b"SQLite format 3\0") {
        return Err(OpenError::Damaged("it is not a SQLite file".to_owned()));
    }
    let (Some(version), Some(application), Some(pages)) = (field(60), field(68), field(28)) else {
        return Err(OpenError::Damaged("it ends inside its header".to_owned()));
    };
    if application != schema::APPLICATION_ID.cast_unsigned() {
        return Err(OpenError::OtherApplication(application.cast_signed()));
    }
    if version != schema::VERSION {
        return Err(OpenError::OtherSchema(version.into()));
    }
    // SQLite takes a file that was cut between two pages until it needs the missing ones.
    let expected = u64::from(pages) * u64::from(schema::PAGE_SIZE);
    if expected != bytes.len() as u64 {
        return Err(OpenError::Damaged(format!(
            "it has {} bytes where its header says {expected}",
            bytes.len()
        )));
    }
    Ok(())
}

fn harden(sql: &Connection) -> Result<(), OpenError> {
    for (option, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
        (DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false),
    ] {
        sql.set_db_config(option, on)?;
    }
    for (limit, value) in [
        (Limit::SQLITE_LIMIT_LENGTH, 4 * 1024 * 1024),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 4096),
        (Limit::SQLITE_LIMIT_COLUMN, 32),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 32),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 2),
        (Limit::SQLITE_LIMIT_VDBE_OP, 4096),
        (Limit::SQLITE_LIMIT_FUNCTION_ARG, 8),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64),
        (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 16),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 0),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        sql.set_limit(limit, value)?;
    }
    sql.pragma_update(None, "cell_size_check", true)?;
    Ok(())
}

fn check_schema(sql: &Connection) -> Result<(), OpenError> {
    let mut query = sql.prepare("SELECT name, type, sql FROM sqlite_schema ORDER BY name")?;
    let mut rows = query.query([])?;
    let mut expected = schema::OBJECTS.iter();
    loop {
        match (rows.next()?, expected.next()) {
            (None, None) => return Ok(()),
            (None, Some((name, ..))) => return Err(OpenError::SchemaText((*name).to_owned())),
            (Some(row), expected) => {
                let name: String = row.get(0)?;
                let kind: String = row.get(1)?;
                let text: Option<String> = row.get(2)?;
                let same = expected
                    .is_some_and(|&(n, k, t)| n == name && k == kind && text.as_deref() == Some(t));
                if !same {
                    let name = name.chars().take(40).collect::<String>();
                    return Err(OpenError::SchemaText(name.escape_default().to_string()));
                }
            }
        }
    }
}

fn read_meta(sql: &Connection, bytes: &[u8]) -> Result<Meta, OpenError> {
    let value = |key: &'static str| -> Result<String, OpenError> {
        sql.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| {
            row.get(0)
        })
        .map_err(|e| OpenError::Meta(key, e.to_string()))
    };
    fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
        key: &'static str,
        text: &str,
    ) -> Result<T, OpenError> {
        text.parse()
            .map_err(|e: T::Err| OpenError::Meta(key, e.to_string()))
    }
    Ok(Meta {
        seq: parsed("seq", &value("seq")?)?,
        published_at: parsed("published_at", &value("published_at")?)?,
        min_cli: parsed("min_cli", &value("min_cli")?)?,
        schema: schema::VERSION,
        sha256: sha256_hex(bytes),
        len: bytes.len(),
    })
}
