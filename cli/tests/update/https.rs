//! Over HTTPS, from an authority that only some machines trust, and what a server says of the time.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::machine::{Ended, User, build_text, python};

const ONE: &str = "r = Repository(databases)\nr.database(2)\nr.revoke(1)\nr.publish('first')\n";

/// A server as the world has them: it sends `Date`, and speaks TLS unless told not to.
struct Served {
    child: Child,
    port: String,
    certificates: TempDir,
}

impl Served {
    fn start(folder: &Path, arguments: &[&str]) -> Option<Self> {
        let certificates = tempfile::tempdir().unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/update/https.py");
        let mut child = Command::new(python()?)
            .arg(script)
            .args([folder, certificates.path()])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut port).unwrap();
        Some(Self {
            child,
            port: port.trim().to_owned(),
            certificates,
        })
    }

    fn authority(&self) -> PathBuf {
        self.certificates.path().join("authority.pem")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Its input ends with it; this is for the case that it hangs.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn update(user: &User, clock: Option<&str>, from: &str, trusted: Option<&Path>) -> Option<Ended> {
    let mut command = user.command(clock)?;
    command.args(["update", "--database-only", "--from", from]);
    if let Some(authority) = trusted {
        command.env("SSL_CERT_FILE", authority);
    }
    Some(command.output().unwrap().into())
}

/// On a Mac the keychain says whom to trust, and no variable.
#[cfg(not(target_os = "macos"))]
#[test]
fn an_authority_of_the_fleet_is_trusted_where_the_system_is_told_to() {
    let Some(made) = build_text(ONE) else { return };
    let first = made.path().join("first");
    let Some(served) = Served::start(&first, &[]) else {
        return;
    };
    let from = format!("https://127.0.0.1:{}", served.port);
    let user = User::new(&first.join("metadata/1.root.json"));
    let ended = update(&user, None, &from, None).unwrap();
    assert_eq!(ended.code, 2, "{}", ended.out);
    assert!(ended.err.contains("ertificate"), "{}", ended.err);
    assert!(ended.err.contains("SSL_CERT_FILE"), "{}", ended.err);
    assert_eq!(user.in_use(), (false, 1));

    let authority = served.authority();
    let ended = update(&user, None, &from, Some(&authority)).unwrap();
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(user.in_use(), (true, 2));

    // By a clock that is a year ahead the certificate has ended: that comes before any signature.
    let Some(ended) = update(&user, Some("+365d"), &from, Some(&authority)) else {
        return;
    };
    assert_eq!(ended.code, 2, "{}", ended.out);
    assert!(ended.err.contains("ertificate"), "{}", ended.err);
    assert!(ended.err.contains("clock"), "{}", ended.err);
    assert_eq!(user.in_use(), (true, 2));
}

#[test]
fn a_wrong_clock_is_told_by_what_the_server_says() {
    let Some(made) = build_text(ONE) else { return };
    let first = made.path().join("first");
    let Some(served) = Served::start(&first, &["plain"]) else {
        return;
    };
    let from = format!("http://127.0.0.1:{}", served.port);
    let user = User::new(&first.join("metadata/1.root.json"));
    let Some(ended) = update(&user, Some("+20d"), &from, None) else {
        return;
    };
    assert_eq!(ended.code, 2, "{}", ended.out);
    assert!(
        ended.err.contains("this machine's clock is wrong: it says"),
        "{}",
        ended.err
    );
    // A slow machine may be a second past the day.
    let apart = ended.err.contains("19 days apart") || ended.err.contains("20 days apart");
    assert!(apart, "{}", ended.err);
    assert!(ended.err.contains("set the clock"), "{}", ended.err);
    let ended = update(&user, None, &from, None).unwrap();
    assert_eq!(ended.code, 0, "{}", ended.err);
}
