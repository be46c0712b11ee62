//! What `--allow-unverified` covers, and until when.
//!
//! **Contract.** One named guest build, for seven days; the same command renews it. Every
//! grant is a line in `log`, and is shown as long as it lasts. The verdict has the last word:
//! a grant stands in for a record that is missing, never against one that denies.

use std::fs::File;
use std::io::Write;

use compatdb::{OsBuild, Profile};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::state::StateFolder;

/// Its file in the state folder.
pub const FILE: &str = "unverified.json";
/// How long a grant lasts.
pub const LASTS: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Which command made a grant: `disable` takes back only those of `enable`.
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
    let day = SignedDuration::from_hours(24);
    grants.retain(|g| now < g.until && g.at.duration_since(now) <= day);
    Ok(grants)
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

/// Takes back what `by` gave. Hold the state's lock.
pub fn take_back(state: &StateFolder, by: By) -> Result<Vec<Grant>, Error> {
    let grants: Vec<Grant> = state.read_json(FILE)?.unwrap_or_default();
    let (taken, kept): (Vec<_>, Vec<_>) = grants.into_iter().partition(|g| g.by == by);
    if kept.is_empty() {
        state.remove(FILE)?;
    } else if !taken.is_empty() {
        state.write_json(FILE, &kept)?;
    }
    Ok(taken)
}

fn log(state: &StateFolder, grant: &Grant) -> Result<(), Error> {
    let path = state.join("log");
    let profile = grant.profile.unwrap_or(Profile::CAUTIOUS);
    let line = format!(
        "{} allow-unverified guest={} profile={profile} until={} by={:?}\n",
        grant.at, grant.build, grant.until, grant.by
    );
    File::options()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| {
            file.write_all(line.as_bytes())?;
            file.sync_all()
        })
        .map_err(|e| state.unusable(&path, &e))
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
        assert!(!at(&build, now - hours(48)));
        grant(&state, &build, None, now + hours(100), By::Run).unwrap();
        assert!(at(&build, now + hours(200)));
        let log = std::fs::read_to_string(state.join("log")).unwrap();
        assert_eq!(log.lines().count(), 2, "{log}");
    }

    #[test]
    fn disable_takes_back_what_enable_gave() {
        let (_dir, state) = state();
        let now: Timestamp = "2026-12-01T00:00:00Z".parse().unwrap();
        let (one, two) = ("25F84".parse().unwrap(), "25G76".parse().unwrap());
        grant(&state, &one, None, now, By::Enable).unwrap();
        grant(&state, &two, None, now, By::Run).unwrap();
        assert_eq!(take_back(&state, By::Enable).unwrap().len(), 1);
        assert_eq!(current(&state, &one, now), Ok(None));
        assert!(current(&state, &two, now).unwrap().is_some());
    }
}
