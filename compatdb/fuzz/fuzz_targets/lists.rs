//! Any bytes as a deny list and as a policy: read or refused, what is read is written and read
//! again as the same, and no policy takes back what another one forbids.
#![no_main]

use compatdb::{DenyList, Policy, Profile};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(list) = DenyList::parse(data) {
        let again = serde_json::to_vec(&list).unwrap();
        assert_eq!(DenyList::parse(&again).unwrap(), list);
    }
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    // Two policies in one input: the machine's, and one more for a command.
    let (machine, more) = text.split_once("\n---\n").unwrap_or((text, ""));
    let (Ok(machine), Ok(more)) = (toml::from_str(machine), toml::from_str::<Policy>(more)) else {
        return;
    };
    let machine: Policy = machine;
    let both = machine.clone().and(more.clone());
    for one in [&machine, &more] {
        assert!(one.deny_guest_builds.iter().all(|b| both.deny_guest_builds.contains(b)));
        assert!(one.deny_host_builds.iter().all(|b| both.deny_host_builds.contains(b)));
        assert!(one.min_evidence_level <= both.min_evidence_level);
        assert!(both.require_fresh_database || !one.require_fresh_database);
        assert!(both.forbid_unverified || !one.forbid_unverified);
        assert!(both.require_attested_host || !one.require_attested_host);
        let least = both.max_profile.unwrap_or(Profile::HIGHEST);
        assert!(one.max_profile.is_none_or(|most| least.is_within(most)));
    }
});
