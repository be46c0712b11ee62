//! The rules of the verdict that hold whatever the values.

use compatdb::client::By;
use compatdb::facts::{Canary, HostSource};
use compatdb::records::{Cap, Client, HostFamilyCeiling, Pair};
use compatdb::rows::Status;
use compatdb::verdict::{Evidence, Reason, Target};
use compatdb::{
    ClientMatch, DenyList, Lookup, Meta, OsBuild, Policy, Profile, Revocation, Verdict,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::samples::{Setting, build, deny, facts, pair};

/// Few builds, so that they meet.
fn builds() -> impl Strategy<Value = OsBuild> {
    prop::sample::select(vec!["23J631", "24G830", "25F84", "25G76", "25G80"]).prop_map(build)
}

fn profiles() -> impl Strategy<Value = Profile> {
    (1001..=1009u16, 1..=4096u32).prop_map(|(family, sixteenths)| Profile {
        apple_family_max: family,
        max_threadgroup_memory: sixteenths * 16,
    })
}

fn statuses() -> impl Strategy<Value = Status> {
    prop::sample::select(vec![Status::Verified, Status::Broken, Status::Revoked])
}

prop_compose! {
    fn pairs()(
        guest in builds(), host in builds(), status in statuses(), level in 0..=3u8,
        profile in profiles(), min_shim_abi in 0..=2u32, number in 1..9999u32,
    ) -> Pair {
        let mut record = pair(&format!("P{number:04}"), guest.as_str(), host.as_str());
        record.status = status;
        record.evidence.level = level;
        record.profile = profile;
        record.min_shim_abi = min_shim_abi;
        record
    }
}

prop_compose! {
    fn caps()(
        family in option::of(1001..=1009u16), memory in option::of((1..=4096u32).prop_map(|n| n * 16)),
        host_family in option::of(option::of(1001..=1009u16)), unknown_version in any::<bool>(),
    ) -> Cap {
        Cap {
            versions: vec![],
            unknown_version,
            apple_family_max: family,
            host_family: host_family.map(|unknown| HostFamilyCeiling { unknown }),
            max_threadgroup_memory: memory,
            says: "Because.".into(),
            source: "s".into(),
        }
    }
}

prop_compose! {
    fn clients()(caps in vec(caps(), 0..3)) -> ClientMatch {
        let client: Client = toml::from_str(
            "id = 'c'\ntitle = 'C'\ngains = 'yes'\ngains_says = 'Yes.'\n",
        ).unwrap();
        ClientMatch { client: Client { caps, ..client }, version: None, by: By::Name }
    }
}

prop_compose! {
    fn policies()(
        guests in vec(builds(), 0..2), hosts in vec(builds(), 0..2), level in option::of(0..=3u8),
        fresh in any::<bool>(), unverified in any::<bool>(), attested in any::<bool>(),
        max_profile in option::of(profiles()),
    ) -> Policy {
        Policy {
            deny_guest_builds: guests,
            deny_host_builds: hosts,
            min_evidence_level: level,
            require_fresh_database: fresh,
            forbid_unverified: unverified,
            require_attested_host: attested,
            max_profile,
        }
    }
}

/// What the database may answer, right or not: the decision must hold against both.
#[derive(Clone, Debug)]
struct World {
    setting: Setting,
    lookup: Lookup,
    meta: Meta,
}

impl World {
    fn decide(&self) -> Verdict {
        self.decide_as(&self.setting)
    }

    fn decide_as(&self, setting: &Setting) -> Verdict {
        setting.decide_with(Evidence::Known {
            meta: &self.meta,
            lookup: &self.lookup,
        })
    }

    fn profile(&self, setting: &Setting) -> Option<Profile> {
        match self.decide_as(setting) {
            Verdict::Allow(allow) => Some(allow.profile),
            Verdict::Refuse(_) => None,
        }
    }
}

prop_compose! {
    fn requests()(
        clients in vec(clients(), 0..3), profile in option::of(profiles()),
        at_most in option::of(profiles()),
        allow_unverified in option::of(builds()), injectable in prop::bool::weighted(0.9),
    ) -> compatdb::verdict::Request {
        compatdb::verdict::Request {
            clients,
            profile,
            at_most,
            allow_unverified,
            target: match injectable {
                true => Target::Injectable,
                false => Target::NotInjectable {
                    code: "script".into(), says: "It is a script".into(), remedies: vec![],
                },
            },
        }
    }
}

prop_compose! {
    fn settings()(
        guest in builds(), host in option::of(builds()), family in option::of(0..=1012u16),
        attested in any::<bool>(), device in prop::bool::weighted(0.8),
        stock in prop::sample::select(vec![1005u16, 1005, 1005, 1006]),
        drift in prop::bool::weighted(0.1), canary in 0..8u8, canary_profile in option::weighted(0.1, profiles()), vm in prop::bool::weighted(0.9),
        policy in prop_oneof![Just(Policy::default()), policies()], request in requests(),
        shim_abi in 1..=2u32, fresh_until in option::of(0..4i64),
    ) -> Setting {
        let mut facts = facts();
        facts.guest.build = guest;
        facts.guest.vm = vm;
        match (&mut facts.host, host) {
            (Some(known), Some(build)) => {
                known.build = build;
                known.apple_family = family;
                known.source = if attested { HostSource::Attested } else { HostSource::Stated };
            }
            (known, _) => *known = None,
        }
        match &mut facts.device {
            Some(known) if device => known.apple_family = stock,
            known => *known = None,
        }
        facts.local.drift = drift;
        facts.local.canary = match canary {
            0 => Canary::Failed,
            1 => Canary::None,
            _ => Canary::Passed,
        };
        facts.local.canary_profile = canary_profile;
        Setting {
            facts,
            policy,
            request,
            shim_abi,
            fresh_until: fresh_until.map(|s| jiff::Timestamp::from_second(s).unwrap()),
            ..Setting::default()
        }
    }
}

prop_compose! {
    /// Mostly records of the very pair, now and then of another: those must not count.
    fn worlds()(
        setting in settings(), records in vec((pairs(), prop::bool::weighted(0.8)), 0..3),
        denied in prop::bool::weighted(0.15), revoked in prop::bool::weighted(0.1),
    ) -> World {
        let guest = setting.facts.guest.build.clone();
        let host = setting.facts.host.as_ref().map(|h| h.build.clone());
        let pairs = records.into_iter().map(|(mut record, exact)| {
            if let (Some(host), true) = (&host, exact) {
                record.guest.build = guest.clone();
                record.host.build = host.clone();
            }
            record
        }).collect();
        World {
            lookup: Lookup {
                guest_build: guest,
                host_build: host,
                pairs,
                denies: if denied { vec![deny("D0001", "99A0")] } else { vec![] },
                revoked: match revoked {
                    true => vec![Revocation { what: "25F84".into(), reason: "Because.".into() }],
                    false => vec![],
                },
                same_guest: vec![],
                same_host: vec![],
                nearest: None,
            },
            meta: Meta {
                seq: 1,
                published_at: jiff::Timestamp::UNIX_EPOCH,
                min_cli: "0.1.0".parse().unwrap(),
                schema: 1,
                sha256: String::new(),
                len: 0,
            },
            setting,
        }
    }
}

fn exact(world: &World) -> impl Iterator<Item = &Pair> {
    let lookup = &world.lookup;
    lookup.pairs.iter().filter(|p| {
        p.guest.build == lookup.guest_build && Some(&p.host.build) == lookup.host_build.as_ref()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever the flags and the fleet say.
    #[test]
    fn deny_beats_allow(world in worlds()) {
        let lookup = &world.lookup;
        let denied = !lookup.denies.is_empty() || !lookup.revoked.is_empty()
            || lookup.pairs.iter().any(|p| p.status != Status::Verified);
        if denied {
            let Verdict::Refuse(refusal) = world.decide() else { panic!() };
            let first = refusal.reason;
            prop_assert!(
                first <= Reason::PairBroken || refusal.also.iter().any(|r| *r <= Reason::PairBroken)
            );
            prop_assert!(
                [Reason::PairRevoked, Reason::PairBroken].iter()
                    .any(|r| first == *r || refusal.also.contains(r))
            );
        }
    }

    #[test]
    fn the_profile_is_never_above_the_record_nor_any_cap(world in worlds()) {
        if let Verdict::Allow(allow) = world.decide() {
            prop_assert!(allow.profile.is_allowed());
            match &allow.record {
                Some(id) => {
                    let record = exact(&world).find(|p| p.id == *id).unwrap();
                    prop_assert!(allow.profile.is_within(record.profile));
                    prop_assert_eq!(record.status, Status::Verified);
                    prop_assert!(record.evidence.level >= 1);
                }
                None => {
                    let most = world.setting.request.profile.unwrap_or(Profile::CAUTIOUS);
                    prop_assert!(allow.profile.is_within(most));
                }
            }
            for cap in &allow.capped_by {
                prop_assert!(allow.profile.is_within(cap.profile));
            }
            if let Some(asked) = world.setting.request.profile {
                prop_assert!(allow.profile.is_within(asked));
            }
            if let Some(most) = world.setting.request.at_most {
                prop_assert!(allow.profile.is_within(most));
            }
            if let Some(most) = world.setting.policy.max_profile {
                prop_assert!(allow.profile.is_within(most));
            }
            let host = world.setting.facts.host.as_ref().and_then(|h| h.apple_family);
            for found in &world.setting.request.clients {
                for cap in &found.client.caps {
                    if let Some(family) = cap.apple_family_max {
                        prop_assert!(allow.profile.apple_family_max <= family);
                    }
                    if let Some(memory) = cap.max_threadgroup_memory {
                        prop_assert!(allow.profile.max_threadgroup_memory <= memory);
                    }
                    if let (Some(_), Some(real @ 1001..)) = (cap.host_family, host) {
                        prop_assert!(allow.profile.apple_family_max <= real);
                    }
                }
            }
        }
    }

    /// Allowed is either a record of exactly these builds, or the user's word for exactly
    /// this guest build.
    #[test]
    fn unknown_never_allows(world in worlds()) {
        if let Verdict::Allow(allow) = world.decide() {
            match allow.record {
                Some(id) => prop_assert!(exact(&world).any(|p| p.id == id)),
                None => {
                    let setting = &world.setting;
                    prop_assert_eq!(
                        setting.request.allow_unverified.as_ref(), Some(&setting.facts.guest.build)
                    );
                    prop_assert!(setting.facts.device.is_some());
                    prop_assert_eq!(setting.facts.local.canary, Canary::Passed);
                    prop_assert!(!setting.policy.forbid_unverified);
                }
            }
        }
    }

    /// A range that hits refuses; taking it away is the only thing it can do.
    #[test]
    fn ranges_never_allow(world in worlds(), before in builds()) {
        let mut ranged = world.clone();
        ranged.lookup.denies.push(deny("D0002", before.as_str()));
        prop_assert!(matches!(ranged.decide(), Verdict::Refuse(_)));
    }

    /// Not the decision, not the profile.
    #[test]
    fn a_policy_never_widens(world in worlds(), policy in policies()) {
        let mut without = world.setting.clone();
        without.policy = Policy::default();
        let mut with = without.clone();
        with.policy = policy;
        let mut with_both = with.clone();
        with_both.policy = with.policy.clone().and(world.setting.policy.clone());
        for (wide, narrow) in [(&without, &with), (&with, &with_both)] {
            match (world.profile(wide), world.profile(narrow)) {
                (_, None) => {}
                (Some(wide), Some(narrow)) => prop_assert!(narrow.is_within(wide)),
                (None, Some(narrow)) => prop_assert!(false, "widened to {narrow}"),
            }
        }
    }

    /// Client rows and `--profile` beside a record take away, too.
    #[test]
    fn clients_and_flags_never_widen_a_record(world in worlds()) {
        let mut without = world.setting.clone();
        without.request.clients.clear();
        without.request.profile = None;
        without.request.at_most = None;
        if let Verdict::Allow(wide) = world.decide_as(&without)
            && wide.record.is_some()
            && let Some(narrow) = world.profile(&world.setting)
        {
            prop_assert!(narrow.is_within(wide.profile));
        }
    }

    #[test]
    fn time_matters_only_beside_a_freshness(world in worlds(), second in -1_000_000_000..4_000_000_000i64) {
        let mut setting = world.setting.clone();
        setting.fresh_until = None;
        let first = world.decide_as(&setting);
        setting.now = jiff::Timestamp::from_second(second).unwrap();
        prop_assert_eq!(world.decide_as(&setting), first);
    }

    /// The flag can only turn the two unknowns into an allowance.
    #[test]
    fn allow_unverified_never_beats_a_deny(world in worlds()) {
        let mut without = world.setting.clone();
        without.request.allow_unverified = None;
        if let (Verdict::Refuse(refusal), Verdict::Allow(_)) =
            (world.decide_as(&without), world.decide())
        {
            prop_assert!(matches!(refusal.reason, Reason::HostUnknown | Reason::PairUnknown));
            prop_assert!(refusal.also.is_empty(), "{:?}", refusal.also);
        }
    }

    #[test]
    fn reasons_are_in_order_and_told_once(world in worlds()) {
        if let Verdict::Refuse(refusal) = world.decide() {
            let all: Vec<Reason> =
                std::iter::once(refusal.reason).chain(refusal.also.iter().copied()).collect();
            prop_assert!(all.is_sorted_by(|a, b| a < b), "{:?}", all);
            prop_assert!(!refusal.says.is_empty());
        }
    }

    #[test]
    fn a_deny_list_is_read_or_refused(text in ".{0,80}", list in vec(builds(), 0..3)) {
        let _ = DenyList::parse(text.as_bytes());
        let list = DenyList {
            guest_builds: list.into_iter()
                .map(|build| compatdb::DeniedBuild { build, reason: "Because.".into() }).collect(),
            ..DenyList::default()
        };
        let text = serde_json::to_vec(&list).unwrap();
        prop_assert_eq!(DenyList::parse(&text).unwrap(), list);
    }
}
