//! Metadata: as any bytes, and as a whole set that is signed by the right key and has any values
//! in it, which is what a stolen key could publish. It verifies or is refused, never a crash.
#![no_main]

use std::sync::LazyLock;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use libfuzzer_sys::fuzz_target;
use metalshim_cli::update::verified;
use serde_json::{Map, Value, json};

/// Root, timestamp, snapshot, targets, revoker.
const ROLES: usize = 5;

struct Set {
    key: Ed25519KeyPair,
    id: String,
    roles: [Value; ROLES],
    root: Vec<u8>,
    list: Vec<u8>,
}

static SET: LazyLock<Set> = LazyLock::new(|| {
    // Nobody's key: it is here for everybody to see.
    let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let public = hex(key.public_key().as_ref());
    let public = json!({"keytype": "ed25519", "keyval": {"public": public}, "scheme": "ed25519"});
    let id = compatdb::sha256_hex(public.to_string().as_bytes());
    let role = json!({"keyids": [id], "threshold": 1});
    let list = br#"{"seq":1,"records":[{"id":"P0001","reason":"x"}]}"#.to_vec();
    let file = |bytes: &[u8], custom: Value| {
        json!({"hashes": {"sha256": compatdb::sha256_hex(bytes)}, "length": bytes.len(), "custom": custom})
    };
    let part = |kind: &str, version: u64, rest: Value| {
        let mut part = json!({"_type": kind, "spec_version": "1.0.31", "version": version,
            "expires": "2040-01-01T00:00:00Z"});
        part.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        part
    };
    let mut keys = Map::new();
    keys.insert(id.clone(), public);
    let root = |version| part("root", version, json!({"consistent_snapshot": true, "keys": keys,
        "roles": {"root": role, "timestamp": role, "snapshot": role, "targets": role}}));
    let database = json!({"seq": 2, "schema": 1, "min_cli": "0.1.0", "published_at": "2026-12-01T00:00:00Z"});
    let roles = [
        root(2),
        part("timestamp", 1, json!({"meta": {"snapshot.json": {"version": 1}},
            "x-signed-at": "2026-12-01T00:00:00Z"})),
        part("snapshot", 1, json!({"meta": {"targets.json": {"version": 1}, "revoker.json": {"version": 1}}})),
        part("targets", 1, json!({"targets": {"compatdb.sqlite": file(b"x", database)},
            "delegations": {"keys": keys, "roles": [{"name": "revoker", "keyids": [id], "threshold": 1,
                "terminating": true, "paths": ["revocations.json"]}]}})),
        part("targets", 1, json!({"targets": {"revocations.json": file(&list, json!({"seq": 1}))}})),
    ];
    let mut set = Set { key, id, root: Vec::new(), list, roles };
    set.root = sign(&set, &root(1));
    // A set that does not verify would hide everything behind its first fault.
    let signed: Vec<Vec<u8>> = set.roles.iter().map(|role| sign(&set, role)).collect();
    check(&set, signed).unwrap();
    set
});

fuzz_target!(|data: &[u8]| {
    let set = &*SET;
    // The rest of one input in the place of one role, unsigned.
    let Some((which, rest)) = data.split_first() else {
        return;
    };
    let mut signed: Vec<Vec<u8>> = set.roles.iter().map(|role| sign(set, role)).collect();
    if let Some(role) = signed.get_mut(usize::from(*which)) {
        *role = rest.to_vec();
        let _ = check(set, signed);
        return;
    }
    // Any values in any places, signed. Three bytes an edit: which role, which value, what for it.
    let mut roles = set.roles.clone();
    for edit in rest.chunks_exact(3) {
        let [role, place, what] = edit else { continue };
        if let Some(role) = roles.get_mut(usize::from(*role) % ROLES) {
            let mut left = usize::from(*place);
            change(role, &mut left, *what, rest);
        }
    }
    let _ = check(set, roles.iter().map(|role| sign(set, role)).collect());
});

fn check(set: &Set, signed: Vec<Vec<u8>>) -> Result<(), String> {
    let [root, timestamp, snapshot, targets, revoker] = signed.try_into().unwrap();
    verified(&set.root, [root, timestamp, snapshot, targets], (revoker, set.list.clone()))
}

/// Changes the value that is reached after `left` others.
fn change(value: &mut Value, left: &mut usize, what: u8, rest: &[u8]) -> bool {
    if *left == 0 {
        *value = match what % 16 {
            0 => Value::Null,
            1 => json!(0),
            2 => json!(u64::MAX),
            3 => json!(-1),
            4 => json!(1.5),
            5 => json!(""),
            6 => json!("../../x"),
            7 => json!(String::from_utf8_lossy(rest)),
            8 => json!([]),
            9 => json!({}),
            10 => json!([value.clone(), value.clone()]),
            11 => json!({"x": value.clone()}),
            12 => json!(true),
            13 => json!("9999-12-31T23:59:59Z"),
            14 => json!("0000-01-01T00:00:00Z"),
            _ => json!(what),
        };
        return true;
    }
    *left -= 1;
    match value {
        Value::Array(values) => values.iter_mut().any(|v| change(v, left, what, rest)),
        Value::Object(values) => values.values_mut().any(|v| change(v, left, what, rest)),
        _ => false,
    }
}

/// Objects keep their keys in order, so compact text is the canonical form.
fn sign(set: &Set, signed: &Value) -> Vec<u8> {
    let text = signed.to_string();
    let signature = hex(set.key.sign(text.as_bytes()).as_ref());
    let id = &set.id;
    format!(r#"{{"signatures":[{{"keyid":"{id}","sig":"{signature}"}}],"signed":{text}}}"#).into_bytes()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
