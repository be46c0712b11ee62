//! The checks of `metalshim doctor`.
//!
//! **Contract.** Everything that decides is gathered first, in [`Seen`]; a check is a named
//! function of it and returns findings: what was seen, how much it matters, what it affects,
//! what mends it. A check changes nothing and prints nothing. A check that may have to wait
//! (another process, a folder of the network) takes what it needs out of [`Seen`] and returns
//! a job, which has a time limit and comes after all the others; when its time is up that is
//! the finding, and the job is left to itself.
//!
//! To add a check: a function in the file of its subject, a line in [`CHECKS`], and a section
//! in docs/doctor.md (a test compares the two).
//!
//! **Layout.** `finding` what a check returns · [`seen`] what is gathered · `machine`, `pair`,
//! `faults`, `program`, `install`, `enabled`, `news`, `login` the checks · `report` text and JSON ·
//! `bundle`, `anonymous` what is handed to others.

pub(crate) mod anonymous;
pub(crate) mod bundle;
mod canary;
mod enabled;
mod faults;
mod finding;
mod install;
mod login;
mod machine;
mod news;
mod pair;
mod program;
pub(crate) mod report;
pub(crate) mod seen;

use std::sync::mpsc;
use std::time::Duration;

pub(crate) use self::finding::{Finding, Severity};
use self::seen::Seen;

/// What a problem of the whole machine affects.
const STOCK: &str = "every program: all run stock";

/// One check.
pub(crate) struct Check {
    /// What `--check` takes.
    pub(crate) name: &'static str,
    /// What it looks at, as `--list-checks` and docs/doctor.md say it.
    pub(crate) about: &'static str,
    run: Run,
}

/// What a check that may have to wait does, without [`Seen`].
type Job = Box<dyn FnOnce() -> Vec<Finding> + Send>;

enum Run {
    /// Looks only at what was gathered.
    Quick(fn(&Seen) -> Vec<Finding>),
    /// May have to wait, but no longer than this.
    Slow(Duration, fn(&Seen) -> Job),
}

const fn quick(name: &'static str, about: &'static str, run: fn(&Seen) -> Vec<Finding>) -> Check {
    Check {
        name,
        about,
        run: Run::Quick(run),
    }
}

const fn slow(
    name: &'static str,
    about: &'static str,
    limit: Duration,
    run: fn(&Seen) -> Job,
) -> Check {
    Check {
        name,
        about,
        run: Run::Slow(limit, run),
    }
}

/// All checks, in the order in which they run: the slow ones last.
#[rustfmt::skip]
pub(crate) const CHECKS: &[Check] = &[
    quick("guest", "is this a macOS virtual machine", machine::guest),
    quick("device", "is the Metal device the paravirtual one", machine::device),
    quick("stock-answers", "does the device answer as recorded", machine::stock_answers),
    quick("canary", "what the canary's kernels said on this boot", canary::canary),
    quick("guest-build", "is the guest's macOS build known", pair::guest_build),
    quick("host", "is the host's macOS build known, how, and since when", pair::host),
    quick("pair", "what the database says of this pair of builds", pair::pair),
    quick("evidence", "what that rests on, and whether it is this chip", pair::evidence),
    quick("faults", "known faults that bear on this guest, and what to do", faults::faults),
    quick("client", "what the program is, and how far it may be told", program::client),
    quick("program", "can the library be loaded into the program", program::program),
    quick("sip", "System Integrity Protection", machine::sip),
    quick("environment", "other shims, and other libraries to insert", program::environment),
    quick("database", "which database is used, its signature and age", install::database),
    quick("updates", "when a newer database was looked for last", news::updates),
    quick("shim", "is the library there and readable", install::shim),
    quick("settings", "what config.toml and the fleet's policy say", install::settings),
    quick("state", "can the state folder be written, and its files be understood", install::state),
    quick("ticket", "can the shim be told what it has to know", install::ticket),
    quick("unverified", "what is allowed without a record, and until when", install::unverified),
    quick("processes", "what running programs reported", install::processes),
    quick("version", "is metalshim new enough, and is a newer one out", news::version),
    slow("login", "what a whole login loads into every program", Duration::from_secs(2), login::login),
    slow("wrappers", "do the wrappers and agents that were made still hold", Duration::from_secs(2), enabled::wrappers),
];

/// The check of that name.
pub(crate) fn check_name(text: &str) -> Result<&'static str, String> {
    let found = CHECKS.iter().find(|check| check.name == text);
    found.map(|check| check.name).ok_or_else(|| {
        let all: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
        format!("there is no such check; there are {}", all.join(", "))
    })
}

/// Runs all checks, or `only` one.
pub(crate) fn findings(seen: &Seen, only: Option<&str>) -> Vec<Finding> {
    let wanted = |check: &&Check| only.is_none_or(|name| name == check.name);
    let run = |check: &Check| match check.run {
        Run::Quick(run) => run(seen),
        Run::Slow(limit, run) => within(check.name, limit, run(seen)),
    };
    CHECKS.iter().filter(wanted).flat_map(run).collect()
}

fn within(name: &'static str, limit: Duration, job: Job) -> Vec<Finding> {
    let (sender, receiver) = mpsc::channel();
    // Nobody waits for it once its time is up, and it ends with this process.
    std::thread::spawn(move || sender.send(job()));
    receiver.recv_timeout(limit).unwrap_or_else(|_| {
        let says = format!(
            "It took longer than {} s, and was given up.",
            limit.as_secs()
        );
        let again = format!("metalshim doctor --check {name}");
        vec![Finding::new(name, Severity::Unknown, says).command("Try it again.", again)]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once_and_the_slow_ones_come_last() {
        let mut names: Vec<_> = CHECKS.iter().map(|check| check.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CHECKS.len());
        assert!(CHECKS.is_sorted_by_key(|check| matches!(check.run, Run::Slow(..))));
    }

    #[test]
    fn a_check_that_hangs_is_given_up_and_says_so() {
        let (_sender, receiver) = mpsc::channel::<()>();
        let hangs: Job = Box::new(move || {
            let _ = receiver.recv();
            Vec::new()
        });
        let found = within("wrappers", Duration::from_millis(20), hangs);
        assert_eq!(found[0].severity, Severity::Unknown);
        assert!(found[0].says.contains("given up"), "{}", found[0].says);
    }

    #[test]
    fn a_check_that_panics_is_no_end_of_doctor() {
        let panics: Job = Box::new(|| panic!("a check went wrong"));
        let found = within("wrappers", Duration::from_secs(5), panics);
        assert_eq!(found[0].severity, Severity::Unknown);
    }
}
