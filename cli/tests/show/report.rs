//! `report`: what is in it, and what is not.

use metalshim_guest::{FactsFile, built};
use serde_json::Value;

use crate::{User, snapshot};

const UNLISTED: &str = include_str!("../../../shim/guest/facts/unlisted-pair.toml");

fn report(user: &User, words: &str) -> crate::Ended {
    user.run(words.split(' '))
}

#[test]
fn a_report_holds_what_was_found_and_no_names() {
    let user = User::on(FactsFile::sample());
    let home = user.home.path();
    std::fs::write(home.join("tiny.gguf"), "").unwrap();
    let llama = built().program("llama-bench");
    let bench = user.run([
        "bench".as_ref(),
        "--busy-ok".as_ref(),
        "--profile".as_ref(),
        "1009/65536".as_ref(),
        "--out".as_ref(),
        "gain.json".as_ref(),
        "--".as_ref(),
        llama.as_os_str(),
        "-m".as_ref(),
        home.join("tiny.gguf").as_os_str(),
    ]);
    assert_eq!(bench.code, 0, "{}", bench.err);
    let ended = report(
        &user,
        "report --bench gain.json --vm Lume@0.5.3 --by me --out r.json",
    );
    assert_eq!(ended.code, 0, "{}", ended.err);
    let text = std::fs::read_to_string(home.join("r.json")).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["schema"], "metalshim.report/1");
    assert_eq!(value["simulated"], true);
    assert_eq!(value["guest"]["build"], "25F84");
    assert_eq!(value["probe"]["stock"]["max_threadgroup_memory"], 32768);
    assert_eq!(value["bench"][0]["series"][0]["judgement"], "gain");
    assert_eq!(
        value["metalshim"]["shim_sha256"].as_str().unwrap().len(),
        64
    );
    assert!(!text.contains(&*home.to_string_lossy()), "{text}");
    // Not even the boot is named: it would tell two reports of one person.
    assert!(!text.contains(FactsFile::sample().text("guest.boot_session")));
    // What the maintainers' library reads is what was written.
    let read = compatdb::report::Report::read(text.as_bytes()).unwrap();
    assert_eq!(read.reporter.as_deref(), Some("me"));
    // The same machine again is the same machine.
    let again = report(&user, "report --json").json("metalshim.report/1");
    assert_eq!(again["machine"], value["machine"]);
}

#[test]
fn what_it_lacks_is_said() {
    let user = User::on(FactsFile::parse(UNLISTED));
    let ended = report(&user, "report --out r.json");
    assert_eq!(ended.code, 0, "{}", ended.err);
    for says in [
        "refused: pair-unknown",
        "run --allow-unverified",
        "--bench",
        "--vm",
        "/issues/new",
    ] {
        assert!(ended.out.contains(says), "{says}: {}", ended.out);
    }
}

#[test]
fn figures_that_were_changed_are_refused() {
    let user = User::on(FactsFile::sample());
    let home = user.home.path();
    let llama = built()
        .program("llama-bench")
        .to_string_lossy()
        .into_owned();
    std::fs::write(home.join("tiny.gguf"), "").unwrap();
    let line = format!("bench --busy-ok --out gain.json -- {llama} -m tiny.gguf -n 0");
    assert_eq!(user.run(line.split(' ')).code, 0);
    let kept = std::fs::read_to_string(home.join("gain.json")).unwrap();
    let value: Value = serde_json::from_str(&kept).unwrap();
    let median = value["series"][0]["shimmed"]["median"].to_string();
    let line = format!("\"median\": {median}");
    assert!(kept.contains(&line));
    std::fs::write(
        home.join("gain.json"),
        kept.replace(&line, "\"median\": 99999.0"),
    )
    .unwrap();
    snapshot!(
        user,
        "report-changed-figures",
        report(&user, "report --bench gain.json")
    );
}
