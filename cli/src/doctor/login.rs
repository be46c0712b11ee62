//! Check of what a whole login session loads into every program: what older recipes left.

use std::path::{Path, PathBuf};

use super::Job;
use super::finding::Finding;
use super::finding::Severity::{Fine, Warning};
use super::seen::Seen;
use crate::regular;
use crate::variables;

/// What shells read by themselves, below the home folder.
const SHELL_FILES: [&str; 10] = [
    ".zshenv",
    ".zprofile",
    ".zshrc",
    ".zlogin",
    ".profile",
    ".bash_profile",
    ".bash_login",
    ".bashrc",
    ".config/fish/config.fish",
    ".launchd.conf",
];

/// What launchd reads by itself.
const AGENTS: [&str; 2] = ["/Library/LaunchAgents", "/Library/LaunchDaemons"];

/// No such file is larger.
const MAX_LEN: u64 = 256 << 10;

/// Looks at the session's variables, and read-only at the files that set them.
pub(super) fn login(seen: &Seen) -> Job {
    let home = seen
        .environment
        .iter()
        .find(|(name, _)| name == variables::HOME);
    let home = home.map(|(_, home)| PathBuf::from(home));
    Box::new(move || {
        const NAME: &str = "login";
        let mut findings: Vec<Finding> = session().into_iter().collect();
        findings.extend(
            files(home.as_deref())
                .iter()
                .filter_map(|path| set_in(path)),
        );
        if findings.is_empty() {
            let says = "Nothing loads a library into every program of a login.";
            findings.push(Finding::new(NAME, Fine, says));
        }
        findings
    })
}

/// What `launchctl setenv` left; on a Mac only.
fn session() -> Option<Finding> {
    if !cfg!(target_os = "macos") {
        return None;
    }
    let name = variables::INSERT_LIBRARIES;
    let mut command = std::process::Command::new("/bin/launchctl");
    let output = command.args(["getenv", name]).output().ok()?;
    let value = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (!value.is_empty()).then(|| {
        let says = format!("{name} is set to {value} for the whole login.");
        finding(says).command("Take it out.", format!("launchctl unsetenv {name}"))
    })
}

fn files(home: Option<&Path>) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = AGENTS.iter().map(PathBuf::from).collect();
    let mut files = Vec::new();
    if let Some(home) = home {
        files.extend(SHELL_FILES.iter().map(|name| home.join(name)));
        folders.push(home.join("Library/LaunchAgents"));
    }
    for folder in folders {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut lists: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "plist"))
            .collect();
        lists.sort();
        files.extend(lists);
    }
    files
}

/// Whether a line of the file sets the variable; a comment does not.
fn set_in(path: &Path) -> Option<Finding> {
    let file = regular::open(path).ok()?;
    let bytes = regular::bytes(file, MAX_LEN).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let names = ["DYLD_INSERT_LIBRARIES", variables::INSERT_LIBRARIES];
    let sets = |line: &str| {
        let line = line.trim_start();
        !line.starts_with('#') && names.iter().any(|name| line.contains(name))
    };
    let number = text.lines().position(sets)? + 1;
    let says = format!("{}, line {number}, is about {}.", path.display(), names[0]);
    Some(
        finding(says)
            .mend("Look at that line; if it sets the variable, take it out and log in again."),
    )
}

fn finding(says: String) -> Finding {
    Finding::new("login", Warning, says).affects(
        "every program of the login: a library that one of them cannot load ends it, and metalshim never needs this",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_sets_it_is_named_and_a_comment_is_not() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(".zshrc");
        let look = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let all = files(Some(home.path()));
            all.iter().find_map(|path| set_in(path)).map(|f| f.says)
        };
        assert_eq!(look("# export DYLD_INSERT_LIBRARIES=/x\n"), None);
        assert_eq!(look("alias a=b\n"), None);
        let says = look("a=b\nexport DYLD_INSERT_LIBRARIES=/x\n").unwrap();
        assert!(says.contains(".zshrc, line 2"), "{says}");
    }
}
