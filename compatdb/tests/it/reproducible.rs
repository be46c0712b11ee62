//! The same records give the same bytes.

use compatdb::build_database;
use proptest::prelude::*;

use crate::samples::{bytes, deny, pair, records, sample};

#[test]
fn the_order_of_records_changes_nothing() {
    let mut all = sample();
    all.denies.push(compatdb::records::Filed {
        file: String::new(),
        record: deny("D0002", "22A0"),
    });
    let first = bytes(&all);
    proptest!(ProptestConfig::with_cases(16), |(order in Just((0..4usize).collect::<Vec<_>>()).prop_shuffle())| {
        let mut shuffled = all.clone();
        shuffled.pairs = order.iter().map(|&i| all.pairs[i].clone()).collect();
        shuffled.denies.reverse();
        shuffled.clients.reverse();
        shuffled.builds.build.reverse();
        prop_assert!(bytes(&shuffled) == first);
    });
}

#[test]
fn seq_and_time_are_inputs_and_change_the_bytes() {
    let all = sample();
    let mut release = all.release.record.clone();
    release.seq += 1;
    assert_ne!(build_database(&all, &release).unwrap(), bytes(&all));
}

#[test]
fn one_id_twice_is_an_error_that_names_it() {
    let twice = records(
        vec![
            pair("P0001", "25F84", "25G76"),
            pair("P0001", "25F85", "25G76"),
        ],
        vec![],
    );
    let error = build_database(&twice, &twice.release).unwrap_err();
    assert_eq!(
        error.to_string(),
        "two records are called P0001: ids are given once"
    );
}
