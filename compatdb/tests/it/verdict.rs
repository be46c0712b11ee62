//! Each rule of the verdict, once.

use compatdb::client::By;
use compatdb::facts::{Canary, HostSource};
use compatdb::verdict::{Allow, Evidence, Reason, Refusal, Remedy, Target};
use compatdb::{ClientMatch, DenyList, Profile, Verdict};

use crate::samples::{self, Setting, build, llama, open, pair, records, sample};

fn allowed(verdict: Verdict) -> Allow {
    match verdict {
        Verdict::Allow(allow) => allow,
        Verdict::Refuse(refusal) => panic!("{refusal:?}"),
    }
}

fn refused(verdict: Verdict) -> Refusal {
    match verdict {
        Verdict::Refuse(refusal) => refusal,
        Verdict::Allow(allow) => panic!("{allow:?}"),
    }
}

/// The sample database, and one thing changed.
fn ask(change: impl FnOnce(&mut Setting)) -> Verdict {
    let mut setting = Setting::default();
    change(&mut setting);
    setting.decide(&open(&sample()))
}

fn told(version: Option<&str>) -> ClientMatch {
    ClientMatch {
        client: llama(),
        version: version.map(str::to_owned),
        by: By::Told,
    }
}

#[test]
fn a_verified_pair_is_allowed_with_its_whole_profile() {
    let allow = allowed(ask(|_| {}));
    assert_eq!(allow.profile, Profile::HIGHEST);
    assert_eq!(allow.record.as_deref(), Some("P0001"));
    assert_eq!(allow.evidence_level, Some(1));
    assert!(allow.capped_by.is_empty() && allow.warnings.is_empty());
}

/// Each reason alone, in the order of the codes; each has a remedy, and a sentence with the
/// value that decided.
#[test]
fn each_reason_is_told_with_its_value_and_a_remedy() {
    type Change = Box<dyn FnOnce(&mut Setting)>;
    let cases: Vec<(Reason, &str, Change)> = vec![
        (
            Reason::NotAGuest,
            "VirtualMac2,1",
            Box::new(|s| s.facts.guest.vm = false),
        ),
        (
            Reason::NotAGuest,
            "AGXG13XDevice",
            Box::new(|s| s.facts.device.as_mut().unwrap().class = "AGXG13XDevice".into()),
        ),
        (
            Reason::CliTooOld,
            "0.0.9",
            Box::new(|s| s.cli = "0.0.9".parse().unwrap()),
        ),
        (
            Reason::ShimTooOld,
            "interface 1",
            Box::new(|s| s.shim_abi = 0),
        ),
        (
            Reason::PairRevoked,
            "another guest",
            Box::new(|s| s.facts.guest.build = build("25E10")),
        ),
        (
            Reason::PairBroken,
            "half of the runs",
            Box::new(|s| s.facts.host.as_mut().unwrap().build = build("25G80")),
        ),
        (
            Reason::PairBroken,
            "D0001",
            Box::new(|s| s.facts.guest.build = build("23J631")),
        ),
        (
            Reason::ClientBlocked,
            "crashes above family 5",
            Box::new(|s| s.request.clients = vec![told(Some("b13"))]),
        ),
        (
            Reason::Policy,
            "25F84",
            Box::new(|s| s.policy.deny_guest_builds = vec![build("25F84")]),
        ),
        (
            Reason::Policy,
            "25G76",
            Box::new(|s| s.policy.deny_host_builds = vec![build("25G76")]),
        ),
        (
            Reason::Policy,
            "demands 2",
            Box::new(|s| s.policy.min_evidence_level = Some(2)),
        ),
        (
            Reason::Policy,
            "require_attested_host",
            Box::new(|s| {
                s.policy.require_attested_host = true;
                s.facts.host.as_mut().unwrap().source = HostSource::Stated;
            }),
        ),
        (
            Reason::HostUnknown,
            "25F84",
            Box::new(|s| s.facts.host = None),
        ),
        (
            Reason::PairUnknown,
            "25G90",
            Box::new(|s| s.facts.host.as_mut().unwrap().build = build("25G90")),
        ),
        (
            Reason::PairUnknown,
            "only claimed",
            Box::new(|s| s.facts.guest.build = build("25G76")),
        ),
        (
            Reason::DatabaseStale,
            "2026-11-30",
            Box::new(|s| {
                s.policy.require_fresh_database = true;
                s.fresh_until = Some("2026-11-30T23:59:59Z".parse().unwrap());
            }),
        ),
        (
            Reason::Drift,
            "25F84",
            Box::new(|s| s.facts.local.drift = true),
        ),
        (
            Reason::Drift,
            "1006",
            Box::new(|s| s.facts.device.as_mut().unwrap().apple_family = 1006),
        ),
        (
            Reason::Drift,
            "65536",
            Box::new(|s| s.facts.device.as_mut().unwrap().max_threadgroup_memory = 65536),
        ),
        (
            Reason::CanaryFailed,
            "25F84",
            Box::new(|s| s.facts.local.canary = Canary::Failed),
        ),
        (
            Reason::TargetNotInjectable,
            "hardened-runtime",
            Box::new(|s| {
                s.request.target = Target::NotInjectable {
                    code: "hardened-runtime".into(),
                    says: "/bin/x has the hardened runtime".into(),
                    remedies: vec![Remedy::text("Use a build without it.")],
                };
            }),
        ),
    ];
    for (reason, value, change) in cases {
        let refusal = refused(ask(change));
        assert_eq!(refusal.reason, reason, "{refusal:?}");
        assert!(refusal.says.contains(value), "{value}: {}", refusal.says);
        assert!(!refusal.remedies.is_empty(), "{refusal:?}");
        assert!(refusal.also.is_empty(), "{refusal:?}");
    }
}

