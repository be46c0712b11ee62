//! What users of such libraries met, by public reports, each with what doctor says of it here
//! and whether its remedy works. Not every one is a refusal: what the design rules out (a
//! banner on stderr, a session-wide library, a second processor's slice) has no finding, and is
//! held elsewhere: docs/shim.md names those tests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use metalshim_guest::{FactsFile, built};
use serde_json::Value;

use super::{Ended, User};

fn sample() -> FactsFile {
    FactsFile::sample()
}

fn doctor(user: &User, program: &str) -> Value {
    let words = ["doctor", "--json", program];
    let words = words.iter().filter(|word| !word.is_empty());
    let ended: Ended = user.run(words);
    serde_json::from_str(&ended.out).unwrap_or(Value::String(ended.err))
}

/// The finding of `check` that says `part`, with a severity.
fn finding<'a>(json: &'a Value, check: &str, severity: &str, part: &str) -> &'a Value {
    let all = json["findings"].as_array().unwrap();
    let is = |f: &&Value| {
        f["check"] == check && f["severity"] == severity && f.to_string().contains(part)
    };
    let found = all.iter().find(is);
    found.unwrap_or_else(|| unreachable!("no {severity} of {check} with {part}: {json:#}"))
}

fn toy() -> String {
    built().program("toy").to_str().unwrap().to_owned()
}

/// The command of a remedy, wherever one has `part`.
fn command(json: &Value, part: &str) -> Vec<String> {
    let remedies = json["verdict"]["remedies"].as_array().into_iter().flatten();
    let mends = json["findings"].as_array().into_iter().flatten();
    let mends = mends.flat_map(|f| f["mends"].as_array().into_iter().flatten());
    let commands = remedies.chain(mends).filter_map(|r| r["command"].as_str());
    let mut found = commands.filter(|command| command.contains(part));
    let line = found
        .next()
        .unwrap_or_else(|| unreachable!("no {part} in {json:#}"));
    line.split(' ').map(str::to_owned).collect()
}

/// A copy of a sample client under another name.
fn named(user: &User, name: &str) -> String {
    let path = user.home.path().join(name);
    fs::copy(built().program("toy"), &path).unwrap();
    path.to_str().unwrap().to_owned()
}

