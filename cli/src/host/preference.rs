//! The host's preference that some projects set for guests' GPUs.
//!
//! **Contract.** What was there before is kept in the state folder before anything is changed,
//! and is what [`disable`] puts back: a value that somebody else set is never lost, nor taken
//! for ours. Every change is read back.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::tool::{self, Ended};
use crate::error::Error;
use crate::state::StateFolder;

/// Its domain.
pub const DOMAIN: &str = "com.apple.gpusw.ParavirtualizedGraphics";
/// Its key.
pub const KEY: &str = "ForceUnrestrictedDeviceFeatureLevel";
/// What was there before, in the state folder.
pub const FILE: &str = "preference.json";

/// What is known of it, in the help and in docs/hosts.md.
pub const KNOWN: &str = "\
The preference ForceUnrestrictedDeviceFeatureLevel covers every virtual machine that this macOS \
user starts, and outlives crashes and restarts. Virtual machines that run have to be stopped and \
started again before it counts. Whether it is needed is not settled: trycua/cua, \
veertuinc/anka-metal-unlock and cirruslabs/macos-image-templates ask for it; ardanlabs/kronk \
measured that it changes nothing (host 25G83, guest 25G76). metalshim records it and does not ask \
for it: try it where a verified pair gains nothing.";

/// What it is set to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "is")]
pub enum Value {
    /// Not set.
    Absent,
    /// Set.
    Set {
        /// As `defaults read-type` calls it, like `boolean`.
        kind: String,
        /// As `defaults read` prints it, like `1`.
        value: String,
    },
}

/// What was there before `enable`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    schema: String,
    /// The value.
    pub before: Value,
    /// When it was kept.
    pub at: Timestamp,
}

const SCHEMA: &str = "metalshim.preference-kept/1";

/// What `enable` and `disable` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Did {
    /// Set, and what was there before is kept.
    Set,
    /// It was set already, by metalshim.
    AlreadyOurs,
    /// It was set already, by somebody else: nothing was done.
    AlreadyTheirs,
    /// What was there before is there again.
    Restored,
    /// Somebody changed it since: their value stays.
    ChangedSince,
    /// Metalshim had not set it: nothing was done.
    NotOurs,
}

impl Value {
    /// As it is now.
    ///
    /// # Errors
    /// `defaults` cannot be started, or says neither a value nor that there is none.
    pub fn read() -> Result<Self, Error> {
        let ended = tool::run("defaults", &["read", DOMAIN, KEY])?;
        if !ended.ok {
            return match ended.says.contains("does not exist") {
                true => Ok(Self::Absent),
                false => Err(failed("read", &ended)),
            };
        }
        let kind = tool::run("defaults", &["read-type", DOMAIN, KEY])?;
        let kind = match kind.out.strip_prefix("Type is ") {
            Some(name) if kind.ok => name.to_owned(),
            _ => return Err(failed("read-type", &kind)),
        };
        Ok(Self::Set {
            kind,
            value: ended.out,
        })
    }

    /// Whether it raises the level.
    pub fn is_on(&self) -> bool {
        let Self::Set { value, .. } = self else {
            return false;
        };
        let on = ["1", "true", "yes"];
        on.iter().any(|word| value.eq_ignore_ascii_case(word))
    }

    /// As a person reads it.
    pub fn says(&self) -> String {
        match self {
            Self::Absent => "not set".to_owned(),
            Self::Set { kind, value } => format!("{value} ({kind})"),
        }
    }

    fn write(&self) -> Result<(), Error> {
        let Self::Set { kind, value } = self else {
            let ended = tool::run("defaults", &["delete", DOMAIN, KEY])?;
            return match ended.ok {
                true => self.check(),
                false => Err(failed("delete", &ended)),
            };
        };
        let flag = self.flag()?;
        let value = match (kind.as_str(), self.is_on()) {
            ("boolean", true) => "true",
            ("boolean", false) => "false",
            _ => value,
        };
        let ended = tool::run("defaults", &["write", DOMAIN, KEY, flag, value])?;
        match ended.ok {
            true => self.check(),
            false => Err(failed("write", &ended)),
        }
    }

    /// How `defaults write` is told the kind.
    fn flag(&self) -> Result<&'static str, Error> {
        match self {
            Self::Absent => Ok("-bool"),
            Self::Set { kind, .. } => match kind.as_str() {
                "boolean" => Ok("-bool"),
                "integer" => Ok("-int"),
                "float" => Ok("-float"),
                "string" => Ok("-string"),
                _ => Err(Error::machine(format!(
                    "{KEY} is a {kind}, which metalshim cannot put back: it is left as it is"
                ))
                .hint(format!("look what `defaults read {DOMAIN}` prints"))),
            },
        }
    }

    fn check(&self) -> Result<(), Error> {
        let now = Self::read()?;
        if now == *self {
            return Ok(());
        }
        Err(Error::machine(format!(
            "{KEY} was changed, and is {} where it should be {}",
            now.says(),
            self.says()
        ))
        .hint(format!("look what `defaults read {DOMAIN}` prints")))
    }
}

fn failed(verb: &str, ended: &Ended) -> Error {
    Error::machine(format!("defaults {verb} {DOMAIN} {KEY}: {}", ended.says))
        .hint(format!("look what `defaults read {DOMAIN}` prints"))
}

/// What is kept; none where metalshim has not set it.
///
/// # Errors
/// The file cannot be understood.
pub fn kept(state: &StateFolder) -> Result<Option<Kept>, Error> {
    state.read_json(FILE)
}

/// Sets it.
///
/// # Errors
/// It cannot be read, kept or set.
pub fn enable(state: &StateFolder, now: Timestamp) -> Result<Did, Error> {
    let _lock = state.lock()?;
    let before = Value::read()?;
    // A kind that cannot be put back is not replaced.
    before.flag()?;
    let kept = kept(state)?;
    if before.is_on() {
        return Ok(match kept {
            Some(_) => Did::AlreadyOurs,
            None => Did::AlreadyTheirs,
        });
    }
    // Also where something is kept: it is off, so somebody changed it since, and that is theirs.
    let kept = Kept {
        schema: SCHEMA.to_owned(),
        before,
        at: now,
    };
    state.write_json(FILE, &kept)?;
    let on = Value::Set {
        kind: "boolean".to_owned(),
        value: "1".to_owned(),
    };
    on.write()?;
    Ok(Did::Set)
}

/// Puts back what was there before.
///
/// # Errors
/// It cannot be read or set.
pub fn disable(state: &StateFolder) -> Result<Did, Error> {
    let _lock = state.lock()?;
    let Some(kept) = kept(state)? else {
        return Ok(Did::NotOurs);
    };
    let did = if Value::read()?.is_on() {
        kept.before.write()?;
        Did::Restored
    } else {
        Did::ChangedSince
    };
    state.remove(FILE)?;
    Ok(did)
}
