//! The host's attestation: `metalshim-host.json` in a folder that host and guest share.
//!
//! **Contract.** A share may hang for ever (the host's side is gone), so reading it gives up
//! after 200 ms, and only commands that may take long read it: they copy it into the state
//! folder, where `run` finds it. Of several the newest is taken; one that hangs, is denied or
//! is no attestation does not hide the others. A copy counts as attested while the boot that
//! it was made in lasts, if the host wrote the file since that boot, or within the two hours
//! before the copy was made. Any other copy counts as stated, with a warning, for 30 days; in
//! an image (`enable --image`) not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use compatdb::OsBuild;
use compatdb::facts::{Host, HostSource};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::host::STORED_FOR;
use crate::error::{Error, plain};
use crate::regular;
use crate::state::{PATIENCE_OF_A_START, StateFolder};

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
/// No more shared folders are looked into.
const MAX_FOLDERS: usize = 64;

/// What the host wrote; by hand `{"build":"25G76"}` is enough. Keys that later versions add
/// are passed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attestation {
    /// The host's `kern.osversion`.
    pub build: OsBuild,
    /// Like `26.6.1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Like `Mac13,2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Like `Apple M1 Ultra`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chip: Option<String>,
    /// The GPU's highest Apple family, like 1007.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apple_family: Option<u16>,
    /// The host preference of the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature_level_preference: Option<bool>,
    /// When the host wrote it; without it, the file's own time counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_at: Option<Timestamp>,
    /// The host's `kern.bootsessionuuid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_session: Option<String>,
    /// The version of metalshim that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metalshim: Option<String>,
    /// The `seq` of the host's database: a guest whose own is lower should update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// What was copied, if there was an attestation.
    pub copied: Option<Copy>,
    /// What is there and cannot be used, or does not answer; a sentence each.
    pub problems: Vec<String>,
}

/// Copies the newest attestation in `shares` into the state folder.
///
/// # Errors
/// The state folder cannot be written.
pub fn copy(
    shares: &Path,
    state: &StateFolder,
    boot_session: &str,
    now: Timestamp,
) -> Result<Looked, Error> {
    let folder = shares.to_owned();
    let (found, problems) = gather(shares, move |sender| search(&folder, &sender));
    // A clock that is ahead makes nothing the newest.
    let newest = |f: &Found| (f.written.duration_since(now) <= RECENT, f.written);
    let copied = found.into_iter().max_by_key(newest).map(|found| Copy {
        attestation: found.attestation,
        written: found.written,
        copied: now,
        boot_session: boot_session.to_owned(),
        from: found.path,
    });
    if let Some(copy) = &copied {
        let _lock = state.lock_within(PATIENCE_OF_A_START)?;
        state.write_json(FILE, copy)?;
    }
    Ok(Looked { copied, problems })
}

/// An attestation in the share.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    path: PathBuf,
    attestation: Attestation,
    written: Timestamp,
}

type Report = Result<Found, String>;

/// What `search` reports until it ends or [`PATIENCE`] does.
fn gather(
    shares: &Path,
    search: impl FnOnce(Sender<Report>) + Send + 'static,
) -> (Vec<Found>, Vec<String>) {
    let until = Instant::now() + PATIENCE;
    let (sender, receiver) = mpsc::channel();
    // The threads are left to themselves: a read that hangs ends with this process.
    std::thread::spawn(move || search(sender));
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left) {
            Ok(Ok(one)) => found.push(one),
            Ok(Err(says)) => problems.push(says),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                problems.push(format!(
                    "{} did not answer within {} ms",
                    shares.display(),
                    PATIENCE.as_millis()
                ));
                break;
            }
        }
    }
    (found, problems)
}

/// Looks directly in `shares` and into each of its folders, all at once: one that hangs must
/// not hide the others.
fn search(shares: &Path, sender: &Sender<Report>) {
    let entries = match fs::read_dir(shares) {
        Ok(entries) => entries,
        Err(e) => {
            if !missing(&e) {
                let _ = sender.send(Err(denied(shares, &e)));
            }
            return;
        }
    };
    let inner = entries.filter_map(|e| Some(e.ok()?.path()));
    for folder in std::iter::once(shares.to_owned()).chain(inner.take(MAX_FOLDERS)) {
        let sender = sender.clone();
        std::thread::spawn(move || {
            // Nobody may be waiting any more.
            let _ = match read(&folder.join(NAME)) {
                Ok(None) => Ok(()),
                Ok(Some(found)) => sender.send(Ok(found)),
                Err(says) => sender.send(Err(says)),
            };
        });
    }
}

fn missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn denied(path: &Path, error: &io::Error) -> String {
    let why = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; allow it in System Settings, Privacy & Security, Files & Folders, or name the build by --host-build"
        }
        _ => "",
    };
    format!("{}: {}{why}", path.display(), plain(error))
}

/// The attestation at `path`; none where there is no such file.
fn read(path: &Path) -> Result<Option<Found>, String> {
    let bytes = || -> io::Result<_> {
        let file = regular::open(path)?;
        let modified = file.metadata()?.modified()?;
        Ok((regular::text(file, MAX_LEN)?, modified))
    };
    let (text, modified) = match bytes() {
        Ok(read) => read,
        Err(e) if missing(&e) => return Ok(None),
        Err(e) => return Err(denied(path, &e)),
    };
    let says = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let attestation: Attestation = serde_json::from_str(&text).map_err(|e| says(&e))?;
    let modified = Timestamp::try_from(modified).map_err(|e| says(&e))?;
    Ok(Some(Found {
        path: path.to_owned(),
        written: attestation.written_at.unwrap_or(modified),
        attestation,
    }))
}

