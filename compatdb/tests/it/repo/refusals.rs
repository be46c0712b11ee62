//! What the publisher does not do, whoever asks.

use super::rig::{PUBLISHERS, REVOKERS, ROOTS, Rig, START, words};

#[test]
fn a_seq_never_falls_under_the_same_keys() {
    let rig = Rig::published();
    let before = rig.files("r");
    rig.publish(7, START)
        .no(2, "its seq is 7, and 7 is published");
    rig.publish(6, START).no(2, "build it with --seq 8 or more");
    assert_eq!(rig.files("r"), before);
    rig.publish(8, START).ok();
    rig.check("r", START).ok();

    // Under other keys it may: a thief who published a huge one is undone.
    rig.key("targets-3");
    rig.publish(u64::from(u32::MAX), START).ok();
    let database = rig.database(9);
    let same =
        format!("rotate-targets r --targets targets-2.pub targets-1.pub --database {database}");
    rig.repo(&same, &ROOTS).no(2, "clients never go back");
    let other =
        format!("rotate-targets r --targets targets-2.pub targets-3.pub --database {database}");
    let signers = ["root-1", "root-2", "targets-2", "snapshot", "timestamp"];
    rig.repo(&other, &signers).ok();
    let check = rig.check("r", START).ok().json();
    assert_eq!(check["targets"][0]["custom"]["seq"], 9);
}

#[test]
fn a_database_is_not_of_the_future_and_not_damaged() {
    let rig = Rig::new();
    rig.publish(7, "2026-08-31T00:00:00Z")
        .no(2, "it is 2026-08-31T00:00:00Z now");
    let whole = std::fs::read(rig.path("7.sqlite")).unwrap();
    std::fs::write(rig.path("cut.sqlite"), &whole[..whole.len() - 4096]).unwrap();
    let cut = rig.repo("publish r --database cut.sqlite", &PUBLISHERS);
    cut.no(2, "cut.sqlite");
    rig.repo("publish r --database gone.sqlite", &PUBLISHERS)
        .no(2, "gone.sqlite");
}

#[test]
fn nothing_is_signed_unasked_or_by_too_few() {
    let rig = Rig::published();
    let before = rig.files("r");
    rig.database(8);
    let say = format!(
        "repo publish r --database 8.sqlite --now {START} --key targets-1 --key snapshot --key timestamp"
    );
    rig.run(&words(&say))
        .no(2, "nobody is there to be asked, and nothing was signed");
    let publish = "publish r --database 8.sqlite";
    rig.repo(publish, &["snapshot", "timestamp"])
        .no(2, "targets takes 1 signatures");
    rig.repo(publish, &["revoker-1", "snapshot", "timestamp"])
        .no(2, "targets takes 1");
    let one = ["root-1", "targets-1", "snapshot", "timestamp"];
    rig.repo("rotate-root r", &one)
        .no(2, "root takes 2 signatures");
    let twice = ["root-1", "root-1", "timestamp"];
    rig.repo("rotate-root r", &twice).no(2, "is named twice");
    assert_eq!(rig.files("r"), before);
}

#[test]
fn roles_are_as_the_table_says() {
    let rig = Rig::with_keys();
    for (role, keys, why) in [
        ("root", "root-1.pub root-2.pub", "root: 2 of 2 keys"),
        ("targets", "targets-1.pub", "targets: 1 of 1 keys"),
        ("revoker", "revoker-1.pub", "revoker: 1 of 1 keys"),
        (
            "timestamp",
            "snapshot.pub",
            "belongs to timestamp and to snapshot",
        ),
        ("targets", "targets-1.pub root-1.pub", "a key has one role"),
    ] {
        rig.run(&rig.init(&[(role, keys)])).no(2, why);
    }
    assert!(!rig.path("r").exists());
    rig.run(&rig.init(&[])).ok();
    let before = rig.files("r");
    rig.run(&rig.init(&[]))
        .no(2, "name a folder that is not there yet");
    assert_eq!(rig.files("r"), before);
    rig.repo("rotate-targets r --targets targets-1.pub", &ROOTS)
        .no(2, "targets: 1 of 1");
}

