//! `--or-stock`, `--require` and `METALSHIM_DISABLE=1` together with every way in which a start
//! can go: docs/design.md, sections 7, 9 and 10, as a table.

use metalshim_guest::FactsFile;

use crate::User;

/// How a start can go.
#[derive(Clone, Copy, Debug)]
enum Machine {
    /// The pair is verified.
    Allowed,
    /// The host is not known.
    Refused,
    /// The state folder cannot be written.
    Broken,
    /// Allowed, and the shim refuses in the program.
    Drifts,
}

impl Machine {
    fn user(self) -> User {
        match self {
            Self::Allowed => User::new(),
            Self::Refused => User::on(FactsFile::sample().without("host")),
            Self::Broken => User::new().with("METALSHIM_STATE_DIR", "/proc/nothing/here"),
            Self::Drifts => User::new().with("METALSHIM_GUEST_SCENARIO", "class-renamed"),
        }
    }
}

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comes {
    /// The program runs with the overrides, and nothing is said.
    Fast,
    /// It runs stock, and nothing is said.
    Stock,
    /// It runs stock, and that is said in one line.
    Said,
    /// It does not run: 125, and why.
    Not,
    /// It ended itself with 78, and one line.
    Ended,
}

#[test]
fn every_combination_does_what_the_design_says() {
    use Comes::{Ended, Fast, Not, Said, Stock};
    use Machine::{Allowed, Broken, Drifts, Refused};
    let table = [
        // flags, and what comes of it: allowed, refused, broken, drifts; then the same with
        // METALSHIM_DISABLE=1.
        ("", [Fast, Not, Not, Stock], [Stock; 4]),
        ("--quiet ", [Fast, Not, Not, Stock], [Stock; 4]),
        ("--or-stock ", [Fast, Said, Said, Stock], [Stock; 4]),
        (
            "--or-stock --quiet ",
            [Fast, Stock, Stock, Stock],
            [Stock; 4],
        ),
        ("--require ", [Fast, Not, Not, Ended], [Not; 4]),
        ("--require --quiet ", [Fast, Not, Not, Ended], [Not; 4]),
        ("--require --or-stock ", [Not; 4], [Not; 4]),
    ];
    for (flags, enabled, disabled) in table {
        for (at, machine) in [Allowed, Refused, Broken, Drifts].into_iter().enumerate() {
            for (disable, expected) in [(false, enabled[at]), (true, disabled[at])] {
                let mut user = machine.user();
                if disable {
                    user = user.with("METALSHIM_DISABLE", "1");
                }
                let ended = user.types(&format!("run {flags}-- TOY"));
                let kernel = ended.out.lines().find_map(|l| l.strip_prefix("kernel="));
                let comes = match (ended.code, kernel, ended.err.lines().count()) {
                    (0, Some("fast_gpu_kernel"), 0) => Some(Fast),
                    (0, Some("cpu_fallback"), 0) => Some(Stock),
                    (0, Some("cpu_fallback"), 1) => Some(Said),
                    (125, None, 1..) => Some(Not),
                    (78, _, 1) => Some(Ended),
                    _ => None,
                };
                assert_eq!(
                    comes,
                    Some(expected),
                    "run {flags}on {machine:?}, disabled {disable}: {} {}{}",
                    ended.code,
                    ended.out,
                    ended.err
                );
            }
        }
    }
}

#[test]
fn a_dry_run_tells_each_combination_and_starts_nothing() {
    let line = "run --dry-run --json";
    for (machine, flags, disable, code, starts) in [
        (Machine::Allowed, "", false, 0, "shimmed"),
        (Machine::Allowed, "--or-stock", false, 0, "shimmed"),
        (Machine::Allowed, "--require", false, 0, "shimmed"),
        (Machine::Allowed, "", true, 0, "stock"),
        (Machine::Refused, "", false, 125, "refused"),
        (Machine::Refused, "--require", false, 125, "refused"),
        (Machine::Refused, "--or-stock", false, 0, "stock"),
        (Machine::Refused, "--or-stock", true, 0, "stock"),
        (Machine::Broken, "--or-stock", false, 0, "stock"),
    ] {
        let mut user = machine.user();
        if disable {
            user = user.with("METALSHIM_DISABLE", "1");
        }
        let flags = if flags.is_empty() {
            String::new()
        } else {
            format!(" {flags}")
        };
        let ended = user.types(&format!("{line}{flags} -- TOY"));
        assert_eq!(ended.code, code, "{machine:?} {flags} {disable}");
        assert_eq!(ended.json("metalshim.run/1")["starts"], starts);
    }
    let user = User::new().with("METALSHIM_DISABLE", "1");
    assert_eq!(user.types("run --require --dry-run -- TOY").code, 125);
}
