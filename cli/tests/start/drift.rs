//! What the shim found other than recorded is remembered by the command line.

use metalshim_guest::FactsFile;

use crate::{User, snapshot};

/// A user whose program has met a Metal without its device class.
fn drifted() -> User {
    let user = User::new().with("METALSHIM_GUEST_SCENARIO", "class-renamed");
    assert_eq!(user.types("run -- TOY").printed("kernel"), "cpu_fallback");
    mended(user)
}

/// The same user, with Metal as it was.
fn mended(mut user: User) -> User {
    user.variables.clear();
    user
}

#[test]
fn drift_in_a_program_keeps_the_next_ones_stock_until_enable_checks_again() {
    let user = drifted();
    snapshot("refused-drift-kept", &user, &user.types("run -- TOY"));
    let kept = std::fs::read_to_string(user.state().join("drift.json")).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["schema"], "metalshim.drift/1");
    for (key, value) in [
        ("guest_build", "25F84"),
        ("record", "P0001"),
        ("reason", "drift-device"),
        ("at", "2026-12-01T00:00:00Z"),
    ] {
        assert_eq!(kept[key], value, "{key}");
    }
    let json = user.types("status --json").json("metalshim.status/1");
    assert_eq!(json["verdict"]["reason"], "drift");
    assert_eq!(user.types("doctor").code, 1);
    // The tickets are swept by now; what was kept is not.
    assert_eq!(user.types("run -- TOY").code, 125);
    assert_eq!(user.types("enable").code, 0);
    assert_eq!(user.types("run -- TOY").printed("apple_family"), "1009");
    // Once more, and the other way to be rid of it.
    let user = mended({
        let user = user.with("METALSHIM_GUEST_SCENARIO", "class-renamed");
        assert_eq!(user.types("run -- TOY").code, 0);
        user
    });
    assert_eq!(user.types("run -- TOY").code, 125);
    user.types("disable --purge");
    assert_eq!(user.types("run -- TOY").code, 0);
}

#[test]
fn drift_under_explain_is_kept_too() {
    let user = User::new().with("METALSHIM_GUEST_SCENARIO", "class-renamed");
    assert_eq!(user.types("run --explain -- TOY").code, 0);
    let user = mended(user);
    assert!(user.types("run -- TOY").err.contains("refused: drift"));
}

#[test]
fn drift_is_of_one_build_and_one_record() {
    let user = drifted();
    assert_eq!(user.types("run -- TOY").code, 125);
    // The same guest on another verified host is another record.
    let other = FactsFile::sample()
        .with("host.build", "25G83")
        .with("guest.build", "25G76");
    let user = user.moves_to(other);
    let reason = |user: &User| {
        let json = user.types("run --dry-run --json -- TOY");
        json.json("metalshim.run/1")["verdict"]["reason"].clone()
    };
    assert_ne!(reason(&user), "drift");
    let user = user.moves_to(FactsFile::sample());
    assert_eq!(reason(&user), "drift");
}

#[test]
fn a_line_of_a_process_that_lives_does_not_bring_back_what_was_ended() {
    let user = User::new();
    let ended = user.types("run --dry-run --json -- TOY");
    let ticket = ended.json("metalshim.run/1")["ticket"]
        .as_str()
        .unwrap()
        .to_owned();
    let pid = std::process::id();
    let line = format!(
        "pid={pid} state=installed reason=- program=/p\npid={pid} state=refused reason=drift-memory program=/p\n"
    );
    std::fs::write(format!("{ticket}.status"), line).unwrap();
    let json = user.types("status --json").json("metalshim.status/1");
    assert_eq!(json["programs"].as_array().unwrap().len(), 1);
    assert_eq!(
        json["programs"][0]["state"], "refused",
        "the last line counts"
    );
    assert_eq!(json["verdict"]["reason"], "drift");
    assert_eq!(user.types("enable").code, 0);
    for _ in 0..2 {
        assert_eq!(user.types("run -- true").code, 0);
    }
    let json = user.types("status --json").json("metalshim.status/1");
    assert_eq!(json["verdict"]["decision"], "allow");
}
