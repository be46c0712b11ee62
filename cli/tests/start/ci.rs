//! `ci`: the printed script is run, where it must pass and where it must fail.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use metalshim_cli::commands::ci::HELP;
use metalshim_guest::FactsFile;

use crate::{Ended, METALSHIM, User, kit, snapshot};

const UNLISTED: &str = include_str!("../../../shim/guest/facts/unlisted-pair.toml");

impl User {
    fn with_metalshim(self) -> Self {
        let command = Path::new(METALSHIM).parent().unwrap();
        let guest = kit().program("llama").parent().unwrap().to_owned();
        let home = self.home.path().join("bin");
        let path = format!(
            "{}:{}:{}:/usr/bin:/bin",
            home.display(),
            command.display(),
            guest.display()
        );
        self.with("PATH", path)
    }

    /// Prints the script for `program`, and runs it.
    fn pipeline(&self, program: &str) -> Ended {
        let printed = self.types(&format!("ci{program}"));
        assert_eq!(printed.code, 0, "{}", printed.err);
        let script = self.file("step", &printed.out);
        let mut command = self.command("sh");
        Ended::new(command.arg(script).output().unwrap())
    }

    fn program(&self, name: &str, text: &str) {
        let file = self.file(&format!("bin/{name}"), &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn it_passes_where_llama_cpp_sees_the_overrides() {
    let user = User::new().with_metalshim();
    let ended = user.pipeline(" -- llama -m 'a model.gguf'");
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(
        ended.out.contains("has bfloat            = true"),
        "{}",
        ended.out
    );
    assert!(
        ended
            .out
            .ends_with("metalshim ci: the overrides are at work\n")
    );
}

#[test]
fn it_fails_where_the_pair_is_refused_and_says_why() {
    let user = User::on(FactsFile::parse(UNLISTED)).with_metalshim();
    for program in ["", " -- llama"] {
        let ended = user.pipeline(program);
        assert_eq!(ended.code, 1, "{}{}", ended.out, ended.err);
        assert!(ended.out.contains("pair-unknown"), "{}", ended.out);
        assert!(!ended.out.contains("at work"), "{}", ended.out);
    }
}

#[test]
fn a_program_that_says_nothing_has_not_passed() {
    let user = User::new().with_metalshim();
    let ended = user.pipeline(" -- true");
    assert_eq!(ended.code, 1, "{}{}", ended.out, ended.err);
    assert_eq!(ended.err.matches("did not say").count(), 3, "{}", ended.err);
    // One line that lacks, or that says no, is enough.
    let lines = |last: &str| {
        format!(
            "echo 'x: simdgroup reduction   = true'; echo 'x: simdgroup matrix mul. = true' >&2; {last}"
        )
    };
    for (last, says) in [
        ("true", "did not say: has bfloat"),
        (
            "echo 'x: has bfloat            = false'",
            "said: has bfloat = false",
        ),
    ] {
        user.program("half", &lines(last));
        let ended = user.pipeline(" -- half");
        assert_eq!(ended.code, 1, "{}{}", ended.out, ended.err);
        assert!(ended.err.contains(says), "{}", ended.err);
    }
    user.program("half", &lines("echo 'x: has bfloat = true'"));
    assert_eq!(user.pipeline(" -- half").code, 0);
}

#[test]
fn a_program_that_fails_or_may_not_start_fails_the_step() {
    let user = User::new().with_metalshim();
    user.program("fails", "exit 3");
    assert_eq!(user.pipeline(" -- fails").code, 3);
    assert_eq!(user.pipeline(" -- no-such-program").code, 127);
    let user = user.with("METALSHIM_DISABLE", "1");
    let ended = user.pipeline(" -- llama");
    assert_eq!(ended.code, 125, "{}{}", ended.out, ended.err);
}

#[test]
fn a_program_that_stays_stock_after_all_fails_the_step() {
    // Metal is not as recorded, which only the shim can see.
    let user = User::new()
        .with_metalshim()
        .with("METALSHIM_GUEST_SCENARIO", "class-renamed");
    let ended = user.pipeline(" -- llama");
    assert_eq!(ended.code, 78, "{}{}", ended.out, ended.err);
    let ended = user.pipeline("");
    assert_ne!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(!ended.out.contains("at work"), "{}", ended.out);
}

#[test]
fn the_probe_is_asserted_where_no_program_is_given() {
    let user = User::new().with_metalshim();
    let ended = user.pipeline("");
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(
        ended
            .out
            .ends_with("metalshim ci: the overrides are at work\n")
    );
    snapshot("ci-shell", &user, &user.types("ci"));
    snapshot(
        "ci-capabilities",
        &user,
        &user.types("ci -- llama-bench -m model.gguf -n 1"),
    );
}

#[test]
fn for_github_it_is_the_same_script_in_a_step() {
    let user = User::new();
    let step = user.types("ci github -- llama-bench");
    snapshot("ci-github", &user, &step);
    let (_, block) = step.out.split_once("  run: |\n").unwrap();
    let body: String = block
        .lines()
        .map(|l| l.strip_prefix("    ").unwrap_or(l).to_owned() + "\n")
        .collect();
    assert_eq!(
        format!("#!/bin/sh\n{body}"),
        user.types("ci shell -- llama-bench").out
    );
}

#[test]
#[allow(clippy::print_stdout)] // a skip is never silent
fn the_scripts_are_clean() {
    let user = User::new();
    for program in ["ci", "ci -- llama-bench -m it's"] {
        let script = user.file("step", &user.types(program).out);
        match Command::new("shellcheck").arg(&script).output() {
            Ok(output) => {
                let ended = Ended::new(output);
                assert_eq!(ended.code, 0, "{}", ended.out);
            }
            Err(e) => println!("skipped: shellcheck cannot be started ({e})"),
        }
        for shell in ["sh", "bash", "zsh"] {
            match Command::new(shell).arg("-n").arg(&script).output() {
                Ok(output) => assert_eq!(Ended::new(output).err, "", "{shell}"),
                Err(e) => println!("skipped: {shell} cannot be started ({e})"),
            }
        }
    }
}

#[test]
fn the_help_and_the_page_say_it_in_the_same_words() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let help = words(&User::new().types("ci --help").out);
    assert!(help.contains(&words(HELP)), "{help}");
    assert!(words(include_str!("../../../docs/ci.md")).contains(&words(HELP)));
}
