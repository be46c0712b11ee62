//! `bench`: the published series as published, and the stand-in for llama-bench on the
//! simulated guest.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use metalshim_guest::{FactsFile, built};
use serde_json::Value;

use crate::{Ended, User, snapshot};

const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/show/published");

fn summarise(words: &str) -> Ended {
    let user = User::new();
    let path = |word: &str| match word.starts_with("--") || word == "bench" || word == "summarise" {
        true => word.to_owned(),
        false => format!("{PUBLISHED}/{word}"),
    };
    user.run(format!("bench summarise {words}").split(' ').map(path))
}

/// The series of a result: metric, what it says, share of the host.
fn rows(ended: &Ended) -> Vec<(String, f64, String)> {
    let result = ended.json("metalshim.bench/1");
    let row = |row: &Value| {
        let text = |key: &str| row[key].as_str().unwrap().to_owned();
        (
            text("metric"),
            row["ratio"].as_f64().unwrap(),
            text("judgement"),
        )
    };
    result["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(row)
        .collect()
}

#[test]
fn published_series_come_out_as_published() {
    for (words, prompt, generation, judged) in [
        (
            "--stock tinyllama-stock.json --shimmed tinyllama-shimmed.json --json",
            "11.08",
            "16.36",
            "gain",
        ),
        (
            "--stock gemma4-stock.json --shimmed gemma4-shimmed.json --json",
            "7.20",
            "14.54",
            "gain",
        ),
        (
            "--stock muse-glimmer-stock-pp512.json muse-glimmer-stock-tg128.json --shimmed muse-glimmer-shimmed-pp512.json muse-glimmer-shimmed-tg128.json --json",
            "7.55",
            "8.87",
            "gain",
        ),
        (
            "--stock mlx-lm-stock.json --shimmed mlx-lm-shimmed.json --json",
            "1.005",
            "0.993",
            "flat",
        ),
    ] {
        let rows = rows(&summarise(words));
        let digits = prompt.split_once('.').unwrap().1.len();
        let said: Vec<_> = rows
            .iter()
            .map(|(metric, ratio, judged)| format!("{metric} {ratio:.digits$} {judged}"))
            .collect();
        assert_eq!(
            said,
            [
                format!("pp512 {prompt} {judged}"),
                format!("tg128 {generation} {judged}")
            ]
        );
    }
}

#[test]
fn a_published_series_as_people_read_it() {
    let user = User::new();
    let files =
        "--stock tinyllama-stock.json --shimmed tinyllama-shimmed.json --host tinyllama-host.json";
    snapshot!(user, "bench-tinyllama", summarise(files));
    snapshot!(
        user,
        "bench-markdown",
        summarise(&format!("{files} --markdown"))
    );
    let flat = "--stock mlx-lm-stock.json --shimmed mlx-lm-shimmed.json";
    snapshot!(user, "bench-flat", summarise(flat));
}

#[test]
fn files_of_different_tests_are_not_compared() {
    let user = User::new();
    let ended = summarise("--stock tinyllama-stock.json --shimmed gemma4-shimmed.json");
    snapshot!(user, "bench-nothing-in-common", ended);
    let ended = user.run([
        "bench",
        "summarise",
        "--stock",
        "/dev/zero",
        "--shimmed",
        "/dev/null",
    ]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("/dev/zero"), "{}", ended.err);
}

/// A user with models that the stand-in finds.
struct Measuring {
    user: User,
}

impl Measuring {
    fn on(facts: FactsFile) -> Self {
        let user = User::on(facts);
        for model in ["tiny.gguf", "flat.gguf", "noisy.gguf"] {
            std::fs::write(user.home.path().join(model), "").unwrap();
        }
        Self { user }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.user.home.path().join(name)
    }

    /// `metalshim bench` with these words; `LLAMA` is the stand-in.
    fn bench(&self, words: &str) -> Ended {
        let llama = built()
            .program("llama-bench")
            .to_string_lossy()
            .into_owned();
        let words = words.split(' ').map(|w| w.replace("LLAMA", &llama));
        self.user.run(["bench".to_owned()].into_iter().chain(words))
    }
}

#[test]
fn a_gain_is_measured_in_turn_and_kept() {
    let on = Measuring::on(FactsFile::sample());
    let ended = on.bench("--busy-ok --out r.json --svg r.svg --json -- LLAMA -m tiny.gguf -v");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let result = ended.json("metalshim.bench/1");
    let kept = std::fs::read_to_string(on.file("r.json")).unwrap();
    assert_eq!(ended.out, kept);
    let row = &result["series"][0];
    assert_eq!(row["judgement"], "gain");
    assert_eq!(row["pairs"].as_array().unwrap().len(), 2);
    assert_eq!(row["stock"]["runs"][1].as_array().unwrap().len(), 5);
    assert_eq!(result["capabilities"]["stock"]["apple_family"], "1005");
    assert_eq!(result["capabilities"]["shimmed"]["apple_family"], "1009");
    assert_eq!(result["conditions"]["simulated"], true);
    // No folder of this user is in what is posted.
    let home = on.user.home.path().to_string_lossy().into_owned();
    let picture = std::fs::read_to_string(on.file("r.svg")).unwrap();
    for text in [&kept, &picture] {
        assert!(!text.contains(&home), "{text}");
    }
    assert!(picture.contains("prefers-color-scheme:dark"));
    assert!(!picture.contains("<script") && !picture.contains("http://www.w3.org/1999/xlink"));
    // Nothing is left beside what was asked for.
    assert!(on.user.written().iter().all(|name| !name.ends_with(".tmp")));
}

#[test]
fn noise_is_not_called_a_gain() {
    let on = Measuring::on(FactsFile::sample());
    for (model, judged) in [("noisy", "noise"), ("flat", "flat")] {
        let ended = on.bench(&format!("--busy-ok --json -- LLAMA -m {model}.gguf -n 0"));
        assert_eq!(rows(&ended)[0].2, judged);
    }
    let ended = on.bench("--busy-ok --json --runs 1 -- LLAMA -m tiny.gguf -n 0 -r 2");
    assert_eq!(rows(&ended)[0].2, "too-few");
}

#[test]
fn a_host_makes_a_baseline_and_a_guest_uses_it() {
    let facts = FactsFile::sample().with("guest.vm", false);
    let host = Measuring::on(facts.with("guest.build", "25G76"));
    let ended = host.bench("record-host --busy-ok --out host.json -- LLAMA -m tiny.gguf");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let guest = Measuring::on(FactsFile::sample());
    std::fs::copy(host.file("host.json"), guest.file("host.json")).unwrap();
    let ended = guest.bench("--busy-ok --baseline host.json --json -- LLAMA -m tiny.gguf");
    let result = ended.json("metalshim.bench/1");
    assert!(result["series"][0]["share_of_host"].is_f64(), "{result}");
    let ended = guest.bench("record-host --busy-ok -- LLAMA -m tiny.gguf");
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("on the host itself"), "{}", ended.err);
}

