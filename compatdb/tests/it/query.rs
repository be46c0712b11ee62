//! What a lookup and the lists answer.

use compatdb::NEIGHBOURS;
use compatdb::records::Pair;
use compatdb::rows::Status;
use compatdb::{PairFilter, Shown};

use crate::samples::{build, open, pair, records, sample};

#[test]
fn a_lookup_names_the_pair_its_neighbours_and_the_nearest() {
    let db = open(&sample());
    let lookup = db
        .lookup(&build("25F84"), Some(&build("25G80")), None)
        .unwrap();
    let ids = |pairs: &[compatdb::rows::PairBrief]| -> Vec<String> {
        pairs.iter().map(|p| p.id.clone()).collect()
    };
    assert_eq!(lookup.pairs[0].id, "P0002");
    assert_eq!(ids(&lookup.same_guest), ["P0001"]);
    assert_eq!(lookup.same_host, []);
    assert_eq!(lookup.nearest.unwrap().id, "P0001");

    let lookup = db
        .lookup(&build("25F84"), Some(&build("25G76")), None)
        .unwrap();
    assert_eq!(lookup.nearest, None, "not the pair itself");

    let lookup = db.lookup(&build("25F84"), None, None).unwrap();
    assert_eq!(lookup.pairs, []);
    assert_eq!(ids(&lookup.same_guest), ["P0002", "P0001"]);

    let lookup = db
        .lookup(&build("23J631"), Some(&build("25G76")), None)
        .unwrap();
    assert_eq!(lookup.denies[0].id, "D0001");
    assert_eq!(ids(&lookup.same_host), ["P0003", "P0001", "P0004"]);
    assert_eq!(lookup.nearest.unwrap().id, "P0001");

    let lookup = db
        .lookup(&build("25F90"), Some(&build("25H1")), None)
        .unwrap();
    assert_eq!(lookup.nearest.unwrap().id, "P0001", "of the nearest guest");
}

#[test]
fn a_pair_of_releases_is_the_nearest_before_one_with_a_beta() {
    let db = open(&records(
        vec![
            pair("P0001", "25F84", "25G76"),
            pair("P0002", "25F84", "26A5378n"),
        ],
        vec![],
    ));
    // Of the same guest, whose nearest host is the beta; and of another guest.
    for (guest, host) in [("25F84", Some("26A5400")), ("25F84", None), ("25F90", None)] {
        let host = host.map(build);
        let lookup = db.lookup(&build(guest), host.as_ref(), None).unwrap();
        assert_eq!(lookup.nearest.unwrap().id, "P0001", "{guest} {host:?}");
    }
}

#[test]
fn neighbours_are_the_nearest_and_few() {
    let many: Vec<Pair> = (0..100)
        .map(|n| pair(&format!("P{n:04}"), "25F84", &format!("25G{}", n + 100)))
        .collect();
    let db = open(&records(many, vec![]));
    let lookup = db
        .lookup(&build("25F84"), Some(&build("25G150")), None)
        .unwrap();
    assert_eq!(lookup.pairs[0].id, "P0050");
    assert_eq!(lookup.same_guest.len(), NEIGHBOURS);
    assert!(
        lookup
            .same_guest
            .iter()
            .all(|p| p.id != "P0050" && ("P0046".."P0055").contains(&p.id.as_str())),
        "{lookup:?}"
    );
}

#[test]
fn lists_filter_by_build_version_chip_and_status() {
    let db = open(&sample());
    let ids = |filter: &PairFilter| -> Vec<String> {
        let pairs = db.pairs(filter).unwrap();
        pairs.into_iter().map(|p| p.id).collect()
    };
    let all = PairFilter::default();
    assert_eq!(ids(&all), ["P0004", "P0002", "P0001", "P0003"]);
    let with = |change: fn(&mut PairFilter)| {
        let mut filter = PairFilter::default();
        change(&mut filter);
        ids(&filter)
    };
    assert_eq!(with(|f| f.guest = Some("25f84".into())), ["P0002", "P0001"]);
    assert_eq!(with(|f| f.host = Some("26.6".into())).len(), 4);
    assert_eq!(with(|f| f.host = Some("26".into())).len(), 4);
    assert_eq!(with(|f| f.host = Some("2".into())).len(), 0);
    assert_eq!(with(|f| f.chip = Some("m1 ultra".into())).len(), 4);
    assert_eq!(with(|f| f.chip = Some("M2".into())).len(), 0);
    assert_eq!(with(|f| f.status = Some(Status::Revoked)), ["P0003"]);
}

#[test]
fn show_finds_whatever_an_id_names() {
    let db = open(&sample());
    assert!(matches!(db.show("p0001").unwrap(), Some(Shown::Pair(_))));
    assert!(matches!(db.show("D0001").unwrap(), Some(Shown::Deny(_))));
    assert!(matches!(db.show("mlx").unwrap(), Some(Shown::Client(_))));
    assert!(matches!(db.show("25F84").unwrap(), Some(Shown::Build(_))));
    for missing in ["P9999", "", "25F85", "é", "F01", "' OR 1"] {
        assert_eq!(db.show(missing).unwrap(), None, "{missing}");
    }
}
