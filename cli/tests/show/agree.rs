//! Doctor's answer is what `run` does: on the same state, doctor says yes exactly where
//! `run --dry-run` would start the program with the overrides.

#![allow(clippy::panic, reason = "a test that fails")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use metalshim_guest::{FactsFile, built};
use proptest::prelude::*;
use proptest::sample::subsequence;

use super::{METALSHIM, User};

/// A machine that is not as it should be.
type Mutation = (&'static str, fn(&mut Machine));

/// What is changed.
struct Machine {
    facts: FactsFile,
    home: tempfile::TempDir,
    variables: Vec<(&'static str, String)>,
    program: PathBuf,
    flags: Vec<String>,
    command: PathBuf,
}

impl Machine {
    fn new() -> Self {
        Self {
            facts: FactsFile::sample(),
            home: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
            program: built().program("toy"),
            flags: Vec::new(),
            command: METALSHIM.into(),
        }
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.home.path().join(name);
        // Another mutation may have put something else there, or in the way.
        if fs::create_dir_all(path.parent().unwrap()).is_ok() {
            let _ = fs::remove_dir_all(&path);
            let _ = fs::remove_file(&path);
            fs::write(&path, content).unwrap();
        }
        path
    }

    fn config(&self, content: &str) {
        self.file(".config/metalshim/config.toml", content);
    }

    fn facts(&mut self, key: &str, value: impl Into<toml::Value>) {
        self.facts = self.facts.clone().with(key, value);
    }

    /// An installation of its own, whose library is `shim`.
    fn installed(&mut self, shim: impl AsRef<[u8]>) {
        self.file("prefix/libexec/libmetalshim.so", shim);
        fs::create_dir_all(self.home.path().join("prefix/bin")).unwrap();
        let command = self.home.path().join("prefix/bin/metalshim");
        let _ = fs::remove_file(&command);
        if fs::hard_link(METALSHIM, &command).is_err() {
            fs::copy(METALSHIM, &command).unwrap();
        }
        self.command = command;
    }
}

#[rustfmt::skip]
const MUTATIONS: &[Mutation] = &[
    ("no virtual machine", |m| m.facts("guest.vm", false)),
    ("another device", |m| m.facts("device.class", "AGXG13XDevice")),
    ("an unknown pair", |m| m.facts("host.build", "25G83")),
    ("an unknown host", |m| m.facts = m.facts.clone().without("host")),
    ("no device was asked", |m| m.facts = m.facts.clone().without("device")),
    ("drift", |m| m.facts("local.drift", true)),
    ("another stock answer", |m| m.facts("device.apple_family", 1006)),
    ("a failed canary", |m| m.facts("local.canary", "failed")),
    ("a boot without a UUID", |m| m.facts("guest.boot_session", "yesterday")),
    ("a guest below 15", |m| m.facts("guest.build", "23J631")),
    ("switched off", |m| m.variables.push(("METALSHIM_DISABLE", "1".into()))),
    ("a wrong host build", |m| m.variables.push(("METALSHIM_HOST_BUILD", "26.6".into()))),
    ("a right host build", |m| m.variables.push(("METALSHIM_HOST_BUILD", "25G76".into()))),
    ("a relative state folder", |m| m.variables.push(("METALSHIM_STATE_DIR", "state".into()))),
    ("a state folder that nobody can make", |m| m.variables.push(("METALSHIM_STATE_DIR", "/proc/no/state".into()))),
    ("a state folder that is a file", |m| { m.file("state", ""); }),
    ("tickets is a file", |m| { m.file("state/tickets", ""); }),
    ("tickets is a link to nothing", |m| {
        let _ = fs::create_dir_all(m.home.path().join("state"));
        let _ = symlink("nowhere", m.home.path().join("state/tickets"));
    }),
    ("tickets is there", |m| { let _ = fs::create_dir_all(m.home.path().join("state/tickets")); }),
    ("a cut enabled.json", |m| { m.file("state/enabled.json", "{\"since\":"); }),
    ("a cut unverified.json", |m| { m.file("state/unverified.json", "["); }),
    ("a cut host.json", |m| { m.file("state/host.json", "{"); }),
    ("a cut file that no start reads", |m| { m.file("state/other.json", "{"); }),
    ("configuration with an unknown key", |m| m.config("folow = \"all\"\n")),
    ("children that no ticket can name", |m| m.config("follow = \"a b/c\"\n")),
    ("children beyond a ticket", |m| m.config(&format!("follow = \"{}\"\n", "a,".repeat(800)))),
    ("children that a ticket can name", |m| m.config("follow = \"self,tool\"\n")),
    ("a lower profile", |m| m.config("profile = \"1007/32768\"\n")),
    ("a broken policy", |m| {
        let path = m.file("policy.toml", "no_such_key = 1\n");
        m.flags = vec!["--policy".into(), path.display().to_string()];
    }),
    ("a policy that forbids", |m| {
        let path = m.file("policy.toml", "deny_guest_builds = [\"25F84\"]\n");
        m.flags = vec!["--policy".into(), path.display().to_string()];
    }),
    ("no shim", |m| { m.installed(""); fs::remove_file(m.home.path().join("prefix/libexec/libmetalshim.so")).unwrap(); }),
    ("a shim of garbage", |m| m.installed("garbage, and enough of it to be read")),
    ("an empty shim", |m| m.installed("")),
    ("a cut shim", |m| { let whole = fs::read(built().shim()).unwrap(); m.installed(&whole[..whole.len() / 2]); }),
    ("a shim that is a program", |m| m.installed(fs::read(built().program("toy")).unwrap())),
    ("a whole shim elsewhere", |m| m.installed(fs::read(built().shim()).unwrap())),
    ("a script", |m| {
        let script = m.file("script", format!("#!{}\n", built().program("toy").display()));
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        m.program = script;
    }),
    ("no program at all", |m| {
        let text = m.file("text", "neither a program nor a script");
        fs::set_permissions(&text, fs::Permissions::from_mode(0o755)).unwrap();
        m.program = text;
    }),
    ("another shim in the environment", |m| m.variables.push(("TART_METAL_CAPABILITIES", "1".into()))),
];

/// What both say on a machine with these mutations: doctor's yes, and whether it reported.
fn compared(mutations: &[Mutation]) -> (bool, bool) {
    let mut machine = Machine::new();
    for (_, mutation) in mutations {
        mutation(&mut machine);
    }
    let names: Vec<&str> = mutations.iter().map(|(name, _)| *name).collect();
    let user = User {
        home: machine.home,
        facts: Some(machine.facts.save()),
        variables: machine.variables,
    };
    let program = machine.program.to_str().unwrap();
    let flags = machine.flags.iter().map(String::as_str);
    let line = |command: &[&'static str]| -> Vec<String> {
        let all = flags.clone().chain(command.iter().copied());
        all.chain([program]).map(str::to_owned).collect()
    };
    let before = tree(user.home.path());
    let doctor = user.run_as(&machine.command, line(&["doctor", "--json"]));
    assert_eq!(
        tree(user.home.path()),
        before,
        "{names:?}: doctor changed something"
    );
    let run = user.run_as(
        &machine.command,
        line(&["run", "--dry-run", "--json", "--"]),
    );
    let starts = serde_json::from_str::<serde_json::Value>(&run.out)
        .is_ok_and(|json| json["starts"] == "shimmed" && run.code == 0);
    let Ok(json) = serde_json::from_str::<serde_json::Value>(&doctor.out) else {
        panic!("{names:?}: no report: {}{}", doctor.out, doctor.err);
    };
    let says = format!("{names:?}\n{}\n{}{}", doctor.out, run.out, run.err);
    assert_eq!(json["ok"], starts, "{says}");
    assert_eq!(doctor.code, i32::from(!starts), "{says}");
    let problems = json["findings"].as_array().unwrap().iter();
    let problems: Vec<_> = problems.filter(|f| f["severity"] == "problem").collect();
    assert_eq!(problems.is_empty(), starts, "{says}");
    for problem in &problems {
        assert!(problem["mends"].is_array(), "nothing mends {problem}");
    }
    // What `run` ends with is what doctor names first.
    if let Some(line) = run.err.lines().find_map(|l| l.strip_prefix("error: ")) {
        let way = json["in_the_way"]["says"].as_str().unwrap_or_default();
        let (way, line) = (way.to_lowercase(), line.to_lowercase());
        let told = line.split(": ").next().unwrap();
        assert!(
            way.contains(told) || way.starts_with("metalshim_disable"),
            "{way}\n{says}"
        );
    }
    (starts, !problems.is_empty())
}

/// All files below a folder with their length and time, but for an installed command.
fn tree(folder: &Path) -> Vec<(PathBuf, u64, std::time::SystemTime)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            all.extend(tree(&path));
        }
        all.push((path, metadata.len(), metadata.modified().unwrap()));
    }
    all.sort();
    all
}

