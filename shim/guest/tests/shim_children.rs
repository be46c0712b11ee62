//! The process's own next image, children, and threads.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use metalshim_guest::{FactsFile, Outcome, Run, TicketFile, built};

const STOCK: &str = "1005/32768 cpu_fallback";
const RAISED: &str = "1009/65536 fast_gpu_kernel";

fn ticket(follow: &'static str) -> TicketFile {
    TicketFile::new(&FactsFile::sample(), |ticket| ticket.follow = follow)
}

/// `spawner METHOD PROGRAM..` under the shim with this `follow`.
fn spawn(follow: &'static str, method: &str, program: &[&Path]) -> Outcome {
    let ticket = ticket(follow);
    let run = built().run("spawner").shim(&ticket);
    run.arg(method).args(program).output()
}

fn toy() -> PathBuf {
    built().program("toy")
}

/// Ways to start a program that pass through the shim, here.
const SEEN: [&str; 9] = [
    "posix_spawn",
    "posix_spawnp",
    "execve",
    "execv",
    "execvp",
    "fork-execve",
    "fork-execv",
    "fork-execvp",
    "vfork-execve",
];
/// Ways that do not: these children are stock whatever the ticket says.
const UNSEEN: [&str; 2] = ["system", "popen"];

#[test]
fn every_way_to_start_a_child_and_every_follow_list() {
    for (follow, followed) in [
        ("none", false),
        ("all", true),
        ("toy", true),
        ("self", false),
        ("self,python3", false),
        ("python3,toy", true),
    ] {
        for method in SEEN {
            let run = spawn(follow, method, &[&toy()]);
            let expected = if followed { RAISED } else { STOCK };
            assert_eq!(run.picked(), expected, "{follow} {method}: {run:?}");
            assert_eq!(run.stderr, "", "{follow} {method}");
        }
        for method in UNSEEN {
            let run = spawn(follow, method, &[&toy()]);
            assert_eq!(run.picked(), STOCK, "{follow} {method}: {run:?}");
        }
    }
}

#[test]
fn self_is_the_same_executable() {
    let spawner = built().program("spawner");
    let posix_spawn = Path::new("posix_spawn");
    let through = |follow| spawn(follow, "fork-execve", &[&spawner, posix_spawn, &toy()]).picked();
    assert_eq!(through("self,toy"), RAISED);
    // The spawner between is not followed, so it can hand nothing on.
    assert_eq!(through("toy"), STOCK);
    // By another name it is the same file.
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("runner");
    std::os::unix::fs::symlink(&spawner, &link).unwrap();
    let run = spawn("self,toy", "posix_spawnp", &[&link, posix_spawn, &toy()]);
    assert_eq!(run.picked(), RAISED);
}

#[test]
fn a_name_without_a_slash_is_looked_for_in_path() {
    let ticket = ticket("toy");
    for method in ["posix_spawnp", "fork-execvp"] {
        let run = built().run("spawner").shim(&ticket).args([method, "toy"]);
        let path = format!("/nowhere:{}:/usr/bin", built().guest_dir().display());
        assert_eq!(run.env("PATH", path).output().picked(), RAISED, "{method}");
    }
}

#[test]
fn a_child_of_many_variables_is_followed_and_one_of_too_many_is_stock() {
    // The list is made in a small place, and in a large one where that is too small: all around
    // the borders, with what else is in the environment.
    let ticket = ticket("all");
    for count in [100, 121, 122, 123, 124, 125, 126, 127, 128, 900, 1_100] {
        let mut run = built().run("spawner").shim(&ticket);
        for number in 0..count {
            run = run.env(format!("VARIABLE_{number}"), "x");
        }
        let run = run.arg("fork-execve").arg(toy()).output();
        let expected = if count > 1_022 { STOCK } else { RAISED };
        assert_eq!(run.picked(), expected, "{count}: {run:?}");
    }
}

/// The environment that a child has, without what names the run.
fn environment(run: Run, arguments: &[&str]) -> Vec<String> {
    let envprint = built().program("envprint");
    let output = run.env("LAST", "z").args(arguments).arg(envprint).output();
    let lines = output
        .stdout
        .lines()
        .filter(|line| line.starts_with("env."));
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    assert!(lines.contains(&"env.LAST=z".to_owned()), "{output:?}");
    lines
}

