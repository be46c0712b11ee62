//! `agent create | list | remove`, with a stand-in for launchctl.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use metalshim_cli::commands::agent::{BREW, HELP};
use metalshim_guest::FactsFile;
use serde_json::{Value, json};

use crate::{Ended, METALSHIM, User, kit, snapshot};

const PLIST: &str = "Library/LaunchAgents/local.toy.plist";

/// The property list as another program reads it: Python's plistlib; none where there is no
/// Python.
#[allow(clippy::print_stdout)] // a skip is never silent
fn read_by_python(user: &User, name: &str) -> Option<Value> {
    let script =
        "import json, plistlib, sys; print(json.dumps(plistlib.load(open(sys.argv[1], 'rb'))))";
    let path = user.home.path().join(name);
    match Command::new("python3")
        .args(["-c", script])
        .arg(path)
        .output()
    {
        Ok(output) => {
            let ended = Ended::new(output);
            Some(serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {}", ended.err)))
        }
        Err(e) => {
            println!("skipped: python3 cannot be started ({e})");
            None
        }
    }
}

/// What launchd wants of a job that is valid.
fn lint(plist: &Value, label: &str) {
    assert_eq!(plist["Label"], label);
    let arguments = plist["ProgramArguments"].as_array().unwrap();
    assert!(arguments.iter().all(Value::is_string), "{plist}");
    assert!(arguments[0].as_str().unwrap().starts_with('/'), "{plist}");
    for key in ["StandardOutPath", "StandardErrorPath", "WorkingDirectory"] {
        assert!(
            plist[key].as_str().unwrap().starts_with('/'),
            "{key}: {plist}"
        );
    }
    assert_eq!(plist["RunAtLoad"], true);
    let known = [
        "EnvironmentVariables",
        "KeepAlive",
        "Label",
        "LimitLoadToSessionType",
        "ProgramArguments",
        "RunAtLoad",
        "StandardErrorPath",
        "StandardOutPath",
        "ThrottleInterval",
        "UserName",
        "WorkingDirectory",
    ];
    for key in plist.as_object().unwrap().keys() {
        assert!(known.contains(&key.as_str()), "{key}");
    }
}

#[test]
fn create_writes_a_valid_list_and_loads_it_into_the_login_session() {
    let user = User::new().with_launchd();
    let ended = user.types("agent create local.toy --env MODEL=/m.gguf -- TOY --port 8080");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let log = user.read("launchctl.log");
    let uid = rustix_uid();
    assert!(
        log.ends_with(&format!(
            "enable gui/{uid}/local.toy\nbootstrap gui/{uid} {}\n",
            user.home.path().join(PLIST).display()
        )),
        "{log}"
    );
    let Some(plist) = read_by_python(&user, PLIST) else {
        return;
    };
    lint(&plist, "local.toy");
    let toy = kit().program("toy");
    assert_eq!(
        plist["ProgramArguments"],
        json!([
            METALSHIM,
            "run",
            "--or-stock",
            "--quiet",
            "--read-share",
            "--",
            toy,
            "--port",
            "8080"
        ])
    );
    assert_eq!(plist["EnvironmentVariables"]["MODEL"], "/m.gguf");
    let path = plist["EnvironmentVariables"]["PATH"].as_str().unwrap();
    assert!(
        path.starts_with(toy.parent().unwrap().to_str().unwrap()),
        "{path}"
    );
    let logs = user.home.path().join("Library/Logs/local.toy.log");
    assert_eq!(plist["StandardOutPath"], logs.to_str().unwrap());
    assert_eq!(plist["KeepAlive"], json!({"SuccessfulExit": false}));
    assert_eq!(
        plist["LimitLoadToSessionType"],
        json!(["Aqua", "Background"])
    );
    assert!(plist.get("UserName").is_none());
}

fn rustix_uid() -> u32 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").unwrap().uid()
}

