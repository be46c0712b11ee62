//! Bad input: one clear error that names the path or value and the next step; nothing is lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use metalshim_guest::FactsFile;

use crate::{Ended, METALSHIM, User, snapshot};

#[test]
fn a_broken_facts_file_is_named() {
    for (name, content) in [
        ("cut", "[guest]\nbuild = \"25F8"),
        ("build", "[guest]\nbuild = \"26.5.2\"\n"),
        ("unknown-key", "[gast]\n"),
    ] {
        let user = User::new();
        fs::write(user.facts.path(), content).unwrap();
        let ended = user.types("run -- TOY");
        assert_eq!(ended.code, 125);
        snapshot(&format!("facts-{name}"), &user, &ended);
        assert_eq!(user.types("status").code, 2);
    }
    let user = User::new().with("METALSHIM_FACTS", "/no/such/facts.toml");
    snapshot("facts-missing", &user, &user.types("status"));
}

#[test]
fn a_broken_policy_or_configuration_is_named() {
    let user = User::new();
    user.file("policy.toml", "deny_guest_bilds = []\n");
    snapshot(
        "policy-key",
        &user,
        &user.types("run --policy policy.toml -- TOY"),
    );
    snapshot(
        "policy-missing",
        &user,
        &user.types("run --policy nowhere.toml -- TOY"),
    );
    user.file(".config/metalshim/config.toml", "profil = \"1007/32768\"\n");
    snapshot("config-key", &user, &user.types("run -- TOY"));
    user.file(
        ".config/metalshim/config.toml",
        "profile = \"1010/32768\"\n",
    );
    snapshot("config-value", &user, &user.types("run -- TOY"));
    user.file(
        ".config/metalshim/config.toml",
        "profile = \"1007/32768\"\n",
    );
    assert_eq!(user.types("run -- TOY").printed("apple_family"), "1007");
    let flag = user.types("run --profile 1008/32768 -- TOY");
    assert_eq!(flag.printed("apple_family"), "1008");
}

#[test]
fn a_policy_larger_than_any_is_refused_and_not_cut() {
    let user = User::new();
    let padding = "#".repeat(300_000);
    let policy = format!("{padding}\ndeny_guest_builds = [\"25F84\"]\n");
    user.file("policy.toml", &policy);
    let ended = user.types("run --policy policy.toml -- TOY");
    assert_eq!(ended.code, 125);
    assert!(ended.err.contains("larger than 256 KB"), "{}", ended.err);
    user.file(".config/metalshim/config.toml", &padding);
    assert_eq!(user.types("run -- TOY").code, 125);
}

#[test]
fn a_pipe_where_a_file_should_be_is_an_error_and_not_waited_for() {
    let user = User::new();
    user.file("pipe", "");
    let pipe = user.home.path().join("pipe");
    fs::remove_file(&pipe).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let is_said = |ended: &Ended| ended.err.contains("not a regular file");
    let policy = user.types("run --policy pipe -- TOY");
    assert!(policy.code == 125 && is_said(&policy), "{}", policy.err);
    let database = user.types("db verify pipe");
    assert!(database.code == 2 && is_said(&database), "{}", database.err);
    fs::create_dir_all(user.home.path().join(".config/metalshim")).unwrap();
    fs::rename(
        &pipe,
        user.home.path().join(".config/metalshim/config.toml"),
    )
    .unwrap();
    let config = user.types("run --or-stock -- TOY");
    assert!(config.code == 0 && is_said(&config), "{}", config.err);
    assert_eq!(config.printed("apple_family"), "1005");
}

#[test]
fn a_program_that_is_missing_is_127_and_one_that_cannot_start_126() {
    let user = User::new();
    user.file("data", "no program");
    snapshot(
        "program-missing",
        &user,
        &user.types("run -- no-such-program"),
    );
    snapshot(
        "program-path-missing",
        &user,
        &user.types("run -- ./nowhere/tool"),
    );
    snapshot(
        "program-not-executable",
        &user,
        &user.types("run -- ./data"),
    );
    snapshot("program-folder", &user, &user.types("run -- ./"));
    for (line, code) in [("no-such-program", 127), ("./data", 126)] {
        assert_eq!(user.types(&format!("run --or-stock -- {line}")).code, code);
        assert_eq!(user.types(&format!("run --explain -- {line}")).code, code);
    }
}

#[test]
fn a_state_folder_that_cannot_be_written_is_named_and_nothing_starts() {
    let user = User::new();
    fs::write(user.state(), "a file where the folder should be").unwrap();
    snapshot("state-is-a-file", &user, &user.types("run -- TOY"));
    snapshot("state-is-a-file-enable", &user, &user.types("enable"));
    let kept = fs::read_to_string(user.state()).unwrap();
    assert_eq!(kept, "a file where the folder should be");
    let user = User::new().with("METALSHIM_STATE_DIR", "/proc/nothing/here");
    snapshot("state-in-proc", &user, &user.types("run -- TOY"));
}