#[test]
fn an_invalid_database_refuses_and_the_other_reasons_are_told() {
    let setting = Setting {
        facts: {
            let mut facts = samples::facts();
            facts.local.drift = true;
            facts
        },
        ..Setting::default()
    };
    let refusal = refused(setting.decide_with(Evidence::Invalid {
        why: "it is damaged",
    }));
    assert_eq!(refusal.reason, Reason::DatabaseInvalid);
    assert_eq!(refusal.says, "It is damaged.");
    assert_eq!(refusal.also, [Reason::Drift]);
}

#[test]
fn the_first_reason_leads_and_the_others_follow_in_order() {
    let refusal = refused(ask(|s| {
        s.facts.guest.vm = false;
        s.facts.host = None;
        s.facts.local.drift = true;
        s.facts.local.canary = Canary::Failed;
        s.policy.deny_guest_builds = vec![build("25F84")];
    }));
    assert_eq!(refusal.reason, Reason::NotAGuest);
    assert_eq!(
        refusal.also,
        [
            Reason::Policy,
            Reason::HostUnknown,
            Reason::Drift,
            Reason::CanaryFailed
        ]
    );
}

#[test]
fn a_device_that_was_not_asked_is_no_refusal() {
    assert!(matches!(ask(|s| s.facts.device = None), Verdict::Allow(_)));
}

#[test]
fn a_recorded_uuid_must_match_where_it_is_read() {
    let mut record = pair("P0001", "25F84", "25G76");
    record.metal_uuid = Some("AAAA".into());
    let db = open(&records(vec![record], vec![]));
    let mut setting = Setting::default();
    assert!(matches!(setting.decide(&db), Verdict::Allow(_)));
    setting.facts.device.as_mut().unwrap().metal_uuid = Some("aaaa".into());
    assert!(matches!(setting.decide(&db), Verdict::Allow(_)));
    setting.facts.device.as_mut().unwrap().metal_uuid = Some("BBBB".into());
    assert_eq!(refused(setting.decide(&db)).reason, Reason::Drift);
}

#[test]
fn another_chip_is_a_warning_that_names_both() {
    let allow = allowed(ask(|s| {
        s.facts.host.as_mut().unwrap().chip = Some("Apple M4 Max".into());
    }));
    let warning = &allow.warnings[0];
    assert!(
        warning.contains("Apple M1 Ultra") && warning.contains("Apple M4 Max"),
        "{warning}"
    );
}

#[test]
fn the_guests_own_name_of_the_chip_tells_the_hosts() {
    let allow = allowed(ask(|s| {
        s.facts.host.as_mut().unwrap().chip = None;
        s.facts.guest.chip = "Apple M2 (Virtual)".into();
    }));
    assert!(allow.warnings[0].contains("Apple M2"), "{allow:?}");
}

