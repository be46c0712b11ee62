//! Reading a folder of records.

use std::collections::BTreeMap;
use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::Path;

use serde::de::DeserializeOwned;

use super::{Problem, Records, StockReports};

/// A record and the file it came from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filed<T> {
    /// The file, relative to the records folder, with `/` between its parts.
    pub file: String,
    /// What it says.
    pub record: T,
}

impl<T> Deref for Filed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.record
    }
}

impl<T> DerefMut for Filed<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.record
    }
}

/// Folders of records, and the files beside them.
const FOLDERS: [&str; 5] = ["clients", "denies", "faults", "leads", "pairs"];
const TABLES: [&str; 4] = [
    "builds.toml",
    "release.toml",
    "retired.toml",
    "stock-reports.toml",
];

impl Records {
    /// Reads a whole folder. Files that cannot be read or understood are problems, and so
    /// are files that no kind of record owns; everything else is in the records.
    pub fn load(dir: &Path) -> (Self, Vec<Problem>) {
        let mut reader = Reader {
            files: BTreeMap::new(),
            problems: Vec::new(),
        };
        reader.list(dir);
        let records = Self {
            pairs: reader.folder("pairs"),
            leads: reader.folder("leads"),
            denies: reader.folder("denies"),
            faults: reader.folder("faults"),
            clients: reader.folder("clients"),
            stock_reports: reader.stock_reports(),
            builds: reader.table("builds.toml"),
            retired: reader.table("retired.toml"),
            release: reader.table("release.toml"),
        };
        reader.problems.sort();
        (records, reader.problems)
    }
}

struct Reader {
    /// Relative path to content, of every file that a kind of record owns.
    files: BTreeMap<String, String>,
    problems: Vec<Problem>,
}

impl Reader {
    fn problem(&mut self, file: &str, rule: &'static str, says: String) {
        self.problems.push(Problem {
            file: file.to_owned(),
            field: String::new(),
            rule,
            says,
        });
    }

    fn list(&mut self, dir: &Path) {
        for (name, is_dir) in self.entries(dir, ".") {
            let known = if is_dir {
                FOLDERS.contains(&name.as_str())
            } else {
                TABLES.contains(&name.as_str()) || name == "README.md"
            };
            if !known {
                let says = format!(
                    "no kind of record belongs here; the folders are {}, the tables {}",
                    FOLDERS.join(", "),
                    TABLES.join(", ")
                );
                self.problem(&name, "readable", says);
            } else if is_dir {
                let folder = name;
                for (name, is_dir) in self.entries(&dir.join(&folder), &folder) {
                    let file = format!("{folder}/{name}");
                    if is_dir || !name.ends_with(".toml") {
                        let says = "only files called ID.toml belong here".to_owned();
                        self.problem(&file, "readable", says);
                    } else {
                        self.read(dir, file);
                    }
                }
            } else if name != "README.md" {
                self.read(dir, name);
            }
        }
    }

    /// Names in a folder, in order; hidden ones are left out, as editors leave them about.
    fn entries(&mut self, dir: &Path, shown: &str) -> Vec<(String, bool)> {
        let mut entries = Vec::new();
        let listing = match fs::read_dir(dir) {
            Ok(listing) => listing,
            Err(error) => {
                let says = format!("cannot list {}: {error}", dir.display());
                self.problem(shown, "readable", says);
                return entries;
            }
        };
        for entry in listing {
            let found = entry.and_then(|entry| {
                let is_dir = fs::metadata(entry.path())?.is_dir();
                Ok((entry.file_name().into_string(), is_dir))
            });
            match found {
                Ok((Ok(name), _)) if name.starts_with('.') => {}
                Ok((Ok(name), is_dir)) => entries.push((name, is_dir)),
                Ok((Err(name), _)) => {
                    let says = format!("the name {} is not text; rename it", name.display());
                    self.problem(shown, "readable", says);
                }
                Err(error) => {
                    let says = format!("cannot read an entry of {}: {error}", dir.display());
                    self.problem(shown, "readable", says);
                }
            }
        }
        entries.sort();
        entries
    }

