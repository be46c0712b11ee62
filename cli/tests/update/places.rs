//! Where updates come from, where they go, and who else is there.

use std::path::Path;
use std::process::Stdio;

use crate::machine::{User, build_text, python};
use crate::server::{Manner, Server};

const TWO: &str = "r = Repository(databases)\nr.database(2)\nr.revoke(1)\nr.publish('first')\n\
                   r.database(3)\nr.publish('second')\n";

fn user(made: &Path) -> User {
    User::new(&made.join("first/metadata/1.root.json"))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_folder_a_file_address_and_a_tar_file() {
    let Some(made) = build_text(TWO) else { return };
    let first = made.path().join("first");
    let tar = made.path().join("first.tar");
    let packed = std::process::Command::new("tar")
        .args(["-cf", text(&tar), "-C", text(made.path()), "first"])
        .status()
        .unwrap();
    assert!(packed.success());
    for place in [
        text(&first).to_owned(),
        format!("file://{}", text(&first)),
        text(&tar).to_owned(),
    ] {
        let user = user(made.path());
        let ended = user.types(&["update", "--offline", "--from", &place]);
        assert_eq!(ended.code, 0, "{place}: {}", ended.err);
        assert_eq!(user.in_use(), (true, 2), "{place}");
    }
    let user = user(made.path());
    let ended = user.types(&["db", "import", text(&tar)]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(user.in_use(), (true, 2));
}

#[test]
fn an_idle_check_is_two_requests_and_under_2_kb() {
    let Some(made) = build_text(TWO) else { return };
    let user = user(made.path());
    let server = Server::start(&made.path().join("first"), Manner::Plain);
    assert_eq!(user.types(&["update", "--from", &server.url()]).code, 0);
    let _ = server.count();
    let ended = user.types(&["update", "--from", &server.url()]);
    assert!(ended.out.starts_with("up to date"), "{}", ended.out);
    let (requests, bytes) = server.count();
    assert_eq!(requests, 2);
    assert!(bytes < 2048, "{bytes}");
}

#[test]
fn check_writes_nothing_and_says_1() {
    let Some(made) = build_text(TWO) else { return };
    let user = user(made.path());
    let ended = user.types(&[
        "update",
        "--check",
        "--from",
        text(&made.path().join("first")),
    ]);
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert!(!user.state().join("updates").exists());
    assert_eq!(user.in_use(), (false, 1));
}

#[test]
fn a_mirror_serves_a_fleet_and_never_goes_back() {
    let Some(made) = build_text(TWO) else { return };
    let mirror = made.path().join("mirror");
    let user = user(made.path());
    for (from, seq) in [("first", 2), ("second", 3)] {
        let ended = user.types(&[
            "db",
            "mirror",
            text(&mirror),
            "--from",
            text(&made.path().join(from)),
        ]);
        assert_eq!(ended.code, 0, "{}", ended.err);
        let server = Server::start(&mirror, Manner::Plain);
        let ended = user.types(&["update", "--from", &server.url()]);
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert_eq!(user.in_use(), (true, seq));
    }
    let fresh = crate::places::user(made.path());
    let ended = fresh.types(&[
        "db",
        "mirror",
        text(&mirror),
        "--from",
        text(&made.path().join("first")),
    ]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.err.contains("older than what is known"),
        "{}",
        ended.err
    );
    // The reference client takes the mirror for a repository, too.
    let script = "import sys, tempfile, os, shutil\n\
        from tuf.ngclient import Updater, FetcherInterface\n\
        class Local(FetcherInterface):\n\
        \x20   def _fetch(self, url):\n\
        \x20       from tuf.api.exceptions import DownloadHTTPError\n\
        \x20       path = url[len('local:'):]\n\
        \x20       if not os.path.exists(path): raise DownloadHTTPError('missing', 404)\n\
        \x20       return iter([open(path, 'rb').read()])\n\
        mirror, out = sys.argv[1:]\n\
        root = open(mirror + '/metadata/1.root.json', 'rb').read()\n\
        u = Updater(out, 'local:' + mirror + '/metadata/', out, 'local:' + mirror + '/targets/', fetcher=Local(), bootstrap=root)\n\
        u.refresh()\n\
        for name in ('compatdb.sqlite', 'revocations.json'):\n\
        \x20   u.download_target(u.get_targetinfo(name))\n";
    let out = made.path().join("reference");
    std::fs::create_dir(&out).unwrap();
    let output = std::process::Command::new(python().unwrap())
        .args(["-c", script, text(&mirror), text(&out)])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn rollback_to_the_one_before_and_forward() {
    let Some(made) = build_text(TWO) else { return };
    let user = user(made.path());
    let ended = user.types(&["db", "rollback"]);
    assert_eq!(ended.code, 2);
    for name in ["first", "second"] {
        assert_eq!(
            user.types(&["db", "import", text(&made.path().join(name))])
                .code,
            0
        );
    }
    assert_eq!(user.types(&["db", "rollback"]).code, 0);
    assert_eq!(user.in_use(), (true, 2));
    // Held back: not taken again by itself.
    let ended = user.types(&["db", "import", text(&made.path().join("second"))]);
    assert!(ended.out.contains("was rolled back here"), "{}", ended.out);
    assert_eq!(user.in_use(), (true, 2));
    assert_eq!(user.types(&["db", "rollback"]).code, 0);
    assert_eq!(user.in_use(), (true, 3));
    let history = user.types(&["db", "history", "--json"]);
    let history: serde_json::Value = serde_json::from_str(&history.out).unwrap();
    assert_eq!(history["events"].as_array().unwrap().len(), 4, "{history}");
}

#[test]
fn rollback_below_rotated_keys_is_refused() {
    let Some(made) = build_text(
        "r = Repository(databases)\nr.database(2)\nr.revoke(1)\nr.publish('first')\n\
         r.rotate('targets')\nr.database(3)\nr.publish('second')\n",
    ) else {
        return;
    };
    let user = user(made.path());
    for name in ["first", "second"] {
        assert_eq!(
            user.types(&["db", "import", text(&made.path().join(name))])
                .code,
            0
        );
    }
    let ended = user.types(&["db", "rollback"]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("were taken back"), "{}", ended.err);
    assert_eq!(user.in_use(), (true, 3));
}

#[test]
fn a_development_build_says_what_it_lacks_and_remembers_the_flag() {
    let Some(made) = build_text(TWO) else { return };
    let user = user(made.path());
    for folder in [".config", "Library/Application Support"] {
        std::fs::remove_dir_all(user.home.path().join(folder)).unwrap();
    }
    let first = made.path().join("first");
    let ended = user.types(&["update", "--from", text(&first)]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("--trust-root"), "{}", ended.err);
    let root = first.join("metadata/1.root.json");
    let ended = user.types(&[
        "update",
        "--from",
        text(&first),
        "--trust-root",
        text(&root),
    ]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(user.in_use(), (true, 2));
    for command in [
        &["status"][..],
        &["doctor", "--check", "database"],
        &["db", "info"],
    ] {
        let ended = user.types(command);
        assert!(
            ended.out.contains("named by an earlier --trust-root"),
            "{}",
            ended.out
        );
    }
}

#[test]
fn twenty_updaters_at_once() {
    let Some(made) = build_text(TWO) else { return };
    let user = user(made.path());
    let server = Server::start(&made.path().join("second"), Manner::Plain);
    let start = || {
        let mut command = user.command(None).unwrap();
        command.args(["update", "--from", &server.url()]);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let all: Vec<_> = (0..20).map(|_| start()).collect();
    for child in all {
        let ended = child.wait_with_output().unwrap();
        assert!(
            ended.status.success(),
            "{}",
            String::from_utf8_lossy(&ended.stderr)
        );
    }
    assert_eq!(user.in_use(), (true, 3));
    // One of them took it in; the others found it there.
    let history = user.types(&["db", "history", "--json"]);
    let history: serde_json::Value = serde_json::from_str(&history.out).unwrap();
    assert_eq!(history["events"].as_array().unwrap().len(), 1, "{history}");
}

#[test]
fn an_unwritable_state_folder_is_named_and_the_last_good_database_stays() {
    let Some(made) = build_text(TWO) else { return };
    let user = user(made.path());
    assert_eq!(
        user.types(&["db", "import", text(&made.path().join("first"))])
            .code,
        0
    );
    // Root may write anywhere: a file where a folder has to be stops root, too.
    let folder = user.updates();
    let aside = folder.with_extension("aside");
    std::fs::rename(folder.join("db"), &aside).unwrap();
    std::fs::write(folder.join("db"), "").unwrap();
    let ended = user.types(&["db", "import", text(&made.path().join("second"))]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.err.contains("state folder cannot be written"),
        "{}",
        ended.err
    );
    assert!(ended.err.contains(text(&folder)), "{}", ended.err);
    std::fs::remove_file(folder.join("db")).unwrap();
    std::fs::rename(&aside, folder.join("db")).unwrap();
    assert_eq!(user.in_use(), (true, 2));
}

/// A file system of its own, a few pages larger than one database; needs root on Linux.
#[test]
fn a_full_disk_is_told_and_the_last_good_database_stays() {
    let Some(made) = build_text(TWO) else { return };
    let user = user(made.path());
    std::fs::create_dir(user.state()).unwrap();
    let mounted = std::process::Command::new("mount")
        .args([
            "-t",
            "tmpfs",
            "-o",
            "size=320k,mode=700",
            "tmpfs",
            text(&user.state()),
        ])
        .output();
    if !mounted.is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: no tmpfs can be mounted here");
        return;
    }
    let first = user.types(&["db", "import", text(&made.path().join("first"))]);
    let second = user.types(&["db", "import", text(&made.path().join("second"))]);
    let in_use = user.in_use();
    let unmounted = std::process::Command::new("umount")
        .arg(user.state())
        .status()
        .unwrap();
    assert!(unmounted.success());
    assert_eq!(first.code, 0, "{}", first.err);
    assert_eq!(second.code, 2, "{}", second.out);
    assert!(second.err.contains("the disk is full"), "{}", second.err);
    assert_eq!(in_use, (true, 2));
}

#[test]
fn nobody_there_is_told_as_such() {
    let Some(made) = build_text(TWO) else { return };
    let user = user(made.path());
    let ended = user.types(&["update", "--from", "http://127.0.0.1:9"]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("cannot be reached"), "{}", ended.err);
    assert!(ended.err.contains("nothing is lost"), "{}", ended.err);
    let ended = user.types(&["update", "--offline", "--from", "http://127.0.0.1:9"]);
    assert_eq!(ended.code, 2);
    let ended = user.types(&["update"]);
    assert!(ended.err.contains("METALSHIM_REPOSITORY"), "{}", ended.err);
}
