//! What is kept on the disk for one trust root.
//!
//! **Contract.** `current` names one set of metadata and one database, and is swapped by a
//! rename after both are there whole and synced: a process killed at any moment leaves the last
//! good database. What is there and cannot be read is an error, never "nothing".
//!
//! | file | what |
//! |---|---|
//! | `trust-root.json` | the root that everything is verified from |
//! | `current`, `previous` | which set and which database |
//! | `metadata/<id>/` | a set, byte for byte as it was served |
//! | `db/<sha256>.sqlite` | a database |
//! | `denied.json` | what deny lists named since the database was published |
//! | `floor.json` | what was reached: nothing older is taken again |
//! | `history.json` | the last databases taken in or rolled back |
//! | `lock` | held by whatever changes the files above; holds its process number |

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use compatdb::{DenyList, sha256_hex};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::files::Files;
use super::floor::Floor;
use super::limits;
use super::problem::Problem;
use super::verify::{Listed, Metadata, Verified, verify};
use crate::error::plain;

const CURRENT: &str = "current";
const PREVIOUS: &str = "previous";
const FLOOR: &str = "floor.json";
const DENIED: &str = "denied.json";
const HISTORY: &str = "history.json";
const TRUST_ROOT: &str = "trust-root.json";
/// How many lines the history has.
const HISTORY_LEN: usize = 50;

/// One of the two that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The one in use.
    Current,
    /// The one before it.
    Previous,
}

impl Which {
    const fn file(self) -> &'static str {
        match self {
            Self::Current => CURRENT,
            Self::Previous => PREVIOUS,
        }
    }
}

/// Which set and which database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pointer {
    metadata: String,
    database: String,
    /// The database's `seq`.
    pub(crate) seq: u64,
    /// The SHA-256 of a database that was rolled back, and is not taken again by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) held_back: Option<String>,
}

/// A verified set and its database.
#[derive(Debug)]
pub(crate) struct Stored {
    /// Where it is.
    pub(crate) pointer: Pointer,
    /// The files.
    pub(crate) metadata: Metadata,
    /// What they vouch for.
    pub(crate) verified: Verified,
    /// The database as they list it.
    pub(crate) listed: Listed,
    /// Its bytes: the ones that were hashed.
    pub(crate) bytes: Vec<u8>,
}

/// One line of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When, by this machine's clock.
    pub at: Timestamp,
    /// `taken-in` or `rolled-back`.
    pub what: String,
    /// The `seq` of the database that is used since.
    pub seq: u64,
    /// Its SHA-256.
    pub sha256: String,
    /// Where it came from.
    pub from: String,
}

/// The folder of one trust root.
pub(crate) struct Store {
    folder: PathBuf,
    /// The disk.
    pub(crate) files: Files,
}

impl Store {
    /// `folder` need not exist before something is written.
    pub(crate) fn new(folder: PathBuf, files: Files) -> Self {
        Self { folder, files }
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Waits for other updaters, at most until `deadline`, and keeps them waiting until the
    /// returned file is dropped. `waiting` is told who holds the lock.
    pub(crate) fn lock(
        &self,
        deadline: Instant,
        waiting: impl FnOnce(&str),
    ) -> Result<File, Problem> {
        self.files.make_folder(&self.folder).map_err(on_disk)?;
        let path = self.folder.join("lock");
        let open = || {
            File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
        };
        let mut file = open().map_err(|e| Problem::Disk(path.clone(), e))?;
        let mut waiting = Some(waiting);
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(e)) => return Err(Problem::Disk(path, e)),
                Err(TryLockError::WouldBlock) => {}
            }
            let mut holder = String::new();
            let _ = file.rewind();
            let _ = (&mut file).take(20).read_to_string(&mut holder);
            let holder = match holder.trim() {
                "" => "another process".to_owned(),
                number => format!("process {number}"),
            };
            if Instant::now() >= deadline {
                return Err(Problem::Usage(
                    format!("{holder} is updating, and holds {}", path.display()),
                    "wait until it is done, or end it, and try again".to_owned(),
                ));
            }
            if let Some(waiting) = waiting.take() {
                waiting(&holder);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        // Only for people to read: it may fail.
        let _ = file.set_len(0);
        let _ = file.rewind();
        let _ = write!(file, "{}", std::process::id());
        Ok(file)
    }

    /// The root that this folder is for, where one is kept.
    pub(crate) fn trust_root(&self) -> Result<Option<Vec<u8>>, Problem> {
        read(&self.folder.join(TRUST_ROOT), limits::ROOT)
    }

    /// Keeps the root that this folder is for.
    pub(crate) fn keep_trust_root(&self, root: &[u8]) -> Result<(), Problem> {
        if matches!(self.trust_root(), Ok(Some(kept)) if kept == root) {
            return Ok(());
        }
        self.write(TRUST_ROOT, root)
    }

