use std::fs;
use std::path::{Path, PathBuf};

use compatdb::records::Records;

use super::{User, snapshot};

/// A database file, built from the records.
fn database(user: &User) -> PathBuf {
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("../compatdb/records");
    let (records, problems) = Records::load(&records);
    assert!(problems.is_empty(), "{problems:?}");
    let bytes = compatdb::build_database(&records, &records.release).unwrap();
    let path = user.home.path().join("compat.sqlite");
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn info_says_that_it_is_unsigned() {
    let user = User::new();
    let text = user.run(["db", "info"]);
    assert_eq!(text.code, 0);
    assert!(
        text.out.starts_with("unsigned development database"),
        "{}",
        text.out
    );
    let json = user
        .run(["db", "info", "--json"])
        .json("metalshim.db-info/1");
    assert_eq!(json["signed"], false);
    assert!(json["rows"]["verified"].as_u64().unwrap() >= 3);
}

#[test]
fn the_exported_file_is_the_database_in_use() {
    let user = User::new();
    let path = user.home.path().join("exported.sqlite");
    let name = path.to_str().unwrap();
    fs::write(&path, "an older file").unwrap();
    let json = user.run(["db", "export", name, "--json"]);
    let json = json.json("metalshim.db-export/1");
    assert_eq!(user.run(["db", "verify", name]).code, 0);
    let bytes = fs::read(&path).unwrap();
    assert_eq!(json["sha256"], compatdb::sha256_hex(&bytes));
    assert_eq!(bytes, fs::read(database(&user)).unwrap());
    let nowhere = user.run(["db", "export", "/nowhere/compat.sqlite"]);
    assert_eq!(nowhere.code, 2);
    assert!(
        nowhere.err.contains("/nowhere/compat.sqlite"),
        "{}",
        nowhere.err
    );
}

#[test]
fn a_pair_is_shown_with_the_source_of_every_figure() {
    let user = User::new();
    let ended = user.run(["db", "show", "P0003"]);
    assert!(ended.out.contains("Third-party evidence"), "{}", ended.out);
    snapshot!(user, "db-show-pair", ended);
    let json = user.run(["db", "show", "P0001", "--json"]);
    let json = json.json("metalshim.db-show/1");
    let pair = &json["pair"];
    let sources = pair["sources"].as_array().unwrap();
    let workloads = pair["workloads"].as_array().unwrap();
    assert!(!workloads.is_empty());
    for workload in workloads {
        let cited = sources.iter().any(|s| s["key"] == workload["source"]);
        assert!(cited, "{workload}");
    }
}

#[test]
fn other_rows_are_shown_by_their_ids() {
    let user = User::new();
    for (id, words) in [
        ("D0001", "F01"),
        ("L0001", "allows nothing"),
        ("F01", "unslothai/llama.cpp"),
        ("S01", "trycua/cua"),
        ("llama.cpp", "32768"),
        ("25F84", "26.5.2"),
    ] {
        let ended = user.run(["db", "show", id]);
        assert_eq!(ended.code, 0, "{id}: {}", ended.err);
        assert!(ended.out.contains(words), "{id}: {}", ended.out);
    }
    let none = user.run(["db", "show", "P9999"]);
    assert_eq!(none.code, 2);
    assert!(
        none.err.contains("P9999") && none.err.contains("hint:"),
        "{}",
        none.err
    );
}

#[test]
fn filters_leave_what_they_name() {
    let user = User::new();
    let ids = |filter: &[&str]| {
        let arguments = ["db", "pairs", "--json"].iter().chain(filter);
        let json = user.run(arguments).json("metalshim.db-pairs/1");
        let pairs = json["pairs"].as_array().unwrap().clone();
        let ids = pairs.iter().map(|p| p["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    let all = ids(&[]);
    assert!(all.contains(&"P0001".to_owned()) && all.contains(&"P0003".to_owned()));
    assert_eq!(ids(&["--host", "25G83"]), ["P0003"]);
    assert_eq!(ids(&["--guest", "25F84", "--host", "25G76"]), ["P0001"]);
    assert_eq!(ids(&["--chip", "m4"]), ["P0003"]);
    assert_eq!(ids(&["--status", "revoked"]), [""; 0]);
    let wrong = user.run(["db", "pairs", "--status", "good"]);
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.err.contains("verified, broken or revoked"),
        "{}",
        wrong.err
    );
}

#[test]
fn leads_are_shown_on_request_and_said_to_allow_nothing() {
    let user = User::new();
    let without = user.run(["db", "pairs"]).out;
    assert!(
        !without.contains("L0001") && without.contains("--leads"),
        "{without}"
    );
    let with = user.run(["db", "pairs", "--leads"]).out;
    assert!(
        with.contains("L0001") && with.contains("They allow nothing"),
        "{with}"
    );
    let json = user.run(["db", "pairs", "--leads", "--json"]);
    let json = json.json("metalshim.db-pairs/1");
    assert!(!json["leads"].as_array().unwrap().is_empty());
}

#[test]
fn tables_keep_to_a_page_where_the_output_is_no_terminal() {
    let wide = |user: &User, list: &str| {
        let text = user.run(["db", list]).out;
        text.lines().map(|l| l.chars().count()).max().unwrap()
    };
    for list in ["clients", "pairs", "faults", "builds", "info"] {
        assert!(wide(&User::new(), list) <= 100, "{list}");
        let user = User::new().with("COLUMNS", "140");
        assert!(wide(&user, list) <= 140, "{list}");
    }
    assert!(wide(&User::new().with("COLUMNS", "200"), "clients") > 140);
    // Ids are whole, and scripts have JSON.
    let user = User::new();
    let text = user.run(["db", "clients"]).out;
    let json = user.run(["db", "clients", "--json"]);
    for row in json.json("metalshim.db-clients/1")["clients"]
        .as_array()
        .unwrap()
    {
        let id = row["id"].as_str().unwrap();
        let mut lines = text.lines();
        assert!(
            lines.any(|l| l.split_whitespace().next() == Some(id)),
            "{id}"
        );
    }
}

#[test]
fn a_build_is_shown_with_everything_that_is_about_it() {
    let user = User::new();
    let ended = user.run(["db", "show", "25F84"]);
    assert!(ended.out.contains("P0001 with host 25G76"), "{}", ended.out);
    snapshot!(user, "db-show-build", ended);
    let json = user.run(["db", "show", "25F84", "--json"]);
    let json = json.json("metalshim.db-show/1");
    assert_eq!(json["build"]["build"], "25F84");
    let pairs = json["guest_in"].as_array().unwrap();
    assert!(pairs.iter().any(|p| p["id"] == "P0001"), "{json}");
    let denied = user.run(["db", "show", "23J631"]);
    assert!(denied.out.contains("D0001 (guests)"), "{}", denied.out);
    let none = user.run(["db", "show", "X99"]);
    assert!(none.err.contains("metalshim db builds"), "{}", none.err);
}

#[test]
fn a_database_whose_rows_contradict_each_other_is_not_verified() {
    use compatdb::rows::Status;
    let user = User::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../compatdb/records");
    let (records, _) = Records::load(&folder);
    type Break = fn(&mut Records);
    let broken: [(&str, Break); 5] = [
        ("pair-twice", |r| {
            let mut again = r.pairs[0].clone();
            again.record.id = "P7777".to_owned();
            again.record.status = Status::Broken;
            again.record.reason = Some("It is broken, too.".to_owned());
            r.pairs.push(again);
        }),
        ("profile-range", |r| {
            r.pairs[0].record.profile.apple_family_max = 1010;
        }),
        ("range-allows", |r| {
            r.denies[0].record.status = Status::Verified;
        }),
        ("verified-evidence", |r| {
            r.pairs[0].record.evidence.level = 0
        }),
        ("build-known", |r| r.builds.record.build.clear()),
    ];
    for (rule, damage) in broken {
        let mut records = records.clone();
        damage(&mut records);
        let bytes = compatdb::build_database(&records, &records.release).unwrap();
        let path = user.home.path().join("compat.sqlite");
        fs::write(&path, bytes).unwrap();
        let line = ["db", "verify", path.to_str().unwrap()];
        let ended = user.run(line);
        assert_eq!(ended.code, 1, "{rule}: {}", ended.out);
        assert!(
            ended.out.contains(&format!("[{rule}]")),
            "{rule}: {}",
            ended.out
        );
        let json = user
            .run(line.iter().chain(&["--json"]))
            .json("metalshim.db-verify/1");
        assert_eq!(json["valid"], false);
        assert!(!json["broken_rules"].as_array().unwrap().is_empty());
    }
}

#[test]
fn a_database_file_is_verified() {
    let user = User::new();
    let file = database(&user);
    let name = file.to_str().unwrap();
    let good = user.run(["db", "verify", name]);
    assert_eq!(good.code, 0, "{}", good.out);
    let json = user.run(["db", "verify", name, "--json"]);
    let json = json.json("metalshim.db-verify/1");
    assert_eq!(json["valid"], true);

    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    let cut = user.run(["db", "verify", name]);
    assert_eq!(cut.code, 1);
    snapshot!(user, "db-verify-cut", cut);

    fs::write(&file, "not a database").unwrap();
    let other = user.run(["db", "verify", name, "--json"]);
    assert_eq!(other.code, 1);
    let json = other.json("metalshim.db-verify/1");
    assert_eq!(json["valid"], false);
    assert!(json["problem"].is_string());

    let missing = user.run(["db", "verify", "/nowhere/compat.sqlite"]);
    assert_eq!(missing.code, 2);
    assert_eq!(missing.out, "");
    assert!(
        missing.err.contains("/nowhere/compat.sqlite"),
        "{}",
        missing.err
    );
}