    fn read(&mut self, dir: &Path, file: String) {
        match fs::read_to_string(dir.join(&file)) {
            Ok(text) => {
                self.files.insert(file, text);
            }
            Err(error) => self.problem(&file, "readable", format!("cannot be read: {error}")),
        }
    }

    fn parse<T: DeserializeOwned>(&mut self, file: &str, text: &str) -> Option<Filed<T>> {
        match toml::from_str(text) {
            Ok(record) => Some(Filed {
                file: file.to_owned(),
                record,
            }),
            Err(error) => {
                let line = error
                    .span()
                    .and_then(|span| text.get(..span.start))
                    .map(|before| before.matches('\n').count() + 1);
                let says = match line {
                    Some(line) => format!("line {line}: {}", error.message()),
                    None => error.message().to_owned(),
                };
                self.problem(file, "shape", says);
                None
            }
        }
    }

    fn folder<T: DeserializeOwned>(&mut self, folder: &str) -> Vec<Filed<T>> {
        let prefix = format!("{folder}/");
        let files: Vec<(String, String)> = self
            .files
            .iter()
            .filter(|(file, _)| file.starts_with(&prefix))
            .map(|(file, text)| (file.clone(), text.clone()))
            .collect();
        let parsed = files
            .iter()
            .filter_map(|(file, text)| self.parse(file, text));
        parsed.collect()
    }

    fn table<T: DeserializeOwned + Default>(&mut self, file: &str) -> Filed<T> {
        let Some(text) = self.files.get(file).cloned() else {
            let already = self.problems.iter().any(|problem| problem.file == file);
            if !already {
                self.problem(file, "readable", "the file is missing".to_owned());
            }
            return Filed {
                file: file.to_owned(),
                record: T::default(),
            };
        };
        self.parse(file, &text).unwrap_or_else(|| Filed {
            file: file.to_owned(),
            record: T::default(),
        })
    }

    fn stock_reports(&mut self) -> Vec<Filed<super::StockReport>> {
        let table: Filed<StockReports> = self.table("stock-reports.toml");
        let file = table.file;
        let rows = table.record.report.into_iter();
        rows.map(|record| Filed {
            file: file.clone(),
            record,
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_is_reported_and_the_rest_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &[u8]| {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("retired.toml", b"");
        write("builds.toml", b"build = [\n");
        write(
            "stock-reports.toml",
            b"[[report]]\nid = 'S01'\nsays = 'x'\nmeasured = true\n",
        );
        write(
            "clients/a.toml",
            b"id = 'a'\ntitle = 'A'\ngains = 'no'\ngains_says = 's'\n",
        );
        write("clients/b.toml", b"id = 'b'\ntitle = 'B'\ngain = 'no'\n");
        write("clients/.b.toml.swp", b"");
        write("clients/readme", b"");
        write("pairs/P0001.toml", b"\xff");
        write("extra.toml", b"");
        let (records, problems) = Records::load(dir.path());
        assert_eq!(records.clients.len(), 1);
        assert_eq!(records.stock_reports.len(), 1);
        let found: Vec<(&str, &str)> = problems
            .iter()
            .map(|problem| (problem.file.as_str(), problem.rule))
            .collect();
        assert_eq!(
            found,
            [
                ("builds.toml", "shape"),
                ("clients/b.toml", "shape"),
                ("clients/readme", "readable"),
                ("extra.toml", "readable"),
                ("pairs/P0001.toml", "readable"),
                ("release.toml", "readable"),
            ]
        );
        let says = &problems[1].says;
        assert!(
            says.starts_with("line 3:") && says.contains("`gain`"),
            "{says}"
        );
    }

    #[test]
    fn a_missing_folder_is_one_clear_problem() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("nowhere");
        let (_, problems) = Records::load(&missing);
        assert!(problems[0].says.contains("nowhere"), "{problems:?}");
    }
}
