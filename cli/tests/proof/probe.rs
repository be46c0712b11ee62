//! `metalshim probe`.

use metalshim_guest::FactsFile;

use crate::User;

fn unlisted() -> FactsFile {
    FactsFile::parse(include_str!("../../../shim/guest/facts/unlisted-pair.toml"))
}

fn snapshot(name: &str, text: String) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"made in +[^\n]+", "made in  [TIMES]");
    settings.add_filter(env!("CARGO_PKG_REPOSITORY"), "[HOME-PAGE]");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn both_sides_are_shown_and_only_the_two_answers_differ() {
    let user = User::new();
    let ended = user.types("probe");
    assert_eq!(ended.code, 0, "{}", ended.shown());
    snapshot("probe", ended.shown());
    let json = user.types("probe --both --json").json("metalshim.probe/1");
    assert_eq!(json["changes"].as_array().unwrap().len(), 5, "{json}");
    assert_eq!(json["stock"]["max_threadgroup_memory"], 32768);
    assert_eq!(json["shimmed"]["max_threadgroup_memory"], 65536);
    assert_eq!(json["shim"]["state"], "installed");
    assert_eq!(json["wrong"], serde_json::json!([]));
    // The ticket is gone with the child.
    let tickets = std::fs::read_dir(user.state("tickets")).unwrap();
    assert_eq!(tickets.count(), 0);
}

#[test]
fn a_change_beyond_the_two_answers_is_an_error() {
    let user = User::new().playing("more-moves");
    let ended = user.types("probe --both");
    assert_eq!(ended.code, 1, "{}", ended.shown());
    snapshot("probe-more-moves", ended.shown());
    assert_eq!(user.types("probe --stock").code, 0);
}

#[test]
fn an_override_that_is_not_there_is_an_error_with_the_shims_reason() {
    let user = User::new().playing("family-types");
    let ended = user.types("probe --both");
    assert_eq!(ended.code, 1, "{}", ended.shown());
    assert!(
        ended.out.contains("the shim stayed stock: drift-types"),
        "{}",
        ended.out
    );
    assert!(
        ended.out.contains("not all of 1009/65536 is told"),
        "{}",
        ended.out
    );
    assert_eq!(user.types("probe --shimmed").code, 1);
}

#[test]
fn where_it_is_refused_the_stock_side_is_shown_and_asked_for_it_is_a_refusal() {
    let user = User::on(unlisted());
    let ended = user.types("probe");
    assert_eq!(ended.code, 0);
    snapshot("probe-refused", ended.shown());
    let ended = user.types("probe --both");
    assert_eq!(ended.code, 1);
    assert!(ended.out.contains("refused: pair-unknown"), "{}", ended.out);
    let ended = user.types("probe --both --json --allow-unverified 26A428");
    assert_eq!(ended.code, 0, "{}", ended.shown());
    let json = ended.json("metalshim.probe/1");
    assert_eq!(json["profile"]["apple_family_max"], 1007);
    // A probe is no consent.
    assert!(!user.state("unverified.json").exists());
}

#[test]
fn a_probe_that_fails_could_not_tell() {
    for (scenario, says) in [
        ("no-driver", "this system has no Metal device"),
        ("no-such-scenario", "it ended with code 70"),
    ] {
        let ended = User::new().playing(scenario).types("probe --stock");
        assert_eq!(ended.code, 2, "{}", ended.shown());
        assert!(ended.err.contains(says), "{}", ended.err);
    }
    assert_eq!(User::new().types("probe --time-limit 0").code, 2);
}

#[test]
fn a_device_that_hangs_does_not_hang_us() {
    let begun = std::time::Instant::now();
    let ended = User::new()
        .playing("device-hangs")
        .types("probe --stock --time-limit 0.3");
    assert_eq!(ended.code, 2, "{}", ended.shown());
    assert!(
        ended.err.contains("it gave no answer in 0.3 s"),
        "{}",
        ended.err
    );
    assert!(begun.elapsed().as_secs() < 30);
}
