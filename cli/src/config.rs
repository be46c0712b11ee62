//! `config.toml` (the user's) and `policy.toml` (the fleet's).
//!
//! **Contract.** An unknown key is an error that names the key and the file. A policy can
//! only subtract, and policy beats flags beat variables beat configuration. The policy of
//! the machine must be owned by root and writable by nobody else: otherwise it would be the
//! word of whoever can write it, and then metalshim says so and does nothing.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use compatdb::{Policy, Profile};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use crate::error::{Error, Who, plain};
use crate::variables::Variables;
use crate::{regular, toml_error};

/// Where the policy of this machine is.
pub const POLICY_PATH: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/metalshim/policy.toml"
} else {
    "/etc/metalshim/policy.toml"
};

/// No configuration or policy is larger.
const MAX_LEN: u64 = 256 << 10;

/// The user's `config.toml`. Every key may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The most that programs are told, as `1007/32768`; `--profile` beats it, and so does what
    /// `enable --profile` recorded.
    #[serde(deserialize_with = "profile")]
    pub profile: Option<Profile>,
    /// Which children are followed, like `--follow`, which beats it.
    pub follow: Option<String>,
    /// Where updates come from, like `--from`, which beats it, as `METALSHIM_REPOSITORY` does.
    pub repository: Option<String>,
    /// The root that updates are verified from, an absolute path; `--trust-root` beats it.
    #[serde(deserialize_with = "absolute")]
    pub trust_root: Option<PathBuf>,
    /// What is looked for and taken in by itself.
    pub automatic: Automatic,
}

/// What is looked for and taken in without being typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Automatic {
    /// Nothing.
    Off,
    /// The database; a newer metalshim is only told.
    #[default]
    Database,
    /// The database, and a newer metalshim where it may update itself.
    All,
}

fn absolute<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
    let path = PathBuf::deserialize(deserializer)?;
    if path.is_absolute() {
        return Ok(Some(path));
    }
    Err(serde::de::Error::custom(format!(
        "{} is not an absolute path",
        path.display()
    )))
}

fn profile<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Profile>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(serde::de::Error::custom)
}

/// Where the user's `config.toml` is; none without a home.
pub fn config_path(variables: &Variables) -> Option<PathBuf> {
    let home = variables.home.as_ref();
    let folder = if cfg!(target_os = "macos") {
        home.map(|home| home.join("Library/Application Support"))
    } else {
        let xdg = variables.xdg_config_home.clone();
        xdg.or_else(|| home.map(|home| home.join(".config")))
    };
    folder.map(|folder| folder.join("metalshim/config.toml"))
}

/// The user's `config.toml`; the defaults where there is none.
pub fn config(variables: &Variables) -> Result<Config, Error> {
    let Some(path) = config_path(variables) else {
        return Ok(Config::default());
    };
    match regular::open(&path) {
        Ok(file) => parse(&path, file, "configuration").map_err(|e| match e {
            Problem::Unreadable(says) => Error::user(says).hint(format!(
                "make {} a readable file, or remove it",
                path.display()
            )),
            Problem::Invalid(says) => Error::user(says)
                .hint("mend or remove that key; docs/design.md lists every key of config.toml"),
        }),
        Err(e) if missing(&path, &e) => Ok(Config::default()),
        Err(e) => Err(Error::file("read", &path, &e).hint(format!(
            "make {} readable for this user, or remove it",
            path.display()
        ))),
    }
}

/// The machine's policy and `extra` (`--policy`) together.
pub fn policy(extra: Option<&Path>) -> Result<Policy, Error> {
    let machine = machine_policy(Path::new(POLICY_PATH))?;
    let Some(path) = extra else {
        return Ok(machine);
    };
    let named = regular::open(path)
        .map_err(|e| Error::file("read", path, &e))
        .and_then(|file| read_policy(path, file))
        .map_err(|e| e.for_whom(Who::User))
        .map_err(|e| e.hint("--policy wants a policy file, like the fleet's policy.toml"))?;
    Ok(machine.and(named))
}

fn machine_policy(path: &Path) -> Result<Policy, Error> {
    let file = match regular::open(path) {
        Ok(file) => file,
        Err(e) if missing(path, &e) => return Ok(Policy::default()),
        Err(e) => {
            return Err(Error::file("read", path, &e)
                .for_whom(Who::Fleet)
                .hint("metalshim does nothing while there is a policy that it cannot read"));
        }
    };
    trusted(path, &file)?;
    read_policy(path, file)
}