#[test]
fn what_is_refused_is_not_measured() {
    let on = Measuring::on(FactsFile::parse(include_str!(
        "../../../shim/guest/facts/unlisted-pair.toml"
    )));
    let ended = on.bench("--busy-ok --out r.json -- LLAMA -m tiny.gguf");
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert!(ended.out.contains("pair-unknown"), "{}", ended.out);
    assert!(!on.file("r.json").exists());
}

#[test]
fn what_goes_wrong_is_told() {
    let on = Measuring::on(FactsFile::sample());
    for (words, says) in [
        ("--busy-ok -- LLAMA -m gone.gguf", "failed to load model"),
        (
            "--busy-ok -- LLAMA -m tiny.gguf -o md",
            "only json and jsonl",
        ),
        ("-- true", "does not know what it prints"),
        ("--busy-ok --tool llama-bench -- true", "cannot be used"),
        ("--busy-ok -- nowhere", "nowhere"),
        (
            "--busy-ok --out /dev/null -- LLAMA -m tiny.gguf",
            "not a regular file",
        ),
        ("--busy-ok -- ollama list", "ollama"),
    ] {
        let ended = on.bench(words);
        assert_eq!(ended.code, 2, "{words}: {}{}", ended.out, ended.err);
        assert!(ended.err.contains(says), "{words}: {}", ended.err);
    }
}

/// A stand-in for ollama in front of the stand-in for llama-bench: the server asks the device.
#[test]
fn ollamas_server_is_started_for_each_side() {
    let Some(python) = ["/usr/bin/python3", "/usr/local/bin/python3"]
        .into_iter()
        .find(|p| Path::new(p).exists())
    else {
        eprintln!("skipped: no python3 for the stand-in of ollama");
        return;
    };
    let on = Measuring::on(FactsFile::sample());
    let script = on.file("ollama");
    // The runner that ollama's client row names, which is followed.
    let runner = on.file("llama-server");
    std::os::unix::fs::symlink(built().program("llama"), &runner).unwrap();
    let text = include_str!("ollama.py")
        .replace("PYTHON", python)
        .replace("RUNNER", &runner.to_string_lossy());
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let ended = on.bench(&format!(
        "--busy-ok --client ollama --runs 1 --json -- {} run m:1b hello",
        script.display()
    ));
    let rows = rows(&ended);
    assert_eq!(rows[1].0, "eval");
    assert_eq!(rows[1].2, "gain", "{}", ended.out);
}
