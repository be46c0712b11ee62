//! The canary: small kernels, run with the overrides in a child process and compared with the
//! CPU, before a program relies on them.
//!
//! **Contract.** [`cases`] says what is run and what has to come back ([`mod@reference`], with how
//! far off it may be), [`channel`] speaks with the child, [`judge`] compares, [`kept`] is what
//! is kept of it. The kernels are text files in Metal Shading Language that the child compiles: on a
//! Mac this executable again with the real device, with simulated facts the simulated guest's
//! GPU in software. docs/canary.md says what each outcome means.

pub mod cases;
pub mod channel;
pub mod formats;
pub mod judge;
pub mod kept;
pub mod pages;
pub mod reference;

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::Duration;

use compatdb::Profile;
use rustix::io::FdFlags;
use serde::Serialize;

use self::cases::{Case, LIBRARIES};
use self::channel::{Answer, Channel, Device, Gone};
use self::judge::Wrong;
use self::kept::{Kept, Said};
use self::pages::Pages;
use crate::decide::{Decision, Known};
use crate::error::{Error, plain};
use crate::helper::{Ended, Helper, Ticket};
use crate::state::StateFolder;
use crate::variables::Variables;

/// Threadgroup memory that every Mac has: what a profile falls back to.
const REAL_MEMORY: u32 = 32_768;

/// What a hung or failed canary may be, other than the profile's fault.
pub const RESTART: &str = "restart this guest and run `metalshim canary` again before you blame the overrides: a virtual machine whose GPU is stuck fails whatever it is asked";

/// How it is run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How often every kernel is run, each time with other values.
    pub runs: u32,
    /// How long one step may take: making the device, compiling a library, a launch.
    pub limit: Duration,
}

impl Plan {
    /// What `enable` does. The first compilation of a guest took 40 seconds in public reports.
    pub const USUAL: Self = Self {
        runs: 3,
        limit: Duration::from_secs(120),
    };
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// All results were right.
    Passed,
    /// A kernel's results were wrong.
    Wrong {
        /// Which case.
        case: &'static str,
        /// In which run, from 1 on.
        run: u32,
        /// How far.
        how: Wrong,
    },
    /// A compiler did not take a kernel.
    Refused {
        /// The library or case.
        what: &'static str,
        /// What the compiler said.
        says: String,
    },
    /// No answer within the time limit.
    Hung {
        /// What was being done.
        what: &'static str,
        /// The time limit.
        seconds: f32,
    },
    /// The process ended, or the GPU reported an error.
    Crashed {
        /// What was being done.
        what: &'static str,
        /// How.
        says: String,
    },
}

impl Outcome {
    /// As a sentence without a full stop.
    pub fn says(&self) -> String {
        match self {
            Self::Passed => "all results were right".to_owned(),
            Self::Wrong { case, run, how } => format!("{case}, run {run}: {}", how.says()),
            Self::Refused { what, says } => {
                format!("{what} was refused by the compiler: {}", says.trim())
            }
            Self::Hung { what, seconds } => format!("{what} hung: no answer in {seconds} s"),
            Self::Crashed { what, says } => format!("{what} crashed: {}", says.trim()),
        }
    }

    /// What is kept of it; nothing where it could not tell.
    pub fn kept(&self) -> Option<Said> {
        match self {
            Self::Passed => Some(Said::Passed),
            Self::Refused { .. } => None,
            Self::Wrong { .. } | Self::Hung { .. } | Self::Crashed { .. } => Some(Said::Failed),
        }
    }
}

/// One case, over all of its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Done {
    /// Its name.
    pub case: &'static str,
    /// Its kernel.
    pub kernel: &'static str,
    /// How many times it ran.
    pub runs: u32,
    /// The largest deviation, as a share of what is allowed.
    pub share: f64,
    /// The longest launch, in microseconds, as the child measured it.
    pub longest_us: u64,
}

/// That the profile was lowered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lowered {
    /// What was tried.
    pub from: Profile,
    /// What went wrong there.
    pub because: String,
}

/// All that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What the device told.
    pub profile: Profile,
    /// Set where that is lower than it was to be.
    pub lowered: Option<Lowered>,
    /// The cases, in the order in which they were run first.
    pub cases: Vec<Done>,
    /// What the results do not cover.
    pub notes: Vec<String>,
}

/// Where the children's ticket comes from, and what they are to do.
#[derive(Clone, Copy, Debug)]
pub struct Canary<'a> {
    /// Facts and database.
    pub known: &'a Known,
    /// The verdict, made without regard to an earlier canary.
    pub decision: &'a Decision,
    /// What the device is to tell.
    pub profile: Profile,
    /// The state folder.
    pub state: &'a StateFolder,
    /// The environment.
    pub variables: &'a Variables,
    /// How it is run.
    pub plan: Plan,
}

