//! Key files.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use super::rig::{Rig, START, Said, words};

/// `compatdb` with a passphrase on a pipe.
fn with_passphrase(rig: &Rig, say: &str, passphrase: &str) -> Said {
    let out = Command::new("sh")
        .args([
            "-c",
            "exec \"$@\" --passphrase-file /dev/fd/3 3<<END\n$P\nEND\n",
            "sh",
        ])
        .arg(env!("CARGO_BIN_EXE_compatdb"))
        .args(words(say))
        .env("P", passphrase)
        .current_dir(rig.path(""))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Said::of(&out)
}

#[test]
fn a_private_key_is_encrypted_for_its_owner_and_opened_by_its_passphrase_only() {
    let rig = Rig::with_keys();
    let good = "six random words in a row";
    with_passphrase(&rig, "keys new offline", good).ok();
    let key = rig.path("offline.key");
    assert_eq!(
        std::fs::metadata(&key).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let text = std::fs::read_to_string(&key).unwrap();
    assert!(
        text.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----"),
        "{text}"
    );
    with_passphrase(&rig, "keys new offline", good).no(2, "is there already");
    assert_eq!(std::fs::read_to_string(&key).unwrap(), text);
    with_passphrase(&rig, "keys new weak", "short").no(2, "at least 12 characters");
    assert!(!rig.path("weak.key").exists());

    let mut init = rig.init(&[("targets", "offline.pub targets-1.pub")]);
    for arg in &mut init {
        if arg == "targets-1" {
            *arg = "offline".to_owned();
        }
    }
    let init = init.join(" ");
    with_passphrase(&rig, &init, "six other words in a row")
        .no(2, "this passphrase does not open it");
    assert!(!rig.path("r").exists());
    // Nobody to ask, and no passphrase given.
    let said = rig.run(&words(&init));
    assert_eq!(said.code, 2, "{}", said.stderr);
    with_passphrase(&rig, &init, good).ok();
    rig.check("r", START).ok();
}

#[test]
fn openssl_opens_a_key_without_this_program() {
    let rig = Rig::with_keys();
    with_passphrase(&rig, "keys new offline", "six random words in a row").ok();
    let out = Command::new("openssl")
        .args([
            "pkey",
            "-in",
            "offline.key",
            "-passin",
            "pass:six random words in a row",
        ])
        .args(["-pubout", "-outform", "DER"])
        .current_dir(rig.path(""))
        .output();
    let Ok(out) = out else {
        #[allow(clippy::print_stderr)]
        {
            eprintln!("skipped: there is no openssl");
        }
        return;
    };
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    let public: serde_json::Value =
        serde_json::from_slice(&std::fs::read(rig.path("offline.pub")).unwrap()).unwrap();
    let raw: String = out.stdout[12..]
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    assert_eq!(public["keyval"]["public"], raw.as_str());
}

#[test]
fn a_private_key_is_never_made_inside_a_checkout() {
    let rig = Rig::with_keys();
    std::fs::create_dir_all(rig.path("tree/.git")).unwrap();
    std::fs::create_dir_all(rig.path("tree/deep")).unwrap();
    rig.run(&words("keys new tree/deep/k --online"))
        .no(2, "is inside the git checkout");
    assert!(!rig.path("tree/deep/k.key").exists());
}

#[test]
fn a_key_file_belongs_to_its_public_file() {
    let rig = Rig::new();
    std::fs::copy(rig.path("targets-2.key"), rig.path("targets-1.key")).unwrap();
    let database = rig.database(7);
    let say = format!("publish r --database {database}");
    rig.repo(&say, &super::rig::PUBLISHERS)
        .no(2, "it is not the key of the .pub file beside it");
}
