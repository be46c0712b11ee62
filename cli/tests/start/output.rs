//! What is written where: full disks, readers that are gone, errors as JSON, and nothing that a
//! terminal would obey.

use std::fs::{self, File};
use std::process::{Output, Stdio};

use metalshim_guest::FactsFile;

use crate::{Ended, METALSHIM, User, words};

/// One line of every command that prints on stdout, and its exit code.
const PRINTING: [(&str, i32); 17] = [
    ("--help", 0),
    ("--version", 0),
    ("help run", 0),
    ("run --help", 0),
    ("run --dry-run -- TOY", 0),
    ("run --dry-run --json -- TOY", 0),
    ("status", 0),
    ("status --json", 0),
    ("enable --json", 0),
    ("disable", 0),
    ("doctor --list-checks", 0),
    ("db --help", 0),
    ("db info", 0),
    ("db clients", 0),
    ("db show P0001 --json", 0),
    ("completions zsh", 0),
    ("man", 0),
];

fn output(user: &User, line: &str, stdout: impl Into<Stdio>) -> Output {
    let mut command = user.command(METALSHIM);
    command.args(words(line)).stdout(stdout);
    command.output().unwrap()
}

#[test]
fn a_reader_that_is_gone_is_no_error_of_any_command() {
    let user = User::new();
    for (line, code) in PRINTING {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = output(&user, line, writer);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*err), (Some(code), ""), "{line}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_of_every_command_help_and_version_included() {
    let user = User::new();
    for (line, _) in PRINTING {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = output(&user, line, full);
        // The codes of `run` are its own.
        let code = if line.starts_with("run") { 125 } else { 2 };
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{line}: {err}");
        assert!(err.contains("could not write to stdout"), "{line}: {err}");
    }
}

#[test]
fn with_json_every_error_is_one_object_on_stdout() {
    let user = User::new();
    user.file("broken.toml", "nosuch = 1\n");
    for (line, code, says) in [
        ("status --json --nosuch", 2, "--nosuch"),
        ("--json nosuch", 2, "nosuch"),
        ("db show P9999 --json", 2, "P9999"),
        ("db pairs --json --status good", 2, "good"),
        ("status --json --policy broken.toml", 2, "nosuch"),
        ("run --json -- no-such-program", 127, "no-such-program"),
        ("run --json -- ./broken.toml", 126, "broken.toml"),
        ("run --json --policy broken.toml -- TOY", 125, "nosuch"),
        ("run --json --profile 1010/1 -- TOY", 125, "1010/1"),
        ("run --json", 125, "PROGRAM"),
        ("enable llama-cli --json", 2, "llama-cli"),
    ] {
        let ended = user.types(line);
        assert_eq!(ended.code, code, "{line}: {}", ended.err);
        let json = ended.json("metalshim.error/1");
        assert_eq!(json["exit_code"], code, "{line}");
        let error = json["error"].as_str().unwrap();
        assert!(error.contains(says), "{line}: {error}");
        assert!(!error.contains('\n') && !error.is_empty(), "{line}");
        assert!(!json["hints"].as_array().unwrap().is_empty(), "{line}");
        assert!(!ended.err.is_empty(), "{line}");
    }
    // What the program is given is the program's.
    let ended = user.types("run --nosuch -- TOY --json");
    assert_eq!((ended.code, ended.out.as_str()), (125, ""));
}

#[test]
fn nothing_that_a_terminal_obeys_comes_through() {
    const EVIL: &str = "\u{1b}]0;t\u{7}\u{9b}31m\u{202e}\r";
    let facts = FactsFile::sample()
        .with("host.chip", format!("Apple M9{EVIL}"))
        .with("guest.model", EVIL);
    let user = User::on(facts);
    let tool = format!("to{EVIL}\nhint: do this");
    user.file(&tool, "#!/no/such\u{1b}[31m/interpreter\n");
    user.file("policy.toml", &format!("\"{EVIL}\" = \"{EVIL}\"\n"));
    user.types("run --dry-run -- TOY");
    let pid = std::process::id();
    let status = format!("pid={pid} state={EVIL} reason={EVIL} program=/a/{EVIL}\n");
    fs::write(user.state().join(format!("tickets/{pid}-1.status")), status).unwrap();
    let lines: [&[&str]; 9] = [
        &["status"],
        &["doctor"],
        &["run", "--dry-run", "--", "true"],
        &["run", "--", &format!("./{tool}")],
        &["run", "--dry-run", "--or-stock", "--", &format!("./{tool}")],
        &["run", "--client", EVIL, "--", "true"],
        &["run", "--policy", "policy.toml", "--", "true"],
        &["db", "show", EVIL],
        &["enable", EVIL],
    ];
    let mut seen = String::new();
    for line in lines {
        for json in [false, true] {
            let mut command = user.command(METALSHIM);
            if json {
                command.arg("--json");
            }
            let ended = Ended::new(command.args(line).output().unwrap());
            let all = ended.out + &ended.err;
            let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!all.contains(bad), "{line:?}: {all:?}");
            let ours = |l: &str| l.starts_with("hint: do this");
            assert!(!all.lines().any(ours), "{line:?}: {all}");
            seen += &all;
        }
    }
    for told in ["M9\\u{1b}", "/a/\\u{1b}"] {
        assert!(seen.contains(told), "{told} was not told: {seen}");
    }
}
