//! The interface of the public conformance suite for TUF clients, over the same module as the
//! product's updates.
//!
//! In `metadata_dir`: trusted metadata under un-versioned names, byte for byte as served, and
//! nothing else that ends in `.json`. What a refresh trusted before it failed is kept.

use std::io;
use std::path::Path;

use sigstore_tuf::TargetFile;

use super::clock::Clock;
use super::files::Files;
use super::kept::Kept;
use super::limits;
use super::problem::Problem;
use super::refresh::{once, run, updater};
use super::transport::{Place, Transport};
use super::verify::keys_of_root;

/// `init TRUSTED_ROOT`
///
/// # Errors
/// It is not a root, or cannot be written.
pub fn init(metadata_dir: &Path, trusted_root: &Path) -> Result<(), Problem> {
    let root = read(trusted_root)?.ok_or_else(|| missing(trusted_root))?;
    keys_of_root(&root)?;
    write(&metadata_dir.join("root.json"), &root)
}

/// `refresh`, and with targets `download`: names, their base address, and where they go.
///
/// # Errors
/// Anything that does not hold.
pub fn refresh(
    metadata_dir: &Path,
    metadata_url: &str,
    targets: Option<(&[String], &str, &Path)>,
) -> Result<(), Problem> {
    let trim = |url: &str| url.trim_end_matches('/').to_owned();
    let place = Place::Http {
        metadata: trim(metadata_url),
        targets: targets.map_or_else(String::new, |(_, url, _)| trim(url)),
    };
    let kept = Kept::default();
    for name in names(metadata_dir)? {
        if let Some(bytes) = read(&metadata_dir.join(&name))? {
            kept.put(name, bytes);
        }
    }
    let before = kept.files().clone();
    let path = metadata_dir.join("root.json");
    let root = kept.get("root.json").ok_or_else(|| missing(&path))?;
    let done = work(&root, &kept, place, targets);
    let after = kept.files().clone();
    for (name, bytes) in after {
        let versioned = name
            .split('.')
            .next()
            .is_some_and(|stem| stem.parse::<u64>().is_ok());
        if !name.contains('/') && !versioned && before.get(&name) != Some(&bytes) {
            write(&metadata_dir.join(name), &bytes)?;
        }
    }
    done
}

fn work(
    root: &[u8],
    kept: &Kept,
    place: Place,
    targets: Option<(&[String], &str, &Path)>,
) -> Result<(), Problem> {
    let transport = Transport::new(place, limits::BUDGET, None)?;
    let mut updater = updater(root, kept, transport.clone())?;
    // The suite plays with the clock as it is: no floor of a release.
    let clock = Clock {
        system: jiff::Timestamp::now(),
        floor: jiff::Timestamp::MIN,
    };
    run(&mut updater, clock, &transport)?;
    let Some((names, _, folder)) = targets else {
        return Ok(());
    };
    for name in names {
        let now = clock.now().to_string();
        let now = now
            .parse()
            .map_err(|_| Problem::Malformed(format!("{now} is not a time")))?;
        let file = once(updater.get_target_info(name, now))?
            .ok_or_else(|| Problem::Missing(name.clone()))?;
        let path = folder.join(stable_name(name));
        if read(&path)?.is_some_and(|bytes| is(&bytes, &file)) {
            continue;
        }
        let bytes = once(updater.download_target(&file, name))?;
        write(&path, &bytes)?;
    }
    Ok(())
}

fn is(bytes: &[u8], file: &TargetFile) -> bool {
    let hash = file.hashes.get("sha256");
    hash.is_some_and(|hash| compatdb::sha256_hex(bytes) == hash.to_ascii_lowercase())
}

/// One file name for each target, whatever is in it.
fn stable_name(target: &str) -> String {
    use std::fmt::Write as _;
    let mut name = String::new();
    for byte in target.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => name.push(byte.into()),
            // Writing to a string does not fail.
            _ => {
                let _ = write!(name, "%{byte:02X}");
            }
        }
    }
    name
}

fn names(folder: &Path) -> Result<Vec<String>, Problem> {
    let disk = |e| Problem::Disk(folder.to_owned(), e);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(disk)? {
        let name = entry.map_err(disk)?.file_name();
        if let Some(name) = name.to_str().filter(|name| name.ends_with(".json")) {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

fn missing(path: &Path) -> Problem {
    Problem::Stored(path.to_owned(), "it is missing".to_owned())
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, Problem> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Problem::Disk(path.to_owned(), e)),
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    let on_disk = |(path, e)| Problem::Disk(path, e);
    let files = Files::real();
    if let Some(folder) = path.parent() {
        files.make_folder(folder).map_err(on_disk)?;
    }
    files.write(path, bytes).map_err(on_disk)
}
