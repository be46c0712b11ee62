//! The helper programs: children started in every way, with nothing of metalshim around.

use std::process;

use metalshim_guest::{Outcome, built};

const IN_A_CHILD: [&str; 8] = [
    "posix_spawn",
    "posix_spawnp",
    "system",
    "popen",
    "fork-execve",
    "fork-execv",
    "fork-execvp",
    "vfork-execve",
];
const IN_PLACE: [&str; 3] = ["execve", "execv", "execvp"];

fn spawn(method: &str) -> Outcome {
    let kit = built();
    let run = kit.run("spawner").args(["-t", "2", method]);
    run.arg(kit.program("envprint"))
        .args(["two words", "it's"])
        .env("METALSHIM_TEST_MARK", "kept")
        .output()
}

#[test]
fn every_way_to_start_a_child_starts_it() {
    for method in IN_A_CHILD {
        let out = spawn(method);
        assert_eq!(out.code, Some(0), "{method}: {}", out.stderr);
        assert_eq!(out.get("status"), Some("0"), "{method}");
        assert_eq!(out.get("arg.1"), Some("two words"), "{method}");
        assert_eq!(out.get("arg.2"), Some("it's"), "{method}");
        assert_eq!(out.get("env.METALSHIM_TEST_MARK"), Some("kept"), "{method}");
        assert_ne!(out.get("pid"), out.get("spawner_pid"), "{method}");
    }
}

#[test]
fn every_way_to_replace_a_process_keeps_its_pid() {
    for method in IN_PLACE {
        let out = spawn(method);
        assert_eq!(out.code, Some(0), "{method}: {}", out.stderr);
        assert_eq!(out.get("arg.1"), Some("two words"), "{method}");
        assert_eq!(out.get("env.METALSHIM_TEST_MARK"), Some("kept"), "{method}");
        assert!(out.get("pid").is_some(), "{method}");
        assert_eq!(out.get("pid"), out.get("spawner_pid"), "{method}");
    }
}

#[test]
fn a_stub_replaces_itself_in_the_same_process() {
    let kit = built();
    let out = kit.run("reexec").arg(kit.program("toy")).output();
    assert_eq!(out.picked(), "1005/32768 cpu_fallback");
    let out = kit.run("reexec").arg(kit.program("envprint")).output();
    assert!(out.get("pid").is_some());
    assert_eq!(out.get("pid"), out.get("stub_pid"));
    assert_eq!(
        out.get("ppid").map(str::to_owned),
        Some(process::id().to_string())
    );
}

#[test]
fn what_cannot_be_started_is_told() {
    let kit = built();
    for method in ["posix_spawn", "posix_spawnp", "execve"] {
        let out = kit
            .run("spawner")
            .args([method, "/no/such/program"])
            .output();
        assert_eq!(out.get("error"), Some("2"), "{method}: {}", out.stdout);
    }
    let out = kit
        .run("spawner")
        .args(["fork-execve", "/no/such/program"])
        .output();
    assert_eq!(out.get("status"), Some("127"));
    let out = kit.run("reexec").arg("/no/such/program").output();
    assert_eq!(out.code, Some(127));
    let out = kit.run("spawner").args(["telepathy", "/bin/true"]).output();
    assert_eq!(out.code, Some(2));
}

#[test]
fn forks_while_other_threads_hold_the_allocators_lock() {
    let kit = built();
    let run = kit
        .run("spawner")
        .args(["-n", "25", "-t", "4", "fork-execve"]);
    let out = run.arg(kit.program("envprint")).output();
    assert_eq!(out.get("status"), Some("0"));
    assert_eq!(out.pairs().filter(|(key, _)| *key == "ppid").count(), 25);
}
