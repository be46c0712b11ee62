//! Which database decides.
//!
//! **Contract.** The verified one with the highest `seq` of the embedded, the machine's and
//! the user's; all deny lists are united. Keys that the newest known root has taken back count
//! no more, whatever `seq` they signed. What is there and cannot be used is told, and the next
//! best decides; the embedded one is the last resort.

use std::path::{Path, PathBuf};

use compatdb::{Database, DenyList};
use jiff::Timestamp;
use rustix::fs::{Access, access};

use super::clock::RELEASED;
use super::embedded;
use super::files::Files;
use super::release::Release;
use super::store::{Store, Which};
use super::trust::TrustRoot;
use super::verify::{Verified, verify};
use crate::database::Origin;

/// What was found.
#[derive(Default)]
pub struct Found {
    /// The database; none where no verified one can be used.
    pub database: Option<Chosen>,
    /// All deny lists.
    pub deny_list: Option<DenyList>,
    /// The latest signed time.
    pub floor: Option<Timestamp>,
    /// The program's releases for this system, the newest first.
    pub releases: Vec<Release>,
    /// What is there and cannot be used, a sentence each.
    pub problems: Vec<String>,
}

/// The database that decides.
pub struct Chosen {
    /// It.
    pub database: Database,
    /// Where it is from.
    pub origin: Origin,
    /// Until when the signatures vouch for it.
    pub fresh_until: Timestamp,
    /// The number of the root that it was verified with.
    pub root_version: u64,
}

struct Candidate {
    origin: Origin,
    verified: Verified,
    seq: u64,
    sha256: String,
    bytes: std::borrow::Cow<'static, [u8]>,
}

/// Looks at the embedded one, at `machine` and at `user`.
pub fn find(trust: &TrustRoot, machine: Option<&Path>, user: Option<&Path>) -> Found {
    let mut found = Found::default();
    let mut candidates = Vec::new();
    if trust.is_embedded() {
        match embedded(trust) {
            Ok(candidate) => candidates.push(candidate),
            Err(why) => found
                .problems
                .push(format!("the database of this build: {why}")),
        }
    }
    let mut held_back = None;
    for (origin, state) in [(Origin::Machine, machine), (Origin::User, user)] {
        let Some(state) = state else { continue };
        let store = Store::new(trust.folder(state), Files::real());
        let held = look(trust, &store, origin, &mut candidates, &mut found);
        held_back = held.or(held_back);
    }
    for candidate in &candidates {
        let signed = [candidate.verified.signed_at, found.floor];
        found.floor = signed.into_iter().flatten().max();
        if let Some(list) = &candidate.verified.deny_list {
            unite(&mut found.deny_list, list.clone());
        }
    }
    found.floor = found.floor.map(|floor| floor.max(RELEASED));
    // Whoever knows the newest root knows whose signature still counts.
    let newest = candidates.iter().max_by_key(|c| c.verified.root_version);
    let keys = newest.map(|c| c.verified.keys.targets.clone());
    // The latest word of those whose word counts.
    let latest = candidates
        .iter()
        .filter(|c| Some(&c.verified.keys.targets) == keys.as_ref())
        .max_by_key(|c| (c.verified.snapshot_version, c.verified.timestamp_version));
    if let Some(latest) = latest {
        found.releases.clone_from(&latest.verified.releases);
    }
    candidates.retain(|c| Some(&c.verified.keys.targets) == keys.as_ref());
    candidates.retain(|c| Some(&c.sha256) != held_back.as_ref());
    // The last of equals is the user's, whose metadata is the newest as a rule.
    candidates.sort_by_key(|c| c.seq);
    while let Some(best) = candidates.pop() {
        match Database::open(&best.bytes) {
            Ok(database) => {
                found.database = Some(Chosen {
                    database,
                    origin: best.origin,
                    fresh_until: best.verified.fresh_until,
                    root_version: best.verified.root_version,
                });
                break;
            }
            Err(e) => found.problems.push(e.to_string()),
        }
    }
    found
}

