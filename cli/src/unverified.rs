//! What `--allow-unverified` covers, and until when.
//!
//! **Contract.** One named guest build, for seven days; the same command renews it. Every
//! grant is a line in `log`, and is shown as long as it lasts. The verdict has the last word:
//! a grant stands in for a record that is missing, never against one that denies.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use compatdb::{OsBuild, Profile};
use jiff::{SignedDuration, Timestamp};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::age::{self, Age};
use crate::error::Error;
use crate::state::StateFolder;

/// Its file in the state folder.
pub const FILE: &str = "unverified.json";
/// How long a grant lasts.
pub const LASTS: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Which command made a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// `metalshim enable`
    Enable,
    /// `metalshim run`
    Run,
}

/// One grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The guest build that it covers.
    pub build: OsBuild,
    /// What was asked for with `--profile`, or what else was lower than the cautious profile;
    /// none is the cautious profile.
    pub profile: Option<Profile>,
    /// When it was given last.
    pub at: Timestamp,
    /// When it ends.
    pub until: Timestamp,
    /// Which command gave it last.
    pub by: By,
}

/// All grants that hold at `now`. A clock that has been set back does not make one last longer.
///
/// # Errors
/// The file cannot be understood.
pub fn all(state: &StateFolder, now: Timestamp) -> Result<Vec<Grant>, Error> {
    let mut grants: Vec<Grant> = state.read_json(FILE)?.unwrap_or_default();
    grants.retain(|g| g.age(now) == Age::Holds);
    Ok(grants)
}

impl Grant {
    /// `until` may have been made longer by hand; the time that it was given at says when it ends.
    fn age(&self, now: Timestamp) -> Age {
        match age::of(self.at, now, LASTS) {
            Age::Holds if now >= self.until => Age::Over,
            age => age,
        }
    }
}

/// A sentence where a grant for `build` was given under a clock that is far ahead of this one.
///
/// # Errors
/// The file cannot be understood.
pub fn ahead(
    state: &StateFolder,
    build: &OsBuild,
    now: Timestamp,
) -> Result<Option<String>, Error> {
    let grants: Vec<Grant> = state.read_json(FILE)?.unwrap_or_default();
    let ahead = |g: &&Grant| g.build == *build && g.age(now) == Age::Ahead;
    Ok(grants.iter().find(ahead).map(|g| {
        format!(
            "--allow-unverified {build} was given at {}, by a clock that is ahead of this one ({now}): it does not count; give it again",
            g.at
        )
    }))
}

/// The grant for `build` that holds at `now`, if there is one.
///
/// # Errors
/// The file cannot be understood.
pub fn current(
    state: &StateFolder,
    build: &OsBuild,
    now: Timestamp,
) -> Result<Option<Grant>, Error> {
    Ok(all(state, now)?.into_iter().find(|g| g.build == *build))
}

/// What a grant gives that was `asked` for with a `--profile` or none, lowered to `at_most`;
/// none is the cautious profile.
pub fn profile(asked: Option<Profile>, at_most: Option<Profile>) -> Option<Profile> {
    let base = asked.unwrap_or(Profile::CAUTIOUS);
    let lowered = at_most.map_or(base, |most| base.min(most));
    (asked.is_some() || lowered != base).then_some(lowered)
}

/// Gives or renews the grant for `build`, and logs it.
pub fn grant(
    state: &StateFolder,
    build: &OsBuild,
    profile: Option<Profile>,
    now: Timestamp,
    by: By,
) -> Result<Grant, Error> {
    let _lock = state.lock()?;
    let mut grants: Vec<Grant> = state.read_json(FILE)?.unwrap_or_default();
    grants.retain(|g| g.build != *build && now < g.until);
    let grant = Grant {
        build: build.clone(),
        profile,
        at: now,
        until: now.saturating_add(LASTS).unwrap_or(now),
        by,
    };
    log(state, &grant)?;
    grants.push(grant.clone());
    state.write_json(FILE, &grants)?;
    Ok(grant)
}

/// Ends every grant, also those that are over. Hold the state's lock.
///
/// # Errors
/// The file cannot be understood or removed.
pub fn end_all(state: &StateFolder) -> Result<Vec<Grant>, Error> {
    let grants: Vec<Grant> = state.read_json(FILE)?.unwrap_or_default();
    state.remove(FILE)?;
    Ok(grants)
}