#[test]
fn a_revocation_hits_something_and_can_be_lifted() {
    let rig = Rig::published();
    let shown = rig
        .repo("revoke r --record P0001 --reason broken", &REVOKERS)
        .ok();
    assert!(
        shown.stderr.contains("Deny list 1 to 2"),
        "{}",
        shown.stderr
    );
    assert!(shown.stderr.contains("(P0001): broken"), "{}", shown.stderr);
    rig.repo("revoke r --record P9999 --reason slip", &REVOKERS)
        .no(2, "would deny nothing");
    rig.repo("revoke r --lift P9999", &REVOKERS)
        .no(2, "is not on the deny list");
    rig.repo("revoke r --record P0001", &REVOKERS)
        .no(2, "--reason");
    // A stolen revoker key cannot publish.
    let database = rig.database(8);
    let say = format!("publish r --database {database}");
    rig.repo(&say, &REVOKERS).no(2, "targets takes 1");
    let lifted = rig.repo("revoke r --lift P0001 --json", &REVOKERS).ok();
    assert!(lifted.stderr.contains("Allowed again"), "{}", lifted.stderr);
    assert_eq!(lifted.json()["deny_list"]["seq"], 3);
    rig.check("r", START).ok();
}

#[test]
fn archives_are_named_and_given_once() {
    let rig = Rig::published();
    let name = "metalshim-0.2.0-aarch64-apple-darwin.tar.gz";
    std::fs::write(rig.path(name), "first").unwrap();
    std::fs::write(rig.path("metalshim.tar.gz"), "x").unwrap();
    rig.repo("publish r --archive metalshim.tar.gz", &PUBLISHERS)
        .no(2, "metalshim-VERSION-TRIPLE");
    let say = format!("publish r --archive {name}");
    rig.repo(&say, &PUBLISHERS).ok();
    let check = rig.check("r", START).ok().json();
    assert_eq!(check["targets"][1]["custom"]["version"], "0.2.0");
    std::fs::write(rig.path(name), "second").unwrap();
    rig.repo(&say, &PUBLISHERS).no(2, "a version is given once");
    rig.repo("publish r --remove compatdb.sqlite", &PUBLISHERS)
        .no(2, "no archive");
    rig.repo(&format!("publish r --remove {name}"), &PUBLISHERS)
        .ok();
    assert_eq!(
        rig.check("r", START).ok().json()["targets"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn expiry_is_told_in_time_and_mended_by_signing_again() {
    let rig = Rig::published();
    rig.check("r", "2026-10-08T00:00:00Z").ok();
    let late = "2026-10-20T00:00:00Z";
    rig.check("r", "2026-10-12T00:00:00Z")
        .no(1, "timestamp expires at");
    rig.check("r", late)
        .no(1, "timestamp has expired at 2026-10-15");
    rig.repo(&format!("timestamp r --now {late}"), &["timestamp"])
        .ok();
    rig.check("r", late).ok();
    // With its key at hand a snapshot that is half gone is signed again.
    let said = rig.repo(
        &format!("timestamp r --now {late} --json"),
        &["timestamp", "snapshot"],
    );
    assert_eq!(said.ok().json()["versions"]["snapshot"], 3);
    let winter = "2026-12-27T00:00:00Z";
    rig.check("r", winter)
        .no(1, "revoker expires at 2026-12-30");
    rig.repo(&format!("revoke r --renew --now {winter}"), &REVOKERS)
        .ok();
    rig.check("r", winter).ok();
    let next = "2027-08-31T00:00:00Z";
    rig.check("r", next).no(1, "root expires at 2027-10-01");
    let all = ["root-2", "root-3", "timestamp"];
    rig.repo(&format!("rotate-root r --now {next}"), &all).ok();
    rig.repo(
        &format!("rotate-targets r --now {next}"),
        &["targets-2", "snapshot", "timestamp"],
    )
    .ok();
    rig.repo(&format!("revoke r --renew --now {next}"), &REVOKERS)
        .ok();
    rig.check("r", next).ok();
}
