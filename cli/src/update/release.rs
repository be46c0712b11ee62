//! Releases of the program, as targets lists them.
//!
//! **Contract.** Whatever is listed in a way that this version does not understand is no release
//! for it, and never an error: the database must not depend on it.

use jiff::{SignedDuration, Timestamp};
use semver::Version;
use serde::Deserialize;
use sigstore_tuf::Targets;

/// What a release for this system is called at the end; none where none are made.
pub const TARGET: Option<&str> = if cfg!(all(target_os = "macos", target_arch = "aarch64")) {
    Some("aarch64-apple-darwin")
} else if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
    Some("x86_64-unknown-linux-gnu")
} else if cfg!(all(target_os = "linux", target_arch = "aarch64")) {
    Some("aarch64-unknown-linux-gnu")
} else {
    None
};

/// How long after its publication a package manager may take until a release is told of.
const HOLD: SignedDuration = SignedDuration::from_hours(24);

/// One archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The target's name.
    pub name: String,
    /// The program's version.
    pub version: Version,
    /// When it was published.
    pub published_at: Timestamp,
    /// Versions that must not be used any more.
    pub revokes: Vec<Version>,
}

#[derive(Deserialize)]
struct Custom {
    version: Version,
    published_at: Timestamp,
    #[serde(default)]
    revokes: Vec<Version>,
}

/// The releases for this system, the newest first.
pub(crate) fn listed(targets: &Targets) -> Vec<Release> {
    let Some(target) = TARGET else {
        return Vec::new();
    };
    let release = |(name, file): (&String, &sigstore_tuf::TargetFile)| {
        let version = name.strip_prefix("metalshim-")?.strip_suffix(".tar.gz")?;
        let version = version.strip_suffix(target)?.strip_suffix('-')?;
        let custom: Custom = serde_json::from_value(file.custom.clone()?).ok()?;
        (custom.version.to_string() == version).then(|| Release {
            name: name.clone(),
            version: custom.version,
            published_at: custom.published_at,
            revokes: custom.revokes,
        })
    };
    let mut all: Vec<Release> = targets.targets.iter().filter_map(release).collect();
    all.sort_by(|a, b| b.version.cmp(&a.version));
    all
}

/// This program's version.
pub fn ours() -> Version {
    let parsed = env!("CARGO_PKG_VERSION").parse();
    parsed.unwrap_or_else(|_| Version::new(0, 0, 0))
}

/// A newer release than this program, and whether this one must not be used any more. With a
/// package manager in between (`held`), only what has been out for a day, unless it is that urgent.
pub fn newer(releases: &[Release], held: bool, now: Timestamp) -> Option<(&Release, bool)> {
    let ours = ours();
    let revoked = releases.iter().any(|r| r.revokes.contains(&ours));
    let out = |r: &&Release| !held || revoked || now.duration_since(r.published_at) >= HOLD;
    let newest = releases.iter().find(out)?;
    (newest.version > ours).then_some((newest, revoked))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(version: &str, published_at: &str, revokes: &[Version]) -> Release {
        Release {
            name: format!("metalshim-{version}.tar.gz"),
            version: version.parse().unwrap(),
            published_at: published_at.parse().unwrap(),
            revokes: revokes.to_vec(),
        }
    }

    #[test]
    fn a_release_is_held_for_a_day_unless_this_one_was_taken_back() {
        let now = "2027-01-02T00:00:00Z".parse().unwrap();
        let young = |revokes: &[Version]| vec![release("99.0.0", "2027-01-01T12:00:00Z", revokes)];
        assert!(newer(&young(&[]), true, now).is_none());
        assert!(newer(&young(&[]), false, now).is_some());
        let urgent = young(&[ours()]);
        assert_eq!(newer(&urgent, true, now), Some((&urgent[0], true)));
        let old = [release("99.0.0", "2026-12-31T12:00:00Z", &[])];
        assert!(newer(&old, true, now).is_some());
    }

    #[test]
    fn while_the_newest_is_held_the_one_before_it_is_told() {
        let now = "2027-01-02T00:00:00Z".parse().unwrap();
        let both = [
            release("99.1.0", "2027-01-01T12:00:00Z", &[]),
            release("99.0.0", "2026-12-01T12:00:00Z", &[]),
        ];
        let (told, _) = newer(&both, true, now).unwrap();
        assert_eq!(told.version, Version::new(99, 0, 0));
        let older = [release("0.0.1", "2026-12-01T12:00:00Z", &[])];
        assert!(newer(&older, false, now).is_none());
    }
}
