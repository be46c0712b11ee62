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
    // What a repository had before lies beside what counts: only what is pinned is taken.
    let timestamp = file("metadata/timestamp.json")?;
    let numbered = |role: &str, by: &[u8]| {
        let number = pinned(by, &format!("/signed/meta/{role}.json/version"))?;
        file(&format!("metadata/{number}.{role}.json"))
    };
    let snapshot = numbered("snapshot", &timestamp)?;
    let revoker = match numbered("revoker", &snapshot) {
        Some(revoker) => {
            let sha256 = pinned(&revoker, "/signed/targets/revocations.json/hashes/sha256")?;
            let sha256 = sha256.as_str()?;
            let list = file(&format!("targets/{sha256}.revocations.json"))?;
            Some((revoker, list))
        }
        None => None,
    };
    Some(Seed {
        root: roots.next()?,
        metadata: Metadata {
            roots: roots.collect(),
            targets: numbered("targets", &snapshot)?,
            timestamp,
            snapshot,
            revoker,
        },
        targets,
        repository: file("repository")
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty()),
    })
}

/// A value that one file says about another.
fn pinned(by: &[u8], pointer: &str) -> Option<serde_json::Value> {
    let by: serde_json::Value = serde_json::from_slice(by).ok()?;
    by.pointer(pointer).cloned()
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
        // Older lists, and what an interrupted publication left, come first and last by name.
        for digit in ["0", "f"] {
            let name = format!("targets/{}.revocations.json", digit.repeat(64));
            std::fs::write(second.join(name), "{}").unwrap();
        }
        std::fs::write(second.join("metadata/99.snapshot.json"), "{}").unwrap();
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
