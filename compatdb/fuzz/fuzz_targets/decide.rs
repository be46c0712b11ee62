//! Facts, policy, deny list and request as JSON, against the real records: the verdict holds
//! its rules and never panics.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use compatdb::records::Records;
use compatdb::verdict::{Case, Evidence, Request, Target};
use compatdb::{
    Database, DenyList, Facts, OsBuild, Policy, Profile, Program, Told, Verdict, build_database,
    decide, recognise,
};
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(default)]
struct Input {
    facts: Option<Facts>,
    policy: Policy,
    deny_list: Option<DenyList>,
    profile: Option<String>,
    allow_unverified: Option<OsBuild>,
    name: String,
    path: String,
    libraries: Vec<String>,
    client: Option<String>,
    now: i64,
    fresh_until: Option<i64>,
    shim_abi: u32,
}

impl Default for Input {
    fn default() -> Self {
        Self {
            facts: None,
            policy: Policy::default(),
            deny_list: None,
            profile: None,
            allow_unverified: None,
            name: String::new(),
            path: String::new(),
            libraries: Vec::new(),
            client: None,
            now: 0,
            fresh_until: None,
            shim_abi: 1,
        }
    }
}

thread_local! {
    static DB: LazyLock<Option<Database>> = const { LazyLock::new(|| {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../records");
        let (records, _) = Records::load(Path::new(dir));
        Database::open(build_database(&records, &records.release).ok()?).ok()
    }) };
}

fuzz_target!(|data: &[u8]| {
    let Ok(input) = serde_json::from_slice::<Input>(data) else {
        return;
    };
    DB.with(|db| check(db.as_ref(), input));
});

fn check(db: Option<&Database>, input: Input) {
    let (Some(db), Some(facts)) = (db, &input.facts) else {
        return;
    };
    let host = facts.host.as_ref().map(|h| &h.build);
    let Ok(lookup) = db.lookup(&facts.guest.build, host, input.deny_list.as_ref()) else {
        return;
    };
    let program = Program {
        name: input.name,
        resolved_path: input.path,
        libraries: input.libraries,
    };
    let told: Option<Told> = input.client.and_then(|c| c.parse().ok());
    let clients = db.clients().unwrap_or_default();
    let request = Request {
        clients: recognise(&clients, &program, told.as_ref()).unwrap_or_default(),
        profile: input.profile.and_then(|p| p.parse::<Profile>().ok()),
        allow_unverified: input.allow_unverified,
        target: Target::Injectable,
    };
    let time = |s: i64| jiff::Timestamp::from_second(s).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let verdict = decide(&Case {
        facts,
        database: Evidence::Known {
            meta: db.meta(),
            lookup: &lookup,
        },
        policy: &input.policy,
        request: &request,
        cli: db.min_cli(),
        shim_abi: input.shim_abi,
        now: time(input.now),
        fresh_until: input.fresh_until.map(time),
        unsigned: true,
    });
    if let Verdict::Allow(allow) = verdict {
        assert!(allow.profile.is_within(Profile::HIGHEST));
        assert!(lookup.denies.is_empty() && lookup.revoked.is_empty());
        let record = lookup.pairs.iter().find(|p| Some(&p.id) == allow.record.as_ref());
        match record {
            Some(record) => assert!(allow.profile.is_within(record.profile)),
            None => assert_eq!(request.allow_unverified.as_ref(), Some(&facts.guest.build)),
        }
    }
}