#[test]
fn what_launchd_would_start_has_the_overrides_or_is_stock() {
    let user = User::new().with_launchd();
    user.types("agent create local.toy -- TOY");
    let Some(plist) = read_by_python(&user, PLIST) else {
        return;
    };
    let words: Vec<&str> = plist["ProgramArguments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w.as_str().unwrap())
        .collect();
    let start = |user: &User| {
        let mut command = user.command(words[0]);
        Ended::new(command.args(&words[1..]).output().unwrap())
    };
    assert_eq!(start(&user).printed("apple_family"), "1009");
    // Refused it is stock, and silent; and what the share says by then counts.
    let share = User::new();
    let facts = || {
        FactsFile::sample()
            .without("host")
            .with("share.folder", share.home.path().to_str().unwrap())
    };
    let user = user.moves_to(facts());
    let ended = start(&user);
    assert_eq!(
        (ended.printed("apple_family"), ended.err.as_str()),
        ("1005", "")
    );
    share.file(
        "shared/metalshim-host.json",
        r#"{"build":"25G76","written_at":"2026-11-30T23:00:00Z"}"#,
    );
    assert_eq!(start(&user).printed("apple_family"), "1009");
    user.types("agent create local.toy --require -- TOY");
    assert!(user.read(PLIST).contains("--require"));
    assert!(!user.read(PLIST).contains("--or-stock"));
}

#[test]
fn without_a_login_session_the_users_background_domain_is_used() {
    let user = User::new().with_launchd().with("NO_GUI", "1");
    let ended = user.types("agent create local.toy -- TOY");
    assert!(
        ended.out.contains("loaded into user/"),
        "{}{}",
        ended.out,
        ended.err
    );
    let removed = user.types("agent remove local.toy");
    assert_eq!(removed.code, 0, "{}", removed.err);
    assert!(user.read("launchctl.log").contains("bootout user/"));
}

#[test]
fn list_says_whether_they_hold_and_remove_ends_them() {
    let user = User::new().with_launchd();
    assert_eq!(user.types("agent list").out, "metalshim made no agent\n");
    let program = user.home.path().join("toy");
    symlink(kit().program("toy"), &program).unwrap();
    user.types(&format!(
        "agent create local.toy --require -- {}",
        program.display()
    ));
    user.file("Library/LaunchAgents/theirs.plist", "not a property list");
    snapshot("agent-list", &user, &user.types("agent list"));
    let findings = user.types("doctor --check wrappers").out;
    assert!(findings.contains("local.toy"), "{findings}");
    fs::remove_file(&program).unwrap();
    let json = user
        .types("agent list --json")
        .json("metalshim.agent-list/1");
    let problem = json["agents"][0]["problem"].as_str().unwrap();
    assert!(problem.ends_with("any more"), "{json}");
    assert_eq!(json["agents"][0]["loaded"], true);
    let findings = user.types("doctor --check wrappers").out;
    assert!(findings.contains("any more"), "{findings}");
    assert_eq!(user.types("agent remove theirs").code, 2);
    assert_eq!(user.types("agent remove local.toy").code, 0);
    assert_eq!(user.read(PLIST), "");
    assert!(user.read("launchctl.log").contains("bootout gui/"));
    assert_eq!(user.types("agent remove local.toy").code, 2);
}

#[test]
fn made_again_the_old_job_ends_first_and_a_refused_one_comes_back() {
    let user = User::new().with_launchd();
    user.types("agent create local.toy -- TOY one");
    let ended = user.types("agent create local.toy -- TOY two");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let log = user.read("launchctl.log");
    assert!(
        log.find("bootout").unwrap() < log.rfind("bootstrap").unwrap(),
        "{log}"
    );
    let user = user.with("REFUSES", "1");
    let ended = user.types("agent create local.toy -- TOY three");
    assert_eq!(ended.code, 2, "{}", ended.out);
    assert!(ended.err.contains("Input/output error"), "{}", ended.err);
    assert!(user.read(PLIST).contains("<string>two</string>"));
}

#[test]
#[allow(clippy::print_stdout)] // a skip is never silent
fn a_daemon_runs_as_a_user_with_a_home() {
    let user = User::new().with_launchd();
    if rustix_uid() != 0 {
        let ended = user.types("agent create local.toy --daemon -- TOY");
        assert_eq!(ended.code, 2);
        assert!(ended.err.contains("sudo"), "{}", ended.err);
        println!("skipped: only root can make a daemon");
        return;
    }
    let ended = user.types("agent create local.toy --daemon -- TOY");
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("--user"), "{}", ended.err);
    for name in ["no-such-user", "a;b"] {
        let ended = user.types(&format!(
            "agent create local.toy --daemon --user {name} -- TOY"
        ));
        assert_eq!(ended.code, 2, "{}", ended.out);
    }
    let user = user.with("SUDO_USER", "daemon");
    let ended = user.types("agent create local.toy --daemon --require -- TOY");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.contains("loaded into system"), "{}", ended.out);
    let name = "Library/LaunchDaemons/local.toy.plist";
    let mode = fs::metadata(user.home.path().join(name)).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&mode) & 0o777, 0o644);
    let Some(plist) = read_by_python(&user, name) else {
        return;
    };
    lint(&plist, "local.toy");
    assert_eq!(plist["UserName"], "daemon");
    assert_eq!(
        plist["EnvironmentVariables"]["HOME"],
        plist["WorkingDirectory"]
    );
    assert!(plist.get("LimitLoadToSessionType").is_none());
    assert_eq!(user.types("agent remove local.toy").code, 0);
    assert_eq!(user.read(name), "");
}

