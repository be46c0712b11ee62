//! Facts files: a guest, described for `METALSHIM_FACTS`.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use toml::{Table, Value};

/// A facts file in the making. Starts as the built-in sample.
#[derive(Clone, Debug)]
pub struct FactsFile {
    table: Table,
}

/// A facts file on disk, in a folder of its own, removed with this value.
#[derive(Debug)]
pub struct SavedFacts {
    folder: TempDir,
}

impl FactsFile {
    /// The sample: a guest of build 25F84 on a host of build 25G76.
    pub fn sample() -> Self {
        Self::parse(include_str!("../facts/sample.toml"))
    }

    /// The facts in a TOML text.
    ///
    /// # Panics
    ///
    /// When it is not TOML.
    pub fn parse(text: &str) -> Self {
        match text.parse() {
            Ok(table) => Self { table },
            Err(why) => panic!("not a facts file: {why}"),
        }
    }

    /// Sets one key: `with("guest.build", "25G83")`, `with("device.apple_family", 1006)`.
    ///
    /// # Panics
    ///
    /// When `path` is not `section.key`.
    #[must_use]
    pub fn with(mut self, path: &str, value: impl Into<Value>) -> Self {
        let Some((section, key)) = path.split_once('.') else {
            panic!("{path} is not section.key");
        };
        let section = self
            .table
            .entry(section)
            .or_insert_with(|| Value::Table(Table::new()));
        match section {
            Value::Table(table) => table.insert(key.to_owned(), value.into()),
            _ => panic!("{path}: {section} is not a section"),
        };
        self
    }

    /// Leaves a whole section (`host`) or one key (`host.apple_family`) out.
    #[must_use]
    pub fn without(mut self, path: &str) -> Self {
        match path.split_once('.') {
            None => self.table.remove(path),
            Some((section, key)) => self
                .table
                .get_mut(section)
                .and_then(Value::as_table_mut)
                .and_then(|table| table.remove(key)),
        };
        self
    }

    /// Sets the time that it is, like `2026-12-01T00:00:00Z`.
    ///
    /// # Panics
    ///
    /// When that is not a time.
    #[must_use]
    pub fn at(self, now: &str) -> Self {
        match now.parse::<toml::value::Datetime>() {
            Ok(time) => self.with("clock.now", time),
            Err(why) => panic!("{now}: {why}"),
        }
    }

    /// A text value of the file, like `text("guest.build")`; empty when it is not there.
    pub fn text(&self, path: &str) -> &str {
        self.value(path).and_then(Value::as_str).unwrap_or_default()
    }

    /// A number of the file, like `number("device.apple_family")`; 0 when it is not there.
    pub fn number(&self, path: &str) -> i64 {
        self.value(path)
            .and_then(Value::as_integer)
            .unwrap_or_default()
    }

    fn value(&self, path: &str) -> Option<&Value> {
        let (section, key) = path.split_once('.')?;
        self.table.get(section)?.get(key)
    }

    /// The file as text.
    pub fn to_toml(&self) -> String {
        self.table.to_string()
    }

    /// Writes the file into a new temporary folder.
    ///
    /// # Panics
    ///
    /// When that cannot be written.
    pub fn save(&self) -> SavedFacts {
        let saved = tempfile::tempdir().and_then(|folder| {
            let saved = SavedFacts { folder };
            fs::write(saved.path(), self.to_toml())?;
            Ok(saved)
        });
        saved.unwrap_or_else(|why| panic!("a facts file cannot be written: {why}"))
    }
}

impl SavedFacts {
    /// Where the file is: the value for `METALSHIM_FACTS`.
    pub fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("facts.toml")
    }

    /// The temporary folder it is in, for what else the test needs on disk.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}
