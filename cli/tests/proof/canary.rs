//! `metalshim canary`, inside `enable`, and what `run` makes of it.

use metalshim_guest::FactsFile;

use crate::{Ended, User};

fn unlisted() -> FactsFile {
    let text = include_str!("../../../shim/guest/facts/unlisted-pair.toml");
    FactsFile::parse(text).without("local.canary")
}

fn sample() -> FactsFile {
    FactsFile::sample().without("local.canary")
}

fn snapshot(name: &str, ended: &Ended) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(
        r"\d+ % of what it may +\d+ us",
        "[N] % of what it may  [TIME]",
    );
    settings.add_filter(env!("CARGO_PKG_REPOSITORY"), "[HOME-PAGE]");
    settings.add_filter(r"-- /\S+/guest/", "-- [TARGET]/guest/");
    settings.bind(|| insta::assert_snapshot!(name, ended.shown()));
}

/// The reason of a refusal of `run`; `allowed` where it starts the program.
fn run(user: &User, line: &str) -> String {
    let ended = user.types(line);
    match ended.code {
        0 => "allowed".to_owned(),
        125 => {
            let reason = ended.err.strip_prefix("refused: ").unwrap();
            reason.split(':').next().unwrap().to_owned()
        }
        _ => panic!("{}", ended.shown()),
    }
}

#[test]
fn all_kernels_are_right_and_it_is_kept() {
    let user = User::on(sample());
    let ended = user.types("canary");
    assert_eq!(ended.code, 0, "{}", ended.shown());
    snapshot("canary", &ended);
    let json = user
        .types("canary --json --runs 1")
        .json("metalshim.canary/1");
    assert_eq!(json["outcome"], "passed");
    assert_eq!(json["cases"].as_array().unwrap().len(), 12);
    assert_eq!(json["profile"]["max_threadgroup_memory"], 65536);
    assert_eq!(json["lowered"], serde_json::Value::Null);
    let kept = std::fs::read_to_string(user.state("canary.json")).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["schema"], "metalshim.canary-kept/1");
    assert_eq!(
        (&kept["outcome"], &kept["record"]),
        (&"passed".into(), &"P0001".into())
    );
    // Nothing is left of it but that.
    assert_eq!(std::fs::read_dir(user.state("tickets")).unwrap().count(), 0);
    assert_eq!(run(&user, "run -- TOY"), "allowed");
}

#[test]
fn results_do_not_hang_on_the_order_of_threads() {
    for order in ["reverse", "shuffled"] {
        let user = User::on(sample()).with("METALSHIM_GUEST_LANES", order);
        let ended = user.types("canary --runs 2");
        assert_eq!(ended.code, 0, "{order}: {}", ended.shown());
    }
}

#[test]
fn wrong_results_are_named_and_keep_programs_stock() {
    for (scenario, says) in [
        ("gpu-zeros", "all are zero"),
        ("gpu-stale", "simd-sums, run 2: "),
        ("gpu-stale-pages", "file-pages, run 1: "),
        ("gpu-wrong-sums", "simd-sums, run 1: "),
        ("gpu-half-sums", "matrix-half, run 1: "),
    ] {
        let user = User::on(sample()).playing(scenario);
        let ended = user.types("canary");
        assert_eq!(ended.code, 1, "{scenario}: {}", ended.shown());
        assert!(ended.out.contains(says), "{scenario}: {}", ended.out);
        assert!(ended.out.contains("restart this guest"), "{}", ended.out);
        assert_eq!(run(&user, "run -- TOY"), "canary-failed", "{scenario}");
        let json = user.types("canary --json").json("metalshim.canary/1");
        assert_eq!(json["outcome"], "wrong");
        assert!(json["how"]["wrong"].as_u64().unwrap() > 0);
    }
}

#[test]
fn hanging_and_crashing_are_failures_too() {
    let user = User::on(sample()).playing("gpu-hang");
    let begun = std::time::Instant::now();
    let ended = user.types("canary --time-limit 1.5");
    assert!(begun.elapsed().as_secs() < 40);
    assert_eq!(ended.code, 1);
    snapshot("canary-hung", &ended);
    assert_eq!(run(&user, "run -- TOY"), "canary-failed");
    let user = User::on(sample()).playing("gpu-crash");
    let ended = user.types("canary");
    assert_eq!(ended.code, 1);
    snapshot("canary-crashed", &ended);
    snapshot("canary-failed-run", &user.types("run -- TOY"));
}

#[test]
fn what_the_compiler_refuses_is_no_failure_and_no_pass() {
    let user = User::on(sample()).playing("gpu-no-compile");
    let ended = user.types("canary");
    assert_eq!(ended.code, 2);
    snapshot("canary-refused", &ended);
    assert!(!user.state("canary.json").exists());
    assert_eq!(run(&user, "run -- TOY"), "allowed");
}