fn executable(user: &User, name: &str, content: &[u8]) -> PathBuf {
    let path = user.home.path().join(name);
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// It did nothing after an update, and nobody saw it.
#[test]
fn what_switches_it_off_in_silence_is_a_problem_until_it_is_gone() {
    let mut user = User::on(sample()).with("METALSHIM_DISABLE", "1");
    let json = doctor(&user, &toy());
    finding(&json, "environment", "problem", "unset METALSHIM_DISABLE");
    assert_eq!(json["ok"], false);
    user.variables.clear();
    assert_eq!(doctor(&user, &toy())["ok"], true);
}

/// A program that cannot load the library ended at its start.
#[test]
fn a_program_for_another_processor_is_said_before_it_ends() {
    let user = User::on(sample());
    let words: [u32; 8] = [0xfeed_facf, 0x0100_0007, 3, 2, 0, 0, 0, 0];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let path = executable(&user, "intel", &bytes);
    let json = doctor(&user, path.to_str().unwrap());
    let problem = finding(&json, "program", "problem", "x86-64-only");
    assert!(
        problem["mends"].as_array().is_some_and(|m| !m.is_empty()),
        "{problem}"
    );
    // The remedy: another build of the same program.
    assert_eq!(doctor(&user, &toy())["ok"], true);
}

/// A reported capability is not a working one.
#[test]
fn a_failed_canary_names_the_restart_and_ends_with_it() {
    let failed = User::on(sample().with("local.canary", "failed"));
    let json = doctor(&failed, &toy());
    finding(&json, "canary", "problem", "Restart the guest");
    let restarted = sample()
        .with("local.canary", "none")
        .with("guest.boot_session", "11111111-8A51-4C1B-9E27-5B1D0A6C2F44");
    assert_eq!(doctor(&User::on(restarted), &toy())["ok"], true);
}

/// Is the host's preference needed?
#[test]
fn the_hosts_preference_is_told_and_not_asked_for() {
    let set = doctor(&User::on(sample()), "");
    finding(&set, "host", "note", "does not ask for it");
    let not_set = sample().with("host.feature_level_preference", false);
    assert_eq!(doctor(&User::on(not_set), "")["ok"], true);
}

/// The profile went beyond the silicon, and past what a client bears.
#[test]
fn a_client_at_risk_is_told_less_and_why() {
    let user = User::on(sample());
    let program = built().program("wgpu");
    let ended = user.run([
        "doctor",
        "--json",
        "--client",
        "wgpu",
        program.to_str().unwrap(),
    ]);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    finding(&json, "client", "note", "Limited to 1007");
    assert_eq!(json["verdict"]["profile"]["apple_family_max"], 1007);
}

/// Launchers drop what they inherit.
#[test]
fn a_script_is_started_by_what_it_is_a_script_for() {
    let user = User::on(sample());
    let line = format!("#!/usr/bin/env {}\n", toy());
    let path = executable(&user, "script", line.as_bytes());
    let path = path.to_str().unwrap();
    let json = doctor(&user, path);
    assert_eq!(json["ok"], true, "{json:#}");
    assert!(
        json["program"]["runs"]["program"]
            .as_str()
            .unwrap()
            .ends_with("toy")
    );
    let run = user.run(["run", "--", path]);
    assert!(
        run.out.contains("fast_gpu_kernel"),
        "{}{}",
        run.out,
        run.err
    );
}

/// The wrong process of several.
#[test]
fn the_server_is_named_where_the_client_does_no_work() {
    let user = User::on(sample());
    let json = doctor(&user, &named(&user, "ollama"));
    assert!(
        json["findings"].to_string().contains("ollama serve"),
        "{json:#}"
    );
}

/// Another library of the kind is at work already.
#[test]
fn another_shim_is_seen_and_its_variable_can_be_taken_out() {
    for variable in [
        "TART_METAL_CAPABILITIES",
        "LUME_METAL_PROCESS_NAME",
        "VEERTU_ANKA_GPU_X",
    ] {
        let mut user = User::on(sample()).with(variable, "1");
        let json = doctor(&user, "");
        finding(
            &json,
            "environment",
            "warning",
            &format!("unset {variable}"),
        );
        user.variables.clear();
        finding(&doctor(&user, ""), "environment", "ok", "No other shim");
    }
}

/// It acts on bare metal, too.
#[test]
fn bare_metal_is_left_alone_and_nothing_has_to_be_done() {
    let json = doctor(&User::on(sample().with("guest.vm", false)), &toy());
    assert_eq!(json["verdict"]["reason"], "not-a-guest");
    finding(&json, "guest", "problem", "Nothing has to be done");
}

/// It breaks with any update: an exact pair that nobody knows.
#[test]
fn an_unknown_pair_can_be_tried_as_the_remedy_says() {
    let user = User::on(sample().with("host.build", "25G83"));
    let json = doctor(&user, &toy());
    assert_eq!(json["verdict"]["reason"], "pair-unknown");
    let try_it = command(&json, "run --allow-unverified");
    let line: Vec<String> = try_it[1..]
        .iter()
        .map(|word| word.replace("PROGRAM", &toy()))
        .collect();
    let ran = user.run(&line);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let after = doctor(&user, &toy());
    assert_eq!(after["ok"], true, "{after:#}");
    let told = finding(&after, "unverified", "warning", "metalshim report");
    assert!(told.to_string().contains("metalshim bench"), "{told}");
    let text = user.run(["doctor"]).out;
    let (answer, _) = text.split_once("What was looked at").unwrap();
    for part in ["nobody has verified", "metalshim bench", "metalshim report"] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    assert_eq!(user.run(["disable"]).code, 0);
    assert_eq!(doctor(&user, &toy())["ok"], false);
}

/// macOS 14: the right family, the wrong weights.
#[test]
fn a_guest_below_15_stays_stock_and_the_fault_has_its_work_around() {
    let old = FactsFile::parse(include_str!("../../../shim/guest/facts/guest-14.toml"));
    let json = doctor(&User::on(old), "");
    assert_eq!(json["verdict"]["reason"], "pair-broken");
    finding(&json, "faults", "warning", "--no-mmap");
}

/// Some programs gain nothing.
#[test]
fn a_program_that_gains_nothing_is_told_so() {
    let user = User::on(sample());
    let program = built().program("mlx");
    let ended = user.run([
        "doctor",
        "--json",
        "--client",
        "mlx",
        program.to_str().unwrap(),
    ]);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    finding(&json, "client", "ok", "Faster with the overrides: no");
}

/// The guest cannot see its host.
#[test]
fn an_unknown_host_is_known_once_it_is_said() {
    let user = User::on(sample().without("host"));
    let json = doctor(&user, &toy());
    assert_eq!(json["verdict"]["reason"], "host-unknown");
    finding(&json, "host", "problem", "sw_vers -buildVersion");
    let say = command(&json, "enable --host-build");
    let line: Vec<String> = say[1..]
        .iter()
        .map(|word| word.replace("BUILD", "25G76"))
        .collect();
    let said = user.run(&line);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert_eq!(doctor(&user, &toy())["ok"], true);
}

/// A library for the whole login.
#[test]
fn what_a_whole_login_loads_is_named_with_its_line() {
    let user = User::on(sample());
    let file = user.home.path().join(".zshenv");
    fs::write(
        &file,
        "export DYLD_INSERT_LIBRARIES=/opt/old/libmetal.dylib\n",
    )
    .unwrap();
    let json = doctor(&user, "");
    finding(&json, "login", "warning", "line 1");
    fs::remove_file(&file).unwrap();
    finding(&doctor(&user, ""), "login", "ok", "Nothing loads");
}
