//! `host`: what a Mac tells its guests, and what a guest makes of it.

use std::fs;
use std::time::{Duration, Instant};

use metalshim_guest::FactsFile;
use serde_json::Value;

use crate::{METALSHIM, User, snapshot};

const FILE: &str = "shared/metalshim-host.json";

fn written(user: &User) -> Value {
    serde_json::from_str(&user.read(FILE)).unwrap()
}

#[test]
fn status_says_what_this_host_is() {
    let host = User::on_host();
    snapshot("host-status", &host, &host.types("host status"));
    let json = host
        .types("host status --json")
        .json("metalshim.host-status/1");
    assert_eq!(json["build"], "25G76");
    assert_eq!(json["apple_family"], 1007);
    assert_eq!(json["preference"]["is"], "absent");
}

#[test]
fn in_a_virtual_machine_it_attests_nothing() {
    let guest = User::on_host().with("VM", "1");
    guest.folder("shared");
    let status = guest.types("host status");
    assert_eq!(status.code, 1);
    assert!(
        status.out.contains("itself a virtual machine"),
        "{}",
        status.out
    );
    for line in ["host attest shared", "host preference enable"] {
        let ended = guest.types(line);
        assert_eq!(ended.code, 2, "{}", ended.out);
        assert!(ended.err.contains("is a virtual machine"), "{}", ended.err);
    }
    assert_eq!(guest.read(FILE), "");
}

#[test]
fn elsewhere_than_on_a_mac_it_says_how_to_do_it_by_hand() {
    let user = User::new();
    let ended = user.types("host status");
    assert_eq!(ended.code, 2);
    snapshot("host-not-a-mac", &user, &ended);
}

#[test]
fn attest_writes_what_a_guest_reads() {
    let host = User::on_host();
    let shared = host.folder("shared");
    let json = host
        .types("host attest shared --json")
        .json("metalshim.host-attest/1");
    let file = written(&host);
    assert_eq!(file["schema"], "metalshim.host-attestation/1");
    for (key, value) in [
        ("build", "25G76"),
        ("version", "26.6.1"),
        ("model", "Mac13,2"),
        ("chip", "Apple M1 Ultra"),
        ("boot_session", "0B1D5C3A-0000-4000-8000-000000000001"),
        ("metalshim", env!("CARGO_PKG_VERSION")),
    ] {
        assert_eq!(file[key], value, "{file}");
    }
    assert_eq!(file["apple_family"], 1007);
    assert_eq!(file["feature_level_preference"], false);
    assert!(file["seq"].as_u64().is_some(), "{file}");
    assert_eq!(json["attestation"]["written_at"], file["written_at"]);
    assert_eq!(
        fs::read_dir(&shared).unwrap().count(),
        1,
        "a temporary file stayed"
    );

    // The same moment, for the guest: its clock is not that of the facts file.
    let now = file["written_at"].as_str().unwrap();
    let facts = FactsFile::sample()
        .without("host")
        .at(now)
        .with("share.folder", host.home.path().to_str().unwrap());
    let guest = User::on(facts);
    assert_eq!(guest.types("run -- TOY").code, 125);
    assert_eq!(guest.types("enable").code, 0);
    let status = guest.types("status --json").json("metalshim.status/1");
    assert_eq!(status["host"]["source"], "attested");
    assert_eq!(status["host"]["chip"], "Apple M1 Ultra");
    assert_eq!(guest.types("run -- TOY").printed("apple_family"), "1009");
}

#[test]
fn what_is_no_folder_is_an_error_that_names_it() {
    let host = User::on_host();
    let ended = host.types("host attest nowhere");
    assert_eq!(ended.code, 2);
    assert!(
        ended.err.contains("nowhere is not a folder"),
        "{}",
        ended.err
    );
}

