//! Runs every folder of `attacks/`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::machine::{Ended, User, build};
use crate::server::{Manner, Server};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    /// What is tried, and what must come of it.
    says: String,
    #[serde(default = "first_root")]
    trust_root: String,
    step: Vec<Step>,
}

fn first_root() -> String {
    "first/metadata/1.root.json".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// The folder that `make.py` wrote and that is served.
    serve: String,
    #[serde(default = "plain")]
    manner: Manner,
    /// As `faketime` is told.
    clock: Option<String>,
    /// Files of the user's state, cut to half before.
    #[serde(default)]
    cut: Vec<String>,
    /// More arguments of `metalshim update`.
    #[serde(default)]
    arguments: Vec<String>,
    exit: i32,
    /// In what is said, on either stream.
    #[serde(default)]
    message: Vec<String>,
    /// The `seq` of the database that decides afterwards; 0 for the unsigned one.
    seq: u64,
    /// Whether this machine's pair is denied afterwards.
    #[serde(default)]
    denied: bool,
}

fn plain() -> Manner {
    Manner::Plain
}

fn run(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/update/attacks")
        .join(name);
    let Some(made) = build(&folder.join("make.py")) else {
        return;
    };
    let text = std::fs::read_to_string(folder.join("steps.toml")).unwrap();
    let attack: Attack = toml::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
    let user = User::new(&made.path().join(&attack.trust_root));
    for (number, step) in (1..).zip(&attack.step) {
        let what = format!("{name}, step {number} ({})", attack.says);
        for file in &step.cut {
            cut(&find(&user.updates(), file), &what);
        }
        let server = Server::start(&made.path().join(&step.serve), step.manner);
        let Some(mut command) = user.command(step.clock.as_deref()) else {
            return;
        };
        command
            .args(["update", "--from", &server.url()])
            .args(&step.arguments);
        let ended = Ended::from(command.output().unwrap());
        let said = ended.out + &ended.err;
        assert_eq!(ended.code, step.exit, "{what}: {said}");
        for message in &step.message {
            assert!(
                said.contains(message),
                "{what}: no \"{message}\" in: {said}"
            );
        }
        if step.exit == 2 {
            assert!(said.contains("nothing is lost"), "{what}: {said}");
        }
        let expected = match step.seq {
            0 => (false, 1),
            seq => (true, seq),
        };
        assert_eq!(user.in_use(), expected, "{what}: {said}");
        let status = user.types(&["status", "--json"]).out;
        assert_eq!(
            status.contains("pair-revoked"),
            step.denied,
            "{what}: {status}"
        );
    }
}

/// The one file of that name, or at the end of that path.
fn find(folder: &Path, name: &str) -> PathBuf {
    let mut folders = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with(name)
                || (name == "*.sqlite" && path.extension().is_some_and(|e| e == "sqlite"))
            {
                found.push(path);
            }
        }
    }
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found.pop().unwrap()
}

fn cut(path: &Path, what: &str) {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{what}: {}: {e}", path.display()));
    std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

/// One test for each folder, and none is forgotten.
macro_rules! attacks {
    ($($test:ident $folder:literal)*) => {
        $(#[test] fn $test() { run($folder); })*

        #[test]
        fn every_folder_is_run() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/update/attacks");
            let mut there: Vec<String> = std::fs::read_dir(folder)
                .unwrap()
                .map(|e| e.unwrap().file_name().into_string().unwrap())
                .collect();
            there.sort();
            let mut run = vec![$($folder),*];
            run.sort_unstable();
            assert_eq!(there, run);
        }
    };
}

attacks! {
    replay_of_the_older_repository "replay"
    replay_with_cut_local_state "replay-cut-state"
    cut_files "cut-files"
    oversized_metadata "oversized"
    endless_metadata "endless"
    endless_database "endless-database"
    slow_data "slow"
    old_database_under_a_new_name "old-under-new-name"
    root_keys_rotated "rotate-root"
    targets_keys_rotated "rotate-targets"
    snapshot_keys_rotated "rotate-snapshot"
    timestamp_keys_rotated "rotate-timestamp"
    revoker_keys_rotated "rotate-revoker"
    revoked_key_signs_on "revoked-key"
    replay_after_rotation "replay-after-rotation"
    expired_at_the_right_clock "expired"
    clock_ahead_and_right_again "clock-ahead"
    clock_behind "clock-behind"
    database_swapped_after_signing "swapped"
    seq_fast_forward "fast-forward"
    signed_time_fast_forward "fast-forward-time"
    captive_portal_page "portal-page"
    captive_portal_redirect "portal-redirect"
    captive_portal_forbidden "portal-forbidden"
    server_unavailable "unavailable"
    unsigned_by_the_right_keys "wrong-keys"
    one_root_signature "root-below-threshold"
    mix_and_match "mix-and-match"
    revoker_lists_a_database "revoker-lists-database"
    thief_of_the_revoker_key "revoker-thief"
    deny_list_rolled_back "deny-rollback"
    needs_a_newer_metalshim "too-new"
    damaged_database_signed "damaged-signed"
}
