//! What is wrong with the state, all of it, for those who tell rather than fail.

use std::fs;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{FILES, StateFolder};
use crate::drift::{self, Drift};
use crate::error::Error;
use crate::facts::share;
use crate::unverified::{self, Grant};
use crate::wish::{self, Wish};

/// One thing that is wrong with the state, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// What, with the path.
    pub says: String,
    /// What to do, one sentence each.
    pub hints: Vec<String>,
}

impl From<Error> for Damage {
    fn from(error: Error) -> Self {
        Self {
            says: error.says,
            hints: error.hints,
        }
    }
}

impl StateFolder {
    /// Everything that keeps the state from being used, or a part of it. `run` refuses while
    /// there is any; `status` and `doctor` report it, and look at the rest with
    /// [`StateFolder::tolerant`].
    pub fn damages(&self) -> Vec<Damage> {
        let strict = Self::at(self.path().to_owned());
        if let Err(error) = strict.check() {
            return vec![error.into()];
        }
        let damaged = FILES.iter().filter_map(|name| match *name {
            wish::FILE => strict.wrong::<Wish>(name),
            share::FILE => strict.wrong::<share::Copy>(name),
            unverified::FILE => strict.wrong::<Vec<Grant>>(name),
            drift::FILE => strict.wrong::<Drift>(name),
            _ => strict.wrong::<serde_json::Value>(name),
        });
        let mut all: Vec<Damage> = damaged.collect();
        for name in ["log", "lock"] {
            let path = strict.join(name);
            if let Ok(metadata) = fs::symlink_metadata(&path) {
                all.extend(strict.owned(&path, &metadata).err().map(Into::into));
            }
        }
        all
    }

    fn wrong<T: DeserializeOwned>(&self, name: &str) -> Option<Damage> {
        self.read_json::<T>(name).err().map(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_damaged_file_is_told_and_none_keeps_the_others_from_being_read() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateFolder::at(dir.path().join("state"));
        assert_eq!(state.damages(), []);
        state.ensure().unwrap();
        for name in FILES {
            fs::write(state.join(name), "{").unwrap();
        }
        let damages = state.damages();
        for (name, damage) in FILES.iter().zip(&damages) {
            assert!(damage.says.contains(name), "{damage:?}");
            assert!(!damage.hints.is_empty());
        }
        assert_eq!(damages.len(), FILES.len());
        let tolerant = state.tolerant();
        assert_eq!(tolerant.read_json::<Wish>(wish::FILE), Ok(None));
        assert!(tolerant.join(wish::FILE).exists());
    }
}
