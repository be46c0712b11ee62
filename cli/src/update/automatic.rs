//! Checks for updates that nobody typed: when one is due, and what came of the last one.
//!
//! **Contract.** `check.json` in the state folder tells of the last one. It decides when the next
//! one is due and nothing else: one that cannot be read counts as none. Two never run at once.

use std::fs::{File, TryLockError};

use compatdb::OsBuild;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::state::StateFolder;

/// The file in the state folder.
pub const FILE: &str = "check.json";
/// Held while a check runs.
pub const LOCK: &str = "check.lock";
/// Those that `run` and `doctor` set off are at least this far apart.
pub const APART: SignedDuration = SignedDuration::from_hours(1);
/// The schema of [`Check`].
pub const SCHEMA: &str = "metalshim.check/1";

/// Who asked for a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The timer of `metalshim service` or `brew services`.
    Timer,
    /// `metalshim enable`
    Enable,
    /// `metalshim run`
    Run,
    /// `metalshim doctor`
    Doctor,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It has begun; if it stays so, it was ended from outside.
    Started,
    /// Nothing is newer.
    UpToDate,
    /// A newer database was taken in.
    Updated,
    /// The newest database needs a newer metalshim.
    NeedsNewerMetalshim,
    /// It could not look.
    Failed,
    /// It was not to look.
    Skipped,
}

/// The last check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// [`SCHEMA`]
    pub schema: String,
    /// When it began, by this machine's clock.
    pub at: Timestamp,
    /// Who asked for it.
    pub by: By,
    /// This guest's build then.
    pub guest_build: Option<OsBuild>,
    /// What came of it.
    pub outcome: Outcome,
    /// The same in a sentence.
    pub says: String,
}

impl Check {
    /// One that begins now.
    pub fn begins(by: By, guest_build: Option<OsBuild>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            at: Timestamp::now(),
            by,
            guest_build,
            outcome: Outcome::Started,
            says: "it has begun".to_owned(),
        }
    }

    /// The last one; none where there is none or it cannot be understood.
    pub fn last(state: &StateFolder) -> Option<Self> {
        state.read_json(FILE).ok().flatten()
    }

    /// Keeps it.
    ///
    /// # Errors
    /// The state folder cannot be written.
    pub fn keep(&self, state: &StateFolder) -> Result<(), Error> {
        state.write_json(FILE, self)
    }
}

/// Whether one that `run` or `doctor` sets off is due. A stamp from the future says nothing about
/// when the last one was.
pub fn is_due(last: Option<&Check>, now: Timestamp) -> bool {
    last.is_none_or(|last| last.at > now || now.duration_since(last.at) >= APART)
}

/// The right to check, until it is dropped; none while another one checks.
///
/// # Errors
/// The state folder cannot be written.
pub fn lock(state: &StateFolder) -> Result<Option<File>, Error> {
    state.ensure()?;
    let path = state.join(LOCK);
    let file = state
        .lock_file(LOCK)
        .map_err(|e| state.unusable(&path, &e))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(e)) => Err(state.unusable(&path, &e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_in_the_place_of_its_lock_was_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateFolder::at(dir.path().join("state"));
        state.ensure().unwrap();
        let pipe = std::process::Command::new("mkfifo")
            .arg(state.join(LOCK))
            .status();
        assert!(pipe.unwrap().success());
        let error = lock(&state).unwrap_err();
        assert!(error.says.contains(LOCK), "{error}");
    }

    #[test]
    fn once_an_hour_and_a_stamp_from_the_future_is_due() {
        let now: Timestamp = "2027-01-01T12:00:00Z".parse().unwrap();
        assert!(is_due(None, now));
        for (minutes, due) in [
            (0, false),
            (59, false),
            (60, true),
            (-1, true),
            (-9000, true),
        ] {
            let mut last = Check::begins(By::Run, None);
            last.at = now - SignedDuration::from_mins(minutes);
            assert_eq!(is_due(Some(&last), now), due, "{minutes} minutes ago");
        }
    }
}
