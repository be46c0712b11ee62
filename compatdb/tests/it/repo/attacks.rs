//! A repository that somebody changed, and one whose publisher was killed.

use serde_json::Value;

use super::rig::{PUBLISHERS, ROOTS, Rig, START};

/// Changes a file of a copy of the repository.
fn edit(rig: &Rig, file: &str, change: impl FnOnce(&mut Value)) {
    let path = rig.path(file);
    let mut value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut value);
    std::fs::write(path, serde_json::to_vec(&value).unwrap()).unwrap();
}

#[test]
fn what_was_changed_is_found_and_never_signed_again() {
    let rig = Rig::published();
    let database = rig.database(8);
    let publish = format!("publish r --database {database}");
    rig.copy("r", "whole");
    let target = rig
        .files("r")
        .into_iter()
        .map(|(path, _)| path)
        .find(|p| p.to_string_lossy().ends_with("compatdb.sqlite"))
        .unwrap();
    let name = format!(
        "r/targets/{}",
        target.file_name().unwrap().to_str().unwrap()
    );
    type Attack<'a> = (&'a str, Box<dyn Fn() + 'a>, &'a str);
    let attacks: Vec<Attack<'_>> = vec![
        (
            "a target more",
            Box::new(|| {
                edit(&rig, "r/metadata/2.targets.json", |v| {
                    v["signed"]["targets"]["evil"] =
                        v["signed"]["targets"]["compatdb.sqlite"].clone();
                });
            }),
            "2.targets.json cannot be trusted",
        ),
        (
            "a later expiry",
            Box::new(|| {
                edit(&rig, "r/metadata/timestamp.json", |v| {
                    v["signed"]["expires"] = "2099-01-01T00:00:00Z".into();
                });
            }),
            "timestamp.json cannot be trusted",
        ),
        (
            "another root",
            Box::new(|| {
                edit(&rig, "r/metadata/1.root.json", |v| {
                    v["signed"]["roles"]["root"]["threshold"] = 1.into();
                });
            }),
            "the trust root cannot be trusted",
        ),
        (
            "a database swapped",
            Box::new(|| {
                let mut bytes = std::fs::read(rig.path(&name)).unwrap();
                let last = bytes.len() - 1;
                bytes[last] ^= 1;
                std::fs::write(rig.path(&name), bytes).unwrap();
            }),
            "is not what was signed",
        ),
        (
            "endless metadata",
            Box::new(|| {
                std::fs::write(
                    rig.path("r/metadata/timestamp.json"),
                    vec![b' '; 16 * 1024 + 1],
                )
                .unwrap()
            }),
            "more than the 16384 bytes",
        ),
        (
            "a snapshot gone",
            Box::new(|| std::fs::remove_file(rig.path("r/metadata/2.snapshot.json")).unwrap()),
            "2.snapshot.json is missing",
        ),
    ];
    for (what, attack, words) in attacks {
        std::fs::remove_dir_all(rig.path("r")).unwrap();
        rig.copy("whole", "r");
        attack();
        let before = rig.files("r");
        rig.check("r", START).no(1, words);
        rig.repo(&publish, &PUBLISHERS).no(2, words);
        assert_eq!(rig.files("r"), before, "{what}");
    }
    // All of it replaced, with keys of somebody else: what the maintainer keeps apart decides.
    std::fs::copy(
        rig.path("whole/metadata/1.root.json"),
        rig.path("mine.json"),
    )
    .unwrap();
    let thief = Rig::published();
    std::fs::remove_dir_all(rig.path("r")).unwrap();
    std::fs::rename(thief.path("r"), rig.path("r")).unwrap();
    let say = format!("{publish} --trust-root mine.json");
    rig.repo(&say, &PUBLISHERS).no(2, "cannot be trusted");
}

/// A client may come, or the publisher be killed, between any two writes.
#[test]
fn every_prefix_of_the_writes_is_a_whole_repository() {
    let rig = Rig::published();
    for key in ["targets-3", "snapshot-2", "timestamp-2", "root-4"] {
        rig.key(key);
    }
    let database = rig.database(8);
    let changes = [
        (format!("publish r --database {database}"), PUBLISHERS.to_vec()),
        (
            "rotate-root r --root root-1.pub root-2.pub root-4.pub --snapshot snapshot-2.pub --timestamp timestamp-2.pub".to_owned(),
            [&ROOTS[..], &["snapshot-2", "timestamp-2"]].concat(),
        ),
        (
            "rotate-targets r --targets targets-1.pub targets-3.pub".to_owned(),
            vec!["root-1", "root-4", "targets-1", "snapshot-2", "timestamp-2"],
        ),
    ];
    for (change, keys) in changes {
        std::fs::remove_dir_all(rig.path("before")).ok();
        rig.copy("r", "before");
        let said = rig.repo(&format!("{change} --json"), &keys).ok().json();
        assert_eq!(said["gap"], false, "{change}");
        let wrote: Vec<String> = serde_json::from_value(said["wrote"].clone()).unwrap();
        assert!(wrote.len() >= 3, "{wrote:?}");
        for name in wrote {
            rig.check("before", START).ok();
            std::fs::copy(rig.path("r").join(&name), rig.path("before").join(&name)).unwrap();
        }
        rig.check("before", START).ok();
        assert_eq!(rig.files("before").len(), rig.files("r").len(), "{change}");
    }
}

/// What an interrupted run left behind is not overwritten: somebody may have seen it.
#[test]
fn a_run_after_an_interrupted_one_takes_new_numbers() {
    let rig = Rig::published();
    rig.copy("r", "after");
    let database = rig.database(8);
    let say = format!("publish after --database {database} --json");
    let said = rig.repo(&say, &PUBLISHERS).ok().json();
    let wrote: Vec<String> = serde_json::from_value(said["wrote"].clone()).unwrap();
    // All but the timestamp.
    let (last, first) = wrote.split_last().unwrap();
    assert_eq!(last, "metadata/timestamp.json");
    for name in first {
        std::fs::copy(rig.path("after").join(name), rig.path("r").join(name)).unwrap();
    }
    let left = std::fs::read(rig.path("r/metadata/3.targets.json")).unwrap();
    rig.publish(9, "2026-10-02T00:00:00Z").ok();
    assert_eq!(
        std::fs::read(rig.path("r/metadata/3.targets.json")).unwrap(),
        left
    );
    assert!(rig.path("r/metadata/4.targets.json").exists());
    rig.check("r", "2026-10-02T00:00:00Z").ok();
}

/// Without any old key at hand there is a moment in which clients fail: it is told.
#[test]
fn a_rotation_without_the_old_keys_says_so() {
    let rig = Rig::published();
    rig.key("timestamp-2");
    let keys = ["root-1", "root-2", "timestamp-2"];
    let said = rig
        .repo("rotate-root r --timestamp timestamp-2.pub", &keys)
        .ok();
    assert!(
        said.stdout.contains("the old keys were not at hand"),
        "{}",
        said.stdout
    );
    rig.check("r", START).ok();
}

#[test]
fn two_publishers_never_work_at_once() {
    let rig = Rig::published();
    let held = std::fs::File::open(rig.path("r")).unwrap();
    held.lock().unwrap();
    rig.publish(8, START)
        .no(2, "another compatdb is changing this repository");
    drop(held);
    rig.publish(8, START).ok();
}
