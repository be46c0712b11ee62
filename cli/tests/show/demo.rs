use std::fs;
use std::path::{Path, PathBuf};

use metalshim_guest::built;
use tempfile::TempDir;

use super::{METALSHIM, User, snapshot};

const SCHEMA: &str = "metalshim.demo/1";

#[test]
fn the_story_comes_out_right_and_its_values_are_the_programs_own() {
    let toy = built().program("toy");
    let user = User::new();
    let ended = user.run(["demo", "--json"]);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let json = ended.json(SCHEMA);
    let runs = json["runs"].as_array().unwrap();
    let keys = |value: &serde_json::Value| {
        let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
        format!("{keys:?}")
    };
    assert_eq!(
        keys(&runs[0]),
        r#"["client", "pair", "shimmed", "stock", "verdict"]"#
    );
    // What the toy prints when it is started by hand, on the sample's guest.
    let by_hand = user.run_as(&toy, [""; 0]).out;
    let stock = &runs[0]["stock"];
    for key in ["apple_family", "max_threadgroup_memory", "kernel"] {
        let value = stock[key].to_string().replace('"', "");
        assert!(by_hand.contains(&format!("{key}={value}\n")), "{by_hand}");
    }
    let told = |run: &serde_json::Value, how: &str| {
        let answers = &run[how];
        format!(
            "{}/{} {}",
            answers["apple_family"],
            answers["max_threadgroup_memory"],
            answers["kernel"].as_str().unwrap()
        )
    };
    let lines: Vec<String> = runs
        .iter()
        .map(|run| {
            format!(
                "{} on {}: {} {}: {} -> {}",
                run["pair"]["guest"].as_str().unwrap(),
                run["pair"]["host"].as_str().unwrap(),
                run["client"].as_str().unwrap(),
                run["verdict"]["decision"].as_str().unwrap(),
                told(run, "stock"),
                told(run, "shimmed")
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            "25F84 on 25G76: toy allow: 1005/32768 cpu_fallback -> 1009/65536 fast_gpu_kernel",
            "25F84 on 25G76: llama allow: 1005/32768 cpu -> 1009/65536 mul_mm",
            "25F84 on 25G76: mlx allow: 1005/32768 base_tiles -> 1009/65536 base_tiles",
            "25F84 on 25G76: wgpu allow: 1005/32768 atomics_32 -> 1007/65536 atomics_32",
            "25G76 on 25G83: toy allow: 1005/32768 cpu_fallback -> 1009/32768 cpu_fallback",
            "25G76 on 25G83: llama allow: 1005/32768 cpu -> 1009/32768 mul_mm",
            "25F84 on 25G83: toy refuse: 1005/32768 cpu_fallback -> 1005/32768 cpu_fallback",
            "23J631 on 25G76: toy refuse: 1005/32768 cpu_fallback -> 1005/32768 cpu_fallback",
        ]
    );
    assert_eq!(user.written(), [""; 0], "the demo left something behind");
}

#[test]
fn the_story_is_told_in_words() {
    built();
    let user = User::new();
    let ended = user.run(["demo"]);
    snapshot!(user, "demo", ended);
}

/// What a user's own variables, facts and state say is not part of the demo.
#[test]
fn nothing_of_the_users_is_read() {
    built();
    let user = User::new()
        .with("METALSHIM_DISABLE", "1")
        .with("METALSHIM_HOST_BUILD", "25A1")
        .with("METALSHIM_FACTS", "/nowhere/facts.toml")
        .with("METALSHIM_STATE_DIR", "not/absolute");
    let ended = user.run(["demo", "--json"]);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
}

/// A folder that is laid out as a build folder is, with the command in it.
fn build_folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let metalshim = bin.join("metalshim");
    fs::hard_link(METALSHIM, &metalshim).unwrap();
    (folder, metalshim)
}

fn link(to: &Path, from: PathBuf) {
    std::os::unix::fs::symlink(to, from).unwrap();
}

/// A library that does nothing stands for a shim whose hook does not take: it is loaded, and
/// the answers stay stock.
#[test]
fn a_shim_that_hooks_nothing_makes_the_story_wrong() {
    let (folder, metalshim) = build_folder();
    link(built().guest_dir(), folder.path().join("guest"));
    fs::create_dir(folder.path().join("shim")).unwrap();
    let shim = built().shim().file_name().unwrap();
    fs::copy(
        built().library("guestsystem"),
        folder.path().join("shim").join(shim),
    )
    .unwrap();
    let user = User::new();
    let ended = user.run_as(&metalshim, ["demo"]);
    assert_eq!(ended.code, 1, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("NOT as it has to be"), "{}", ended.out);
    assert!(
        ended
            .out
            .contains("toy: should have been told 1009/65536, and printed 1005/32768"),
        "{}",
        ended.out
    );
    let json = user.run_as(&metalshim, ["demo", "--json"]);
    assert_eq!(json.code, 1);
    assert!(json.err.contains("toy"), "{}", json.err);
}

#[test]
fn programs_that_are_not_built_are_named_with_what_this_copy_can_do() {
    let (folder, metalshim) = build_folder();
    let user = User::new();
    let installed = user.run_as(&metalshim, ["demo"]);
    assert_eq!((installed.code, installed.out.as_str()), (2, ""));
    // `make guest` helps no installed copy.
    assert!(!installed.err.contains("make guest"), "{}", installed.err);
    for way in ["make demo", "metalshim doctor", "metalshim db pairs"] {
        assert!(installed.err.contains(way), "{}", installed.err);
    }
    let built = folder.path().join("release");
    fs::rename(metalshim.parent().unwrap(), &built).unwrap();
    let checkout = user.run_as(&built.join("metalshim"), ["demo"]);
    assert!(checkout.err.contains("make guest"), "{}", checkout.err);
}
