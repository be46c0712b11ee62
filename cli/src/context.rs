//! What every command needs: the printer, the variables, the policy, and, read when asked
//! for, the facts, the state folder and the database.

use std::ffi::OsString;
use std::path::PathBuf;

use compatdb::{OsBuild, Policy, Profile};

use crate::config::{self, Config};
use crate::database::{self, Loaded};
use crate::error::Error;
use crate::facts::{self, Machine};
use crate::printer::Printer;
use crate::state::StateFolder;
use crate::variables::{self, Variables};
use crate::wish::{self, Wish};

/// What holds where the command line says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The most that programs are told.
    pub profile: Option<Profile>,
    /// Which children are followed; none leaves it to the client's row.
    pub follow: Option<String>,
}

/// Handed to every command.
#[derive(Clone, Debug)]
pub struct Context {
    /// Prints.
    pub printer: Printer,
    /// The environment, read once.
    pub variables: Variables,
    /// The command line, with the program's own name first.
    pub arguments: Vec<OsString>,
    /// `--policy FILE`: one more policy, which can only subtract.
    pub extra_policy: Option<PathBuf>,
    /// What counts as missing if it cannot be used.
    pub tolerant: Tolerant,
}

/// What counts as missing if it cannot be used: for commands that tell what is wrong with it,
/// and start nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tolerant {
    /// Nothing: it is an error.
    #[default]
    OfNothing,
    /// Files of the state folder.
    OfState,
    /// Besides, configuration, policy, and variables.
    OfAll,
}

impl Context {
    /// The state folder. An error where there is none: see [`StateFolder::locate`].
    pub fn state(&self) -> Result<StateFolder, Error> {
        let state = StateFolder::locate(&self.variables)?;
        Ok(if self.tolerant >= Tolerant::OfState {
            state.tolerant()
        } else {
            state
        })
    }

    /// The same for a command that reports what is wrong with the state
    /// ([`StateFolder::damages`]) beside everything else, and so must not fail by it.
    #[must_use]
    pub fn tolerant(&self) -> Self {
        Self {
            tolerant: Tolerant::OfState,
            ..self.clone()
        }
    }

    /// The same for a command that also reports what is wrong with configuration, policy and
    /// variables beside everything else.
    #[must_use]
    pub fn tolerant_of_all(&self) -> Self {
        Self {
            tolerant: Tolerant::OfAll,
            ..self.clone()
        }
    }

    /// `read`, or nothing where that is what counts.
    fn or_nothing<T: Default>(&self, read: Result<T, Error>) -> Result<T, Error> {
        read.or_else(|error| match self.tolerant {
            Tolerant::OfAll => Ok(T::default()),
            _ => Err(error),
        })
    }

    /// The home folder.
    ///
    /// # Errors
    /// There is none.
    pub fn home(&self) -> Result<PathBuf, Error> {
        self.variables.home.clone().ok_or_else(|| {
            Error::machine(format!(
                "there is no home folder: {} is not set",
                variables::HOME
            ))
            .hint(format!(
                "set {} to this user's home folder",
                variables::HOME
            ))
        })
    }

    /// The facts and the time. `host_build` is the command's `--host-build`, if it has one.
    pub fn machine(&self, host_build: Option<&OsBuild>) -> Result<Machine, Error> {
        let state = self.state().ok();
        let load = |variables| facts::load(variables, state.as_ref(), host_build);
        match load(&self.variables) {
            Err(_) if self.tolerant == Tolerant::OfAll => load(&Variables {
                host_build: None,
                ..self.variables.clone()
            }),
            loaded => loaded,
        }
    }

    /// The database in use.
    pub fn database(&self) -> Result<Loaded, Error> {
        database::needed(&self.variables)
    }

    /// This machine's policy and the one of `--policy` together.
    pub fn policy(&self) -> Result<Policy, Error> {
        self.or_nothing(config::policy(self.extra_policy.as_deref()))
    }

    /// What `enable` and the configuration say where the command line says nothing.
    ///
    /// # Errors
    /// One of the two files cannot be understood.
    pub fn settings(&self) -> Result<Settings, Error> {
        let config = self.config()?;
        let wish: Option<Wish> = match self.state() {
            Ok(state) => state.read_json(wish::FILE)?,
            Err(_) => None,
        };
        Ok(Settings {
            profile: wish.and_then(|wish| wish.profile).or(config.profile),
            follow: config.follow,
        })
    }

    /// The user's `config.toml`; the defaults where there is none.
    pub fn config(&self) -> Result<Config, Error> {
        self.or_nothing(config::config(&self.variables))
    }
}
