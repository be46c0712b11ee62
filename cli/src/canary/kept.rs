//! What the last canary said, kept for this boot, build, record and profile.

use compatdb::facts::{Canary, Guest, Local};
use compatdb::{OsBuild, Profile};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::state::StateFolder;

/// Its file in the state folder.
pub const FILE: &str = "canary.json";
const SCHEMA: &str = "metalshim.canary-kept/1";

/// The record's place, where there is none.
pub fn unverified(build: &OsBuild) -> String {
    format!("unverified:{build}")
}

/// Whether all was right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Said {
    /// It was.
    Passed,
    /// A result was wrong, or a kernel hung or crashed.
    Failed,
}

/// What is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// `metalshim.canary-kept/1`
    pub schema: String,
    /// The boot that it holds for.
    pub boot_session: String,
    /// The guest build.
    pub guest_build: OsBuild,
    /// The record that the profile is from, or `unverified:BUILD`.
    pub record: String,
    /// What the device told.
    pub profile: Profile,
    /// Whether all was right.
    pub outcome: Said,
    /// What was found, as a sentence.
    pub what: String,
    /// When.
    pub at: Timestamp,
    /// The higher profile that failed on this boot, where this one is lower because of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lowered_from: Option<Profile>,
}

impl Kept {
    /// What the kernels said at `profile`.
    pub fn new(
        guest: &Guest,
        record: String,
        profile: Profile,
        outcome: Said,
        what: String,
        at: Timestamp,
    ) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            boot_session: guest.boot_session.clone(),
            guest_build: guest.build.clone(),
            record,
            profile,
            outcome,
            what,
            at,
            lowered_from: None,
        }
    }

    /// What is kept, if anything is.
    ///
    /// # Errors
    /// The file cannot be understood.
    pub fn read(state: &StateFolder) -> Result<Option<Self>, Error> {
        state.read_json(FILE)
    }

    /// Keeps it. What failed at a higher profile on this boot stays known.
    ///
    /// # Errors
    /// The state folder cannot be written.
    pub fn write(mut self, state: &StateFolder) -> Result<(), Error> {
        let _lock = state.lock()?;
        // One that cannot be understood is replaced.
        if let Ok(Some(before)) = Self::read(state) {
            let failed = match before.outcome {
                Said::Failed => Some(before.profile),
                Said::Passed => before.lowered_from,
            };
            let same = before.boot_session == self.boot_session
                && before.guest_build == self.guest_build
                && before.record == self.record;
            let higher = failed.filter(|f| same && !f.is_within(self.profile));
            self.lowered_from = self.lowered_from.or(higher);
        }
        state.write_json(FILE, &self)
    }

    /// Whether it was said on this boot of this build.
    pub fn is_of(&self, guest: &Guest) -> bool {
        self.schema == SCHEMA
            && self.boot_session == guest.boot_session
            && self.guest_build == guest.build
    }

    /// What it says of a start with this record and profile. A failure holds for every profile
    /// until a lower one has passed; what has passed holds for that profile and lower ones, and
    /// where it is lower because a higher one failed, no more is told.
    pub fn about(&self, guest: &Guest, record: &str, profile: Profile, local: &mut Local) {
        if !self.is_of(guest) || self.record != record {
            return;
        }
        match self.outcome {
            Said::Failed => local.canary = Canary::Failed,
            Said::Passed => {
                local.canary_profile = self.lowered_from.map(|_| self.profile);
                if local.canary_profile.is_some() || profile.is_within(self.profile) {
                    local.canary = Canary::Passed;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::Variables;

    fn guest(build: &str, boot: &str) -> Guest {
        Guest {
            build: build.parse().unwrap(),
            version: "26.5.2".to_owned(),
            model: "VirtualMac2,1".to_owned(),
            chip: "Apple M1 (Virtual)".to_owned(),
            vm: true,
            sip: compatdb::facts::Sip::Enabled,
            boot_session: boot.to_owned(),
        }
    }

    fn kept(profile: Profile, outcome: Said) -> Kept {
        let at = "2026-12-01T00:00:00Z".parse().unwrap();
        let here = guest("25F84", "boot");
        Kept::new(
            &here,
            "P0001".to_owned(),
            profile,
            outcome,
            String::new(),
            at,
        )
    }

    fn about(kept: &Kept, guest: &Guest, record: &str, profile: Profile) -> Local {
        let mut local = Local::default();
        kept.about(guest, record, profile, &mut local);
        local
    }

    #[test]
    fn a_failure_holds_for_this_boot_build_and_record_only() {
        let failed = kept(Profile::CAUTIOUS, Said::Failed);
        let here = guest("25F84", "boot");
        let said = |guest: &Guest, record| about(&failed, guest, record, Profile::HIGHEST).canary;
        assert_eq!(said(&here, "P0001"), Canary::Failed);
        assert_eq!(said(&here, "P0002"), Canary::None);
        assert_eq!(said(&guest("25F84", "next"), "P0001"), Canary::None);
        assert_eq!(said(&guest("25G76", "boot"), "P0001"), Canary::None);
    }

    #[test]
    fn what_has_passed_covers_lower_profiles_and_no_higher_ones() {
        let passed = kept(Profile::CAUTIOUS, Said::Passed);
        let said = |profile| about(&passed, &guest("25F84", "boot"), "P0001", profile);
        assert_eq!(said(Profile::CAUTIOUS).canary, Canary::Passed);
        assert_eq!(said(Profile::HIGHEST).canary, Canary::None);
        assert_eq!(said(Profile::HIGHEST).canary_profile, None);
    }

    #[test]
    fn a_failure_stays_known_when_a_lower_profile_passes() {
        let dir = tempfile::tempdir().unwrap();
        let variables = Variables {
            state_dir: Some(dir.path().to_owned()),
            ..Variables::default()
        };
        let state = StateFolder::locate(&variables).unwrap();
        let here = guest("25F84", "boot");
        kept(Profile::HIGHEST, Said::Failed).write(&state).unwrap();
        for _ in 0..2 {
            kept(Profile::CAUTIOUS, Said::Passed).write(&state).unwrap();
            let read = Kept::read(&state).unwrap().unwrap();
            assert_eq!(read.lowered_from, Some(Profile::HIGHEST));
            let local = about(&read, &here, "P0001", Profile::HIGHEST);
            assert_eq!(local.canary, Canary::Passed);
            assert_eq!(local.canary_profile, Some(Profile::CAUTIOUS));
        }
        // Passed as a whole, it is over.
        kept(Profile::HIGHEST, Said::Passed).write(&state).unwrap();
        assert_eq!(Kept::read(&state).unwrap().unwrap().lowered_from, None);
    }
}
