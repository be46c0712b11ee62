//! Signed updates: fetch, verify, keep, and choose the database in use.
//!
//! **Contract.** Everything goes from a trust root down to the bytes that are opened; nothing
//! is remembered as "verified already". What is fetched and what is kept go through the same
//! `verify`. docs/updates.md tells the whole story: roles, what an attacker can and cannot
//! do, clocks, messages.
//!
//! Layout: [`transport`] (where from), `refresh` (one refresh in memory), `verify` (what
//! a set of metadata vouches for), `floor` and [`clock`] (what is too old), [`take`] (the order
//! of taking in), `store` over `files` (the disk), [`trust`] (the root), [`in_use`] (which
//! database decides), [`tuf_client`] (the conformance suite's interface).

pub mod automatic;
pub mod clock;
mod embedded;
pub(crate) mod files;
mod floor;
pub mod in_use;
mod kept;
pub(crate) mod limits;
mod mirror;
pub mod problem;
mod refresh;
pub mod release;
pub(crate) mod store;
pub mod take;
#[cfg(test)]
mod tests;
pub mod transport;
pub mod trust;
pub mod tuf_client;
mod verify;

use std::path::{Path, PathBuf};
use std::time::Duration;

use self::files::Files;
use self::problem::Problem;
use self::release::Release;
use self::store::{Store, Which};
use self::trust::TrustRoot;

pub use self::store::Event;
pub use self::take::{Done, Outcome, Wanted};
pub use self::transport::{Place, Progress};

/// How long an update may take where the user says nothing.
pub const BUDGET: Duration = limits::BUDGET;

/// The folder of updates in a state folder.
pub(crate) const FOLDER: &str = "updates";

/// What is kept in `state` for one trust root.
pub struct Updates<'a> {
    trust: &'a TrustRoot,
    store: Store,
    state: &'a Path,
}

/// A database that is kept.
#[derive(Clone, Debug, serde::Serialize)]
pub struct KeptDatabase {
    /// Its `seq`.
    pub seq: u64,
    /// When it was published.
    pub published_at: jiff::Timestamp,
    /// SHA-256 of its bytes.
    pub sha256: String,
}

impl<'a> Updates<'a> {
    /// Nothing is read or written yet.
    pub fn new(trust: &'a TrustRoot, state: &'a Path) -> Self {
        Self {
            trust,
            store: Store::new(trust.folder(&in_use::kept_in(trust, state)), Files::real()),
            state,
        }
    }

    /// Refreshes from `place`, and takes in what is newer. `waiting` is told who else is
    /// updating.
    ///
    /// # Errors
    /// Why there was no update; the last good database stays.
    pub fn update(
        &self,
        place: Place,
        budget: Duration,
        check: bool,
        progress: Option<Progress>,
        waiting: impl FnOnce(&str),
    ) -> Result<Done, Problem> {
        let wanted = Wanted {
            place,
            budget,
            check,
            progress,
            embedded: self.embedded(),
        };
        if !check {
            self.trust.keep(self.state, &self.store)?;
        }
        take::take(&self.trust.bytes, &self.store, &wanted, waiting)
    }

    fn embedded(&self) -> Option<(verify::Keys, u64)> {
        let seed = embedded::seed().filter(|_| self.trust.is_embedded())?;
        let verified = verify::verify(&self.trust.bytes, &seed.metadata).ok()?;
        let seq = verified.databases.first()?.custom.seq;
        Some((verified.keys, seq))
    }

    /// Swaps back to the database before; both `seq`s, the one that was used first.
    ///
    /// # Errors
    /// There is none, or it may not be used any more.
    pub fn roll_back(&self) -> Result<(u64, u64), Problem> {
        take::roll_back(&self.trust.bytes, &self.store, self.embedded())
    }

    /// Refreshes from `place`, and fetches the release that `choose` picks, verified.
    ///
    /// # Errors
    /// It does not come, or is not what was signed. Nothing is written.
    pub fn release(
        &self,
        place: Place,
        budget: Duration,
        progress: Option<Progress>,
        choose: impl FnOnce(&[Release]) -> Option<Release>,
    ) -> Result<Option<(Release, Vec<u8>)>, Problem> {
        let transport = transport::Transport::new(place, budget, progress)?;
        let stored = self.store.load(&self.trust.bytes, Which::Current).ok();
        let stored = stored.flatten();
        let seeds = stored.as_ref().map(|s| (&s.metadata, &s.verified));
        let floor = self.store.floor()?;
        let fetched = refresh::refresh(&self.trust.bytes, seeds, &transport, |keys| {
            clock::Clock::here(floor.times(keys))
        })?;
        let Some(release) = choose(&fetched.verified.releases) else {
            return Ok(None);
        };
        let bytes = fetched.target(&release.name)?;
        Ok(Some((release, bytes)))
    }

    /// Copies the whole repository at `place` into `folder`, verified; how many files were
    /// written, and how many were there already.
    ///
    /// # Errors
    /// What does not hold, or cannot be written.
    pub fn mirror(
        &self,
        place: Place,
        budget: Duration,
        folder: &Path,
    ) -> Result<(usize, usize), Problem> {
        mirror::mirror(&self.trust.bytes, &self.store, place, budget, folder)
    }

    /// What was taken in and rolled back, the oldest first.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn history(&self) -> Result<Vec<Event>, Problem> {
        self.store.history()
    }

    /// The database taken in last, and the one before; each verified.
    pub fn kept(&self) -> [Result<Option<KeptDatabase>, Problem>; 2] {
        [Which::Current, Which::Previous].map(|which| {
            let stored = self.store.load(&self.trust.bytes, which)?;
            Ok(stored.map(|stored| KeptDatabase {
                seq: stored.listed.custom.seq,
                published_at: stored.listed.custom.published_at,
                sha256: stored.listed.sha256,
            }))
        })
    }

    /// Where all this is.
    pub fn folder(&self) -> PathBuf {
        self.store.folder().to_owned()
    }
}

/// Where updates come from, as this build says; none in a development build.
pub fn embedded_repository() -> Option<String> {
    embedded::seed().and_then(|seed| seed.repository.clone())
}

/// For the fuzz target of metadata: root, timestamp, snapshot and targets against `trust_root`, with
/// the revoker's metadata and the deny list.
#[cfg(fuzzing)]
pub fn verified(
    trust_root: &[u8],
    [root, timestamp, snapshot, targets]: [Vec<u8>; 4],
    revoker: (Vec<u8>, Vec<u8>),
) -> Result<(), String> {
    let metadata = verify::Metadata {
        roots: vec![root],
        timestamp,
        snapshot,
        targets,
        revoker: Some(revoker),
    };
    match verify::verify(trust_root, &metadata) {
        Ok(_) => Ok(()),
        Err(problem) => Err(problem.to_string()),
    }
}