#[test]
fn a_failure_beyond_32_kb_lowers_the_profile() {
    for how in ["fails", "wrong", "crashes"] {
        let user = User::on(sample()).playing(&format!("gpu-32k-{how}"));
        let ended = user.types("canary");
        assert_eq!(ended.code, 0, "{how}: {}", ended.shown());
        if how == "fails" {
            snapshot("canary-lowered", &ended);
        }
        // Recorded, so programs are told no more, and it is said why.
        let told = user.types("run -- TOY").out;
        assert!(
            told.contains("apple_family=1009\nmax_threadgroup_memory=32768"),
            "{told}"
        );
        let dry = user.types("run --dry-run -- TOY").out;
        assert!(dry.contains("right up to 1009/32768 only"), "{dry}");
    }
}

#[test]
fn a_failure_ends_with_the_boot_or_when_the_canary_passes() {
    let user = User::on(sample()).playing("gpu-zeros");
    assert_eq!(user.types("canary").code, 1);
    let user = user.playing("");
    assert_eq!(run(&user, "run -- TOY"), "canary-failed");
    // A lower profile that passes is what is told from then on, and no more.
    assert_eq!(user.types("canary --profile 1007/32768").code, 0);
    let told = user.types("run -- TOY").out;
    assert!(
        told.contains("apple_family=1007\nmax_threadgroup_memory=32768"),
        "{told}"
    );
    assert_eq!(user.types("canary").code, 0);
    assert!(user.types("run -- TOY").out.contains("apple_family=1009"));
    let user = user.playing("gpu-zeros");
    assert_eq!(user.types("canary").code, 1);
    let boot = "11111111-2222-4333-8444-555555555555";
    let user = user.moves_to(sample().with("guest.boot_session", boot));
    assert_eq!(run(&user, "run -- TOY"), "allowed");
}

#[test]
fn enable_runs_it_and_goes_by_it() {
    let user = User::on(sample());
    let ended = user.types("enable");
    assert_eq!(ended.code, 0, "{}", ended.shown());
    snapshot("enable-canary", &ended);
    // Passed on this boot: not again.
    let json = user.types("enable --json").json("metalshim.enable/1");
    assert_eq!(json["canary"], serde_json::Value::Null);

    let user = User::on(sample()).playing("gpu-zeros");
    let ended = user.types("enable");
    assert_eq!(ended.code, 1, "{}", ended.shown());
    snapshot("enable-canary-failed", &ended);
    assert!(!user.state("enabled.json").exists());

    let ended = User::on(sample())
        .playing("gpu-zeros")
        .types("enable --no-canary");
    assert_eq!(ended.code, 0, "{}", ended.shown());
    assert!(ended.out.contains("no canary was run"), "{}", ended.out);

    let ended = User::on(sample()).playing("gpu-no-compile").types("enable");
    assert_eq!(ended.code, 0, "{}", ended.shown());
    assert!(
        ended.out.contains("refused by the compiler"),
        "{}",
        ended.out
    );
}

#[test]
fn a_pair_without_a_record_needs_a_passed_canary() {
    let user = User::on(unlisted());
    assert_eq!(run(&user, "run -- TOY"), "pair-unknown");
    let ended = user.types("run --allow-unverified 26A428 -- TOY");
    assert_eq!(ended.code, 125);
    snapshot("unverified-no-canary", &ended);
    assert_eq!(user.types("canary --allow-unverified 26A428").code, 0);
    // The canary itself is no consent.
    assert_eq!(run(&user, "run -- TOY"), "pair-unknown");
    assert_eq!(
        run(&user, "run --allow-unverified 26A428 -- TOY"),
        "allowed"
    );
    assert_eq!(run(&user, "run -- TOY"), "allowed");
    // It passed with the cautious profile: more has to pass first.
    let more = "run --allow-unverified 26A428 --profile 1009/65536 -- TOY";
    assert_eq!(run(&user, more), "pair-unknown");

    let user = User::on(unlisted()).playing("gpu-wrong-sums");
    assert_eq!(user.types("canary --allow-unverified 26A428").code, 1);
    assert_eq!(
        run(&user, "run --allow-unverified 26A428 -- TOY"),
        "canary-failed"
    );
    let user = User::on(unlisted());
    assert_eq!(
        user.types("enable --no-canary --allow-unverified 26A428")
            .code,
        1
    );
    assert_eq!(user.types("enable --allow-unverified 26A428").code, 0);
    assert_eq!(run(&user, "run -- TOY"), "allowed");
}

#[test]
fn a_canary_without_the_overrides_says_nothing() {
    let user = User::on(sample()).playing("family-types");
    let ended = user.types("canary");
    assert_eq!(ended.code, 2, "{}", ended.shown());
    assert!(
        ended
            .err
            .contains("did not take in the canary's process: drift-types"),
        "{}",
        ended.err
    );
    assert!(!user.state("canary.json").exists());
    let ended = User::on(unlisted()).types("canary");
    assert_eq!(ended.code, 1);
    assert!(
        ended.out.starts_with("refused: pair-unknown"),
        "{}",
        ended.out
    );
}
