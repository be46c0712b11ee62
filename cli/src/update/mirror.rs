//! Copies a whole repository into a folder, verified on the way.
//!
//! **Contract.** Files are written in the order in which a client may meet them: targets, then
//! numbered metadata, `timestamp.json` last, each by temporary file, sync and rename. A mirror
//! is never taken back to an older timestamp.

use std::path::Path;
use std::time::Duration;

use sigstore_tuf::{Metadata as Signed, Repository, Timestamp, TrustedMetadataSet};

use super::clock::Clock;
use super::files::Files;
use super::limits;
use super::problem::Problem;
use super::refresh::{once, refresh};
use super::store::{Store, Which};
use super::transport::{Place, Transport};
use super::verify::{REVOCATIONS, keys_of_root};

/// How many files were written, and how many were there already.
pub(super) fn mirror(
    trust_root: &[u8],
    store: &Store,
    place: Place,
    budget: Duration,
    folder: &Path,
) -> Result<(usize, usize), Problem> {
    let stored = store.load(trust_root, Which::Current)?;
    let floor = store.floor()?;
    let transport = Transport::new(place, budget, None)?;
    let seeds = stored.as_ref().map(|s| (&s.metadata, &s.verified));
    let fetched = refresh(trust_root, seeds, &transport, |keys| {
        Clock::here(floor.times(keys))
    })?;
    let verified = &fetched.verified;
    let reached = floor.seq(&verified.keys);
    if let Some(newest) = verified
        .databases
        .first()
        .filter(|l| l.custom.seq < reached)
    {
        return Err(Problem::Rollback(format!(
            "database seq {}, where seq {reached} is known",
            newest.custom.seq
        )));
    }
    let (metadata, targets) = (folder.join("metadata"), folder.join("targets"));
    not_older(&metadata.join("timestamp.json"), verified.timestamp_version)?;
    let mut copy = Copy {
        files: Files::real(),
        written: 0,
        kept: 0,
    };
    for (name, bytes) in fetched.targets()? {
        copy.file(&targets, &name, &bytes)?;
    }
    if let Some((revoker, list)) = &fetched.metadata.revoker {
        let name = format!("{}.{REVOCATIONS}", compatdb::sha256_hex(list));
        copy.file(&targets, &name, list)?;
        let version = Signed::<sigstore_tuf::Targets>::from_slice(revoker)?
            .signed()
            .version;
        copy.file(&metadata, &format!("{version}.revoker.json"), revoker)?;
    }
    let (targets_version, snapshot_version) = fetched.versions();
    copy.file(
        &metadata,
        &format!("{targets_version}.targets.json"),
        &fetched.metadata.targets,
    )?;
    copy.file(
        &metadata,
        &format!("{snapshot_version}.snapshot.json"),
        &fetched.metadata.snapshot,
    )?;
    for (version, root) in roots(trust_root, &fetched.metadata.roots, &transport)? {
        copy.file(&metadata, &format!("{version}.root.json"), &root)?;
    }
    copy.file(&metadata, "timestamp.json", &fetched.metadata.timestamp)?;
    Ok((copy.written, copy.kept))
}

struct Copy {
    files: Files,
    written: usize,
    kept: usize,
}

impl Copy {
    fn file(&mut self, folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Problem> {
        let on_disk = |(path, e)| Problem::Disk(path, e);
        let path = folder.join(name);
        if std::fs::read(&path).is_ok_and(|there| there == bytes) {
            self.kept += 1;
            return Ok(());
        }
        self.files.make_folder(folder).map_err(on_disk)?;
        self.files.write(&path, bytes).map_err(on_disk)?;
        self.written += 1;
        Ok(())
    }
}

/// All roots from the first on: clients with an older trust root start there. Those before
/// ours are taken only if they lead to ours.
fn roots(
    trust_root: &[u8],
    later: &[Vec<u8>],
    transport: &Transport,
) -> Result<Vec<(u64, Vec<u8>)>, Problem> {
    let (ours, _) = keys_of_root(trust_root)?;
    let mut roots = Vec::new();
    for version in 1..ours.min(u64::from(limits::ROOTS)) {
        let name = format!("{version}.root.json");
        let root = once(transport.fetch_metadata(&name, limits::ROOT))?;
        roots.push((version, root.ok_or(Problem::Missing(name))?));
    }
    roots.push((ours, trust_root.to_vec()));
    let (_, first) = &roots[0];
    let mut set = TrustedMetadataSet::from_root(first)?;
    for (_, root) in roots.iter().skip(1) {
        set.update_root(root)?;
    }
    roots.extend((ours + 1..).zip(later.iter().cloned()));
    Ok(roots)
}

fn not_older(path: &Path, offered: u64) -> Result<(), Problem> {
    let Ok(bytes) = std::fs::read(path) else {
        return Ok(());
    };
    let there = Signed::<Timestamp>::from_slice(&bytes)
        .map_err(|e| Problem::Stored(path.to_owned(), e.to_string()))?;
    let there = there.signed().version;
    if there > offered {
        return Err(Problem::Rollback(format!(
            "timestamp {offered}, where {} is {there}",
            path.display()
        )));
    }
    Ok(())
}
