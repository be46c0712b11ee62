//! An updater that is stopped before any one of its steps: the last good database is there each
//! time, and the next run mends everything.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use compatdb::records::Records;

use super::files::{Files, Step};
use super::problem::Problem;
use super::store::{Store, Which};
use super::take::{self, Done, Outcome, Wanted};
use super::transport::Place;

const RECIPE: &str = "r = Repository(databases)\nr.database(2)\nr.revoke(1)\nr.publish('first')\n\
                      r.rotate('timestamp')\nr.database(3)\nr.revoke(2, records=['P0001'])\nr.publish('second')\n";

/// Two stages of a repository; none where PyPI `tuf` cannot be had.
pub(super) fn repositories(folder: &Path) -> Option<[PathBuf; 2]> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let python = Command::new(workspace.join(".ci/tuf-python"))
        .output()
        .unwrap();
    if !python.status.success() {
        let why = String::from_utf8_lossy(&python.stderr);
        // A skip prints its reason.
        #[allow(clippy::print_stderr)]
        {
            eprintln!("skipped: PyPI tuf cannot be had: {}", why.trim());
        }
        return None;
    }
    let (records, _) = Records::load(&workspace.join("compatdb/records"));
    let mut release = records.release.record.clone();
    let mut list = serde_json::Map::new();
    for seq in [2, 3] {
        release.seq = seq;
        let path = folder.join(format!("{seq}.sqlite"));
        std::fs::write(&path, compatdb::build_database(&records, &release).unwrap()).unwrap();
        list.insert(
            seq.to_string(),
            serde_json::json!({
                "path": path, "seq": seq, "schema": compatdb::schema::VERSION,
                "published_at": release.published_at, "min_cli": release.min_cli,
            }),
        );
    }
    std::fs::write(folder.join("list.json"), serde_json::to_vec(&list).unwrap()).unwrap();
    std::fs::write(folder.join("make.py"), RECIPE).unwrap();
    let made = Command::new(String::from_utf8(python.stdout).unwrap().trim())
        .arg(workspace.join("cli/tests/update/repository.py"))
        .args(["make.py", "made", "list.json"].map(|name| folder.join(name)))
        .status()
        .unwrap();
    assert!(made.success());
    Some(["made/first", "made/second"].map(|name| folder.join(name)))
}

fn update(root: &[u8], store: &Store, from: &Path) -> Result<Done, Problem> {
    let wanted = Wanted {
        place: Place::of_path(from)?,
        budget: Duration::from_secs(60),
        check: false,
        progress: None,
        embedded: None,
    };
    take::take(root, store, &wanted, |_| ())
}

fn seq(root: &[u8], folder: &Path) -> u64 {
    let store = Store::new(folder.to_owned(), Files::real());
    let stored = store.load(root, Which::Current).unwrap().unwrap();
    compatdb::Database::open(&stored.bytes).unwrap().seq()
}

/// A disk on which the step `fatal` fails, and where `dead` says so, all after it.
fn disk(fatal: usize, dead: bool, kind: io::ErrorKind) -> (Files, Arc<AtomicUsize>) {
    let steps = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&steps);
    let files = Files::with(move |_: Step, _: &Path| {
        let number = counted.fetch_add(1, Ordering::SeqCst);
        match number == fatal || (dead && number > fatal) {
            true => Err(kind.into()),
            false => Ok(()),
        }
    });
    (files, steps)
}

fn each_step(dead: bool, kind: io::ErrorKind) {
    let folder = tempfile::tempdir().unwrap();
    let Some([first, second]) = repositories(folder.path()) else {
        return;
    };
    let root = std::fs::read(first.join("metadata/1.root.json")).unwrap();
    let mut old_stayed = 0;
    let mut fatal = 0;
    loop {
        let state = folder.path().join(format!("state-{fatal}"));
        let store = Store::new(state.clone(), Files::real());
        update(&root, &store, &first).unwrap();
        let (files, steps) = disk(fatal, dead, kind);
        let stopped = update(&root, &Store::new(state.clone(), files), &second);
        let reached = steps.load(Ordering::SeqCst) > fatal;
        let there = seq(&root, &state);
        match &stopped {
            // What follows the swap decides nothing.
            Ok(done) => assert_eq!((done.outcome, there), (Outcome::Updated, 3)),
            Err(Problem::Disk(..)) => assert!(there == 2 || there == 3, "step {fatal}: {there}"),
            Err(other) => panic!("step {fatal}: {other}"),
        }
        old_stayed += usize::from(there == 2);
        // The next run, on a disk that works, goes through and leaves nothing behind.
        update(&root, &store, &second).unwrap();
        assert_eq!(seq(&root, &state), 3, "step {fatal}");
        assert_eq!(
            std::fs::read_dir(state.join("db")).unwrap().count(),
            2,
            "step {fatal}"
        );
        if !reached {
            break;
        }
        fatal += 1;
    }
    // Most steps come before the swap, and there are many.
    assert!(old_stayed > 20 && fatal > 30, "{old_stayed} of {fatal}");
}

#[test]
fn killed_before_any_step() {
    each_step(true, io::ErrorKind::Interrupted);
}

#[test]
fn the_disk_fails_at_any_step() {
    each_step(false, io::ErrorKind::StorageFull);
}