impl Canary<'_> {
    /// Runs it, and keeps what came of it.
    ///
    /// # Errors
    /// It could not be run, or the overrides did not take in its process.
    pub fn perform(&self) -> Result<Found, Error> {
        let found = self.find()?;
        let guest = &self.known.machine.facts.guest;
        if let Some(said) = found.outcome.kept() {
            let record = self.decision.record().map(|r| r.id.clone());
            let record = record.unwrap_or_else(|| kept::unverified(&guest.build));
            let what = match &found.lowered {
                Some(lowered) => format!("{}; {}", found.outcome.says(), lowered.because),
                None => found.outcome.says(),
            };
            let now = self.known.machine.now;
            let mut result = Kept::new(guest, record, found.profile, said, what, now);
            result.lowered_from = found.lowered.as_ref().map(|l| l.from);
            result.write(self.state)?;
        }
        Ok(found)
    }

    fn find(&self) -> Result<Found, Error> {
        let mut round = self.round(self.profile)?;
        let failed = match round.large.take() {
            Some(bad) if round.bad.is_none() => bad,
            _ => return Ok(round.found(self.profile, None)),
        };
        // What needs more than the hardware has: all the rest again, in a new process, lower.
        let profile = Profile {
            max_threadgroup_memory: REAL_MEMORY,
            ..self.profile
        };
        let lowered = Lowered {
            from: self.profile,
            because: failed.says(),
        };
        let again = self.round(profile)?;
        Ok(again.found(profile, Some(lowered)))
    }

    /// Every case in one child.
    fn round(&self, profile: Profile) -> Result<Round, Error> {
        let ticket = Ticket::new(
            self.known,
            self.decision,
            profile,
            self.state,
            self.variables,
        )?;
        let mut command = Helper::Canary.stock()?;
        ticket.give(&mut command);
        let file = SharedFile::new(self.state)?;
        let mut round = Round::default();
        let (mut channel, hello) = Channel::start(command, self.plan.limit)?;
        let device = match hello {
            Ok(Some(device)) => device,
            Ok(None) => return Err(Error::machine("this system has no Metal device")),
            Err(gone) => {
                round.bad = Some(bad("making the device", gone)?);
                return Ok(round);
            }
        };
        self.check(&device, profile, &ticket, channel.pid())?;
        let pages = file.fill(&device, &mut round.notes)?;
        round.bad = compile(&mut channel)?;
        for run in 1..=self.plan.runs {
            if round.stopped {
                break;
            }
            let cases = cases::cases(u64::from(run));
            for case in cases.iter().chain(&pages.as_ref().map(cases::file_pages)) {
                let of_file = pages.as_ref().map(|p| (file.path.as_path(), p.len()));
                let outcome = round.run(&mut channel, case, run, of_file)?;
                round.bad = round.bad.take().or(outcome);
                if round.stopped {
                    break;
                }
            }
        }
        if profile.max_threadgroup_memory > REAL_MEMORY {
            let memory = profile.max_threadgroup_memory as usize;
            for run in 1..=self.plan.runs {
                if round.bad.is_some() || round.large.is_some() {
                    break;
                }
                let case = cases::large_memory(u64::from(run), memory);
                round.large = round.run(&mut channel, &case, run, None)?;
            }
        }
        Ok(round)
    }

    /// Whether the device in the child tells what it is to tell: a canary without the overrides
    /// would say nothing of them.
    fn check(
        &self,
        device: &Device,
        profile: Profile,
        ticket: &Ticket,
        pid: u32,
    ) -> Result<(), Error> {
        if device.apple_family >= profile.apple_family_max
            && device.max_threadgroup_memory >= profile.max_threadgroup_memory
        {
            return Ok(());
        }
        let reported = ticket.reported(pid);
        let reason = reported.and_then(|r| r.reason);
        let reason = reason.unwrap_or_else(|| "the shim reported nothing".to_owned());
        Err(Error::machine(format!(
            "the overrides did not take in the canary's process: {reason}"
        ))
        .hint("`metalshim probe --both` shows what the device says with them"))
    }
}

/// A file without a name that the child may open too, gone when both have closed it.
struct SharedFile {
    file: File,
    path: PathBuf,
}

impl SharedFile {
    fn new(state: &StateFolder) -> Result<Self, Error> {
        let failed = |e: std::io::Error| Error::file("make a file in", state.path(), &e);
        state.ensure()?;
        let file = tempfile::tempfile_in(state.path()).map_err(failed)?;
        // Inherited by the child: it opens it by its number.
        rustix::io::fcntl_setfd(&file, FdFlags::empty()).map_err(|e| failed(e.into()))?;
        let path = PathBuf::from(format!("/dev/fd/{}", file.as_raw_fd()));
        Ok(Self { file, path })
    }

