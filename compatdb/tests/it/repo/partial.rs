//! Holders who sign one after the other, each on a machine of their own.

use super::rig::{PUBLISHERS, Rig, START, words};

const ONLINE: [&str; 2] = ["snapshot", "timestamp"];

fn sign(rig: &Rig, key: &str) -> super::rig::Said {
    rig.run(&words(&format!("repo sign prepared --yes --key {key}")))
}

#[test]
fn two_roots_and_a_targets_key_sign_apart() {
    let rig = Rig::published();
    rig.key("targets-3");
    let database = rig.database(8);
    let before = rig.files("r");
    let say = format!(
        "rotate-targets r --targets targets-1.pub targets-3.pub --database {database} --prepare prepared"
    );
    rig.repo(&say, &[]).ok();
    assert_eq!(rig.files("r"), before, "the repository stays as it is");
    // Not enough yet: nothing is written.
    let complete = "complete r --from prepared";
    rig.repo(complete, &ONLINE).no(2, "root takes 2 signatures");
    let said = sign(&rig, "root-1").ok();
    assert!(said.stdout.contains("1 added, 1 in all"), "{}", said.stdout);
    assert!(said.stderr.contains("root: 2 of"), "{}", said.stderr);
    sign(&rig, "root-1").no(2, "all have signed");
    // Another machine has nothing but the folder.
    rig.copy("prepared", "stick");
    rig.run(&words("repo sign stick --yes --key root-2")).ok();
    let said = rig
        .run(&words("repo sign stick --yes --key targets-1"))
        .ok();
    assert!(said.stderr.contains("seq 8"), "{}", said.stderr);
    rig.repo("complete r --from stick", &[])
        .no(2, "timestamp takes 1");
    assert_eq!(rig.files("r"), before);
    rig.repo("complete r --from stick", &ONLINE).ok();
    rig.check("r", START).ok();
    // What was prepared once is not taken twice.
    rig.repo("complete r --from stick", &ONLINE)
        .no(2, "the repository has changed since");
}

#[test]
fn a_key_that_is_not_asked_for_does_not_sign() {
    let rig = Rig::published();
    let database = rig.database(8);
    rig.repo(
        &format!("publish r --database {database} --prepare prepared"),
        &[],
    )
    .ok();
    sign(&rig, "root-1").no(2, "none of these keys");
    sign(&rig, "targets-2").ok();
    rig.repo("complete r --from prepared", &ONLINE).ok();
}

#[test]
fn what_was_changed_after_a_signature_is_refused() {
    let rig = Rig::published();
    let database = rig.database(8);
    rig.repo(
        &format!("publish r --database {database} --prepare prepared"),
        &[],
    )
    .ok();
    sign(&rig, "targets-1").ok();
    let path = rig.path("prepared/metadata/3.targets.json");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"seq\": 8"), "{text}");
    std::fs::write(&path, text.replace("\"seq\": 8", "\"seq\": 9")).unwrap();
    rig.repo("complete r --from prepared", &ONLINE)
        .no(2, "targets takes 1 signatures");
    sign(&rig, "targets-1").no(2, "is none; take it out of the file");
    // And a database that is not the one that is listed is not signed for.
    std::fs::write(&path, text).unwrap();
    let targets = rig.path("prepared/targets");
    let file = std::fs::read_dir(targets)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    std::fs::write(&file, "another database").unwrap();
    sign(&rig, "targets-2").no(2, "is not what would be signed");
}

#[test]
fn nothing_to_sign_offline_is_said() {
    let rig = Rig::published();
    rig.repo("timestamp r --prepare prepared", &ONLINE)
        .no(2, "no offline role");
}

#[test]
fn an_archive_that_no_client_reads_is_not_published() {
    let rig = Rig::published();
    let name = "metalshim-1.2.3-x86_64-unknown-linux-gnu.tar.gz";
    let file = std::fs::File::create(rig.path(name)).unwrap();
    file.set_len(64 * 1024 * 1024 + 1).unwrap();
    let say = format!("publish r --archive {name}");
    rig.repo(&say, &PUBLISHERS)
        .no(2, "longer than the 67108864 bytes");
    file.set_len(1024).unwrap();
    let say = format!("publish r --archive {name} --revokes 1.2.2");
    let said = rig.repo(&say, &PUBLISHERS).ok();
    assert!(
        said.stderr.contains("takes back metalshim 1.2.2"),
        "{}",
        said.stderr
    );
    let said = rig.check("r", START).ok();
    let all = said.json();
    let archive = all["targets"]
        .as_array()
        .unwrap()
        .iter()
        .find(|t| t["name"] == name)
        .unwrap();
    assert_eq!(archive["custom"]["revokes"], serde_json::json!(["1.2.2"]));
    let say = format!("publish r --archive {name} --revokes 1.2.3");
    rig.repo(&say, &PUBLISHERS).no(2, "its own version");
}