#[test]
fn a_child_finds_the_environment_it_would_find_without_metalshim() {
    let other = built().library("guestsystem");
    for method in SEEN.into_iter().chain(UNSEEN) {
        for follow in ["none", "all"] {
            for preload in [false, true] {
                let plain = |run: Run| if preload { run.preload(&other) } else { run };
                let stock = environment(plain(built().run("spawner")), &[method]);
                let ticket = ticket(follow);
                let run = built().run("spawner").env("METALSHIM_REQUIRE", "1");
                let shimmed = environment(plain(run).shim(&ticket), &[method]);
                // The other library stays in the list, whether the child was followed or not.
                assert_eq!(shimmed, stock, "{method} {follow} {preload}");
            }
        }
    }
}

#[test]
fn the_other_libraries_keep_their_order_and_places() {
    let (one, two) = (built().library("guestsystem"), built().library("objcfault"));
    for at in 0..3 {
        let mut list = vec![one.clone(), two.clone()];
        list.insert(at, built().shim().to_owned());
        let ticket = ticket("none");
        let mut run = built()
            .run("envprint")
            .env("METALSHIM_TICKET", ticket.path());
        for library in &list {
            run = run.preload(library);
        }
        let expected = format!("env.LD_PRELOAD={}:{}", one.display(), two.display());
        let output = run.output();
        assert!(
            output.stdout.lines().any(|line| line == expected),
            "{output:?}"
        );
    }
}

/// A program that cannot load the library, or must not, starts as without metalshim.
#[test]
fn children_that_are_never_followed() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, bytes: &[u8], mode: u32| -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let script = format!("#!/bin/sh\nexec {}\n", toy().display());
    let script = make("script", script.as_bytes(), 0o755);
    let guest = built().guest_dir().display();
    let set_uid = make("set-uid", &fs::read(toy()).unwrap(), 0o4755);
    let set_gid = make("set-gid", &fs::read(toy()).unwrap(), 0o2755);
    for method in SEEN {
        for program in [&script, &set_uid, &set_gid] {
            let run = |shimmed: bool| {
                let ticket = ticket("all");
                let run = built().run("spawner").arg(method).arg(program);
                let run = run.env("LD_LIBRARY_PATH", guest.to_string());
                let run = if shimmed { run.shim(&ticket) } else { run };
                (run.output().picked(), ticket.status())
            };
            assert_eq!(run(true), run(false), "{method} {program:?}");
            assert_eq!(run(true).0, STOCK, "{method} {program:?}");
        }
    }
    // What cannot be started at all fails as it does without: the same error, nothing said.
    let mut foreign = fs::read(toy()).unwrap();
    foreign[18] ^= 0xff;
    let failing = [
        make("data", b"not a program", 0o755),
        make("foreign", &foreign, 0o755),
        make("no-permission", &fs::read(toy()).unwrap(), 0o644),
        make("empty", b"", 0o755),
        folder.path().join("missing"),
        folder.path().to_owned(),
    ];
    for method in ["posix_spawn", "posix_spawnp", "execve", "fork-execvp"] {
        for program in &failing {
            let told = |run: Run| {
                let output = run.arg(method).arg(program).output();
                let lines = output
                    .stdout
                    .lines()
                    .filter(|l| !l.starts_with("spawner_pid"));
                let lines: Vec<String> = lines.map(str::to_owned).collect();
                (lines, output.stderr, output.code)
            };
            let stock = told(built().run("spawner"));
            let ticket = ticket("all");
            let shimmed = told(built().run("spawner").shim(&ticket));
            assert_eq!(shimmed, stock, "{method} {program:?}");
        }
    }
}

/// Children are started while other threads hold the allocator's lock.
#[test]
fn hooks_between_fork_and_exec_take_no_lock() {
    for method in ["fork-execve", "fork-execvp", "vfork-execve", "posix_spawn"] {
        let ticket = ticket("all");
        let run = built().run("spawner").shim(&ticket);
        let run = run.args(["-n", "60", "-t", "4", method]);
        let run = run.arg(built().program("envprint")).output();
        assert_eq!(run.get("status"), Some("0"), "{method}: {}", run.stderr);
    }
}

