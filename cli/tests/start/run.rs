//! What `run` does where the overrides are allowed.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use metalshim_guest::FactsFile;

use crate::{METALSHIM, User, kit, snapshot};

#[test]
fn a_verified_pair_gets_the_fast_kernel() {
    let user = User::new();
    let stock = crate::Ended::new(user.command(kit().program("toy")).output().unwrap());
    assert_eq!(stock.printed("kernel"), "cpu_fallback");
    let ended = user.types("run -- TOY");
    assert_eq!(ended.printed("apple_family"), "1009");
    assert_eq!(ended.printed("max_threadgroup_memory"), "65536");
    assert_eq!(ended.printed("kernel"), "fast_gpu_kernel");
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
}

#[test]
fn a_lower_profile_is_what_the_program_is_told() {
    let ended = User::new().types("run --profile 1007/32768 -- TOY");
    assert_eq!(ended.printed("apple_family"), "1007");
    assert_eq!(ended.printed("max_threadgroup_memory"), "32768");
}

#[test]
fn the_exit_code_and_the_arguments_are_the_programs() {
    let user = User::new();
    let script = user.file("script", "#!/bin/sh\necho \"$0 $# $2\"\nexit 7\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = user.command(METALSHIM);
    command.args(["run", "./script", "--json", "two words"]);
    let ended = crate::Ended::new(command.output().unwrap());
    assert_eq!(ended.code, 7, "{}", ended.err);
    assert_eq!(ended.out, "./script 2 two words\n");
}

#[test]
fn a_signal_that_ends_the_program_is_seen_by_who_started_it() {
    use std::os::unix::process::ExitStatusExt;
    let user = User::new();
    let mut command = user.command(METALSHIM);
    command.args(["run", "--", "sh", "-c", "kill -TERM $$"]);
    assert_eq!(command.status().unwrap().signal(), Some(15));
}

#[test]
fn dry_run_shows_everything_and_starts_nothing() {
    let user = User::new();
    let ended = user.types("run --dry-run -- TOY");
    snapshot("dry-run", &user, &ended);
    let json = user
        .types("run --dry-run --json -- TOY")
        .json("metalshim.run/1");
    let ticket = json["ticket"].as_str().unwrap();
    assert_eq!(fs::read_to_string(ticket).unwrap(), json["ticket_text"]);
    let mode = fs::metadata(ticket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(json["verdict"]["decision"], "allow");
    assert_eq!(json["verdict"]["profile"]["apple_family_max"], 1009);
    assert_eq!(json["starts"], "shimmed");
    assert_eq!(json["variables"]["METALSHIM_TICKET"], ticket);
}

#[test]
fn other_libraries_in_the_list_stay_behind_ours() {
    let user = User::new().with("LD_PRELOAD", "/no/such/one.so:/no/such/two.so");
    let json = user
        .types("run --dry-run --json -- TOY")
        .json("metalshim.run/1");
    let list = json["variables"]["LD_PRELOAD"].as_str().unwrap();
    let shim = kit().shim().to_string_lossy();
    assert_eq!(list, format!("{shim}:/no/such/one.so:/no/such/two.so"));
}

#[test]
fn the_program_finds_nothing_of_metalshim_in_its_environment() {
    let user = User::new();
    let program = kit().program("envprint");
    let ended = user.types(&format!("run -- {}", program.display()));
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.contains("PATH="), "{}", ended.out);
    for name in ["METALSHIM_TICKET", "libmetalshim"] {
        assert!(!ended.out.contains(name), "{}", ended.out);
    }
}

#[test]
fn disabled_by_the_variable_it_starts_stock_and_says_nothing() {
    let user = User::new().with("METALSHIM_DISABLE", "1");
    let ended = user.types("run -- TOY");
    assert_eq!(ended.printed("kernel"), "cpu_fallback");
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    assert!(!user.state().exists());
    snapshot(
        "disabled-but-required",
        &user,
        &user.types("run --require -- TOY"),
    );
}

#[test]
fn required_and_refused_inside_the_program_is_78() {
    let user = User::new().with("METALSHIM_GUEST_SCENARIO", "class-renamed");
    let ended = user.types("run --require -- TOY");
    assert_eq!(ended.code, 78, "{}{}", ended.out, ended.err);
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    let user = User::new().with("METALSHIM_GUEST_SCENARIO", "class-renamed");
    let ended = user.types("run -- TOY");
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    assert_eq!(ended.printed("kernel"), "cpu_fallback");
}

#[test]
fn explain_tells_at_the_end_what_the_shim_decided() {
    let user = User::new();
    snapshot(
        "explain-installed",
        &user,
        &user.types("run --explain -- TOY"),
    );
    let user = user.with("METALSHIM_GUEST_SCENARIO", "class-renamed");
    snapshot(
        "explain-refused",
        &user,
        &user.types("run --explain -- TOY"),
    );
    user.types("enable");
    snapshot(
        "explain-no-device",
        &user,
        &user.types("run --explain -- true"),
    );
    assert_eq!(
        fs::read_dir(user.state().join("tickets")).unwrap().count(),
        0
    );
}

#[test]
fn explain_sends_signals_on_and_gives_the_programs_code() {
    use std::io::{BufRead, BufReader};
    let user = User::new();
    let mut command = user.command(METALSHIM);
    let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done";
    command.args(["run", "--explain", "--", "sh", "-c", script]);
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

#[test]
fn children_are_followed_as_told() {
    let user = User::new();
    let toy = kit().program("toy");
    // Two commands, so that the shell does not become the last one.
    let line = format!("{}; true", toy.display());
    for (follow, kernel) in [("none", "cpu_fallback"), ("toy", "fast_gpu_kernel")] {
        let mut command = user.command(METALSHIM);
        command.args(["run", "--follow", follow, "--", "sh", "-c", &line]);
        let ended = crate::Ended::new(command.output().unwrap());
        assert_eq!(ended.printed("kernel"), kernel, "{follow}: {}", ended.err);
    }
    snapshot("follow-bad", &user, &user.types("run --follow a/b -- TOY"));
}

#[test]
fn the_client_is_recognised_or_told() {
    let user = User::new();
    let llama = user.home.path().join("llama-cli");
    fs::copy(kit().program("toy"), &llama).unwrap();
    snapshot(
        "client-unknown-version",
        &user,
        &user.types("run --dry-run -- ./llama-cli"),
    );
    let told = user.types("run --dry-run --json --client llama.cpp@b10359 -- TOY");
    let json = told.json("metalshim.run/1");
    assert_eq!(json["clients"][0]["name"], "llama.cpp");
    assert_eq!(json["clients"][0]["version"], "b10359");
    snapshot(
        "client-not-known",
        &user,
        &user.types("run --client nosuch -- TOY"),
    );
}

#[test]
fn an_unverified_pair_can_be_tried_for_seven_days() {
    let facts = || FactsFile::parse(include_str!("../../../shim/guest/facts/unlisted-pair.toml"));
    let user = User::on(facts());
    assert_eq!(user.types("run -- TOY").code, 125);
    let tried = user.types("run --allow-unverified 26A428 -- TOY");
    assert_eq!(tried.printed("apple_family"), "1007", "{}", tried.err);
    assert_eq!(tried.printed("max_threadgroup_memory"), "32768");
    // The grant covers the next start, is logged, and is shown.
    assert_eq!(user.types("run -- TOY").printed("apple_family"), "1007");
    let log = fs::read_to_string(user.state().join("log")).unwrap();
    assert!(log.contains("allow-unverified guest=26A428"), "{log}");
    snapshot("status-unverified", &user, &user.types("status"));
    let user = user.moves_to(facts().at("2026-12-07T23:59:59Z"));
    assert_eq!(user.types("run -- TOY").printed("apple_family"), "1007");
    let user = user.moves_to(facts().at("2026-12-08T00:00:00Z"));
    assert_eq!(user.types("run -- TOY").code, 125);
    // The same command renews it; another build's name does not.
    snapshot(
        "unverified-other-build",
        &user,
        &user.types("run --allow-unverified 25F84 -- TOY"),
    );
    let higher = user.types("run --allow-unverified 26A428 --profile 1009/65536 -- TOY");
    assert_eq!(higher.printed("apple_family"), "1009");
}

#[test]
fn a_stored_profile_never_raises_an_unverified_pair() {
    let facts = || FactsFile::parse(include_str!("../../../shim/guest/facts/unlisted-pair.toml"));
    let log = |user: &User| fs::read_to_string(user.state().join("log")).unwrap();
    for (stored, family, given) in [
        ("1009/65536", "1007", "profile=1007/32768"),
        ("1005/32768", "1005", "profile=1005/32768"),
    ] {
        let user = User::on(facts());
        let config = format!("profile = \"{stored}\"\n");
        user.file(".config/metalshim/config.toml", &config);
        for line in ["run --allow-unverified 26A428 -- TOY", "run -- TOY"] {
            let ended = user.types(line);
            assert_eq!(ended.printed("apple_family"), family, "{stored}: {line}");
            assert_eq!(ended.printed("max_threadgroup_memory"), "32768");
        }
        assert!(log(&user).contains(given), "{}", log(&user));
        let up_to = format!("up to {family}/32768");
        let doctor = user.types("doctor").out.replace('\n', " ");
        let doctor: Vec<&str> = doctor.split_whitespace().collect();
        assert!(doctor.join(" ").contains(&up_to), "{doctor:?}");
    }
    // What was enabled on a verified pair, or with a higher grant, raises none given later.
    let user = User::new();
    user.types("enable --profile 1009/65536");
    let user = user.moves_to(facts());
    let ended = user.types("run --allow-unverified 26A428 -- TOY");
    assert_eq!(ended.printed("apple_family"), "1007");
    let ended = user.types("run --allow-unverified 26A428 --profile 1009/65536 -- TOY");
    assert_eq!(ended.printed("apple_family"), "1009");
    let ended = user.types("run --allow-unverified 26A428 -- TOY");
    assert_eq!(ended.printed("apple_family"), "1007");
}

#[test]
fn children_that_no_ticket_can_name_are_wrong_usage_and_allow_nothing() {
    let facts = include_str!("../../../shim/guest/facts/unlisted-pair.toml");
    let user = User::on(FactsFile::parse(facts));
    let many = vec!["program"; 500].join(",");
    for follow in ["é", "a\nb", many.as_str(), "a/b"] {
        let mut command = user.command(METALSHIM);
        command.args(["run", "--allow-unverified", "26A428", "--follow", follow]);
        command.args(["--", "true"]);
        let ended = crate::Ended::new(command.output().unwrap());
        assert_eq!(ended.code, 125, "{}", ended.err);
        assert!(ended.err.contains("error: the children to follow cannot"));
        assert!(ended.err.contains("hint: --follow"), "{}", ended.err);
    }
    assert!(!user.state().join("log").exists());
    assert_eq!(user.types("run -- true").code, 125);
}

#[test]
fn explain_leaves_ignored_signals_ignored() {
    let user = User::new();
    let mut command = user.command("/bin/sh");
    // `kill -HUP $PPID` is for metalshim itself, the other for the program.
    let script =
        "trap '' HUP; \"$0\" run --explain -- sh -c 'kill -HUP $PPID; kill -HUP $$; echo lives'";
    command.args(["-c", script, METALSHIM]);
    let ended = crate::Ended::new(command.output().unwrap());
    assert_eq!(
        (ended.code, ended.out.as_str()),
        (0, "lives\n"),
        "{}",
        ended.err
    );
}
