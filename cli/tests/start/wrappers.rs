//! `enable PROGRAM`, `shellenv`, and what a wrapper does when its name is typed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use metalshim_guest::FactsFile;

use crate::{Ended, METALSHIM, User, kit, snapshot};

const UNLISTED: &str = include_str!("../../../shim/guest/facts/unlisted-pair.toml");

/// The folder of the sample clients.
fn clients() -> PathBuf {
    kit().program("toy").parent().unwrap().to_owned()
}

fn path(folders: &[&Path]) -> String {
    let system = ["/usr/bin".as_ref(), "/bin".as_ref()];
    let all = folders.iter().copied().chain(system);
    std::env::join_paths(all).unwrap().into_string().unwrap()
}

impl User {
    fn wrappers(&self) -> PathBuf {
        self.state().join("metalshim-wrappers")
    }

    /// With `toy` and metalshim on `PATH`, and `toy` wrapped.
    fn with_toy_wrapped(self) -> Self {
        let command = Path::new(METALSHIM).parent().unwrap();
        let user = self.with("PATH", path(&[command, &clients()]));
        let ended = user.types("enable toy");
        assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
        user
    }

    /// `script` in a shell, with the wrappers and then `more` first on `PATH`.
    fn shell(&self, shell: &str, script: &str, more: &[&Path]) -> Ended {
        let wrappers = self.wrappers();
        let clients = clients();
        let mut folders = vec![wrappers.as_path()];
        folders.extend(more);
        folders.push(&clients);
        let mut command = self.command(shell);
        command.args(["-c", script]).env("PATH", path(&folders));
        Ended::new(command.output().unwrap())
    }

    fn script(&self, name: &str, text: &str) -> PathBuf {
        let file = self.file(name, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file.parent().unwrap().to_owned()
    }
}

/// The shells that are here; the others are named.
#[allow(clippy::print_stdout)] // a skip is never silent
fn shells() -> Vec<&'static str> {
    let there = |shell: &&str| match Command::new(shell).args(["-c", "true"]).output() {
        Ok(_) => true,
        Err(e) => {
            println!("skipped: {shell} cannot be started ({e})");
            false
        }
    };
    ["bash", "zsh", "fish"].into_iter().filter(there).collect()
}

#[test]
fn typed_by_its_name_a_wrapped_program_has_the_overrides() {
    let user = User::new().with_toy_wrapped();
    for shell in shells() {
        let source = match shell {
            "fish" => "metalshim shellenv fish | source; toy",
            _ => {
                "eval \"$(metalshim shellenv)\"; eval \"$(metalshim shellenv)\"; toy; echo \"$PATH\""
            }
        };
        let mut command = user.command(shell);
        let ended = Ended::new(command.args(["-c", source]).output().unwrap());
        assert_eq!(ended.printed("apple_family"), "1009", "{shell}");
        assert_eq!(ended.err, "", "{shell}");
        let times = ended.out.matches("metalshim-wrappers").count();
        assert!(shell == "fish" || times == 1, "{shell}: {}", ended.out);
    }
}

#[test]
fn refused_it_starts_as_if_there_were_no_metalshim_and_says_nothing() {
    let user = User::new().with_toy_wrapped();
    let user = user.moves_to(FactsFile::parse(UNLISTED));
    let ended = user.shell("sh", "toy", &[]);
    assert_eq!(ended.printed("apple_family"), "1005");
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    // Nothing that is wrong with metalshim's own files stops it either, nor no home at all.
    user.file("state/enabled.json", "{");
    let ended = user.shell("sh", "toy", &[]);
    assert_eq!(
        (ended.printed("apple_family"), ended.err.as_str()),
        ("1005", "")
    );
    let bare = format!("env -i PATH=\"$PATH\" '{}/toy'", user.wrappers().display());
    let ended = user.shell("sh", &bare, &[]);
    assert_eq!(
        (ended.printed("apple_family"), ended.err.as_str()),
        ("1005", "")
    );
}

#[test]
fn its_arguments_and_its_exit_code_are_the_programs() {
    let user = User::new();
    let own = user.script("own/answer", "printf '<%s>' \"$@\"; exit 7");
    let user = user.with("PATH", path(&[&own]));
    assert_eq!(user.types("enable answer").code, 0);
    let ended = user.shell("sh", "answer --help 'a b' ''", &[&own]);
    assert_eq!((ended.code, ended.out.as_str()), (7, "<--help><a b><>"));
}