#[test]
fn nothing_is_looked_up_between_fork_and_exec_without_a_ticket_either() {
    // The linker's log has the process's id in front. The program is missing, so a child has
    // nothing to look up but what the hooks would.
    let none = ticket("none");
    let spawner = built().program("spawner");
    for (method, with_ticket) in [
        ("fork-execve", false),
        ("fork-execvp", false),
        ("fork-execve", true),
    ] {
        let mut command = Command::new(&spawner);
        command
            .args([method, "/no/such/program"])
            .env("LD_PRELOAD", built().shim())
            .env("LD_BIND_NOW", "1")
            .env("LD_DEBUG", "symbols");
        if with_ticket {
            command.env("METALSHIM_TICKET", none.path());
        }
        let output = command.output().unwrap();
        let log = String::from_utf8_lossy(&output.stderr);
        let stdout = String::from_utf8_lossy(&output.stdout);
        let parent = stdout.lines().find_map(|l| l.strip_prefix("spawner_pid="));
        let parent = parent.expect("the spawner prints its id");
        assert!(log.contains("symbol=execve"), "LD_DEBUG says nothing");
        let lookups = log.lines().filter_map(|line| {
            let (pid, what) = line.trim_start().split_once(':')?;
            (pid != parent && what.contains("symbol=exec")).then_some(what)
        });
        assert_eq!(lookups.collect::<Vec<_>>(), [""; 0], "{method}");
    }
}

/// Starts a program by a shell that names the ticket for its own process, as `run` does.
fn in_the_started_process(follow: &'static str, prefix: &str, command: &[&Path]) -> Outcome {
    let ticket = ticket(follow);
    let script = "cp -p \"$TICKET\" \"$TICKET-dir/$PREFIX$$-1\" && shift && \
        METALSHIM_TICKET=\"$TICKET-dir/$PREFIX$$-1\" LD_PRELOAD=\"$SHIM\" exec \"$@\"";
    let mut folder = ticket.path().as_os_str().to_owned();
    folder.push("-dir");
    fs::create_dir(&folder).unwrap();
    let output = Command::new("/bin/sh")
        .args(["-c", script, "sh", "-"])
        .args(command)
        .env("TICKET", ticket.path())
        .env("PREFIX", prefix)
        .env("SHIM", built().shim())
        .output()
        .unwrap();
    Outcome {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code(),
    }
}

#[test]
fn the_own_next_image_is_followed_in_the_process_that_run_started_only() {
    let (reexec, spawner) = (built().program("reexec"), built().program("spawner"));
    let own = |command: &[&Path]| in_the_started_process("none", "", command).picked();
    assert_eq!(own(&[&toy()]), RAISED);
    assert_eq!(own(&[&reexec, &toy()]), RAISED);
    assert_eq!(own(&[&reexec, &reexec, &reexec, &toy()]), RAISED);
    for method in ["execve", "execv", "execvp"] {
        assert_eq!(
            own(&[&spawner, Path::new(method), &toy()]),
            RAISED,
            "{method}"
        );
    }
    // A child is no next image.
    for method in ["posix_spawn", "fork-execve", "vfork-execve", "system"] {
        assert_eq!(
            own(&[&spawner, Path::new(method), &toy()]),
            STOCK,
            "{method}"
        );
    }
    // The ticket is for another process than this one.
    let other = in_the_started_process("none", "1", &[&reexec, &toy()]);
    assert_eq!(other.picked(), STOCK);
    // A shell in the own process's place cannot be told apart from any other program that can
    // load the library: it is followed, and what it starts is not.
    let shell = fs::canonicalize("/bin/sh").unwrap();
    let script = format!("{}; :", toy().display());
    let run = own(&[&reexec, &shell, Path::new("-c"), Path::new(&script)]);
    assert_eq!(run, STOCK);
}

/// A program that another thread starts meanwhile would inherit what is open without it.
#[cfg(target_os = "linux")]
#[test]
fn whatever_is_opened_is_closed_in_other_programs() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("opened");
    let ticket = ticket("self,toy");
    let run = built().run("spawner").preload(&built().library("openlog"));
    let run = run.env("OPEN_LOG", &log).shim(&ticket);
    let run = run.args(["fork-execvp"]).arg(toy()).output();
    assert_eq!(run.picked(), RAISED, "{run:?}");
    let text = fs::read_to_string(&log).unwrap();
    let ticket = ticket.path().display().to_string();
    for path in [
        ticket.as_str(),
        &format!("{ticket}.status"),
        &toy().display().to_string(),
        &built().shim().display().to_string(),
        "/proc/self/exe",
    ] {
        let calls: Vec<&str> = text
            .lines()
            .filter(|line| line.split_once(' ').is_some_and(|(_, p)| p == path))
            .collect();
        assert!(!calls.is_empty(), "{path} is not opened: {text}");
        for call in calls {
            assert!(call.starts_with("cloexec=1 "), "{call}");
        }
    }
}

