//! What the shim found other than recorded, kept so that the next start refuses at once.
//!
//! **Contract.** A status line of this boot that refuses with a `drift-` code is kept as
//! `drift.json`. From then on the verdict is `drift` for this guest build under this record,
//! until the guest's build changes, a newer database comes, the record is another one, or
//! `metalshim enable` checks again and finds nothing other than recorded. A status line that is
//! older than the file has been seen, so that what was ended stays so while its process lives.
//! Failing to keep it changes nothing but that the next start finds out by itself.

use compatdb::{Facts, OsBuild};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::database::Loaded;
use crate::error::Error;
use crate::state::{PATIENCE_OF_A_START, StateFolder};
use crate::tickets;

/// Its file in the state folder.
pub const FILE: &str = "drift.json";
const SCHEMA: &str = "metalshim.drift/1";

/// What the shim found, last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// `metalshim.drift/1`
    pub schema: String,
    /// The guest build that it was found on.
    pub guest_build: OsBuild,
    /// The boot that it was found in.
    pub boot_session: String,
    /// The record of the ticket; `unverified:BUILD` where there was none.
    pub record: String,
    /// The database that the ticket was made from, `<seq>:<hash>`.
    pub database: String,
    /// The shim's code, like `drift-family`.
    pub reason: String,
    /// The program's executable.
    pub program: String,
    /// When it was kept.
    pub at: Timestamp,
    /// Whether `enable` has ended it.
    #[serde(default)]
    pub ended: bool,
}

/// Keeps what status lines of this boot tell, and returns what holds for `facts`.
///
/// # Errors
/// The file cannot be understood.
pub fn look(
    state: &StateFolder,
    facts: &Facts,
    loaded: Option<&Loaded>,
    now: Timestamp,
) -> Result<Option<Drift>, Error> {
    let kept: Option<Drift> = state.read_json(FILE)?;
    let drift = match newer(state, &facts.guest.boot_session, now) {
        Some(found) => {
            keep(state, &found);
            Some(found)
        }
        None => kept,
    };
    Ok(drift.filter(|drift| drift.holds(facts, loaded)))
}

/// Keeps what status lines of this boot tell that is not kept yet.
pub fn remember(state: &StateFolder, boot_session: &str, now: Timestamp) {
    if let Some(found) = newer(state, boot_session, now) {
        keep(state, &found);
    }
}

/// Ends the refusal, if there is one. Hold the state's lock.
///
/// # Errors
/// The file cannot be understood or written.
pub fn end(state: &StateFolder) -> Result<(), Error> {
    match state.read_json::<Drift>(FILE)? {
        Some(drift) => state.write_json(
            FILE,
            &Drift {
                ended: true,
                ..drift
            },
        ),
        None => Ok(()),
    }
}

fn newer(state: &StateFolder, boot_session: &str, now: Timestamp) -> Option<Drift> {
    let kept = state.join(FILE).metadata().ok();
    let seen = kept.and_then(|file| file.modified().ok());
    let found = tickets::drifted(state, boot_session, seen)?;
    Some(Drift {
        schema: SCHEMA.to_owned(),
        guest_build: found.guest_build.parse().ok()?,
        boot_session: boot_session.to_owned(),
        record: found.record,
        database: found.database,
        reason: found.reason,
        program: found.program,
        at: now,
        ended: false,
    })
}

fn keep(state: &StateFolder, drift: &Drift) {
    // The next start finds it again, or the shim does.
    if let Ok(_lock) = state.lock_within(PATIENCE_OF_A_START) {
        let _ = state.write_json(FILE, drift);
    }
}

impl Drift {
    fn holds(&self, facts: &Facts, loaded: Option<&Loaded>) -> bool {
        if self.ended || self.guest_build != facts.guest.build {
            return false;
        }
        let Some(loaded) = loaded else { return true };
        let seq = self.database.split(':').next().and_then(|s| s.parse().ok());
        if seq.is_some_and(|seq: u64| loaded.database.seq() > seq) {
            return false;
        }
        let host = facts.host.as_ref().map(|host| &host.build);
        let lookup = loaded.database.lookup(&facts.guest.build, host, None);
        // What cannot be looked up is refused for other reasons.
        lookup.map_or(true, |lookup| {
            let unverified = self.record.starts_with("unverified:");
            let mut pairs = lookup.pairs.iter();
            match unverified {
                true => pairs.len() == 0,
                false => pairs.any(|pair| pair.id == self.record),
            }
        })
    }

    /// As users read it.
    pub fn says(&self) -> String {
        format!(
            "the shim refused {} with {} under {}, kept at {}: programs stay stock until a newer database, another build, or `metalshim enable`",
            self.program, self.reason, self.record, self.at
        )
    }
}
