//! The signed repository that a release build embeds: `compatdb/seed/`, as it is published.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::verify::Metadata;

/// Names below `compatdb/seed/` and bytes; empty in a development build.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/seed.rs"));

static SEED: LazyLock<Option<Seed>> = LazyLock::new(|| of_files(FILES));

/// The seed.
pub(crate) struct Seed {
    /// The trust root: its first root.
    pub(crate) root: Vec<u8>,
    /// Its metadata.
    pub(crate) metadata: Metadata,
    targets: BTreeMap<String, &'static [u8]>,
    /// Where updates come from, where nothing else says so: the file `repository`.
    pub(crate) repository: Option<String>,
}

/// This build's.
pub(crate) fn seed() -> Option<&'static Seed> {
    SEED.as_ref()
}

impl Seed {
    /// The bytes of a target by the hash in its file's name.
    pub(crate) fn target(&self, sha256: &str, name: &str) -> Option<&'static [u8]> {
        self.targets.get(&format!("{sha256}.{name}")).copied()
    }
}

fn of_files(files: &[(&'static str, &'static [u8])]) -> Option<Seed> {
    let file = |name: &str| {
        files
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, b)| b.to_vec())
    };
    let newest = |role: &str| {
        let numbered = |(name, bytes): &(&'static str, &'static [u8])| {
            let number = name.strip_prefix("metadata/")?.strip_suffix(role)?;
            Some((number.parse::<u64>().ok()?, bytes.to_vec()))
        };
        files
            .iter()
            .filter_map(numbered)
            .max_by_key(|(number, _)| *number)
    };
    let mut roots: Vec<(u64, Vec<u8>)> = files
        .iter()
        .filter_map(|(name, bytes)| {
            let number = name.strip_prefix("metadata/")?.strip_suffix(".root.json")?;
            Some((number.parse().ok()?, bytes.to_vec()))
        })
        .collect();
    roots.sort_by_key(|(number, _)| *number);
    let mut roots = roots.into_iter().map(|(_, bytes)| bytes);
    let targets: BTreeMap<String, &'static [u8]> = files
        .iter()
        .filter_map(|(name, bytes)| Some((name.strip_prefix("targets/")?.to_owned(), *bytes)))
        .collect();
    let list = targets
        .iter()
        .find(|(name, _)| name.ends_with(".revocations.json"));
    let revoker = newest(".revoker.json").zip(list);
    Some(Seed {
        root: roots.next()?,
        metadata: Metadata {
            roots: roots.collect(),
            timestamp: file("metadata/timestamp.json")?,
            snapshot: newest(".snapshot.json")?.1,
            targets: newest(".targets.json")?.1,
            revoker: revoker.map(|((_, revoker), (_, list))| (revoker, list.to_vec())),
        },
        targets,
        repository: file("repository")
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::tests::repositories;
    use crate::update::verify::verify;

    /// The list of the build script, and what a release makes of it.
    fn seed_of(folder: &std::path::Path) -> Option<Seed> {
        let files = compatdb::seed::files(folder).unwrap();
        let leaked = |(name, path): (String, std::path::PathBuf)| {
            let bytes = std::fs::read(path).unwrap();
            let (name, bytes): (&'static str, &'static [u8]) = (name.leak(), bytes.leak());
            (name, bytes)
        };
        of_files(&files.into_iter().map(leaked).collect::<Vec<_>>())
    }

    #[test]
    fn a_seed_verifies_from_its_first_root_to_the_bytes_of_its_database() {
        let folder = tempfile::tempdir().unwrap();
        let Some([_, second]) = repositories(folder.path()) else {
            return;
        };
        std::fs::write(second.join("repository"), "https://updates.example/r\n").unwrap();
        let seed = seed_of(&second).unwrap();
        assert_eq!(
            seed.repository.as_deref(),
            Some("https://updates.example/r")
        );
        assert_eq!(seed.metadata.roots.len(), 1, "the root after the first");
        let verified = verify(&seed.root, &seed.metadata).unwrap();
        let listed = &verified.databases[0];
        let bytes = seed.target(&listed.sha256, &listed.name).unwrap();
        assert_eq!(compatdb::sha256_hex(bytes), listed.sha256);
        assert_eq!(compatdb::Database::open(bytes).unwrap().seq(), 3);
        assert_eq!(verified.deny_list.unwrap().records[0].id, "P0001");
    }

    #[test]
    fn without_a_seed_or_with_half_of_one_there_is_no_root() {
        let folder = tempfile::tempdir().unwrap();
        assert!(seed_of(&folder.path().join("none")).is_none());
        let Some([first, _]) = repositories(folder.path()) else {
            return;
        };
        std::fs::remove_file(first.join("metadata/timestamp.json")).unwrap();
        assert!(seed_of(&first).is_none());
    }
}
