//! What signed updates cost: verifying at every start, checking, updating, and `metalshim run` on a
//! verified database. On a real repository, made with PyPI `tuf`; where that cannot be had, it says
//! so and measures nothing. It wants `make shim` first, which `make bench` sees to.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    dead_code,
    reason = "a benchmark that cannot be set up says so and ends; the tests use all of what is shared"
)]

#[path = "../../tests/update/machine.rs"]
mod machine;
#[path = "../../tests/update/server.rs"]
mod server;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use compatdb::records::{Filed, Records};
use metalshim_cli::update::in_use;
use metalshim_cli::update::trust;
use metalshim_guest::figures::{Times, limit};

use self::machine::{User, build_text, python};
use self::server::{Manner, Server};

const ROUNDS: usize = 301;
const UPDATES: usize = 51;
const STARTS: usize = 301;

fn main() {
    let recipe = "r = Repository(databases)\nr.database(2)\nr.revoke(1)\nr.publish('first')\n";
    let Some(made) = build_text(recipe) else {
        println!("(no PyPI tuf: signed updates are not measured)");
        return;
    };
    let repository = made.path().join("first");
    let server = Server::start(&repository, Manner::Plain);
    let root = repository.join("metadata/1.root.json");
    let user = User::new(&root);
    update(&user, &server.url());
    verify(&user, &root);
    check(&user, &server);
    start(&user);
    large();
}

/// `metalshim update`, which has to end with 0; milliseconds from before its start to its end.
fn update(user: &User, from: &str) -> f64 {
    let mut command = user.command(None).unwrap();
    command.args(["update", "--database-only", "--from", from]);
    command.stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status().unwrap();
    let time = start.elapsed().as_secs_f64() * 1000.0;
    assert!(status.success(), "metalshim update ended with {status}");
    time
}

/// What every start does: from the files on disk to a database that may be asked.
fn verify(user: &User, root: &Path) {
    let trust = trust::in_force(Some(root), None, None).unwrap().unwrap();
    let mut times = Times::default();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let found = in_use::find(&trust, None, Some(&user.state()));
        times.push(start.elapsed().as_secs_f64() * 1000.0);
        let database = found.database.unwrap().database;
        assert!(database.meta().seq == 2 && found.deny_list.is_some());
    }
    println!("verified from the trust root to the bytes and opened: {ROUNDS} times, the median");
    let name = "verify and open the database in use";
    println!("{}", limit(name, times.median(), 2.0, "ms"));
}

fn check(user: &User, server: &Server) {
    let _ = server.count();
    let mut times = Times::default();
    for _ in 0..UPDATES {
        times.push(update(user, &server.url()));
    }
    let (requests, bytes) = server.count();
    let each = |all: usize| all as f64 / UPDATES as f64;
    println!(
        "a check that finds nothing newer: {UPDATES} of `metalshim update`, {:.1} ms each",
        times.median()
    );
    println!(
        "{}",
        limit("an idle check: requests", each(requests), 2.0, "")
    );
    let name = "an idle check: bytes of bodies";
    println!("{}", limit(name, each(bytes), 2048.0, "B"));
}

/// `metalshim run -- true` with a verified database in use against `true`.
fn start(user: &User) {
    let clean = |program: &str| {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    };
    assert!(user.in_use().0, "the database in use is not a signed one");
    let [mut plain, mut run] = [Times::default(), Times::default()];
    for _ in 0..STARTS {
        let mut shimmed = user.command(None).unwrap();
        shimmed.args(["run", "--", "true"]).stdout(Stdio::null());
        for (mut command, times) in [(clean("true"), &mut plain), (shimmed, &mut run)] {
            let start = Instant::now();
            let status = command.status().unwrap();
            times.push(start.elapsed().as_secs_f64() * 1000.0);
            assert!(status.success(), "{status}");
        }
    }
    println!(
        "`metalshim run -- true` on a verified database: {STARTS} starts of each, in turn; {:.2} ms, `true` alone {:.2} ms",
        run.median(),
        plain.median()
    );
    let name = "metalshim run -- true, verified: added";
    println!("{}", limit(name, run.median() - plain.median(), 6.0, "ms"));
}

/// A database of 1 MB or more, by machines that have none yet.
fn large() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (records, problems) = Records::load(&workspace.join("compatdb/records"));
    assert!(problems.is_empty(), "{problems:?}");
    let mut all = records.clone();
    let sample = records.pairs.first().unwrap();
    all.pairs = (0..18_000)
        .map(|n| {
            let mut pair = (**sample).clone();
            pair.id = format!("P{:04}", n + 1);
            pair.guest.build = format!("25F{}", n / 200 + 1).parse().unwrap();
            pair.host.build = format!("25G{}", n % 200 + 50).parse().unwrap();
            Filed {
                file: String::new(),
                record: pair,
            }
        })
        .collect();
    let mut release = records.release.record.clone();
    release.seq = 2;
    let bytes = compatdb::build_database(&all, &release).unwrap();
    let path = folder.path().join("2.sqlite");
    std::fs::write(&path, &bytes).unwrap();
    let list = serde_json::json!({"2": {
        "path": path, "seq": 2, "schema": compatdb::schema::VERSION,
        "published_at": release.published_at, "min_cli": release.min_cli,
    }});
    let list_path = folder.path().join("list.json");
    std::fs::write(&list_path, list.to_string()).unwrap();
    let recipe = folder.path().join("make.py");
    std::fs::write(
        &recipe,
        "r = Repository(databases)\nr.database(2)\nr.revoke(1)\nr.publish('large')\n",
    )
    .unwrap();
    let made = Command::new(python().unwrap())
        .arg(workspace.join("cli/tests/update/repository.py"))
        .args([&recipe, folder.path(), &list_path])
        .status()
        .unwrap();
    assert!(made.success(), "the repository could not be made: {made}");
    let repository = folder.path().join("large");
    let server = Server::start(&repository, Manner::Plain);
    let mut times = Times::default();
    for _ in 0..UPDATES {
        let user = User::new(&repository.join("metadata/1.root.json"));
        times.push(update(&user, &server.url()));
        assert_eq!(user.in_use(), (true, 2));
    }
    println!(
        "the first update of a new machine, {:.2} MB, start to end: {UPDATES} machines, the median",
        bytes.len() as f64 / 1e6
    );
    let name = "update of a 1 MB database on loopback";
    println!("{}", limit(name, times.median(), 100.0, "ms"));
}
