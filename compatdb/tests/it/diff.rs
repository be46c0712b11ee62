//! What a new database changes for users, in their words.

use compatdb::diff::diff;
use compatdb::rows::Status;

use crate::samples::{deny, open, pair, records, sample};

#[test]
fn each_kind_of_change_is_told() {
    let mut new = sample();
    new.release.record.seq = 8;
    // P0001 lowered, P0002 taken back from broken, P0004 measured now.
    new.pairs[0].record.profile = "1007/65536".parse().unwrap();
    new.pairs[1].record.status = Status::Revoked;
    new.pairs[3].record.evidence.level = 2;
    // A new pair, and one that becomes broken.
    new.pairs.push(compatdb::records::Filed {
        file: String::new(),
        record: pair("P0005", "25G80", "25G80"),
    });
    new.denies[0].record.guest.as_mut().unwrap().before = Some("24B0".parse().unwrap());
    new.denies.push(compatdb::records::Filed {
        file: String::new(),
        record: deny("D0002", "22A0"),
    });
    let llama = &mut new.clients[0].record;
    llama.caps[0].max_threadgroup_memory = Some(16384);
    llama.caps[1].apple_family_max = Some(1008);
    new.clients.remove(1);
    let changes = diff(&open(&sample()), &open(&new)).unwrap();
    insta::assert_snapshot!(changes.to_string());
    insta::assert_snapshot!(
        "each_kind_of_change_json",
        serde_json::to_string_pretty(&changes).unwrap()
    );
}

#[test]
fn raised_evidence_and_gone() {
    let old = records(
        vec![
            pair("P0001", "25F84", "25G76"),
            pair("P0002", "25F85", "25G76"),
            pair("P0003", "25F86", "25G76"),
        ],
        vec![],
    );
    let mut new = old.clone();
    new.pairs[1].record.evidence.level = 3;
    new.pairs.remove(2);
    let mut before = old.clone();
    before.pairs[0].record.profile = compatdb::Profile::CAUTIOUS;
    insta::assert_snapshot!(diff(&open(&before), &open(&new)).unwrap().to_string());
}

#[test]
fn notes_change_nothing_for_users() {
    let mut new = sample();
    new.pairs[0].record.notes = vec!["A note.".into()];
    let changes = diff(&open(&sample()), &open(&new)).unwrap();
    assert_eq!(changes.changes, []);
    assert_eq!(
        changes.to_string(),
        "Database 7 to 7\n\nNothing changes for users.\n"
    );
}

#[test]
fn a_range_that_reaches_a_verified_pair_denies_it() {
    let old = records(vec![pair("P0001", "25F84", "25G76")], vec![]);
    let mut new = old.clone();
    new.denies.push(compatdb::records::Filed {
        file: String::new(),
        record: deny("D0001", "26A0"),
    });
    let changes = diff(&open(&old), &open(&new)).unwrap();
    let kinds: Vec<_> = changes
        .changes
        .iter()
        .map(|c| format!("{:?}", c.what))
        .collect();
    assert_eq!(kinds, ["PairDenied", "RangeAdded"]);
}
