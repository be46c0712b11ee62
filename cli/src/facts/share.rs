//! The host's attestation: `metalshim-host.json` in a folder that host and guest share.
//!
//! **Contract.** A share may hang for ever (the host's side is gone), so reading it gives up
//! after 200 ms, and only commands that may take long read it: they copy it into the state
//! folder, where `run` finds it. A copy counts as attested while the boot that it was made in
//! lasts, if the host wrote the file since that boot, or within the two hours before the copy
//! was made. Any other copy counts as stated, with a warning.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use compatdb::OsBuild;
use compatdb::facts::{Host, HostSource};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::regular;
use crate::state::StateFolder;

/// Where macOS guests find shared folders.
pub const SHARES: &str = "/Volumes/My Shared Files";
/// The attestation's name, in a shared folder or directly in [`SHARES`].
pub const NAME: &str = "metalshim-host.json";
/// The copy in the state folder.
pub const FILE: &str = "host.json";
/// How long a share may take to answer.
const PATIENCE: Duration = Duration::from_millis(200);
/// How old an attestation from before this boot may be.
const RECENT: SignedDuration = SignedDuration::from_hours(2);
/// No attestation is larger.
const MAX_LEN: u64 = 64 << 10;

/// What the host wrote; by hand `{"build":"25G76"}` is enough. Keys that later versions add
/// are passed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attestation {
    /// The host's `kern.osversion`.
    pub build: OsBuild,
    /// Like `26.6.1`.
    #[serde(default)]
    pub version: Option<String>,
    /// Like `Mac13,2`.
    #[serde(default)]
    pub model: Option<String>,
    /// Like `Apple M1 Ultra`.
    #[serde(default)]
    pub chip: Option<String>,
    /// The GPU's highest Apple family, like 1007.
    #[serde(default)]
    pub apple_family: Option<u16>,
    /// The host preference of the same name.
    #[serde(default)]
    pub feature_level_preference: Option<bool>,
    /// When the host wrote it; without it, the file's own time counts.
    #[serde(default)]
    pub written_at: Option<Timestamp>,
}

/// The copy in the state folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copy {
    /// What the host wrote.
    pub attestation: Attestation,
    /// When the host wrote it.
    pub written: Timestamp,
    /// When it was copied.
    pub copied: Timestamp,
    /// The boot in which it was copied.
    pub boot_session: String,
    /// Where it was found.
    pub from: PathBuf,
}

/// What came of looking into the share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Looked {
    /// There is no attestation.
    None,
    /// It was copied.
    Copied(Copy),
    /// It is there and cannot be used, or the share does not answer.
    Unusable(String),
}

/// Copies the attestation from `shares` into the state folder.
///
/// # Errors
/// The state folder cannot be written.
pub fn copy(
    shares: &Path,
    state: &StateFolder,
    boot_session: &str,
    now: Timestamp,
) -> Result<Looked, Error> {
    let (sender, receiver) = mpsc::channel();
    let folder = shares.to_owned();
    // The thread is left to itself: a read that hangs ends with this process.
    std::thread::spawn(move || sender.send(find(&folder)));
    let found = match receiver.recv_timeout(PATIENCE) {
        Ok(found) => found,
        Err(_) => {
            return Ok(Looked::Unusable(format!(
                "{} did not answer within {} ms",
                shares.display(),
                PATIENCE.as_millis()
            )));
        }
    };
    let (path, text, modified) = match found {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(Looked::None),
        Err(says) => return Ok(Looked::Unusable(says)),
    };
    let attestation: Attestation = match serde_json::from_str(&text) {
        Ok(attestation) => attestation,
        Err(e) => return Ok(Looked::Unusable(format!("{}: {e}", path.display()))),
    };
    let copy = Copy {
        written: attestation.written_at.unwrap_or(modified),
        attestation,
        copied: now,
        boot_session: boot_session.to_owned(),
        from: path,
    };
    let _lock = state.lock()?;
    state.write_json(FILE, &copy)?;
    Ok(Looked::Copied(copy))
}

type Found = Option<(PathBuf, String, Timestamp)>;