/// A program between that starts another with a ticket of its own is left alone.
#[test]
fn a_ticket_that_the_program_gives_its_child_counts() {
    let outer = ticket("all");
    let inner = TicketFile::new(&FactsFile::sample(), |t| t.apple_family_max = 1007);
    let run = built()
        .run("spawner")
        .shim(&outer)
        .args(["fork-execvp", "env"])
        .arg(format!("METALSHIM_TICKET={}", inner.path().display()))
        .arg(format!("LD_PRELOAD={}", built().shim().display()))
        .arg(toy())
        .output();
    assert_eq!(run.get("apple_family"), Some("1007"), "{run:?}");
    assert_eq!((inner.status().len(), outer.status().len()), (1, 0));
    // Even where that makes no sense: it is passed on as it is.
    let run = built()
        .run("spawner")
        .shim(&outer)
        .args(["fork-execvp", "env"]);
    let run = run.arg("METALSHIM_TICKET=theirs");
    let run = run.arg(built().program("envprint")).output();
    let line = "env.METALSHIM_TICKET=theirs";
    assert!(run.stdout.lines().any(|l| l == line), "{run:?}");
}

/// An update may remove the library while a program runs: its later children start stock.
#[test]
fn a_library_that_is_gone_is_not_handed_on() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join(built().shim().file_name().unwrap());
    fs::copy(built().shim(), &library).unwrap();
    let ticket = ticket("sh,toy");
    let script = format!("{}; rm -f {}", toy().display(), library.display());
    let run = built()
        .run("spawner")
        .preload(&library)
        .env("METALSHIM_TICKET", ticket.path())
        .args(["-n", "2", "posix_spawn", "/bin/sh", "-c", &script])
        .output();
    let families = run.pairs().filter(|(key, _)| *key == "apple_family");
    let families: Vec<_> = families.map(|(_, value)| value).collect();
    assert_eq!(families, ["1009", "1005"], "{run:?}");
    assert_eq!(run.stderr, "");
}

#[test]
fn a_requirement_goes_where_the_ticket_goes() {
    let ticket = TicketFile::new(&FactsFile::sample().with("guest.build", "25F85"), |t| {
        t.follow = "all";
    });
    let run = built()
        .run("spawner")
        .shim(&ticket)
        .env("METALSHIM_REQUIRE", "1");
    let run = run.arg("posix_spawn").arg(toy()).output();
    assert_eq!(run.get("status"), Some("78"), "{run:?}");
    assert!(run.stderr.contains("other-build"), "{run:?}");
}

/// 64 threads make devices and ask: whoever has a device has the raised answers, all the time.
#[test]
fn threads_that_make_devices_at_once_see_one_answer() {
    // Slow: the others come while the first device is being decided on.
    for scenario in ["fresh-devices,slow-add", "fresh-devices", ""] {
        for _ in 0..3 {
            let ticket = ticket("none");
            let run = built().run("corners").scenario(scenario).shim(&ticket);
            let run = run.args(["threads", "64"]).output();
            let answers = run.pairs().filter(|(key, _)| key.starts_with("thread."));
            let answers: Vec<_> = answers.map(|(_, value)| value).collect();
            assert_eq!(
                answers, ["1009/65536,1009/65536"; 64],
                "{scenario}: {run:?}"
            );
            assert_eq!(ticket.status().len(), 1);
        }
    }
}

/// With `follow`, a process without Metal says nothing, and looks nothing up in the runtime.
#[test]
fn a_process_without_metal_leaves_no_trace() {
    let ticket = ticket("all");
    let run = built().run("envprint").shim(&ticket).output();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(ticket.status(), Vec::<String>::new());
    // Bound symbols tell what was looked up: nothing of Objective-C.
    let ticket = TicketFile::new(&FactsFile::sample(), |_| {});
    let run = built()
        .run("envprint")
        .shim(&ticket)
        .env("LD_DEBUG", "symbols")
        .output();
    assert!(
        run.stderr.contains("symbol=sysctlbyname"),
        "LD_DEBUG says nothing"
    );
    for call in ["objc_lookUpClass", "class_addMethod", "sel_registerName"] {
        assert!(!run.stderr.contains(call), "{call}");
    }
}
