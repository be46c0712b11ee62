use metalshim_guest::{FactsFile, built};

use super::{User, snapshot};

const SCHEMA: &str = "metalshim.doctor/1";

fn sample() -> FactsFile {
    FactsFile::sample()
}

#[test]
fn a_verified_pair_is_a_yes_and_says_how_to_go_on() {
    built();
    let user = User::on(sample());
    let ended = user.run(["doctor"]);
    assert_eq!(ended.code, 0);
    assert!(ended.out.starts_with("Yes: "), "{}", ended.out);
    snapshot!(user, "doctor", ended);
    assert_eq!(user.written(), [""; 0], "doctor changed something");
}

#[test]
fn an_unknown_pair_is_a_no_with_its_remedies() {
    built();
    let user = User::on(sample().with("host.build", "25G83"));
    let ended = user.run(["doctor"]);
    assert_eq!(ended.code, 1);
    assert!(ended.out.starts_with("No: "), "{}", ended.out);
    snapshot!(user, "doctor-pair-unknown", ended);
}

#[test]
fn an_unknown_host_says_how_to_find_it_out() {
    let user = User::on(sample().without("host"));
    let ended = user.run(["doctor", "--check", "host"]);
    assert_eq!(ended.code, 1);
    snapshot!(user, "doctor-host-unknown", ended);
}

/// Each reason that facts can give is the reason that doctor gives, exit code 1, and has
/// something to do.
#[test]
fn every_reason_has_a_remedy() {
    for (facts, reason) in [
        (sample().with("guest.vm", false), "not-a-guest"),
        (
            sample().with("device.class", "AGXG13XDevice"),
            "not-a-guest",
        ),
        (sample().with("guest.build", "23J631"), "pair-broken"),
        (sample().without("host"), "host-unknown"),
        (sample().with("host.build", "25G83"), "pair-unknown"),
        (sample().with("local.drift", true), "drift"),
        (sample().with("device.apple_family", 1006), "drift"),
        (sample().with("local.canary", "failed"), "canary-failed"),
    ] {
        let user = User::on(facts);
        let ended = user.run(["doctor", "--json"]);
        let json = ended.json(SCHEMA);
        assert_eq!(ended.code, 1, "{reason}");
        assert_eq!(json["verdict"]["reason"], reason);
        assert_eq!(json["ok"], false);
        let remedies = json["verdict"]["remedies"].as_array().unwrap();
        assert!(!remedies.is_empty(), "{reason}");
        let problems = json["findings"].as_array().unwrap().iter();
        let problems = problems.filter(|f| f["severity"] == "problem");
        assert!(problems.count() > 0, "{reason}: no check found it");
    }
}

#[test]
fn a_program_that_no_row_knows_gets_the_whole_profile_and_is_told_so() {
    let user = User::on(sample());
    let toy = built().program("toy");
    let ended = user.run(["doctor".as_ref(), toy.as_os_str()]);
    assert_eq!(ended.code, 0);
    snapshot!(user, "doctor-toy", ended);
}

#[test]
fn a_known_program_is_told_its_limits() {
    let user = User::on(sample());
    let llama = built().program("llama");
    let checked = |client: &str| {
        let llama = llama.to_str().unwrap();
        user.run(["doctor", "--client", client, "--check", "client", llama])
    };
    snapshot!(user, "doctor-llama", checked("llama.cpp"));
    snapshot!(user, "doctor-wgpu", checked("wgpu"));
}

#[test]
fn json_and_text_come_from_the_same_findings() {
    let user = User::on(sample());
    let toy = built().program("toy");
    let json = user.run(["doctor".as_ref(), "--json".as_ref(), toy.as_os_str()]);
    let json = json.json(SCHEMA);
    assert_eq!(json["ok"], true);
    assert_eq!(json["program"]["injectable"], true);
    assert_eq!(json["program"]["path"], toy.to_str().unwrap());
    assert_eq!(json["verdict"]["profile"]["apple_family_max"], 1009);
    let text = user.run(["doctor".as_ref(), toy.as_os_str()]).out;
    let findings = json["findings"].as_array().unwrap();
    assert!(findings.len() >= 18, "{}", findings.len());
    for finding in findings {
        let says = finding["says"].as_str().unwrap();
        let says = says.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&says), "{says}\nis not in\n{text}");
    }
}