/// The first attestation directly in `shares` or in one of its folders, by name.
fn find(shares: &Path) -> Result<Found, String> {
    let mut folders = vec![shares.to_owned()];
    if let Ok(entries) = fs::read_dir(shares) {
        let mut inner: Vec<_> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
        inner.sort();
        folders.extend(inner);
    }
    for path in folders.iter().map(|f| f.join(NAME)) {
        if !path.is_file() {
            continue;
        }
        let read = || {
            let file = regular::open(&path)?;
            let modified = file.metadata()?.modified()?;
            Ok((regular::text(file, MAX_LEN)?, modified))
        };
        let (text, modified): (String, SystemTime) =
            read().map_err(|e: std::io::Error| format!("{}: {e}", path.display()))?;
        let modified =
            Timestamp::try_from(modified).map_err(|e| format!("{}: {e}", path.display()))?;
        return Ok(Some((path, text, modified)));
    }
    Ok(None)
}

impl Copy {
    /// The host as the copy tells it, and a warning where it is no attestation any more.
    /// `booted` is when this guest started, where that is known.
    pub fn host(
        &self,
        boot_session: &str,
        booted: Option<Timestamp>,
        now: Timestamp,
    ) -> (Host, Option<String>) {
        let this_boot = self.boot_session == boot_session;
        let since_boot = booted.is_some_and(|booted| self.written >= booted);
        let recent = |at: Timestamp| {
            let age = at.duration_since(self.written);
            age <= RECENT && age >= -RECENT
        };
        let attested = (this_boot && (since_boot || recent(self.copied))) || recent(now);
        let warning = (!attested).then(|| {
            format!(
                "the host's build {} is from {}, written at {}: too old to count as the host's own word for this boot",
                self.attestation.build,
                self.from.display(),
                self.written
            )
        });
        let a = self.attestation.clone();
        let host = Host {
            build: a.build,
            version: a.version,
            model: a.model,
            chip: a.chip,
            apple_family: a.apple_family,
            feature_level_preference: a.feature_level_preference,
            source: if attested {
                HostSource::Attested
            } else {
                HostSource::Stated
            },
        };
        (host, warning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::Variables;

    fn state(dir: &Path) -> StateFolder {
        let variables = Variables {
            state_dir: Some(dir.join("state")),
            ..Variables::default()
        };
        StateFolder::locate(&variables).unwrap()
    }

    fn look(content: &str) -> Looked {
        let dir = tempfile::tempdir().unwrap();
        let shared = dir.path().join("shares/one");
        fs::create_dir_all(&shared).unwrap();
        fs::write(shared.join(NAME), content).unwrap();
        let now = "2026-12-01T00:00:00Z".parse().unwrap();
        copy(&dir.path().join("shares"), &state(dir.path()), "boot", now).unwrap()
    }

    #[test]
    fn what_a_person_writes_by_hand_is_enough() {
        let Looked::Copied(copy) = look(r#"{"build":"25G76"}"#) else {
            panic!("not copied");
        };
        assert_eq!(copy.attestation.build.as_str(), "25G76");
    }

    #[test]
    fn what_cannot_be_used_names_the_file() {
        for bad in ["", "{", r#"{"build":"26.6"}"#] {
            let Looked::Unusable(says) = look(bad) else {
                panic!("{bad}");
            };
            assert!(says.contains(NAME), "{says}");
        }
    }

    #[test]
    fn no_share_is_no_attestation() {
        let dir = tempfile::tempdir().unwrap();
        let none = copy(
            &dir.path().join("no"),
            &state(dir.path()),
            "boot",
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!(none, Ok(Looked::None));
    }

    #[test]
    fn attested_since_the_boot_or_within_two_hours_of_the_copy() {
        let time = |text: &str| {
            format!("2026-12-01T{text}:00Z")
                .parse::<Timestamp>()
                .unwrap()
        };
        let copy = |written, copied| Copy {
            attestation: serde_json::from_str(r#"{"build":"25G76"}"#).unwrap(),
            written: time(written),
            copied: time(copied),
            boot_session: "boot".into(),
            from: NAME.into(),
        };
        let booted = Some(time("10:00"));
        for (copy, session, now, attested) in [
            (copy("10:30", "11:00"), "boot", "23:00", true),
            (copy("09:00", "10:30"), "boot", "23:00", true),
            (copy("05:00", "10:30"), "boot", "10:31", false),
            (copy("10:30", "11:00"), "other", "23:00", false),
            (copy("10:30", "11:00"), "other", "12:00", true),
        ] {
            let (host, warning) = copy.host(session, booted, time(now));
            assert_eq!(
                host.source == HostSource::Attested,
                attested,
                "{copy:?} {now}"
            );
            assert_eq!(warning.is_none(), attested);
        }
    }
}
