//! Would a program be started with the overrides? All that `run` looks at before it writes or
//! starts anything, and what doctor's answer is made from.
//!
//! **Contract.** Nothing is written but what the shim told of programs that ran before
//! ([`crate::drift`]). `run` acts on [`Ready::answer`], and doctor says
//! [`Ready::without_writing`], which is the same answer and, instead of the ticket's file, a
//! look whether it could be written; so doctor never says yes where `run` would refuse, nor no
//! where it would not.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use compatdb::verdict::{Allow, Refusal, Target};
use compatdb::{OsBuild, Profile, Told, Verdict};

use crate::context::{Context, Settings};
use crate::decide::{Asked, Decision, Known, Question};
use crate::error::Error;
use crate::state::StateFolder;
use crate::variables::{self, Variables};
use crate::{find, install, program, refusal, tickets};

/// A program as it was typed and found.
#[derive(Clone, Debug)]
pub struct Program {
    /// What was typed.
    pub name: OsString,
    /// Where it is.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What is set in its environment besides.
    pub set: Vec<(OsString, OsString)>,
}

impl Program {
    /// The program that the first of `words` names, with the rest as its arguments.
    ///
    /// # Errors
    /// There is none (127), or it cannot be started (126).
    pub fn find(
        words: &[OsString],
        set: &[(OsString, OsString)],
        variables: &Variables,
    ) -> Result<Self, Error> {
        let (name, arguments) = words
            .split_first()
            .ok_or_else(|| Error::user("no program was given"))?;
        Ok(Self {
            path: find::program(name, variables.path.as_deref())?,
            name: name.clone(),
            arguments: arguments.to_vec(),
            set: set.to_vec(),
        })
    }
}

/// What is wanted of a start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// The program; none asks about this machine.
    pub program: Option<&'a Program>,
    /// `--client`
    pub client: Option<&'a Told>,
    /// `--profile`
    pub profile: Option<Profile>,
    /// `--host-build`
    pub host_build: Option<&'a OsBuild>,
    /// `--allow-unverified`
    pub allow_unverified: Option<&'a OsBuild>,
    /// `--follow`
    pub follow: Option<&'a str>,
}

/// What was looked at.
#[derive(Debug)]
pub struct Ready {
    /// Facts, policy, database.
    pub known: Known,
    /// What `enable` and the configuration say.
    pub settings: Settings,
    /// The program's file.
    pub looked: Option<program::Preflight>,
    /// The verdict.
    pub decision: Decision,
    /// The library to load.
    pub shim: Result<PathBuf, Error>,
    /// Where tickets are.
    pub state: Result<StateFolder, Error>,
    /// Which children are followed.
    pub follow: String,
    /// Whether a ticket can say all that; decided only where the verdict allows.
    pub ticket: Result<(), Error>,
}

/// What comes of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It would be started with the overrides.
    Yes(Allow),
    /// It would not, and this is the reason.
    No(Refusal),
    /// It would not: something that is needed cannot be used.
    Error(Error),
}

impl Ready {
    /// Looks at everything.
    ///
    /// # Errors
    /// Something that is there cannot be used, or `--client` names no client.
    pub fn look(context: &Context, wanted: &Wanted<'_>) -> Result<Self, Error> {
        let settings = context.settings()?;
        let known = Known::gather(context, wanted.host_build)?;
        let looked = wanted.program.map(|asked| {
            let launchers = known.launchers();
            let here = program::Context::here(known.machine.facts.guest.sip, &launchers);
            program::preflight(&asked.path, &asked.arguments, &here)
        });
        let resolved = looked.as_ref().map(|looked| {
            let runs = looked.runs.as_ref().map(|runs| runs.program.clone());
            let resolved = || looked.path.canonicalize().ok();
            runs.or_else(resolved)
                .unwrap_or_else(|| looked.path.clone())
        });
        let mut decision = known.decide(Question {
            profile: wanted.profile,
            at_most: settings.profile,
            allow_unverified: wanted.allow_unverified,
            program: looked
                .as_ref()
                .zip(resolved.as_deref())
                .map(|(looked, path)| Asked {
                    name: base_name(&looked.path),
                    path,
                    libraries: looked.libraries.clone(),
                    client: wanted.client,
                    target: target(looked),
                }),
        })?;
        if let (Verdict::Refuse(refusal), Some(asked)) = (&mut decision.verdict, wanted.program) {
            refusal::fill(refusal, [&asked.name].into_iter().chain(&asked.arguments));
        }
        let follow = wanted.follow.or(settings.follow.as_deref());
        let follow = follow.map_or_else(|| decision.follow(), str::to_owned);
        let ticket = match &decision.verdict {
            Verdict::Allow(allow) => {
                decision.ticket(&known, allow.profile, &follow, tickets::check)
            }
            Verdict::Refuse(_) => Ok(()),
        };
        Ok(Self {
            shim: install::shim(),
            state: context.state(),
            known,
            settings,
            looked,
            decision,
            follow,
            ticket,
        })
    }

    /// What `run` does, but for the ticket's file.
    pub fn answer(&self) -> Answer {
        let allow = match &self.decision.verdict {
            Verdict::Allow(allow) => allow.clone(),
            Verdict::Refuse(refusal) => return Answer::No(refusal.clone()),
        };
        let errors = [
            self.shim.as_ref().err(),
            self.state.as_ref().err(),
            self.ticket.as_ref().err(),
        ];
        match errors.into_iter().flatten().next() {
            Some(error) => Answer::Error(error.clone()),
            None => Answer::Yes(allow),
        }
    }

    /// The same for somebody who must not write: whether `METALSHIM_DISABLE` lets anything
    /// happen at all, and whether the ticket's file could be written.
    pub fn without_writing(&self, variables: &Variables) -> Answer {
        if variables.disable {
            return Answer::Error(disabled());
        }
        let answer = self.answer();
        match (&answer, &self.state) {
            (Answer::Yes(_), Ok(state)) => match state.could_write() {
                Ok(()) => answer,
                Err(error) => Answer::Error(error),
            },
            _ => answer,
        }
    }
}

/// `METALSHIM_DISABLE=1` is no error of anybody; here it is why the overrides stay away.
fn disabled() -> Error {
    let name = variables::DISABLE;
    Error::user(format!(
        "{name} is 1: `metalshim run` starts everything stock"
    ))
    .hint(format!("unset {name}"))
}

/// What the verdict has to know of the program.
fn target(looked: &program::Preflight) -> Target {
    if looked.injectable {
        return Target::Injectable;
    }
    Target::NotInjectable {
        code: looked.code.as_str().to_owned(),
        says: looked.says.clone(),
        remedies: looked.remedies.clone(),
    }
}

fn base_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
