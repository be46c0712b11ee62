//! Any bytes as the small files that others write: the configuration, the policy, status lines,
//! what the host says in a shared folder. Read or refused, and never a crash.
#![no_main]

use compatdb::Policy;
use jiff::{SignedDuration, Timestamp};
use libfuzzer_sys::fuzz_target;
use metalshim_cli::config::Config;
use metalshim_cli::facts::share::{Attestation, Copy};
use metalshim_cli::printer::Style;
use metalshim_cli::tickets;

fuzz_target!(|data: &[u8]| {
    for line in tickets::lines(data) {
        let says = line.says(Style::PLAIN);
        assert!(!says.contains('\n') && says.contains(&line.pid.to_string()));
    }
    if let Ok(attestation) = serde_json::from_slice::<Attestation>(data) {
        host(attestation);
    }
    if let Ok(text) = std::str::from_utf8(data) {
        if let Ok(config) = toml::from_str::<Config>(text) {
            assert!(config.trust_root.is_none_or(|path| path.is_absolute()));
            assert!(config.profile.is_none_or(|p| p.is_within(compatdb::Profile::HIGHEST)));
        }
        let _ = toml::from_str::<Policy>(text);
    }
});

/// What is made of an attestation at any time, in this boot and in another.
fn host(attestation: Attestation) {
    let now: Timestamp = "2026-12-01T00:00:00Z".parse().unwrap();
    let days = |n: i64| now + SignedDuration::from_hours(24 * n);
    for written in [attestation.written_at.unwrap_or(now), days(-31), days(-1), days(400)] {
        let copy = Copy {
            attestation: attestation.clone(),
            written,
            copied: now,
            boot_session: "B".to_owned(),
            from: "/x".into(),
        };
        for boot in ["B", "C"] {
            for booted in [None, Some(days(-2)), Some(now)] {
                let (host, _) = copy.host(boot, booted, now, boot == "C");
                assert!(host.is_none_or(|host| host.build == attestation.build));
            }
        }
    }
}