#[test]
fn where_metalshim_is_gone_the_program_is_found_behind_the_link() {
    let user = User::new();
    // An installation of its own, to be removed.
    let bin = user.folder("opt/bin");
    let command = bin.join("metalshim");
    fs::copy(METALSHIM, &command).unwrap();
    let shim = Path::new(METALSHIM)
        .ancestors()
        .nth(2)
        .unwrap()
        .join("shim");
    symlink(shim, user.home.path().join("opt/shim")).unwrap();
    kit();
    let user = user.with("PATH", path(&[&bin, &clients()]));
    let enabled = user.command(&command).args(["enable", "toy"]).output();
    let ended = Ended::new(enabled.unwrap());
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let python = "import os; os.execvp('toy', ['toy'])";
    let spawn = "import os; os._exit(os.waitstatus_to_exitcode(os.waitpid(os.posix_spawnp('toy', ['toy'], os.environ), 0)[1]))";
    let ways: Vec<(&str, String)> = shells()
        .into_iter()
        .chain(["sh"])
        .map(|shell| (shell, "toy".to_owned()))
        .chain([
            ("sh", "env toy".to_owned()),
            ("sh", format!("python3 -c \"{python}\"")),
            ("sh", format!("python3 -c \"{spawn}\"")),
            ("sh", "printf 'all:\\n\\t@toy\\n' | make -s -f -".to_owned()),
        ])
        .collect();
    for (family, removes) in [("1009", false), ("1005", true)] {
        if removes {
            fs::remove_file(&command).unwrap();
        }
        for (shell, script) in &ways {
            let ended = user.shell(shell, script, &[]);
            if ended.err.contains("python3") && ended.code == 127 {
                continue;
            }
            assert_eq!(ended.printed("apple_family"), family, "{shell} {script}");
        }
    }
}

#[test]
fn a_script_of_the_same_name_that_goes_on_by_name_ends_at_the_program() {
    let user = User::new().with_toy_wrapped();
    // As it would without metalshim where it takes its own folder out of PATH first.
    let exec = user.script("exec/toy", "PATH=${PATH#*exec:} exec toy \"$@\"");
    assert_eq!(
        user.shell("sh", "toy", &[&exec]).printed("apple_family"),
        "1009"
    );
    let by_name = user.script("name/toy", "exec toy \"$@\"");
    assert_eq!(
        user.shell("sh", "toy", &[&by_name, &exec])
            .printed("apple_family"),
        "1009"
    );
    // Nothing behind it: without metalshim this would never end.
    let endless = user.script("endless/toy", "toy \"$@\"");
    let only = path(&[&user.wrappers(), &endless]);
    let mut command = user.command("sh");
    command.args(["-c", "toy"]).env("PATH", only);
    let ended = Ended::new(command.output().unwrap());
    assert_eq!(ended.code, 126, "{}", ended.err);
    assert!(ended.err.contains("again and again"), "{}", ended.err);
}

#[test]
fn other_links_to_metalshim_are_passed_over() {
    let user = User::new().with_toy_wrapped();
    let other = user.folder("other");
    symlink(METALSHIM, other.join("toy")).unwrap();
    let second = user.folder("second/metalshim-wrappers");
    symlink(METALSHIM, second.join("toy")).unwrap();
    let ended = user.shell("sh", "toy", &[&other, &second]);
    assert_eq!(ended.printed("apple_family"), "1009", "{}", ended.err);
    // `run` looks for the program too, and not for its wrapper.
    let line = format!("{METALSHIM} run --dry-run --json -- toy");
    let json = user.shell("sh", &line, &[]).json("metalshim.run/1");
    let program = json["program"].as_str().unwrap();
    assert_eq!(Path::new(program), clients().join("toy"));
    // A link of another name, elsewhere, is the command.
    symlink(METALSHIM, other.join("ms")).unwrap();
    assert_eq!(user.shell("sh", "ms --version", &[&other]).code, 0);
}

#[test]
fn a_program_that_is_not_there_any_more_is_told_in_127() {
    let user = User::new().with_toy_wrapped();
    let mut command = user.command("sh");
    let path = path(&[&user.wrappers()]);
    command.args(["-c", "toy"]).env("PATH", path);
    let ended = Ended::new(command.output().unwrap());
    assert_eq!(ended.code, 127);
    snapshot("wrapper-program-gone", &user, &ended);
}

