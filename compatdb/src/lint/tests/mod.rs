//! Each rule with a record set that breaks it and nothing else, and the real records.

mod cases;

use std::collections::BTreeSet;
use std::path::Path;

use cases::{CASES, right};

use super::{RULES, lint};
use crate::records::Records;

fn found(records: &Records) -> Vec<(&'static str, String)> {
    lint(records)
        .into_iter()
        .map(|problem| (problem.rule, format!("{}: {}", problem.file, problem.field)))
        .collect()
}

#[test]
fn each_rule_reports_what_breaks_it_and_nothing_else() {
    assert_eq!(found(&right()), []);
    for case in CASES {
        let mut records = right();
        (case.breaks)(&mut records);
        assert_eq!(found(&records), [(case.rule, case.at.to_owned())]);
    }
}

#[test]
fn every_rule_has_a_case_and_a_name_of_its_own() {
    let rules: BTreeSet<_> = RULES.iter().map(|rule| rule.name).collect();
    let cases: BTreeSet<_> = CASES.iter().map(|case| case.rule).collect();
    assert_eq!(rules, cases);
    assert_eq!(rules.len(), RULES.len());
}

#[test]
fn a_metal_3_family_is_reported_as_such_beside_its_range() {
    let mut records = right();
    records.pairs[0].profile.apple_family_max = 5001;
    records.clients[0].caps[0].apple_family_max = Some(5002);
    let rules: Vec<_> = found(&records).into_iter().map(|(rule, _)| rule).collect();
    assert_eq!(rules, ["cap-range", "metal3", "profile-range", "metal3"]);
}

#[test]
fn everything_is_reported_at_once() {
    let mut records = right();
    // Those of one file that do not take each other's ground away.
    for case in CASES.iter().filter(|case| {
        matches!(
            case.rule,
            "release" | "device" | "evidence-level" | "text-empty" | "fault-unknown"
        )
    }) {
        (case.breaks)(&mut records);
    }
    assert_eq!(found(&records).len(), 6);
}

/// The folder of the real records.
fn real() -> Records {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("records");
    let (records, problems) = Records::load(&dir);
    assert_eq!(problems, []);
    records
}

#[test]
fn the_real_records_are_right() {
    let records = real();
    assert_eq!(lint(&records), []);
    assert_eq!(records.pairs.len(), 3);
    assert!(records.builds.build.len() > 250 && records.clients.len() > 20);
}

#[test]
fn the_clients_rows_say_what_they_are_meant_to() {
    use crate::Profile;
    let records = real();
    let told = |client: &str, version: Option<&str>, host: Option<u16>| {
        let client = records.clients.iter().find(|c| c.id == client).unwrap();
        let caps = client.matched(version).caps;
        let told = caps
            .iter()
            .fold(Profile::HIGHEST, |told, cap| cap.lower(told, host));
        told.to_string()
    };
    for (client, version, host, profile) in [
        // Builds that size flash attention by the limit, and those that nobody has read.
        ("llama.cpp", Some("b2800"), Some(1007), "1009/32768"),
        ("llama.cpp", Some("b6300"), None, "1009/32768"),
        ("llama.cpp", Some("b1500"), None, "1009/32768"),
        ("llama.cpp", Some("ggml 0.9.4"), None, "1009/32768"),
        // Known to be newer, before the family chooses the tuning: the whole profile.
        ("llama.cpp", Some("b10359"), Some(1007), "1009/65536"),
        ("llama.cpp", Some("10360"), Some(1007), "1009/65536"),
        ("llama.cpp", Some("ggml 0.19.0"), Some(1007), "1009/65536"),
        // Held to the host's family where that is known.
        ("llama.cpp", Some("ggml 0.24.0"), Some(1007), "1007/65536"),
        ("llama.cpp", Some("ggml 0.24.0"), None, "1009/65536"),
        ("llama.cpp", Some("ggml-0.26.0"), Some(1010), "1009/65536"),
        ("llama.cpp", Some("0.4.0"), Some(1008), "1008/65536"),
        ("llama.cpp", Some("b11146"), Some(1007), "1007/65536"),
        // Not known.
        ("llama.cpp", None, Some(1007), "1009/32768"),
        ("llama.cpp", Some("master"), Some(1007), "1009/32768"),
        ("ollama", Some("0.12.0"), None, "1009/32768"),
        ("ollama", None, None, "1009/32768"),
        ("ollama", Some("0.33.1"), Some(1008), "1008/65536"),
        ("wgpu", None, Some(1008), "1008/65536"),
        ("wgpu", None, None, "1007/65536"),
        ("dawn", Some("1.0"), None, "1007/65536"),
        ("godot", Some("4.4"), Some(1009), "1009/65536"),
        ("impeller", None, None, "1007/65536"),
        ("moltenvk", None, Some(1009), "1007/32768"),
        ("mnn", None, Some(1009), "1007/32768"),
        ("mlx", None, None, "1009/65536"),
    ] {
        assert_eq!(
            told(client, version, host),
            profile,
            "{client} {version:?} {host:?}"
        );
    }
}

#[test]
fn the_sample_clients_of_the_simulated_guest_are_not_taken_for_the_real_ones() {
    for name in ["toy", "llama", "mlx", "wgpu"] {
        let known = real().clients.iter().any(|c| c.recognise.executable(name));
        assert!(!known, "{name}");
    }
}