#[test]
fn a_deny_list_revokes_records_and_builds() {
    for list in [
        r#"{"records": [{"id": "P0001", "reason": "Tampered with."}]}"#,
        r#"{"guest_builds": [{"build": "25F84", "reason": "Tampered with."}]}"#,
        r#"{"host_builds": [{"build": "25G76", "reason": "Tampered with."}]}"#,
    ] {
        let refusal = refused(ask(|s| {
            s.deny_list = Some(DenyList::parse(list.as_bytes()).unwrap());
            s.request.allow_unverified = Some(build("25F84"));
        }));
        assert_eq!(refusal.reason, Reason::PairRevoked);
        assert!(refusal.says.contains("Tampered with"), "{}", refusal.says);
    }
    assert!(DenyList::parse(br#"{"pairs": []}"#).is_err());
    assert!(DenyList::parse(br#"{"guest_builds": [{"build": "x", "reason": ""}]}"#).is_err());
}

#[test]
fn a_client_whose_version_is_unknown_is_capped_and_told_how_to_say_it() {
    let allow = allowed(ask(|s| s.request.clients = vec![told(None)]));
    assert_eq!(allow.profile.to_string(), "1009/32768");
    let cap = &allow.capped_by[0];
    assert_eq!(cap.by, "client");
    assert!(
        cap.says.contains("--client llama.cpp@VERSION"),
        "{}",
        cap.says
    );
    for (version, profile) in [
        ("b6499", "1009/32768"),
        ("b6500", "1009/65536"),
        ("b9000", "1007/65536"),
        ("ggml 0.24.0", "1007/65536"),
        ("nightly", "1009/32768"),
    ] {
        let allow = allowed(ask(|s| s.request.clients = vec![told(Some(version))]));
        assert_eq!(allow.profile.to_string(), profile, "{version}");
    }
}

#[test]
fn the_hosts_family_caps_only_where_it_is_known_and_never_raises() {
    for (family, profile) in [
        (None, "1009/65536"),
        (Some(1008), "1008/65536"),
        (Some(1010), "1009/65536"),
        (Some(0), "1009/65536"),
    ] {
        let allow = allowed(ask(|s| {
            s.request.clients = vec![told(Some("b9000"))];
            s.facts.host.as_mut().unwrap().apple_family = family;
        }));
        assert_eq!(allow.profile.to_string(), profile, "{family:?}");
    }
}

#[test]
fn flag_and_policy_cap_and_say_so() {
    let allow = allowed(ask(|s| {
        s.request.profile = Some("1008/65536".parse().unwrap());
        s.policy.max_profile = Some("1009/32768".parse().unwrap());
    }));
    assert_eq!(allow.profile.to_string(), "1008/32768");
    let by: Vec<&str> = allow.capped_by.iter().map(|c| c.by).collect();
    assert_eq!(by, ["flag", "policy"]);
}

#[test]
fn a_profile_above_the_record_is_not_given_and_that_is_said() {
    let mut record = pair("P0001", "25F84", "25G76");
    record.profile = Profile::CAUTIOUS;
    let setting = {
        let mut setting = Setting::default();
        setting.request.profile = Some(Profile::HIGHEST);
        setting
    };
    let allow = allowed(setting.decide(&open(&records(vec![record], vec![]))));
    assert_eq!(allow.profile, Profile::CAUTIOUS);
    assert!(allow.warnings[0].contains("1009/65536"), "{allow:?}");
}

#[test]
fn of_two_records_the_one_with_more_evidence_allows_and_one_that_denies_wins() {
    let mut better = pair("P0002", "25F84", "25G76");
    better.evidence.level = 2;
    better.profile = Profile::CAUTIOUS;
    let first = pair("P0001", "25F84", "25G76");
    let db = open(&records(vec![first.clone(), better.clone()], vec![]));
    let allow = allowed(Setting::default().decide(&db));
    assert_eq!(allow.record.as_deref(), Some("P0002"));
    assert_eq!(allow.profile, Profile::CAUTIOUS);

    better.status = compatdb::rows::Status::Broken;
    let db = open(&records(vec![first, better], vec![]));
    assert_eq!(
        refused(Setting::default().decide(&db)).reason,
        Reason::PairBroken
    );
}

#[test]
fn a_record_needs_no_canary_and_no_more_is_told_than_passed() {
    let allow = allowed(ask(|s| s.facts.local.canary = Canary::None));
    assert_eq!(allow.profile, Profile::HIGHEST);
    let passed: Profile = "1009/32768".parse().unwrap();
    let allow = allowed(ask(|s| s.facts.local.canary_profile = Some(passed)));
    assert_eq!(allow.profile, passed);
    assert_eq!(allow.capped_by[0].by, "canary");
}

fn unknown_host(s: &mut Setting) {
    s.facts.host = None;
    s.request.allow_unverified = Some(build("25F84"));
}

#[test]
fn allow_unverified_covers_the_unknown_cautiously() {
    let allow = allowed(ask(unknown_host));
    assert_eq!(allow.profile, Profile::CAUTIOUS);
    assert_eq!(allow.record, None);
    assert_eq!(allow.capped_by[0].by, "unverified");
    assert!(allow.warnings[0].contains("seven days"), "{allow:?}");
    let allow = allowed(ask(|s| {
        s.facts.host.as_mut().unwrap().build = build("25G90");
        s.request.allow_unverified = Some(build("25F84"));
        s.request.profile = Some(Profile::HIGHEST);
    }));
    assert_eq!(allow.profile, Profile::HIGHEST);
}

#[test]
fn allow_unverified_has_its_bounds() {
    let other_build = refused(ask(|s| {
        unknown_host(s);
        s.request.allow_unverified = Some(build("25F90"));
    }));
    assert_eq!(other_build.reason, Reason::HostUnknown);
    assert!(other_build.says.contains("25F90"), "{}", other_build.says);

    let not_probed = refused(ask(|s| {
        unknown_host(s);
        s.facts.device = None;
    }));
    assert_eq!(not_probed.reason, Reason::HostUnknown);
    assert_eq!(
        not_probed.remedies[0].command.as_deref(),
        Some("metalshim doctor")
    );

    let forbidden = refused(ask(|s| {
        unknown_host(s);
        s.policy.forbid_unverified = true;
    }));
    assert_eq!(forbidden.reason, Reason::Policy);
    assert_eq!(forbidden.also, [Reason::HostUnknown]);

    let level = refused(ask(|s| {
        unknown_host(s);
        s.policy.min_evidence_level = Some(1);
    }));
    assert_eq!(level.reason, Reason::Policy);

    let canary = refused(ask(|s| {
        unknown_host(s);
        s.facts.local.canary = Canary::Failed;
    }));
    assert_eq!(canary.reason, Reason::CanaryFailed);

    let no_canary = refused(ask(|s| {
        unknown_host(s);
        s.facts.local.canary = Canary::None;
        s.request.profile = Some(Profile::HIGHEST);
    }));
    assert_eq!(no_canary.reason, Reason::HostUnknown);
    let commands = no_canary
        .remedies
        .iter()
        .filter_map(|r| r.command.as_deref());
    let canaries: Vec<&str> = commands.filter(|c| c.contains("canary")).collect();
    assert_eq!(
        canaries,
        ["metalshim canary --allow-unverified 25F84 --profile 1009/65536"]
    );

    let denied = refused(ask(|s| {
        s.facts.guest.build = build("23J631");
        s.request.allow_unverified = Some(build("23J631"));
    }));
    assert_eq!(denied.reason, Reason::PairBroken);
}

#[test]
fn a_demand_for_freshness_is_not_met_by_an_unsigned_database() {
    let refusal = refused(ask(|s| s.policy.require_fresh_database = true));
    assert_eq!(refusal.reason, Reason::DatabaseStale);
    assert!(refusal.says.contains("unsigned"), "{}", refusal.says);
}

#[test]
fn a_stale_database_without_that_policy_is_a_warning() {
    let allow = allowed(ask(|s| {
        s.fresh_until = Some("2026-11-30T23:59:59Z".parse().unwrap());
    }));
    assert!(allow.warnings[0].contains("2026-11-30"), "{allow:?}");
}

/// What most users meet first, word for word.
#[test]
fn the_two_unknowns_read_well() {
    let host = refused(ask(|s| s.facts.host = None));
    let pair = refused(ask(|s| {
        s.facts.host.as_mut().unwrap().build = build("25G90");
    }));
    let text = |refusal: &Refusal| {
        let json = serde_json::to_string_pretty(refusal).unwrap();
        json.replace(env!("CARGO_PKG_REPOSITORY"), "[the project's home]")
    };
    insta::assert_snapshot!("host-unknown", text(&host));
    insta::assert_snapshot!("pair-unknown", text(&pair));
}