fn log(state: &StateFolder, grant: &Grant) -> Result<(), Error> {
    let path = state.join("log");
    let profile = grant.profile.unwrap_or(Profile::CAUTIOUS);
    let line = format!(
        "{} allow-unverified guest={} profile={profile} until={} by={:?}\n",
        grant.at, grant.build, grant.until, grant.by
    );
    let open = || -> io::Result<File> {
        File::options()
            .create(true)
            .append(true)
            .mode(0o600)
            // Never somebody else's file, nor a pipe that has no reader.
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
            .open(&path)
    };
    let unusable = |e: &io::Error| state.unusable(&path, e);
    let mut file = open().map_err(|e| unusable(&e))?;
    let metadata = file.metadata().map_err(|e| unusable(&e))?;
    if !metadata.is_file() {
        return Err(unusable(&io::Error::other("it is not a regular file")));
    }
    state.owned(&path, &metadata)?;
    file.write_all(line.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(|e| unusable(&e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::Variables;

    fn state() -> (tempfile::TempDir, StateFolder) {
        let dir = tempfile::tempdir().unwrap();
        let variables = Variables {
            state_dir: Some(dir.path().to_owned()),
            ..Variables::default()
        };
        (dir, StateFolder::locate(&variables).unwrap())
    }

    #[test]
    fn a_grant_ends_after_seven_days_and_covers_one_build() {
        let (_dir, state) = state();
        let now: Timestamp = "2026-12-01T00:00:00Z".parse().unwrap();
        let hours = SignedDuration::from_hours;
        let (build, other) = ("25F84".parse().unwrap(), "25G76".parse().unwrap());
        grant(&state, &build, None, now, By::Run).unwrap();
        let at = |build, time| current(&state, build, time).unwrap().is_some();
        assert!(at(&build, now + hours(167)));
        assert!(!at(&build, now + hours(168)));
        assert!(!at(&other, now));
        assert!(at(&build, now - hours(48)));
        assert!(!at(&build, now - hours(49)));
        grant(&state, &build, None, now + hours(100), By::Run).unwrap();
        assert!(at(&build, now + hours(200)));
        let log = std::fs::read_to_string(state.join("log")).unwrap();
        assert_eq!(log.lines().count(), 2, "{log}");
    }

    #[test]
    fn end_all_ends_what_either_command_gave() {
        let (_dir, state) = state();
        let now: Timestamp = "2026-12-01T00:00:00Z".parse().unwrap();
        let (one, two) = ("25F84".parse().unwrap(), "25G76".parse().unwrap());
        grant(&state, &one, None, now, By::Enable).unwrap();
        grant(&state, &two, None, now, By::Run).unwrap();
        assert_eq!(end_all(&state).unwrap().len(), 2);
        assert_eq!(all(&state, now), Ok(Vec::new()));
        assert_eq!(end_all(&state), Ok(Vec::new()));
    }

    #[test]
    fn a_grant_that_was_given_in_the_future_or_made_longer_by_hand_does_not_hold() {
        let (_dir, state) = state();
        let now: Timestamp = "2026-12-01T00:00:00Z".parse().unwrap();
        let build = "25F84".parse().unwrap();
        let hours = SignedDuration::from_hours;
        grant(&state, &build, None, now + hours(10 * 24), By::Run).unwrap();
        assert_eq!(current(&state, &build, now), Ok(None));
        let says = ahead(&state, &build, now).unwrap().unwrap();
        assert!(says.contains("2026-12-11"), "{says}");
        let mut longer = grant(&state, &build, None, now, By::Run).unwrap();
        longer.until = now + hours(1000 * 24);
        state.write_json(FILE, &[longer]).unwrap();
        assert!(current(&state, &build, now + hours(167)).unwrap().is_some());
        assert_eq!(current(&state, &build, now + hours(168)), Ok(None));
    }

    #[test]
    fn the_log_follows_no_link() {
        let (dir, state) = state();
        let now: Timestamp = "2026-12-01T00:00:00Z".parse().unwrap();
        state.ensure().unwrap();
        let other = dir.path().join("somebody's");
        std::fs::write(&other, "kept").unwrap();
        std::os::unix::fs::symlink(&other, state.join("log")).unwrap();
        let error = grant(&state, &"25F84".parse().unwrap(), None, now, By::Run).unwrap_err();
        assert!(error.says.contains("log"), "{error}");
        assert_eq!(std::fs::read_to_string(other).unwrap(), "kept");
        assert_eq!(all(&state, now), Ok(Vec::new()));
    }
}