    /// Makes as many pages as the device, the memory and the disk bear.
    fn fill(&self, device: &Device, notes: &mut Vec<String>) -> Result<Option<Pages>, Error> {
        let free = rustix::fs::fstatvfs(&self.file).map_or(0, |s| s.f_bavail * s.f_frsize);
        let (set, longest) = (device.recommended_working_set, device.max_buffer_length);
        let Some(pages) = Pages::fitting(set, longest, free, 1) else {
            notes.push(
                "the disk is too full for a buffer over a file: that was not tried".to_owned(),
            );
            return Ok(None);
        };
        if !pages.telling() {
            notes.push(format!(
                "the buffer over a file has {} MB here: the fault of macOS 14 guests shows from about 2,500 MB on",
                pages.len() >> 20
            ));
        }
        pages.write(&self.file).map_err(|e| {
            Error::machine(format!(
                "the file that the canary's buffer is over could not be written: {}",
                plain(&e)
            ))
            .hint("look whether the disk is full")
        })?;
        Ok(Some(pages))
    }
}

/// What one child came to.
#[derive(Default)]
struct Round {
    /// The first that was not right, of the cases that every profile has.
    bad: Option<Outcome>,
    /// The same of threadgroup memory beyond the hardware's.
    large: Option<Outcome>,
    /// The child is gone.
    stopped: bool,
    cases: Vec<Done>,
    notes: Vec<String>,
}

impl Round {
    fn found(self, profile: Profile, lowered: Option<Lowered>) -> Found {
        Found {
            outcome: self.bad.unwrap_or(Outcome::Passed),
            profile,
            lowered,
            cases: self.cases,
            notes: self.notes,
        }
    }

    /// Runs one case once. None where it was right.
    fn run(
        &mut self,
        channel: &mut Channel,
        case: &Case,
        run: u32,
        file: Option<(&std::path::Path, u64)>,
    ) -> Result<Option<Outcome>, Error> {
        if matches!(self.bad, Some(Outcome::Refused { .. })) {
            self.stopped = true;
            return Ok(None);
        }
        let answer = match channel.run(case, file) {
            Ok(answer) => answer,
            Err(gone) => {
                self.stopped = true;
                return bad(case.name, gone).map(Some);
            }
        };
        let (took, results) = match answer {
            Answer::Ok(took, results) => (took, results),
            Answer::Refused(says) => {
                let what = case.name;
                return Ok(Some(Outcome::Refused { what, says }));
            }
            Answer::Failed(says) => {
                let what = case.name;
                return Ok(Some(Outcome::Crashed { what, says }));
            }
        };
        let output = case.output().zip(results.first());
        let judged = output.map_or(Ok(0.0), |(output, bytes)| judge::judge(output, bytes));
        let done = match self.cases.iter_mut().find(|d| d.case == case.name) {
            Some(done) => done,
            None => {
                self.cases.push(Done {
                    case: case.name,
                    kernel: case.kernel,
                    runs: 0,
                    share: 0.0,
                    longest_us: 0,
                });
                // Pushed just now.
                match self.cases.last_mut() {
                    Some(done) => done,
                    None => return Ok(None),
                }
            }
        };
        done.runs += 1;
        done.longest_us = done.longest_us.max(took);
        match judged {
            Ok(share) => {
                done.share = done.share.max(share);
                Ok(None)
            }
            Err(how) => Ok(Some(Outcome::Wrong {
                case: case.name,
                run,
                how,
            })),
        }
    }
}

/// Has every library compiled. The first that is not, if one is not.
fn compile(channel: &mut Channel) -> Result<Option<Outcome>, Error> {
    for library in &LIBRARIES {
        match channel.library(library) {
            Ok(Answer::Ok(..)) => {}
            Ok(Answer::Refused(says)) => {
                let what = library.name;
                return Ok(Some(Outcome::Refused { what, says }));
            }
            Ok(Answer::Failed(says)) => return Err(Error::machine(says)),
            Err(gone) => return bad(library.name, gone).map(Some),
        }
    }
    Ok(None)
}

/// What an answer that never came means.
fn bad(what: &'static str, gone: Gone) -> Result<Outcome, Error> {
    match gone {
        Gone::Ended(Ended::Late(limit)) => Ok(Outcome::Hung {
            what,
            seconds: limit.as_secs_f32(),
        }),
        Gone::Ended(ended) => Ok(Outcome::Crashed {
            what,
            says: ended.says(),
        }),
        Gone::Garbled(says) => Err(Error::project(format!(
            "the canary's process does not say what it has to: {says}"
        ))),
    }
}