#[test]
fn without_a_home_the_variable_is_named() {
    let user = User::new();
    let mut command = user.command(METALSHIM);
    command.env_remove("HOME").env_remove("METALSHIM_STATE_DIR");
    let ended = Ended::new(command.arg("status").output().unwrap());
    assert_eq!(ended.code, 2);
    snapshot("no-home", &user, &ended);
}

#[test]
fn state_that_was_cut_is_named_and_kept() {
    let user = User::new();
    for name in ["enabled", "unverified", "host"] {
        let path = user.file(&format!("state/{name}.json"), "{\"since\":");
        for line in ["run -- TOY", "enable"] {
            let user = match name {
                // The facts' own host is not looked for elsewhere.
                "host" => &User::on(FactsFile::sample().without("host"))
                    .with("METALSHIM_STATE_DIR", user.state().to_string_lossy()),
                _ => &user,
            };
            let ended = user.types(line);
            assert!([2, 125].contains(&ended.code), "{line}: {}", ended.code);
            assert!(ended.err.contains(name), "{line}: {}", ended.err);
            assert!(ended.err.contains("hint: "), "{line}: {}", ended.err);
        }
        let stock = user.types("run --or-stock -- TOY");
        assert_eq!(stock.code, 0, "{}", stock.err);
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"since\":");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn status_reports_damaged_state_and_all_the_rest() {
    let user = User::new();
    user.types("enable --profile 1007/32768");
    user.file("state/unverified.json", "[{]");
    let ended = user.types("status");
    assert_eq!(ended.code, 1, "{}", ended.err);
    snapshot("status-damaged", &user, &ended);
    let json = user.types("status --json").json("metalshim.status/1");
    let says = json["problems"][0]["says"].as_str().unwrap();
    assert!(says.contains("unverified.json"), "{says}");
    assert_eq!(json["enabled"]["record"], "P0001");
    fs::remove_file(user.state().join("unverified.json")).unwrap();
    assert_eq!(user.types("status").code, 0);
}

#[test]
fn a_state_folder_that_others_can_write_is_refused_and_reported() {
    let user = User::new();
    user.types("enable");
    fs::set_permissions(user.state(), fs::Permissions::from_mode(0o777)).unwrap();
    snapshot("state-writable", &user, &user.types("run -- TOY"));
    assert_eq!(user.types("run --or-stock --quiet -- TOY").code, 0);
    assert_eq!(user.types("enable").code, 2);
    let status = user.types("status");
    assert_eq!(status.code, 1);
    assert!(status.out.contains("mode 777"), "{}", status.out);
}

#[test]
fn a_shim_that_is_missing_or_no_file_is_a_clear_refusal() {
    let user = User::new();
    let prefix = user.home.path().join("prefix");
    fs::create_dir_all(prefix.join("bin")).unwrap();
    let copy = prefix.join("bin/metalshim");
    fs::copy(METALSHIM, &copy).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = user.command(&copy);
        Ended::new(command.args(arguments).output().unwrap())
    };
    snapshot("shim-missing", &user, &run(&["run", "--", "true"]));
    assert_eq!(run(&["run", "--or-stock", "--quiet", "--", "true"]).code, 0);
    fs::create_dir_all(prefix.join("libexec/libmetalshim.so")).unwrap();
    snapshot("shim-is-a-folder", &user, &run(&["run", "--", "true"]));
}

#[test]
fn wrong_values_are_named_with_what_would_be_right() {
    let user = User::new();
    for (name, line) in [
        ("profile", "run --profile 1010/65536 -- TOY"),
        ("host-build", "run --host-build 26.6.1 -- TOY"),
        ("option", "run --nosuch -- TOY"),
        ("both", "run --require --or-stock -- TOY"),
        ("no-program", "run"),
    ] {
        let ended = user.types(line);
        assert_eq!(ended.code, 125, "{line}");
        snapshot(&format!("wrong-{name}"), &user, &ended);
    }
    assert_eq!(user.types("status --nosuch").code, 2);
    let user = user.with("METALSHIM_HOST_BUILD", "26.6.1");
    snapshot("wrong-variable", &user, &user.types("run -- TOY"));
}

#[test]
fn a_pipe_in_the_place_of_an_exported_database_was_replaced() {
    let user = User::new();
    let pipe = user.home.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let ended = user.types("db export pipe");
    assert_eq!(ended.code, 2, "{}", ended.out);
    assert!(ended.err.contains("not a regular file"), "{}", ended.err);
    assert!(!pipe.metadata().unwrap().is_file());
}