/// Takes what a store has; the database that it holds back.
fn look(
    trust: &TrustRoot,
    store: &Store,
    origin: Origin,
    candidates: &mut Vec<Candidate>,
    found: &mut Found,
) -> Option<String> {
    match store.denied() {
        Ok(Some(list)) => unite(&mut found.deny_list, list),
        Ok(None) => {}
        Err(problem) => found.problems.push(problem.to_string()),
    }
    let mut held_back = None;
    for which in [Which::Current, Which::Previous] {
        match store.load(&trust.bytes, which) {
            Ok(Some(stored)) => {
                held_back = stored.pointer.held_back;
                candidates.push(Candidate {
                    origin,
                    seq: stored.listed.custom.seq,
                    sha256: stored.listed.sha256,
                    verified: stored.verified,
                    bytes: stored.bytes.into(),
                });
                break;
            }
            // Nothing was ever taken in.
            Ok(None) if which == Which::Current => break,
            Ok(None) => {}
            // The one before it is the last good one then.
            Err(problem) => found.problems.push(problem.to_string()),
        }
    }
    held_back
}

fn embedded(trust: &TrustRoot) -> Result<Candidate, String> {
    let seed = embedded::seed().ok_or("there is none")?;
    let verified = verify(&trust.bytes, &seed.metadata).map_err(|e| e.to_string())?;
    let listed = verified.databases.first().ok_or("it lists none")?.clone();
    let bytes = seed
        .target(&listed.sha256, &listed.name)
        .filter(|bytes| compatdb::sha256_hex(bytes) == listed.sha256)
        .ok_or("it is not what was signed")?;
    Ok(Candidate {
        origin: Origin::Embedded,
        seq: listed.custom.seq,
        sha256: listed.sha256,
        verified,
        bytes: bytes.into(),
    })
}

fn unite(all: &mut Option<DenyList>, list: DenyList) {
    *all = Some(all.take().unwrap_or_default().and(list));
}

/// The machine-wide state folder: below Homebrew's `var` for a Homebrew installation.
pub fn machine_folder() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.canonicalize().ok()?;
    if let Some(folder) = homebrew_folder(&program) {
        return Some(folder);
    }
    Some(PathBuf::from(if cfg!(target_os = "macos") {
        "/Library/Application Support/metalshim"
    } else {
        "/var/lib/metalshim"
    }))
}

/// `var/metalshim` in the Homebrew prefix that `program`, a canonical path, was installed in.
fn homebrew_folder(program: &Path) -> Option<PathBuf> {
    let cellar = program
        .ancestors()
        .find(|folder| folder.ends_with("Cellar/metalshim"))?;
    Some(cellar.parent()?.parent()?.join("var/metalshim"))
}

/// Where updates of this user are kept: in `state`, the user's own folder; for this build's own
/// root and a Homebrew installation in the machine's folder, which all its users read, if this
/// user may write there. The prefix belongs to one user, and the others have their own folder.
/// A state folder that was named by hand (`METALSHIM_STATE_DIR`) stays the only one.
pub(crate) fn kept_in(trust: &TrustRoot, state: &Path) -> PathBuf {
    let usual = [
        "Library/Application Support/metalshim",
        ".local/state/metalshim",
    ];
    if !trust.is_embedded() || !usual.iter().any(|end| state.ends_with(end)) {
        return state.to_owned();
    }
    let program = std::env::current_exe().and_then(|path| path.canonicalize());
    let folder = program.ok().and_then(|program| homebrew_folder(&program));
    folder
        .filter(|folder| writable(folder))
        .unwrap_or_else(|| state.to_owned())
}

/// Whether `folder` can be written, or made.
fn writable(folder: &Path) -> bool {
    let there = if folder.exists() {
        Some(folder)
    } else {
        folder.parent()
    };
    there.is_some_and(|path| path.is_dir() && access(path, Access::WRITE_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homebrews_folder_is_in_the_prefix_of_the_real_path() {
        let of = |path: &str| homebrew_folder(Path::new(path));
        assert_eq!(
            of("/opt/homebrew/Cellar/metalshim/0.1.0/bin/metalshim"),
            Some("/opt/homebrew/var/metalshim".into())
        );
        assert_eq!(of("/opt/homebrew/opt/metalshim/bin/metalshim"), None);
        assert_eq!(of("/opt/homebrew/Cellar/other/1/bin/metalshim"), None);
        assert_eq!(of("/usr/local/bin/metalshim"), None);
    }

    #[test]
    fn a_var_that_cannot_be_written_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let var = dir.path().join("var");
        assert!(!writable(&var.join("metalshim")), "there is no var");
        std::fs::write(&var, "a file").unwrap();
        assert!(!writable(&var.join("metalshim")), "var is no folder");
        std::fs::remove_file(&var).unwrap();
        std::fs::create_dir(&var).unwrap();
        assert!(writable(&var.join("metalshim")), "it can be made");
        std::fs::write(var.join("metalshim"), "a file").unwrap();
        assert!(!writable(&var.join("metalshim")), "it is a file");
    }
}
