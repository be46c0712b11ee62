//! What there is to do, followed word by word.

use std::fs;
use std::path::Path;

use metalshim_guest::FactsFile;

use crate::{Ended, METALSHIM, User, kit, snapshot};

fn unlisted() -> FactsFile {
    FactsFile::parse(include_str!("../../../shim/guest/facts/unlisted-pair.toml"))
}

#[test]
fn the_program_is_named_as_a_shell_takes_it() {
    let user = User::on(FactsFile::sample().without("host"));
    let tool = user.home.path().join("my tool");
    fs::copy(kit().program("toy"), tool).unwrap();
    let mut command = user.command(METALSHIM);
    command.args(["run", "--", "./my tool", "it's", "-n", "1"]);
    let ended = Ended::new(command.output().unwrap());
    let line = r"metalshim run --host-build BUILD -- './my tool' 'it'\''s' -n 1";
    assert!(ended.err.contains(line), "{}", ended.err);
    assert!(!ended.err.contains("PROGRAM"), "{}", ended.err);
}

#[test]
fn an_unknown_host_gets_the_few_hints_that_help() {
    let user = User::on(FactsFile::sample().without("host"));
    let ended = user.types("run -- TOY");
    let hints = ended.err.lines().filter(|l| l.starts_with("hint:")).count();
    assert_eq!(hints, 3, "{}", ended.err);
}

/// Every remedy that is a whole command of ours is typed as it stands.
#[test]
fn every_remedy_that_is_a_command_works_when_it_is_typed() {
    let sample = FactsFile::sample;
    let guest_14 = FactsFile::parse(include_str!("../../../shim/guest/facts/guest-14.toml"));
    let mut typed = 0;
    for facts in [
        guest_14,
        unlisted(),
        sample().without("host"),
        sample().with("device.apple_family", 1006),
        sample().with("local.canary", "failed"),
        sample().with("guest.vm", false),
    ] {
        let user = User::on(facts);
        let refused = user.types("run --json -- TOY").json("metalshim.run/1");
        let reason = &refused["verdict"]["reason"];
        let remedies = refused["verdict"]["remedies"].as_array().unwrap();
        assert!(!remedies.is_empty(), "{reason}");
        let commands: Vec<&str> = remedies
            .iter()
            .filter_map(|r| r["command"].as_str())
            .collect();
        assert!(
            !commands.contains(&"metalshim doctor"),
            "{reason}: in a circle"
        );
        for command in commands {
            // What needs the host, the network, another installer, a device or a quiet machine is
            // left out.
            let elsewhere = [
                "BUILD",
                "metalshim update",
                "brew ",
                "sw_vers",
                "metalshim canary",
                "metalshim bench",
            ];
            if elsewhere.iter().any(|word| command.contains(word)) {
                continue;
            }
            let mut shell = user.command("sh");
            let bin = Path::new(METALSHIM).parent().unwrap().display().to_string();
            shell.args(["-c", command]);
            shell.env("PATH", format!("{bin}:/usr/bin:/bin"));
            let ended = Ended::new(shell.output().unwrap());
            assert_eq!(
                ended.code, 0,
                "{reason}: {command}: {}{}",
                ended.out, ended.err
            );
            typed += 1;
        }
    }
    assert!(typed >= 5, "{typed}");
}

#[test]
fn a_start_under_a_grant_is_warned_of_in_one_line() {
    let user = User::on(unlisted());
    for line in ["run --allow-unverified 26A428 -- TOY", "run -- TOY"] {
        let ended = user.types(line);
        assert_eq!(ended.code, 0);
        assert_eq!(ended.err.lines().count(), 1, "{line}: {}", ended.err);
        assert!(ended.err.contains("nobody has verified guest 26A428"));
        assert!(ended.err.contains("2026-12-08T00:00:00Z"), "{}", ended.err);
    }
    assert_eq!(user.types("run --quiet -- TOY").err, "");
}

#[test]
fn a_cap_for_want_of_a_version_says_how_to_say_it() {
    let user = User::new();
    let llama = user.home.path().join("llama-cli");
    std::os::unix::fs::symlink(kit().program("toy"), &llama).unwrap();
    let ended = user.types("run -- ./llama-cli");
    assert_eq!(ended.printed("max_threadgroup_memory"), "32768");
    snapshot("capped-version-unknown", &user, &ended);
    assert_eq!(user.types("run --quiet -- ./llama-cli").err, "");
    let told = user.types("run --client llama.cpp@b10360 -- ./llama-cli");
    assert_eq!(told.printed("max_threadgroup_memory"), "65536");
    assert_eq!(told.err, "");
    snapshot(
        "explain-capped",
        &user,
        &user.types("run --explain -- ./llama-cli"),
    );
}