/// Only root's word is the fleet's.
fn trusted(path: &Path, file: &File) -> Result<(), Error> {
    let metadata = file
        .metadata()
        .map_err(|e| Error::file("look at", path, &e))?;
    let wrong = if metadata.uid() != 0 {
        format!("owned by user {}, not by root", metadata.uid())
    } else if metadata.mode() & 0o022 != 0 {
        format!("writable by others (mode {:o})", metadata.mode() & 0o777)
    } else {
        return Ok(());
    };
    Err(
        Error::fleet(format!("the policy {} is {wrong}", path.display())).hint(format!(
            "as root: chown root {0:?} && chmod 644 {0:?}",
            path
        )),
    )
}

fn read_policy(path: &Path, file: File) -> Result<Policy, Error> {
    parse(path, file, "policy").map_err(|e| match e {
        Problem::Unreadable(says) => Error::fleet(says),
        Problem::Invalid(says) => {
            Error::fleet(says).hint("mend that key; docs/design.md lists every key of policy.toml")
        }
    })
}

enum Problem {
    Unreadable(String),
    Invalid(String),
}

fn parse<T: DeserializeOwned>(path: &Path, file: File, what: &str) -> Result<T, Problem> {
    let text = regular::text(file, MAX_LEN).map_err(|e| {
        let path = path.display();
        Problem::Unreadable(format!("could not read the {what} {path}: {}", plain(&e)))
    })?;
    toml::from_str(&text).map_err(|e| {
        Problem::Invalid(format!(
            "the {what} {} cannot be used: {}",
            path.display(),
            toml_error::says(&text, &e)
        ))
    })
}

/// Whether there is no such file. `ENOTDIR` is a missing file too: a file where its folder would
/// be. A link that leads nowhere is not: what it led to is gone, and a fleet's rule with it.
fn missing(path: &Path, error: &io::Error) -> bool {
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    let leads_nowhere = |path: &Path| path.is_symlink() && path.metadata().is_err();
    kinds.contains(&error.kind()) && !path.ancestors().any(leads_nowhere)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn policy_file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn no_policy_narrows_nothing() {
        for path in ["/no/such/policy.toml", "/dev/null/policy.toml"] {
            assert_eq!(machine_policy(Path::new(path)), Ok(Policy::default()));
        }
    }

    #[test]
    fn a_link_that_leads_nowhere_is_an_error_of_the_fleet() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink(folder.path().join("gone"), &link).unwrap();
        for path in [link.clone(), link.join("policy.toml")] {
            let error = machine_policy(&path).unwrap_err();
            assert_eq!(error.who, Who::Fleet);
            assert!(error.says.contains(&*path.to_string_lossy()), "{error}");
        }
    }

    #[test]
    fn an_evidence_level_that_is_none_names_those_there_are() {
        for (level, right) in [(0, false), (1, true), (3, true), (4, false), (255, false)] {
            let file = policy_file(&format!("min_evidence_level = {level}\n"));
            match policy(Some(file.path())) {
                Ok(policy) => assert_eq!((policy.min_evidence_level, right), (Some(level), true)),
                Err(error) => {
                    assert!(!right, "{error}");
                    assert!(error.says.contains("1, 2 or 3"), "{error}");
                    assert!(error.says.contains("min_evidence_level"), "{error}");
                }
            }
        }
    }

    #[test]
    fn a_policy_that_others_can_write_is_an_error_of_the_fleet() {
        let file = policy_file("forbid_unverified = true\n");
        fs::set_permissions(file.path(), Permissions::from_mode(0o666)).unwrap();
        let error = machine_policy(file.path()).unwrap_err();
        assert_eq!(error.who, Who::Fleet);
        assert!(
            error.says.contains(&*file.path().to_string_lossy()),
            "{error}"
        );
    }

    #[test]
    fn a_policy_of_another_user_is_an_error_and_roots_is_read() {
        let file = policy_file("forbid_unverified = true\n");
        fs::set_permissions(file.path(), Permissions::from_mode(0o644)).unwrap();
        if file.path().metadata().unwrap().uid() != 0 {
            // Not run as root: the file is another user's as it is.
            assert!(machine_policy(file.path()).is_err());
            return;
        }
        assert!(machine_policy(file.path()).unwrap().forbid_unverified);
        chown(file.path(), Some(1), None).unwrap();
        let error = machine_policy(file.path()).unwrap_err();
        assert!(
            error.says.contains("owned by user 1, not by root"),
            "{error}"
        );
    }

    #[test]
    fn both_policies_together_forbid_what_either_does() {
        let file = policy_file("max_profile = \"1007/32768\"\n");
        assert_eq!(
            policy(Some(file.path())).unwrap().max_profile,
            Some(Profile::CAUTIOUS)
        );
    }
}