#[test]
fn status_lists_them_and_disable_unwraps() {
    let user = User::new().with_toy_wrapped();
    let status = user.types("status");
    snapshot("status-wrapped", &user, &status);
    let json = user.types("status --json").json("metalshim.status/1");
    assert_eq!(json["wrappers"][0]["name"], "toy");
    assert_eq!(user.types("disable toy").out, "unwrapped toy\n");
    assert_eq!(
        user.types("status --json").json("metalshim.status/1")["enabled"]["record"],
        "P0001"
    );
    assert_eq!(user.types("disable toy").out, "nothing was enabled\n");
    user.types("enable toy");
    user.file("state/metalshim-wrappers/mine", "kept");
    let ended = user.types("disable --all");
    assert!(ended.out.contains("unwrapped toy"), "{}", ended.out);
    let left: Vec<_> = fs::read_dir(user.wrappers()).unwrap().collect();
    assert_eq!(left.len(), 1);
    user.types("enable toy");
    user.types("disable --purge");
    assert!(!user.wrappers().join("toy").exists());
    assert!(user.wrappers().join("mine").exists());
}

#[test]
fn what_cannot_be_wrapped_is_said_and_nothing_is_made() {
    let user = User::new().with("PATH", path(&[&clients()]));
    for (name, code) in [
        ("no-such-program", 2),
        ("/bin/true", 2),
        ("metalshim", 2),
        ("toy metalshim", 2),
    ] {
        let ended = user.types(&format!("enable {name}"));
        assert_eq!(ended.code, code, "{name}: {}", ended.out);
    }
    snapshot("enable-path", &user, &user.types("enable /bin/true"));
    assert!(!user.wrappers().exists());
    assert!(!user.state().join("enabled.json").exists());
    // In the way, and not ours.
    user.file("state/metalshim-wrappers/toy", "mine");
    let ended = user.types("enable toy");
    assert!(ended.err.contains("in the way"), "{}", ended.err);
    assert_eq!(user.read("state/metalshim-wrappers/toy"), "mine");
}

#[test]
fn a_name_that_is_refused_kept_all_wrappers_from_being_removed() {
    let user = User::new().with_toy_wrapped();
    symlink(METALSHIM, user.wrappers().join("metalshim")).unwrap();
    let ended = user.types("disable");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(!user.wrappers().exists());
}

#[cfg(target_os = "linux")]
#[test]
fn our_variables_were_too_much_beside_many_arguments() {
    let user = User::new().with_toy_wrapped();
    let toy = kit().program("toy");
    let path = path(&[&clients()]);
    let start = |program: &Path, bytes: usize| {
        let mut command = user.command(program);
        command.env("PATH", &path);
        command.args(
            (0..bytes)
                .step_by(100_000)
                .map(|at| "x".repeat((bytes - at).min(100_000))),
        );
        command.output()
    };
    // The most that the program takes, on a system whose limit is that of its stack.
    let (mut most, mut too_many) = (0_usize, 8 << 20);
    while too_many - most > 1 {
        let middle = most.midpoint(too_many);
        match start(&toy, middle) {
            Ok(_) => most = middle,
            Err(_) => too_many = middle,
        }
    }
    // Less what the wrapper's own path takes.
    let wrapper = user.wrappers().join("toy");
    let ended = Ended::new(start(&wrapper, most - 2 * wrapper.as_os_str().len()).unwrap());
    assert_eq!(
        (ended.code, ended.printed("apple_family")),
        (0, "1005"),
        "{}",
        ended.err
    );
}

#[test]
fn without_a_umask_everybody_could_write_what_is_first_on_path() {
    let user = User::new();
    let folder = user.folder("state");
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let path = path(&[&clients()]);
    let line = format!("umask 000; exec '{METALSHIM}' enable toy");
    let mut command = user.command("sh");
    let ended = Ended::new(
        command
            .args(["-c", &line])
            .env("PATH", path)
            .output()
            .unwrap(),
    );
    assert_eq!(ended.code, 0, "{}", ended.err);
    let mode = || fs::metadata(user.wrappers()).unwrap().permissions().mode();
    assert_eq!(mode() & 0o022, 0, "{:o}", mode());
    // One that is so already is not used.
    fs::set_permissions(user.wrappers(), fs::Permissions::from_mode(0o777)).unwrap();
    let user = user.with("PATH", "/usr/bin:/bin");
    let ended = user.types("enable true");
    assert!(ended.err.contains("written by others"), "{}", ended.err);
}
