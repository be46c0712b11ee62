//! Verified metadata in memory: what the library reads and writes instead of files.
//!
//! The library only logs what it cannot store, so it never gets to store on a disk: after a
//! refresh has succeeded, what is here is written by `super::folder`, which does not overlook
//! an error.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Files by name. Clones are the same files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl Kept {
    /// The files.
    pub(crate) fn files(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        // A panic elsewhere leaves whole files: each is put in at once.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One file.
    pub(crate) fn get(&self, name: &str) -> Option<Vec<u8>> {
        self.files().get(name).cloned()
    }

    /// Puts a file in.
    pub(crate) fn put(&self, name: impl Into<String>, bytes: Vec<u8>) {
        self.files().insert(name.into(), bytes);
    }
}

impl sigstore_tuf::MetadataStore for Kept {
    fn load(&self, name: &str) -> sigstore_tuf::Result<Option<Vec<u8>>> {
        Ok(self.get(name))
    }

    fn store(&self, name: &str, bytes: &[u8]) -> sigstore_tuf::Result<()> {
        self.put(name, bytes.to_vec());
        Ok(())
    }
}