    /// What was reached.
    pub(crate) fn floor(&self) -> Result<Floor, Problem> {
        Ok(self.json(FLOOR)?.unwrap_or_default())
    }

    /// What deny lists named since the database was published.
    pub(crate) fn denied(&self) -> Result<Option<DenyList>, Problem> {
        self.json(DENIED)
    }

    /// The history, the oldest first.
    pub(crate) fn history(&self) -> Result<Vec<Event>, Problem> {
        Ok(self.json(HISTORY)?.unwrap_or_default())
    }

    /// Where `current` or `previous` points.
    pub(crate) fn pointer(&self, which: Which) -> Result<Option<Pointer>, Problem> {
        let Some(pointer) = self.json::<Pointer>(which.file())? else {
            return Ok(None);
        };
        let hex = |text: &str, len: usize| {
            text.len() == len && text.bytes().all(|b| b.is_ascii_hexdigit())
        };
        if hex(&pointer.metadata, 16) && hex(&pointer.database, 64) {
            return Ok(Some(pointer));
        }
        Err(self.damaged(which.file(), "it names no set"))
    }

    /// Reads and verifies, from the trust root to the bytes of the database.
    ///
    /// # Errors
    /// It is there, and cannot be read or does not verify.
    pub(crate) fn load(&self, trust_root: &[u8], which: Which) -> Result<Option<Stored>, Problem> {
        let Some(pointer) = self.pointer(which)? else {
            return Ok(None);
        };
        let metadata = self.metadata(&pointer.metadata)?;
        let set = format!("metadata/{}", pointer.metadata);
        let verified = verify(trust_root, &metadata)
            .map_err(|problem| self.damaged(&set, &problem.to_string()))?;
        let mut listed = verified.databases.iter();
        let Some(listed) = listed.find(|l| l.sha256 == pointer.database).cloned() else {
            return Err(self.damaged(&set, "it does not list the database that is kept with it"));
        };
        let name = format!("db/{}.sqlite", pointer.database);
        let bytes = self.need(&name, limits::TARGET)?;
        if sha256_hex(&bytes) != listed.sha256 {
            return Err(self.damaged(&name, "it is not what was signed"));
        }
        Ok(Some(Stored {
            pointer,
            metadata,
            verified,
            listed,
            bytes,
        }))
    }

    /// The bytes of a database that is kept already, if they have this hash.
    pub(crate) fn database(&self, sha256: &str) -> Option<Vec<u8>> {
        let path = self.folder.join(format!("db/{sha256}.sqlite"));
        let bytes = read(&path, limits::TARGET).ok().flatten()?;
        (sha256_hex(&bytes) == sha256).then_some(bytes)
    }

    fn metadata(&self, id: &str) -> Result<Metadata, Problem> {
        let file = |name: &str, max| self.need(&format!("metadata/{id}/{name}"), max);
        let maybe = |name: &str, max| read(&self.folder.join(format!("metadata/{id}/{name}")), max);
        let mut roots = Vec::new();
        while let Some(root) = maybe(&format!("root-{:04}.json", roots.len() + 1), limits::ROOT)? {
            roots.push(root);
        }
        let revoker = match maybe("revoker.json", limits::LISTS)? {
            Some(revoker) => Some((revoker, file("revocations.json", limits::DENY_LIST)?)),
            None => None,
        };
        Ok(Metadata {
            roots,
            timestamp: file("timestamp.json", limits::TIMESTAMP)?,
            snapshot: file("snapshot.json", limits::LISTS)?,
            targets: file("targets.json", limits::LISTS)?,
            revoker,
        })
    }

    /// Takes a verified set in. The order is the contract: the database, the metadata, what is
    /// denied, and only then `current`.
    pub(crate) fn commit(
        &self,
        metadata: &Metadata,
        listed: &Listed,
        bytes: &[u8],
        denied: &DenyList,
        floor: &Floor,
    ) -> Result<(), Problem> {
        let old = self.pointer(Which::Current).ok().flatten();
        let pointer = Pointer {
            metadata: id(metadata),
            database: listed.sha256.clone(),
            seq: listed.custom.seq,
            held_back: None,
        };
        let database = format!("db/{}.sqlite", pointer.database);
        if self.database(&pointer.database).is_none() {
            self.write(&database, bytes)?;
        }
        let set = |name: &str| format!("metadata/{}/{name}", pointer.metadata);
        for (number, root) in (1..).zip(&metadata.roots) {
            self.write(&set(&format!("root-{number:04}.json")), root)?;
        }
        self.write(&set("snapshot.json"), &metadata.snapshot)?;
        self.write(&set("targets.json"), &metadata.targets)?;
        if let Some((revoker, list)) = &metadata.revoker {
            self.write(&set("revocations.json"), list)?;
            self.write(&set("revoker.json"), revoker)?;
        }
        self.write(&set("timestamp.json"), &metadata.timestamp)?;
        self.deny(denied)?;
        if let Some(old) = &old
            && old.database != pointer.database
        {
            self.write_json(PREVIOUS, old)?;
        }
        self.write_json(CURRENT, &pointer)?;
        self.raise(floor)?;
        self.tidy();
        Ok(())
    }

