//! The trust root: which keys have the last word.
//!
//! **Contract.** A release embeds one. A development build has none, and takes the one that
//! `--trust-root` or `trust_root` in `config.toml` names; such a build remembers the last one
//! that `--trust-root` named. Each root has a folder of its own, so that what one project
//! published never meets what another did. Whichever is in force is named by `status`,
//! `doctor` and `db info`.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use compatdb::sha256_hex;
use serde::Serialize;

use super::problem::Problem;
use super::store::Store;
use super::verify::keys_of_root;
use super::{FOLDER, embedded, limits};
use crate::error::{Error, plain};

/// The file that names the remembered root's folder.
const REMEMBERED: &str = "trust-root";

/// Where a trust root is from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// It is part of this build.
    Embedded,
    /// `--trust-root`
    Flag(PathBuf),
    /// `trust_root` in `config.toml`
    Configuration(PathBuf),
    /// What `--trust-root` named before, in a build that has none.
    Remembered,
}

/// The root in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustRoot {
    /// Where it is from.
    pub source: Source,
    /// SHA-256 of its bytes, 64 hexadecimal digits.
    pub sha256: String,
    /// Its version number.
    pub version: u64,
    pub(crate) bytes: Vec<u8>,
}

impl TrustRoot {
    fn new(bytes: Vec<u8>, source: Source) -> Result<Self, Problem> {
        let (version, _) = keys_of_root(&bytes)?;
        Ok(Self {
            source,
            sha256: sha256_hex(&bytes),
            version,
            bytes,
        })
    }

    /// As users read it, like `root 1 (4f5a6b7c8d9e0f10), named by --trust-root`.
    pub fn says(&self) -> String {
        let from = match &self.source {
            Source::Embedded => "part of this build".to_owned(),
            Source::Flag(path) => format!("{}, named by --trust-root", path.display()),
            Source::Configuration(path) => {
                format!("{}, named by trust_root in config.toml", path.display())
            }
            Source::Remembered => "named by an earlier --trust-root".to_owned(),
        };
        format!("root {} ({:.16}), {from}", self.version, self.sha256)
    }

    /// Whether it is part of this build.
    pub fn is_embedded(&self) -> bool {
        self.source == Source::Embedded
    }

    /// The folder of this root in a state folder.
    pub(crate) fn folder(&self, state: &Path) -> PathBuf {
        state.join(FOLDER).join(format!("{:.16}", self.sha256))
    }

    /// Keeps the root beside what is verified from it, and remembers it where nothing else
    /// names one.
    pub(crate) fn keep(&self, state: &Path, store: &Store) -> Result<(), Problem> {
        let make = |path: &Path| {
            store
                .files
                .make_folder(path)
                .map_err(|(path, e)| Problem::Disk(path, e))
        };
        make(&self.folder(state))?;
        store.keep_trust_root(&self.bytes)?;
        if !matches!(self.source, Source::Flag(_)) || embedded::seed().is_some() {
            return Ok(());
        }
        let path = state.join(FOLDER).join(REMEMBERED);
        let name = format!("{:.16}\n", self.sha256);
        if std::fs::read_to_string(&path).is_ok_and(|kept| kept == name) {
            return Ok(());
        }
        store
            .files
            .write(&path, name.as_bytes())
            .map_err(|(path, e)| Problem::Disk(path, e))
    }
}

/// The root in force: `flag`, else `configured`, else this build's, else the remembered one.
///
/// # Errors
/// The file that is named cannot be read or is not a root.
pub fn in_force(
    flag: Option<&Path>,
    configured: Option<&Path>,
    state: Option<&Path>,
) -> Result<Option<TrustRoot>, Error> {
    if let Some(path) = flag {
        return named(path, Source::Flag(path.to_owned())).map(Some);
    }
    if let Some(path) = configured {
        return named(path, Source::Configuration(path.to_owned())).map(Some);
    }
    if let Some(seed) = embedded::seed() {
        let root = TrustRoot::new(seed.root.clone(), Source::Embedded);
        return root.map(Some).map_err(|problem| {
            Error::machine(format!(
                "this build's own trust root cannot be used: {problem}"
            ))
            .hint("install metalshim again")
        });
    }
    match state {
        Some(state) => remembered(state),
        None => Ok(None),
    }
}

fn remembered(state: &Path) -> Result<Option<TrustRoot>, Error> {
    let folder = state.join(FOLDER);
    let path = folder.join(REMEMBERED);
    let damaged = |path: &Path, why: &str| {
        Error::machine(format!(
            "the trust root that was named before cannot be used: {}: {why}",
            path.display()
        ))
        .hint("name it again: metalshim update --trust-root FILE")
    };
    let name = match std::fs::read_to_string(&path) {
        Ok(name) => name,
        Err(e)
            if matches!(
                e.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(e) => return Err(damaged(&path, &plain(&e))),
    };
    let name = name.trim();
    if name.len() != 16 || !name.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(damaged(&path, "it names no folder"));
    }
    let path = folder.join(name).join("trust-root.json");
    let bytes = read(&path).map_err(|e| damaged(&path, &plain(&e)))?;
    let root = TrustRoot::new(bytes, Source::Remembered)
        .map_err(|problem| damaged(&path, &problem.to_string()))?;
    if !root.sha256.starts_with(name) {
        return Err(damaged(&path, "it is not the root of this folder"));
    }
    Ok(Some(root))
}

fn named(path: &Path, source: Source) -> Result<TrustRoot, Error> {
    const HINT: &str = "name the root.json that the publisher of the database gives out";
    let bytes = read(path).map_err(|e| {
        Error::user(format!(
            "the trust root {} cannot be read: {}",
            path.display(),
            plain(&e)
        ))
        .hint(HINT)
    })?;
    TrustRoot::new(bytes, source).map_err(|problem| {
        Error::user(format!("{} is not a trust root: {problem}", path.display())).hint(HINT)
    })
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(limits::ROOT + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limits::ROOT {
        return Err(io::Error::other(format!(
            "it has more than {} bytes",
            limits::ROOT
        )));
    }
    Ok(bytes)
}
