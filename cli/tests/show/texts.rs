//! The texts that are made from the command line itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::User;

#[test]
fn every_command_has_a_manual_page() {
    let user = User::new();
    let folder = user.home.path().join("new/man1");
    let ended = user.run(["man".as_ref(), folder.as_os_str()]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let entries = fs::read_dir(&folder).unwrap();
    let names: BTreeSet<String> = entries
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    let help = user.run(["--help"]).out;
    let (_, commands) = help.split_once("Commands:").unwrap();
    let commands = commands.split("Options:").next().unwrap();
    let mut seen = 0;
    for line in commands.lines() {
        let Some(name) = line.split_whitespace().next().filter(|n| *n != "help") else {
            continue;
        };
        assert!(
            names.contains(&format!("metalshim-{name}.1")),
            "{name}: {names:?}"
        );
        seen += 1;
    }
    assert!(seen >= 9, "{commands}");
    assert!(names.contains("metalshim-db-pairs.1"), "{names:?}");
    let page = fs::read_to_string(folder.join("metalshim.1")).unwrap();
    assert!(page.contains("METALSHIM_HOST_BUILD"), "{page}");
    assert_eq!(user.run(["man"]).out, page);
    lint(&folder);
}

/// `mandoc` finds what man would show wrong, where it is installed.
#[allow(clippy::print_stdout)] // a skip is never silent
fn lint(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let lint = Command::new("mandoc")
            .args(["-T", "lint", "-W", "error"])
            .arg(&path)
            .output();
        match lint {
            Ok(lint) => {
                let says = String::from_utf8_lossy(&lint.stdout);
                assert!(lint.status.success(), "{}: {says}", path.display());
            }
            Err(e) => {
                println!("skipped: mandoc cannot be started ({e})");
                return;
            }
        }
    }
}

#[test]
fn completions_are_scripts_that_their_shells_can_read() {
    let user = User::new();
    for shell in ["bash", "zsh", "fish"] {
        let ended = user.run(["completions", shell]);
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert!(ended.out.contains("list-checks"), "{shell}");
        let script = user.home.path().join(shell);
        fs::write(&script, &ended.out).unwrap();
        match Command::new(shell).arg("-n").arg(&script).output() {
            Ok(read) => {
                let says = String::from_utf8_lossy(&read.stderr);
                assert!(read.status.success(), "{shell}: {says}");
            }
            Err(e) => println!("skipped: {shell} cannot be started ({e})"),
        }
    }
    let wrong = user.run(["completions", "cmd"]);
    assert_eq!(wrong.code, 2);
}

#[test]
fn every_check_of_doctor_is_in_its_page_in_the_same_words() {
    let listed = User::new().run(["doctor", "--list-checks", "--json"]);
    let listed = listed.json("metalshim.doctor-checks/1");
    let page = include_str!("../../../docs/doctor.md");
    let checks = listed["checks"].as_array().unwrap();
    let mut from = 0;
    for check in checks {
        let (name, about) = (
            check["name"].as_str().unwrap(),
            check["about"].as_str().unwrap(),
        );
        let section = format!("\n### {name}\n\n{about}.", about = capital(about));
        let at = page.find(&section);
        let at = at.unwrap_or_else(|| unreachable!("docs/doctor.md has no{section}"));
        assert!(at > from, "{name} is out of order");
        from = at;
    }
    let sections = page.lines().filter(|line| line.starts_with("### ")).count();
    assert_eq!(sections, checks.len());
}

fn capital(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    first.to_uppercase() + rest
}