#[test]
fn doctor_says_yes_exactly_where_run_would_start_it() {
    assert!(compared(&[]).0, "the sample is a yes");
    let mut yes = Vec::new();
    for mutation in MUTATIONS {
        if compared(&[*mutation]).0 {
            yes.push(mutation.0);
        }
    }
    let expected = [
        "no device was asked",
        "a right host build",
        "tickets is there",
        "a cut host.json",
        "a cut file that no start reads",
        "children that a ticket can name",
        "a lower profile",
        "a whole shim elsewhere",
        "a script",
        "another shim in the environment",
    ];
    assert_eq!(yes, expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, max_shrink_iters: 8, ..ProptestConfig::default() })]

    #[test]
    fn several_at_once_make_no_difference(some in subsequence(MUTATIONS.to_vec(), 2..4)) {
        compared(&some);
    }
}

/// A full disk, where this system lets a test have one of its own.
#[test]
#[cfg(target_os = "linux")]
#[allow(clippy::print_stdout, reason = "a skip is never silent")]
fn a_full_disk_is_found_before_a_program_meets_it() {
    let user = User::on(FactsFile::sample());
    let state = user.state();
    fs::create_dir(&state).unwrap();
    let script = format!(
        "set -e; mount -t tmpfs -o size=16k,mode=0700 none '{state}'; mkdir '{state}/tickets'; \
         cat /dev/zero > '{state}/all' 2>/dev/null || true; \
         '{METALSHIM}' doctor --json '{toy}' > '{home}/doctor' || true; \
         '{METALSHIM}' run --dry-run -- '{toy}' 2> '{home}/run' && exit 1; exit 77",
        state = state.display(),
        home = user.home.path().display(),
        toy = built().program("toy").display(),
    );
    let ended = user.run_as(
        Path::new("/usr/bin/unshare"),
        ["--mount", "sh", "-c", &script],
    );
    if ended.code != 77 && ended.err.contains("not permitted") {
        println!(
            "skipped: this system gives a test no file system of its own: {}",
            ended.err
        );
        return;
    }
    assert_eq!(ended.code, 77, "{}{}", ended.out, ended.err);
    let read = |name| fs::read_to_string(user.home.path().join(name)).unwrap();
    assert!(read("run").contains("no space left"), "{}", read("run"));
    let json: serde_json::Value = serde_json::from_str(&read("doctor")).unwrap();
    assert_eq!(json["ok"], false);
    assert!(
        json["in_the_way"]["says"]
            .as_str()
            .unwrap()
            .contains("space left"),
        "{json}"
    );
}
