//! The conformance suite's interface, as the suite uses it.

use std::path::Path;
use std::process::Command;

use crate::machine::{Ended, build_text};
use crate::server::{Manner, Server};

fn client(metadata: &Path, arguments: &[&str]) -> Ended {
    let output = Command::new(env!("CARGO_BIN_EXE_metalshim"))
        .env_clear()
        .args(["tuf-client", "--metadata-dir"])
        .arg(metadata)
        .args(arguments)
        .output()
        .unwrap();
    output.into()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn init_refresh_and_download() {
    let Some(made) = build_text(
        "r = Repository(databases)\nr.database(2)\nr.revoke(1)\nr.publish('first')\n\
         r.rotate('root')\nr.database(3)\nr.publish('second')\n",
    ) else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let (metadata, targets) = (home.path().join("metadata"), home.path().join("targets"));
    std::fs::create_dir(&metadata).unwrap();
    std::fs::create_dir(&targets).unwrap();
    let first = made.path().join("first");
    let root = first.join("metadata/1.root.json");
    assert_eq!(client(&metadata, &["init", root.to_str().unwrap()]).code, 0);
    assert_eq!(names(&metadata), ["root.json"]);

    let server = Server::start(&first, Manner::Plain);
    let url = format!("{}/metadata", server.url());
    let ended = client(&metadata, &["--metadata-url", &url, "refresh"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(
        names(&metadata),
        [
            "root.json",
            "snapshot.json",
            "targets.json",
            "timestamp.json"
        ]
    );
    let same = |name: &str, served: &Path| {
        assert_eq!(
            std::fs::read(metadata.join(name)).unwrap(),
            std::fs::read(served).unwrap(),
            "{name}"
        );
    };
    same("timestamp.json", &first.join("metadata/timestamp.json"));
    same("targets.json", &first.join("metadata/1.targets.json"));

    let second = made.path().join("second");
    let server = Server::start(&second, Manner::Plain);
    let (url, base) = (
        format!("{}/metadata/", server.url()),
        format!("{}/targets/", server.url()),
    );
    let download = [
        "--metadata-url",
        &url,
        "--target-base-url",
        &base,
        "--target-dir",
        targets.to_str().unwrap(),
        "--target-name",
        "compatdb.sqlite",
        "--target-name",
        "revocations.json",
        "download",
    ];
    let ended = client(&metadata, &download);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(names(&targets), ["compatdb.sqlite", "revocations.json"]);
    same("root.json", &second.join("metadata/2.root.json"));
    same("revoker.json", &second.join("metadata/2.revoker.json"));
    // What is cached is not fetched again: root, timestamp, and the delegated role.
    let _ = server.count();
    assert_eq!(client(&metadata, &download).code, 0);
    assert_eq!(server.count().0, 3);

    // Back to the older repository: refused, and what is trusted stays.
    let server = Server::start(&first, Manner::Plain);
    let url = format!("{}/metadata", server.url());
    let ended = client(&metadata, &["--metadata-url", &url, "refresh"]);
    assert_eq!(ended.code, 1, "{}", ended.err);
    same("timestamp.json", &second.join("metadata/timestamp.json"));
}
