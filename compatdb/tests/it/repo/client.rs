//! The reference implementation's client follows whatever the publisher does.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::rig::{PUBLISHERS, REVOKERS, ROOTS, Rig, Said, python, words};

/// One client: what it trusts is kept in a folder of its own.
struct Client<'a> {
    rig: &'a Rig,
    python: &'a Path,
    state: &'static str,
}

impl Client<'_> {
    /// One update from the repository, by the root that it was built with.
    fn update(&self) -> Said {
        std::fs::create_dir_all(self.rig.path(self.state)).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ngclient/follow.py");
        let out = Command::new(self.python)
            .arg(script)
            .args([self.state, "embedded.json", "r"])
            .args(["compatdb.sqlite", "revocations.json"])
            .current_dir(self.rig.path(""))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .output()
            .unwrap();
        Said::of(&out)
    }

    #[track_caller]
    fn sees(&self, root: u64, seq: Value, denies: u64) {
        let seen = self.update().ok().json();
        let custom = |name: &str| seen["targets"][name]["custom"]["seq"].clone();
        assert_eq!(
            (
                &seen["versions"]["root"],
                custom("compatdb.sqlite"),
                custom("revocations.json")
            ),
            (&json!(root), seq, json!(denies)),
            "{seen}"
        );
    }
}

#[test]
fn a_client_follows_every_change_and_a_late_one_catches_up() {
    let Some(python) = python() else { return };
    let now = jiff::Timestamp::now();
    let rig = Rig::with_keys();
    let at = |args: Vec<String>| -> Vec<String> {
        let start = super::rig::START;
        let now = now.to_string();
        args.into_iter()
            .map(|a| if a == start { now.clone() } else { a })
            .collect()
    };
    rig.run(&at(rig.init(&[]))).ok();
    std::fs::copy(
        rig.path("r/metadata/1.root.json"),
        rig.path("embedded.json"),
    )
    .unwrap();
    let repo = |say: &str, keys: &[&str]| rig.repo(&format!("{say} --now {now}"), keys).ok();
    let client = |state| Client {
        rig: &rig,
        python: &python,
        state,
    };
    let (always, late) = (client("always"), client("late"));
    always.sees(1, Value::Null, 1);
    late.sees(1, Value::Null, 1);

    repo(
        &format!("publish r --database {}", rig.database(7)),
        &PUBLISHERS,
    );
    always.sees(1, json!(7), 1);

    // A root key is replaced, signed by two of the old and two of the new.
    rig.key("root-4");
    repo(
        "rotate-root r --root root-1.pub root-2.pub root-4.pub",
        &ROOTS,
    );
    always.sees(2, json!(7), 1);

    // Both online keys are replaced.
    for key in ["snapshot-2", "timestamp-2"] {
        rig.key(key);
    }
    let online = [&ROOTS[..], &["snapshot-2", "timestamp-2"]].concat();
    repo(
        "rotate-root r --snapshot snapshot-2.pub --timestamp timestamp-2.pub",
        &online,
    );
    always.sees(3, json!(7), 1);

    // A targets key is taken back: the other one signs on.
    rig.key("targets-3");
    let signers = ["root-1", "root-4", "targets-2", "snapshot-2", "timestamp-2"];
    repo(
        "rotate-targets r --targets targets-2.pub targets-3.pub",
        &signers,
    );
    always.sees(4, json!(7), 1);

    // A pair is taken back.
    let revokers = ["revoker-2", "snapshot-2", "timestamp-2"];
    let reason = "revoke r --record P0001 --reason broken";
    repo(reason, &revokers);
    always.sees(4, json!(7), 2);

    // The revoker's keys are replaced.
    rig.key("revoker-3");
    let signers = ["targets-3", "revoker-3", "snapshot-2", "timestamp-2"];
    repo(
        "rotate-targets r --revoker revoker-2.pub revoker-3.pub",
        &signers,
    );
    always.sees(4, json!(7), 2);

    let say = format!("publish r --database {}", rig.database(8));
    repo(&say, &["targets-3", "snapshot-2", "timestamp-2"]);
    repo("timestamp r", &["timestamp-2"]);
    always.sees(4, json!(8), 2);
    late.sees(4, json!(8), 2);
    client("new").sees(4, json!(8), 2);
    rig.check("r", &now.to_string()).ok();
}

#[test]
fn a_client_refuses_what_a_thief_signs() {
    let Some(python) = python() else { return };
    let rig = Rig::published();
    std::fs::copy(
        rig.path("r/metadata/1.root.json"),
        rig.path("embedded.json"),
    )
    .unwrap();
    let now = jiff::Timestamp::now().to_string();
    rig.repo(&format!("timestamp r --now {now}"), &["timestamp"])
        .ok();
    let client = Client {
        rig: &rig,
        python: &python,
        state: "c",
    };
    // The snapshot of October has expired by now, or not: renewed, it certainly is valid.
    rig.repo(&format!("revoke r --renew --now {now}"), &REVOKERS)
        .ok();
    client.sees(1, json!(7), 1);
    // Another repository of the same layout, with keys of its own.
    let thief = Rig::published();
    thief
        .repo(&format!("revoke r --renew --now {now}"), &REVOKERS)
        .ok();
    std::fs::remove_dir_all(rig.path("r")).unwrap();
    std::fs::rename(thief.path("r"), rig.path("r")).unwrap();
    client.update().no(1, "signed");
}

#[test]
fn a_signer_elsewhere_signs_and_is_not_believed() {
    let Some(python) = python() else { return };
    let rig = Rig::published();
    let database = rig.database(8);
    let script = "import sys; from cryptography.hazmat.primitives.serialization import load_pem_private_key as load; \
        key = load(open('targets-1.key', 'rb').read(), None); \
        print(key.sign(sys.stdin.buffer.read()).hex())";
    std::fs::write(rig.path("sign.py"), script).unwrap();
    let with = |command: &str| {
        let mut args = words(&format!(
            "repo publish r --database {database} --yes --now {} --key snapshot --key timestamp --signer",
            super::rig::START
        ));
        args.push(format!("targets-1.pub={command}"));
        rig.run(&args)
    };
    let before = rig.files("r");
    with("echo 00ff").no(2, "did not print a signature of targets");
    with("exit 3").no(2, "the signer `exit 3` failed");
    assert_eq!(rig.files("r"), before);
    let sign = format!(
        "test $COMPATDB_ROLE = targets && {} sign.py",
        python.display()
    );
    with(&sign).ok();
    rig.check("r", super::rig::START).ok();
}