impl Copy {
    /// The host as the copy tells it, and a warning where it is no attestation any more; none
    /// where it is not to be used. `booted` is when this guest started, where that is known;
    /// `image` is whether others start this system, wherever they like.
    pub fn host(
        &self,
        boot_session: &str,
        booted: Option<Timestamp>,
        now: Timestamp,
        image: bool,
    ) -> (Option<Host>, Option<String>) {
        let this_boot = self.boot_session == boot_session;
        let since_boot = booted.is_some_and(|booted| self.written >= booted);
        let age = self.copied.duration_since(self.written);
        let recent = age <= RECENT && age >= -RECENT;
        let attested = this_boot && (since_boot || recent);
        let build = &self.attestation.build;
        if !attested {
            let says = if !this_boot && image {
                format!(
                    "the host's build {build} was stored in another boot of this image, and is not used: `metalshim doctor` looks into the shared folder again"
                )
            } else if now.duration_since(self.written) > STORED_FOR {
                format!(
                    "the host's build {build} from {} was written at {}, and is no longer used: have the host write it again, by `metalshim host attest`",
                    self.from.display(),
                    self.written
                )
            } else {
                return (Some(self.told(HostSource::Stated)), Some(self.aged()));
            };
            return (None, Some(says));
        }
        (Some(self.told(HostSource::Attested)), None)
    }

    fn aged(&self) -> String {
        format!(
            "the host's build {} is from {}, written at {}: too old to count as the host's own word for this boot",
            self.attestation.build,
            self.from.display(),
            self.written
        )
    }

    fn told(&self, source: HostSource) -> Host {
        let a = self.attestation.clone();
        Host {
            build: a.build,
            version: a.version,
            model: a.model,
            chip: a.chip,
            apple_family: a.apple_family,
            feature_level_preference: a.feature_level_preference,
            source,
        }
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

    /// Looks into a share with one folder for each of `contents`, in their order.
    fn look(contents: &[&str]) -> Looked {
        let dir = tempfile::tempdir().unwrap();
        for (number, content) in contents.iter().enumerate() {
            let shared = dir.path().join(format!("shares/{number}"));
            fs::create_dir_all(&shared).unwrap();
            fs::write(shared.join(NAME), content).unwrap();
        }
        let now = "2026-12-01T00:00:00Z".parse().unwrap();
        copy(&dir.path().join("shares"), &state(dir.path()), "boot", now).unwrap()
    }

    #[test]
    fn what_a_person_writes_by_hand_is_enough() {
        let looked = look(&[r#"{"build":"25G76"}"#]);
        assert_eq!(looked.problems, [""; 0]);
        assert_eq!(looked.copied.unwrap().attestation.build.as_str(), "25G76");
    }

    #[test]
    fn what_cannot_be_used_names_the_file() {
        for bad in ["", "{", r#"{"build":"26.6"}"#] {
            let looked = look(&[bad]);
            assert_eq!(looked.copied, None, "{bad}");
            assert!(looked.problems[0].contains(NAME), "{looked:?}");
        }
    }

    #[test]
    fn the_newest_is_taken_whatever_else_is_there() {
        let at = |build, time| format!(r#"{{"build":"{build}","written_at":"{time}"}}"#);
        let (old, new) = (
            at("25G76", "2026-11-30T20:00:00Z"),
            at("25G83", "2026-11-30T23:00:00Z"),
        );
        let ahead = at("25F84", "2026-12-09T00:00:00Z");
        let looked = look(&[&old, &new, "{", &ahead]);
        assert_eq!(looked.copied.unwrap().attestation.build.as_str(), "25G83");
        assert_eq!(looked.problems.len(), 1, "{:?}", looked.problems);
    }

    #[test]
    fn one_that_hangs_does_not_hide_another() {
        let (never, waits) = mpsc::channel::<()>();
        let started = Instant::now();
        let (found, problems) = gather(Path::new("/shares"), move |sender| {
            let one = Found {
                path: "/shares/one".into(),
                attestation: serde_json::from_str(r#"{"build":"25G76"}"#).unwrap(),
                written: Timestamp::UNIX_EPOCH,
            };
            sender.send(Ok(one)).unwrap();
            let _ = waits.recv();
        });
        assert_eq!(found.len(), 1);
        assert!(problems[0].contains("200 ms"), "{problems:?}");
        assert!(started.elapsed() >= PATIENCE);
        drop(never);
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
        assert_eq!(none, Ok(Looked::default()));
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
        let days = SignedDuration::from_hours(31 * 24);
        for (copy, session, now, image, source) in [
            (
                copy("10:30", "11:00"),
                "boot",
                time("23:00"),
                true,
                Some(HostSource::Attested),
            ),
            (
                copy("09:00", "10:30"),
                "boot",
                time("23:00"),
                false,
                Some(HostSource::Attested),
            ),
            (
                copy("05:00", "10:30"),
                "boot",
                time("10:31"),
                true,
                Some(HostSource::Stated),
            ),
            (
                copy("10:30", "11:00"),
                "other",
                time("12:00"),
                false,
                Some(HostSource::Stated),
            ),
            (copy("10:30", "11:00"), "other", time("12:00"), true, None),
            (
                copy("10:30", "11:00"),
                "other",
                time("12:00") + days,
                false,
                None,
            ),
        ] {
            let (host, warning) = copy.host(session, booted, now, image);
            assert_eq!(host.map(|h| h.source), source, "{copy:?} {now}");
            let attested = source == Some(HostSource::Attested);
            assert_eq!(warning.is_none(), attested);
        }
    }
}