#[test]
fn a_library_cannot_be_started_with_the_overrides() {
    let user = User::on(sample());
    let script = user.home.path().join("notes.txt");
    std::fs::write(&script, "no program\n").unwrap();
    let path = script.to_str().unwrap();
    let ended = user.run(["doctor", path]);
    assert_eq!(ended.code, 2, "{}", ended.out);
    assert!(ended.err.contains("notes.txt"), "{}", ended.err);
}

#[test]
fn checks_can_be_listed_and_run_one_by_one() {
    built();
    let user = User::on(sample());
    let listed = user.run(["doctor", "--list-checks"]);
    snapshot!(user, "doctor-checks", listed);
    let json = user.run(["doctor", "--list-checks", "--json"]);
    let json = json.json("metalshim.doctor-checks/1");
    for check in json["checks"].as_array().unwrap() {
        let name = check["name"].as_str().unwrap();
        let ended = user.run(["doctor", "--json", "--check", name]);
        assert_eq!(ended.code, 0, "{name}: {}", ended.out);
        let findings = ended.json(SCHEMA)["findings"].clone();
        let findings = findings.as_array().unwrap();
        assert!(!findings.is_empty(), "{name} says nothing");
        assert!(findings.iter().all(|f| f["check"] == name), "{name}");
    }
    let wrong = user.run(["doctor", "--check", "everything"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("stock-answers"), "{}", wrong.err);
}

#[test]
fn other_shims_in_the_environment_are_seen() {
    let insert = if cfg!(target_os = "macos") {
        "DYLD_INSERT_LIBRARIES"
    } else {
        "LD_PRELOAD"
    };
    let user = User::on(sample())
        .with("LUME_METAL_MAX_THREADGROUP_MEMORY", "65536")
        .with("METALSHIM_DISABLE", "1")
        .with(insert, built().library("objcfault").to_str().unwrap());
    let ended = user.run(["doctor", "--check", "environment", "--json"]);
    let json = ended.json(SCHEMA);
    let says: Vec<&str> = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["says"].as_str().unwrap())
        .collect();
    for name in [
        "LUME_METAL_MAX_THREADGROUP_MEMORY",
        "METALSHIM_DISABLE",
        insert,
    ] {
        assert!(says.iter().any(|s| s.starts_with(name)), "{name}: {says:?}");
    }
    let clean = User::on(sample()).run(["doctor", "--check", "environment"]);
    assert!(clean.out.contains("ok"), "{}", clean.out);
}

/// Files of the state folder that cannot be made are found before a program is to be started.
#[test]
fn a_state_folder_that_cannot_be_made_is_in_the_way() {
    built();
    let user = User::on(sample());
    std::fs::write(user.home.path().join("file"), "").unwrap();
    let folder = user.home.path().join("file/state");
    let user = user.with("METALSHIM_STATE_DIR", folder.to_str().unwrap());
    let ended = user.run(["doctor"]);
    assert_eq!(ended.code, 1, "{}{}", ended.out, ended.err);
    assert!(ended.out.starts_with("Not yet: "), "{}", ended.out);
    assert!(ended.out.contains("METALSHIM_STATE_DIR"), "{}", ended.out);
}

#[test]
fn facts_that_cannot_be_read_leave_the_answer_open() {
    let user = User::new().with("METALSHIM_FACTS", "/nowhere/facts.toml");
    let ended = user.run(["doctor"]);
    assert_eq!(ended.code, 2);
    assert_eq!(ended.out, "");
    assert!(ended.err.contains("/nowhere/facts.toml"), "{}", ended.err);
}