    /// Keeps what is denied.
    pub(crate) fn deny(&self, denied: &DenyList) -> Result<(), Problem> {
        self.write_json(DENIED, denied)
    }

    /// Keeps what was reached.
    pub(crate) fn raise(&self, floor: &Floor) -> Result<(), Problem> {
        self.write_json(FLOOR, floor)
    }

    /// Swaps the two that are kept: the newer one is held back.
    pub(crate) fn roll_back(&self) -> Result<(), Problem> {
        let (Some(current), Some(previous)) = (
            self.pointer(Which::Current)?,
            self.pointer(Which::Previous)?,
        ) else {
            return Ok(());
        };
        let held_back = (current.seq > previous.seq).then(|| current.database.clone());
        // `previous` first: killed in between, both name the same database, which is usable.
        self.write_json(
            CURRENT,
            &Pointer {
                held_back,
                ..previous
            },
        )?;
        self.write_json(
            PREVIOUS,
            &Pointer {
                held_back: None,
                ..current
            },
        )
    }

    /// Adds a line to the history. It decides nothing: an error is for a warning.
    pub(crate) fn remember(&self, event: Event) -> Result<(), Problem> {
        let mut history = self.history().unwrap_or_default();
        history.push(event);
        let from = history.len().saturating_sub(HISTORY_LEN);
        self.write_json(HISTORY, &history.get(from..).unwrap_or_default())
    }

    /// Removes sets, databases and temporary files that nothing names. What cannot be removed
    /// is in nobody's way.
    fn tidy(&self) {
        let pointers = [Which::Current, Which::Previous].map(|which| self.pointer(which));
        let [Ok(current), Ok(previous)] = pointers else {
            return;
        };
        let used: Vec<Pointer> = current.into_iter().chain(previous).collect();
        let named = |name: &str| {
            used.iter()
                .any(|p| p.metadata == name || name.strip_suffix(".sqlite") == Some(&p.database))
        };
        for folder in ["metadata", "db"] {
            for entry in std::fs::read_dir(self.folder.join(folder))
                .into_iter()
                .flatten()
                .flatten()
            {
                if !entry.file_name().to_str().is_some_and(named) {
                    let _ = self.files.remove(&entry.path());
                }
            }
        }
        for entry in std::fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with('.') && name.ends_with(".tmp") {
                let _ = self.files.remove(&entry.path());
            }
        }
    }

    fn write_json<T: Serialize + ?Sized>(&self, name: &str, value: &T) -> Result<(), Problem> {
        let mut text = serde_json::to_vec_pretty(value)
            .map_err(|e| Problem::Stored(self.folder.join(name), e.to_string()))?;
        text.push(b'\n');
        self.write(name, &text)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Problem> {
        let path = self.folder.join(name);
        if let Some(folder) = path.parent() {
            self.files.make_folder(folder).map_err(on_disk)?;
        }
        self.files.write(&path, bytes).map_err(on_disk)
    }

    fn json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Problem> {
        let Some(bytes) = read(&self.folder.join(name), 1 << 20)? else {
            return Ok(None);
        };
        serde_json::from_slice(&bytes).map_err(|e| self.damaged(name, &e.to_string()))
    }

    fn need(&self, name: &str, max: u64) -> Result<Vec<u8>, Problem> {
        read(&self.folder.join(name), max)?.ok_or_else(|| self.damaged(name, "it is missing"))
    }

    fn damaged(&self, name: &str, why: &str) -> Problem {
        Problem::Stored(self.folder.join(name), why.to_owned())
    }
}

fn on_disk((path, e): super::files::Failed) -> Problem {
    Problem::Disk(path, e)
}

/// The name of a set: what is in it.
fn id(metadata: &Metadata) -> String {
    let mut all = String::new();
    let mut add = |bytes: &[u8]| all.push_str(&sha256_hex(bytes));
    for root in &metadata.roots {
        add(root);
    }
    add(&metadata.timestamp);
    add(&metadata.snapshot);
    add(&metadata.targets);
    if let Some((revoker, list)) = &metadata.revoker {
        add(revoker);
        add(list);
    }
    sha256_hex(all.as_bytes()).chars().take(16).collect()
}

/// At most `max` bytes; none where there is no such file.
fn read(path: &Path, max: u64) -> Result<Option<Vec<u8>>, Problem> {
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(max + 1).read_to_end(&mut bytes)) {
        Ok(_) if bytes.len() as u64 > max => Err(Problem::Stored(
            path.to_owned(),
            format!("it has more than {max} bytes"),
        )),
        Ok(_) => Ok(Some(bytes)),
        Err(e)
            if matches!(
                e.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(e) => Err(Problem::Stored(path.to_owned(), plain(&e))),
    }
}