#[test]
fn watched_it_is_written_again_and_a_removed_one_comes_back() {
    let host = User::on_host();
    host.folder("shared");
    let mut command = host.command(METALSHIM);
    command.args(["host", "attest", "shared", "--watch", "--every", "1"]);
    let mut watching = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    let wait = |what: &dyn Fn() -> bool| {
        while !what() {
            assert!(Instant::now() < until, "{}", host.read(FILE));
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait(&|| !host.read(FILE).is_empty());
    let first = written(&host)["written_at"].clone();
    wait(&|| written(&host)["written_at"] != first);
    fs::remove_file(host.home.path().join(FILE)).unwrap();
    wait(&|| !host.read(FILE).is_empty());
    watching.kill().unwrap();
    watching.wait().unwrap();
}

#[test]
fn a_launch_agent_keeps_it_true_and_agent_remove_ends_it() {
    let host = User::on_host();
    let shared = host.folder("shared");
    let ended = host.types("host attest shared --agent");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let status = host.types("host status").out;
    assert!(
        status.contains(&format!("attests into {}", shared.display())),
        "{status}"
    );
    let plist = host.read("Library/LaunchAgents/metalshim.host-attest.plist");
    assert!(plist.contains("<string>--watch</string>"), "{plist}");
    assert!(host.read("launchctl.log").contains("bootstrap gui/"));
    let listed = host.types("agent list").out;
    assert!(
        listed.contains("metalshim.host-attest: host attest"),
        "{listed}"
    );
    assert_eq!(host.types("agent remove metalshim.host-attest").code, 0);
    assert!(host.types("host status").out.contains("attests nowhere"));
}

#[test]
fn the_help_and_the_page_say_the_same_of_the_preference() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let known = words(metalshim_cli::host::preference::KNOWN);
    let help = words(&User::new().types("host preference --help").out);
    assert!(help.contains(&known), "{help}");
    assert!(words(include_str!("../../../docs/hosts.md")).contains(&known));
}

#[test]
fn the_preference_is_put_back_as_it_was() {
    let host = User::on_host();
    for before in ["", "boolean 0\n", "integer 0\n"] {
        if !before.is_empty() {
            host.file("defaults", before);
        }
        let set = host.types("host preference enable --json");
        assert_eq!(set.json("metalshim.host-preference/1")["did"], "set");
        assert_eq!(host.read("defaults"), "boolean 1\n");
        let again = host.types("host preference enable --json");
        assert_eq!(
            again.json("metalshim.host-preference/1")["did"],
            "already-ours"
        );
        let back = host.types("host preference disable --json");
        assert_eq!(back.json("metalshim.host-preference/1")["did"], "restored");
        assert_eq!(host.read("defaults"), before);
        let _ = fs::remove_file(host.home.path().join("defaults"));
    }
    snapshot(
        "host-preference",
        &host,
        &host.types("host preference enable"),
    );
}

#[test]
fn a_preference_of_somebody_else_is_left_alone() {
    let host = User::on_host();
    host.file("defaults", "boolean 1\n");
    let set = host.types("host preference enable --json");
    assert_eq!(
        set.json("metalshim.host-preference/1")["did"],
        "already-theirs"
    );
    let back = host.types("host preference disable");
    assert!(back.out.contains("not by metalshim"), "{}", back.out);
    assert_eq!(host.read("defaults"), "boolean 1\n");
    // Changed by hand after metalshim set it: that is what counts.
    fs::remove_file(host.home.path().join("defaults")).unwrap();
    host.types("host preference enable");
    host.file("defaults", "boolean 0\n");
    let back = host.types("host preference disable --json");
    assert_eq!(
        back.json("metalshim.host-preference/1")["did"],
        "changed-since"
    );
    assert_eq!(host.read("defaults"), "boolean 0\n");
}

#[test]
fn a_value_set_by_hand_between_two_enables_was_lost() {
    let host = User::on_host();
    host.types("host preference enable");
    host.file("defaults", "integer 0\n");
    host.types("host preference enable");
    assert_eq!(host.read("defaults"), "boolean 1\n");
    host.types("host preference disable");
    assert_eq!(host.read("defaults"), "integer 0\n");
}

#[test]
fn a_kind_that_cannot_be_put_back_is_not_replaced() {
    let host = User::on_host();
    host.file("defaults", "dictionary {}\n");
    let ended = host.types("host preference enable");
    assert_eq!(ended.code, 2, "{}", ended.out);
    assert_eq!(host.read("defaults"), "dictionary {}\n");
}

/// A guest whose only knowledge of its host is the share in `user`'s home.
fn guest(share: &User) -> FactsFile {
    FactsFile::sample()
        .without("host")
        .with("share.folder", share.home.path().to_str().unwrap())
}

#[test]
fn by_hand_is_enough_and_a_database_behind_the_hosts_is_said() {
    let host = User::new();
    host.file(
        FILE,
        r#"{"build":"25G76","written_at":"2026-11-30T23:00:00Z"}"#,
    );
    let user = User::on(guest(&host));
    let ended = user.types("enable");
    assert_eq!(ended.code, 0, "{}", ended.out);
    host.file(
        FILE,
        r#"{"build":"25G76","written_at":"2026-11-30T23:00:00Z","seq":4000000000}"#,
    );
    let ended = user.types("enable");
    assert!(ended.out.contains("ahead of this guest's"), "{}", ended.out);
    assert!(ended.out.contains("metalshim update"), "{}", ended.out);
}

#[test]
fn an_image_takes_nothing_of_its_host_from_another_boot() {
    let host = User::new();
    host.file(
        FILE,
        r#"{"build":"25G76","written_at":"2026-11-30T23:00:00Z"}"#,
    );
    let facts = || guest(&host).at("2026-12-01T00:00:00Z");
    let user = User::on(facts());
    assert_eq!(user.types("enable --image --host-build 25G76").code, 2);
    assert_eq!(user.types("enable --image").code, 0);
    assert_eq!(user.types("run -- TOY").code, 0);
    // A clone, on another host, minutes later.
    let other = "0B1D5C3A-0000-4000-8000-00000000000B";
    let clone = facts()
        .with("guest.boot_session", other)
        .with("share.folder", "/no/such/folder");
    let user = user.moves_to(clone);
    assert_eq!(user.types("run -- TOY").code, 125);
    let status = user.types("status").out;
    assert!(status.contains("another boot of this image"), "{status}");
    // An installation that is no image says that it may be out of date, and goes on.
    let user = user.moves_to(facts());
    assert_eq!(user.types("disable").code, 0);
    assert_eq!(user.types("enable").code, 0);
    let user = user.moves_to(facts().with("guest.boot_session", other));
    assert_eq!(user.types("run -- TOY").code, 0);
    assert!(user.types("status").out.contains("too old to count"));
}

#[test]
fn an_image_can_be_enabled_while_its_host_is_not_known() {
    let user = User::on(FactsFile::sample().without("host"));
    assert_eq!(user.types("enable").code, 1);
    let ended = user.types("enable --image");
    assert_eq!(ended.code, 0, "{}", ended.out);
    snapshot("enable-image", &user, &ended);
    assert_eq!(user.types("run -- TOY").code, 125);
}
