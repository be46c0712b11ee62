//! `enable`, `disable` and `status`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use metalshim_guest::FactsFile;
use serde_json::json;

use crate::{User, snapshot};

/// Every file below the state folder but the lock, which holds nothing.
fn files(user: &User) -> Vec<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(user.state()).into_iter().flatten() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        if !["lock", "tickets"].contains(&name.as_str()) {
            files.push(name);
        }
    }
    files.sort();
    files
}

#[test]
fn enable_records_and_disable_removes_exactly_that() {
    let user = User::new();
    snapshot("status-nothing", &user, &user.types("status"));
    snapshot("enable", &user, &user.types("enable --profile 1007/32768"));
    assert_eq!(files(&user), ["canary.json", "enabled.json"]);
    snapshot("status-enabled", &user, &user.types("status"));
    // What was enabled is what `run` goes by, and a flag beats it.
    assert_eq!(user.types("run -- TOY").printed("apple_family"), "1007");
    snapshot("disable", &user, &user.types("disable"));
    assert_eq!(files(&user), ["canary.json"]);
    snapshot("disable-again", &user, &user.types("disable"));
    assert_eq!(user.types("run -- TOY").printed("apple_family"), "1009");
}

#[test]
fn enabled_again_the_first_time_stays() {
    let user = User::new();
    user.types("enable");
    let user = user.moves_to(FactsFile::sample().at("2026-12-03T00:00:00Z"));
    let json = user.types("enable --json").json("metalshim.enable/1");
    assert_eq!(json["wish"]["since"], "2026-12-01T00:00:00Z");
    assert_eq!(json["wish"]["checked"], "2026-12-03T00:00:00Z");
    assert_eq!(json["wish"]["record"], "P0001");
}

#[test]
fn refused_it_records_nothing() {
    let user = User::on(FactsFile::sample().without("host"));
    let ended = user.types("enable");
    assert_eq!(ended.code, 1);
    snapshot("enable-refused", &user, &ended);
    assert_eq!(files(&user), [""; 0]);
    let json = user.types("enable --json").json("metalshim.enable/1");
    assert_eq!(json["enabled"], false);
    assert_eq!(json["verdict"]["reason"], "host-unknown");
}

#[test]
fn a_stated_host_build_is_used_for_thirty_days_and_its_age_is_shown() {
    let unknown = || FactsFile::sample().without("host");
    let user = User::on(unknown());
    assert_eq!(user.types("enable --host-build 25G76").code, 0);
    let user = user.moves_to(unknown().at("2026-12-04T00:00:00Z"));
    let ended = user.types("run --dry-run -- TOY");
    assert!(ended.out.contains("stored 3 days ago"), "{}", ended.out);
    assert_eq!(user.types("run -- TOY").code, 0);
    let user = user.moves_to(unknown().at("2026-12-31T00:00:01Z"));
    let ended = user.types("run -- TOY");
    assert_eq!(ended.code, 125, "{}", ended.out);
    assert!(user.types("status").out.contains("no longer used"));
}

#[test]
fn enabled_on_another_build_status_says_so() {
    let user = User::new();
    user.types("enable");
    let later = FactsFile::parse(include_str!("../../../shim/guest/facts/unlisted-pair.toml"));
    let user = user.moves_to(later);
    snapshot("status-other-build", &user, &user.types("status"));
}

#[test]
fn disable_ends_grants_whichever_command_gave_them_and_says_so() {
    let facts = include_str!("../../../shim/guest/facts/unlisted-pair.toml");
    let user = User::on(FactsFile::parse(facts));
    snapshot(
        "enable-unverified",
        &user,
        &user.types("enable --allow-unverified 26A428"),
    );
    assert_eq!(user.types("run -- TOY").code, 0);
    user.types("disable");
    assert_eq!(user.types("run -- TOY").code, 125);
    user.types("run --allow-unverified 26A428 -- true");
    assert_eq!(user.types("run -- TOY").code, 0);
    snapshot("disable-grant", &user, &user.types("disable"));
    assert_eq!(user.types("run -- TOY").code, 125);
    assert!(user.types("status --json").json("metalshim.status/1")["unverified"] == json!([]));
    user.types("run --allow-unverified 26A428 -- true");
    user.file("state/notes of mine", "kept");
    let purged = user.types("disable --purge");
    assert!(purged.out.contains("26A428"), "{}", purged.out);
    assert_eq!(files(&user), ["notes of mine"]);
    assert_eq!(user.types("run -- TOY").code, 125);
}

#[test]
fn purge_removes_state_that_is_damaged_or_that_others_can_write() {
    let user = User::new();
    user.types("enable");
    for name in metalshim_cli::state::FILES {
        user.file(&format!("state/{name}"), "{ cut");
    }
    let others = fs::Permissions::from_mode(0o777);
    fs::set_permissions(user.state(), others).unwrap();
    assert_eq!(user.types("disable").code, 2);
    let purged = user.types("disable --purge");
    assert_eq!(purged.code, 0, "{}", purged.err);
    assert!(!user.state().exists());
    assert_eq!(user.types("run -- TOY").code, 0);
}

#[test]
fn a_host_build_that_was_stored_by_a_clock_ahead_is_not_used_for_ever() {
    let at = |time| FactsFile::sample().without("host").at(time);
    let user = User::on(at("2027-06-01T00:00:00Z"));
    assert_eq!(user.types("enable --host-build 25G76").code, 0);
    assert_eq!(user.types("run -- TOY").code, 0);
    let user = user.moves_to(at("2026-12-01T00:00:00Z"));
    assert_eq!(user.types("run -- TOY").code, 125);
    let status = user.types("status").out;
    assert!(status.contains("by a clock that is ahead"), "{status}");
    // Said again, it counts.
    assert_eq!(user.types("enable --host-build 25G76").code, 0);
    assert_eq!(user.types("run -- TOY").code, 0);
}
