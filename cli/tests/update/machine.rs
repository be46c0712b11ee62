//! A user with a state folder of their own, and the databases and repositories of the tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use compatdb::records::Records;
use serde_json::json;
use tempfile::TempDir;

const METALSHIM: &str = env!("CARGO_BIN_EXE_metalshim");

/// How many databases there are with the records as they are.
const DATABASES: u64 = 5;
/// The database that verifies [`NEW_GUEST`] as well, by the record P9001.
pub(crate) const WITH_NEW_GUEST: u64 = 6;
/// A guest build that no record of the project knows.
pub(crate) const NEW_GUEST: &str = "25G999";

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Real databases, seq 1 to 5, made once: a list of them for `make.py`.
fn databases() -> &'static Path {
    static MADE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, list) = MADE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let (records, problems) = Records::load(&workspace().join("compatdb/records"));
        assert!(problems.is_empty(), "{problems:?}");
        let mut release = records.release.record.clone();
        let mut all = serde_json::Map::new();
        let mut with_new = records.clone();
        let mut pair = with_new.pairs[0].clone();
        assert_eq!(pair.record.id, "P0001");
        pair.record.id = "P9001".to_owned();
        pair.record.guest.build = NEW_GUEST.parse().unwrap();
        with_new.pairs.push(pair);
        for seq in 1..=WITH_NEW_GUEST {
            release.seq = seq;
            let records = match seq {
                ..=DATABASES => &records,
                _ => &with_new,
            };
            let bytes = compatdb::build_database(records, &release).unwrap();
            let path = folder.path().join(format!("{seq}.sqlite"));
            std::fs::write(&path, bytes).unwrap();
            let fields = json!({
                "path": path, "seq": seq, "schema": compatdb::schema::VERSION,
                "published_at": release.published_at, "min_cli": release.min_cli,
            });
            all.insert(seq.to_string(), fields);
        }
        let list = folder.path().join("databases.json");
        std::fs::write(&list, serde_json::to_vec(&all).unwrap()).unwrap();
        (folder, list)
    });
    list
}

/// The Python that has the reference implementation, or none, with the reason printed once.
pub(crate) fn python() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let made = Command::new(workspace().join(".ci/tuf-python"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&made.stdout).trim().to_owned();
        if made.status.success() {
            return Some(PathBuf::from(said));
        }
        eprintln!(
            "skipped: PyPI tuf cannot be had: {}",
            String::from_utf8_lossy(&made.stderr).trim()
        );
        None
    });
    found.as_deref()
}

/// Builds what a recipe says into a new folder; none where Python cannot be had.
pub(crate) fn build(recipe: &Path) -> Option<TempDir> {
    let out = tempfile::tempdir().unwrap();
    let made = Command::new(python()?)
        .arg(workspace().join("cli/tests/update/repository.py"))
        .args([recipe, out.path(), databases()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(made.status.success(), "{}: {said}", recipe.display());
    Some(out)
}

/// As [`build`], from a recipe's text.
pub(crate) fn build_text(recipe: &str) -> Option<TempDir> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), recipe).unwrap();
    build(file.path())
}

/// The path of `faketime`, where it is installed.
pub(crate) fn faketime() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join("faketime"))
        .find(|path| path.is_file());
    if found.is_none() {
        eprintln!("skipped: faketime is not installed");
    }
    found
}

/// How a command ended.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A user whose `config.toml` names a trust root.
pub(crate) struct User {
    pub(crate) home: TempDir,
    variables: Vec<(String, String)>,
}

impl User {
    pub(crate) fn new(trust_root: &Path) -> Self {
        let user = Self {
            home: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
        };
        user.configure(&format!("trust_root = {trust_root:?}\n"));
        user
    }

    /// Writes `config.toml`.
    pub(crate) fn configure(&self, text: &str) {
        for folder in [".config", "Library/Application Support"] {
            let folder = self.home.path().join(folder).join("metalshim");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("config.toml"), text).unwrap();
        }
    }

    /// With a variable in the environment; an earlier value goes.
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// The JSON that a command prints.
    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let ended = self.types(&[arguments, &["--json"]].concat());
        serde_json::from_str(&ended.out).unwrap()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.home.path().join("state")
    }

    /// The folder of the one trust root.
    pub(crate) fn updates(&self) -> PathBuf {
        let all = std::fs::read_dir(self.state().join("updates")).unwrap();
        let mut folders = all.map(|e| e.unwrap().path()).filter(|path| path.is_dir());
        folders.next().unwrap()
    }

    /// The command, at the clock that `faketime` is told; none where that is not installed.
    pub(crate) fn command(&self, clock: Option<&str>) -> Option<Command> {
        let mut command = match clock {
            None => Command::new(METALSHIM),
            Some(clock) => {
                let mut command = Command::new(faketime()?);
                command.args(["-f", clock, METALSHIM]);
                command
            }
        };
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.home.path())
            .env("METALSHIM_STATE_DIR", self.state())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.home.path())
            .stdin(Stdio::null());
        Some(command)
    }

    pub(crate) fn types(&self, arguments: &[&str]) -> Ended {
        self.command(None)
            .unwrap()
            .args(arguments)
            .output()
            .unwrap()
            .into()
    }

    /// The database that decides: whether it is signed, and its `seq`.
    pub(crate) fn in_use(&self) -> (bool, u64) {
        let ended = self.types(&["db", "info", "--json"]);
        assert_eq!(ended.code, 0, "{}", ended.err);
        let info: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
        (
            info["signed"].as_bool().unwrap(),
            info["meta"]["seq"].as_u64().unwrap(),
        )
    }
}
