//! Every reason that facts and files can give: 125, the reason and what to do on stderr, and
//! the program is not started.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use metalshim_guest::FactsFile;

use crate::{METALSHIM, User, snapshot};

#[test]
fn every_reason_is_told_with_what_to_do() {
    let sample = FactsFile::sample;
    let guest_14 = FactsFile::parse(include_str!("../../../shim/guest/facts/guest-14.toml"));
    let unlisted = FactsFile::parse(include_str!("../../../shim/guest/facts/unlisted-pair.toml"));
    for (name, reason, facts) in [
        (
            "bare-metal",
            "not-a-guest",
            sample().with("guest.vm", false),
        ),
        (
            "other-device",
            "not-a-guest",
            sample().with("device.class", "AGXG13XDevice"),
        ),
        ("guest-14", "pair-broken", guest_14),
        ("host-unknown", "host-unknown", sample().without("host")),
        ("pair-unknown", "pair-unknown", unlisted),
        ("drift", "drift", sample().with("local.drift", true)),
        (
            "drift-family",
            "drift",
            sample().with("device.apple_family", 1006),
        ),
        (
            "canary-failed",
            "canary-failed",
            sample().with("local.canary", "failed"),
        ),
    ] {
        let user = User::on(facts);
        let ended = user.types("run -- TOY");
        assert_eq!(
            (ended.code, ended.out.as_str()),
            (125, ""),
            "{name}: {}",
            ended.err
        );
        assert!(ended.err.contains("hint: "), "{name}: {}", ended.err);
        snapshot(&format!("refused-{name}"), &user, &ended);
        let json = user.types("run --dry-run --json -- TOY");
        assert_eq!(json.code, 125);
        let json = json.json("metalshim.run/1");
        assert_eq!(json["verdict"]["reason"], reason, "{name}");
        assert_eq!(json["starts"], "refused");
    }
}

#[test]
fn the_first_reason_is_told_and_the_others_are_named() {
    let facts = FactsFile::sample()
        .without("host")
        .with("local.drift", true)
        .with("local.canary", "failed");
    let ended = User::on(facts).types("run -- TOY");
    assert!(ended.err.contains("host-unknown"), "{}", ended.err);
    assert!(
        ended.err.ends_with("also: drift, canary-failed\n"),
        "{}",
        ended.err
    );
}

#[test]
fn a_policy_only_takes_away() {
    let user = User::new();
    for (name, policy, reason) in [
        ("build", "deny_guest_builds = [\"25F84\"]", "policy"),
        ("level", "min_evidence_level = 3", "policy"),
        ("fresh", "require_fresh_database = true", "database-stale"),
    ] {
        user.file("policy.toml", policy);
        let ended = user.types("run --policy policy.toml -- TOY");
        assert_eq!(ended.code, 125);
        assert!(ended.err.contains(reason), "{}", ended.err);
        snapshot(&format!("refused-policy-{name}"), &user, &ended);
    }
    user.file("policy.toml", "max_profile = \"1007/32768\"");
    let ended = user.types("run --policy policy.toml --profile 1009/65536 -- TOY");
    assert_eq!(ended.printed("apple_family"), "1007");
}

#[test]
fn a_program_that_cannot_load_the_library_is_refused() {
    let user = User::new();
    let path = user.file("tool", "neither a program nor a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let ended = user.types("run -- ./tool");
    assert_eq!(ended.code, 125);
    snapshot("refused-not-injectable", &user, &ended);
}

#[test]
fn or_stock_starts_it_untouched_and_says_so_once() {
    let user = User::on(FactsFile::sample().without("host"));
    let ended = user.types("run --or-stock -- TOY");
    assert_eq!(ended.code, 0);
    assert_eq!(ended.printed("kernel"), "cpu_fallback");
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    assert!(ended.err.contains("host-unknown"), "{}", ended.err);
    let quiet = user.types("run --or-stock --quiet -- TOY");
    assert_eq!(quiet.printed("kernel"), "cpu_fallback");
    assert_eq!(quiet.err, "");
    let dry = user.types("run --or-stock --dry-run --json -- TOY");
    assert_eq!(dry.json("metalshim.run/1")["starts"], "stock");
}

#[test]
fn or_stock_starts_the_program_whatever_is_wrong_with_metalshim() {
    let user = User::new().with("METALSHIM_STATE_DIR", "/proc/nothing/here");
    let ended = user.types("run --or-stock -- TOY");
    assert_eq!(ended.printed("kernel"), "cpu_fallback");
    assert!(ended.err.contains("/proc/nothing/here"), "{}", ended.err);
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
}

#[test]
fn the_hosts_build_comes_in_the_documented_order() {
    let unknown = || FactsFile::sample().without("host");
    let stated = || {
        FactsFile::sample()
            .with("host.build", "25G83")
            .with("host.source", "stated")
    };
    let host = |user: &User, line: &str| {
        let ended = user.types(line);
        let json = ended.json("metalshim.run/1");
        json["verdict"]["decision"] == "allow"
    };
    let user = User::on(unknown());
    assert!(!host(&user, "run --dry-run --json -- TOY"));
    assert!(host(
        &user,
        "run --dry-run --json --host-build 25G76 -- TOY"
    ));
    let user = user.with("METALSHIM_HOST_BUILD", "25G76");
    assert!(host(&user, "run --dry-run --json -- TOY"));
    assert!(!host(
        &user,
        "run --dry-run --json --host-build 25A354 -- TOY"
    ));
    // A stated one gives way, an attested one does not.
    let user = User::on(stated());
    assert!(host(
        &user,
        "run --dry-run --json --host-build 25G76 -- TOY"
    ));
    let user = User::new();
    assert!(host(
        &user,
        "run --dry-run --json --host-build 25A354 -- TOY"
    ));
    let ended = user.types("run --dry-run --host-build 25A354 -- TOY");
    assert!(
        ended.out.contains("the host itself attested 25G76"),
        "{}",
        ended.out
    );
}

#[test]
fn an_attestation_that_was_copied_counts_where_the_facts_know_no_host() {
    let user = User::on(FactsFile::sample().without("host"));
    let copy = r#"{"attestation":{"build":"25G76"},"written":"2026-11-30T23:00:00Z",
        "copied":"2026-11-30T23:01:00Z","boot_session":"3F0C5D6E-8A51-4C1B-9E27-5B1D0A6C2F44",
        "from":"/Volumes/My Shared Files/a/metalshim-host.json"}"#;
    user.file("state/host.json", copy);
    assert_eq!(user.types("run -- TOY").code, 0);
    let user = user.moves_to(
        FactsFile::sample()
            .without("host")
            .with("guest.boot_session", "00000000-8A51-4C1B-9E27-5B1D0A6C2F44")
            .at("2026-12-05T00:00:00Z"),
    );
    let ended = user.types("run --dry-run -- TOY");
    assert!(
        ended.out.contains("too old to count"),
        "{}{}",
        ended.out,
        ended.err
    );
}

#[test]
fn json_without_dry_run_prints_the_refusal_as_json() {
    let user = User::on(FactsFile::sample().without("host"));
    let mut command = user.command(METALSHIM);
    command.args(["run", "--json", "--", "true"]);
    let ended = crate::Ended::new(command.output().unwrap());
    assert_eq!(ended.code, 125);
    assert_eq!(
        ended.json("metalshim.run/1")["verdict"]["reason"],
        "host-unknown"
    );
}