#[test]
fn bad_values_are_named_and_nothing_is_made() {
    let user = User::new().with_launchd();
    user.file("Library/LaunchAgents/taken.plist", "theirs");
    for line in [
        "agent create a/b -- TOY",
        "agent create com.apple.x -- TOY",
        "agent create homebrew.mxcl.ollama -- TOY",
        "agent create local.toy --env NOTHING -- TOY",
        "agent create local.toy --env DYLD_INSERT_LIBRARIES=/x -- TOY",
        "agent create local.toy -- no-such-program",
        "agent create taken -- TOY",
        "agent create local.toy --user me -- TOY",
        "agent create local.toy",
    ] {
        let ended = user.types(line);
        assert_eq!(ended.code, 2, "{line}: {}", ended.out);
        assert!(!ended.err.is_empty(), "{line}");
    }
    assert_eq!(user.read(PLIST), "");
    assert_eq!(user.read("Library/LaunchAgents/taken.plist"), "theirs");
    assert!(!user.read("launchctl.log").contains("bootstrap"));
}

#[test]
fn what_the_text_tells_to_type_for_ollama_works_and_is_what_the_facts_say() {
    let told: Vec<&str> = BREW
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .collect();
    assert_eq!(told[0], "brew services stop ollama");
    let user = User::new().with_launchd();
    // A stand-in for the formula's program.
    let bin = user.folder("bin");
    symlink(kit().program("toy"), bin.join("ollama")).unwrap();
    let ended = user.types(told[1].strip_prefix("metalshim ").unwrap());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let text = user.read("Library/LaunchAgents/local.ollama.plist");
    for part in [
        "/bin/ollama</string>",
        "<string>serve</string>",
        "OLLAMA_FLASH_ATTENTION",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The database's row: the server is what is started, its runners get the overrides too.
    let row: toml::Table = include_str!("../../../compatdb/records/clients/ollama.toml")
        .parse()
        .unwrap();
    assert!(row["advice"].as_str().unwrap().contains("ollama serve"));
    let children = row["children"].as_array().unwrap();
    assert!(
        children
            .iter()
            .any(|child| child.as_str() == Some("llama-server"))
    );
    let recognised = row["recognise"]["executables"].as_array().unwrap();
    assert!(
        recognised
            .iter()
            .any(|name| name.as_str() == Some("ollama"))
    );
}

#[test]
fn the_help_and_the_page_say_it_in_the_same_words() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    // The page fences its commands, the help indents them.
    let page = include_str!("../../../docs/enabled.md").lines();
    let page: Vec<&str> = page.filter(|line| !line.starts_with("```")).collect();
    let page = words(&page.join("\n"));
    let help = words(&User::new().types("agent create --help").out);
    for text in [HELP, BREW].map(words) {
        assert!(help.contains(&text), "{help}\nlacks\n{text}");
        assert!(page.contains(&text), "docs/enabled.md lacks\n{text}");
    }
}
