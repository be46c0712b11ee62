//! Reports taken in, good and hostile, against the project's own records.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use compatdb::bench::{Bench, Compared, Conditions, Series, Sides};
use compatdb::facts::{Host, HostSource, Sip};
use compatdb::ingest::{Given, Ingested, Rules, ingest};
use compatdb::records::{Pair, Records, VmSoftware};
use compatdb::report::{
    Answers, CanaryRun, Decided, GuestSeen, Probe, Report, SCHEMA, Versions, plain,
};
use compatdb::{OsBuild, Profile, sha256_hex};
use serde_json::{Value, json};

const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/records");

fn build(text: &str) -> OsBuild {
    text.parse().unwrap()
}

fn profile() -> Profile {
    Profile::CAUTIOUS
}

fn answers(family: u16, memory: u32) -> Answers {
    Answers {
        name: "Apple Paravirtual device".into(),
        class: "AppleParavirtDevice".into(),
        families: (1001..=family).chain([2002, 3001, 3002, 3003]).collect(),
        max_threadgroup_memory: memory,
        host_family: None,
        metal_uuid: None,
        driver_uuid: None,
        features: [("unified_memory".to_owned(), "true".to_owned())].into(),
        created_us: 1200,
    }
}

fn series(metric: &str) -> Series {
    Series {
        workload: "tiny".into(),
        client: "llama.cpp".into(),
        client_version: Some("b10167 (ee3d1b54c)".into()),
        metric: metric.into(),
        unit: "tokens/s".into(),
        settings: BTreeMap::new(),
        samples: Vec::new(),
    }
}

/// A report that fits: guest 26A428 on 25G83, which no record is about.
fn good(machine: u8) -> Report {
    let boot = sha256_hex(&[machine]);
    let offset = f64::from(machine);
    let row = Compared::of(
        &series("pp512"),
        vec![vec![430.0 + offset, 431.5, 429.25]],
        vec![vec![4780.0 + offset, 4795.5, 4770.25]],
        Vec::new(),
    );
    Report {
        made_at: "2026-12-01T10:00:00Z".parse().unwrap(),
        simulated: false,
        machine: format!("{machine:032x}"),
        boot: boot.clone(),
        reporter: Some(format!("person-{machine}")),
        ci_run: None,
        vm_software: Some(VmSoftware {
            name: "Lume".into(),
            version: Some("0.5.3".into()),
        }),
        metalshim: Versions {
            version: "0.1.0".parse().unwrap(),
            shim_sha256: Some(sha256_hex(b"shim")),
            shim_abi: 1,
        },
        database: None,
        guest: GuestSeen {
            build: build("26A428"),
            version: "27.0".into(),
            model: "VirtualMac2,1".into(),
            chip: "Apple M4 Max (Virtual)".into(),
            sip: Sip::Disabled,
        },
        host: Some(Host {
            build: build("25G83"),
            version: Some("26.6.2".into()),
            model: Some("Mac16,9".into()),
            chip: Some("Apple M4 Max".into()),
            apple_family: Some(1009),
            feature_level_preference: None,
            source: HostSource::Attested,
        }),
        verdict: Decided {
            allowed: true,
            reason: None,
            record: None,
            profile: Some(profile()),
        },
        probe: Some(Probe {
            stock: answers(1005, 32768),
            shimmed: Some(answers(1007, 32768)),
            profile: Some(profile()),
            wrong: Vec::new(),
        }),
        canary: Some(CanaryRun {
            outcome: "passed".into(),
            profile: profile(),
            cases: 12,
        }),
        bench: vec![Bench {
            tool: "llama-bench".into(),
            program: "llama-bench".into(),
            arguments: Vec::new(),
            conditions: Some(Conditions {
                at: "2026-12-01T09:00:00Z".parse().unwrap(),
                runs: 1,
                guest_build: build("26A428"),
                guest_chip: "Apple M4 Max (Virtual)".into(),
                host_build: Some(build("25G83")),
                host_source: Some(HostSource::Attested),
                boot,
                profile: profile(),
                record: None,
                load: Some(0.1),
                simulated: false,
                busy: false,
            }),
            series: vec![row.unwrap()],
            capabilities: Sides::default(),
            warnings: Vec::new(),
        }],
        missing: Vec::new(),
    }
}

fn bytes(report: &Report) -> Vec<u8> {
    let mut value = serde_json::to_value(report).unwrap();
    value["schema"] = SCHEMA.into();
    serde_json::to_vec(&value).unwrap()
}

fn given(file: &str, bytes: Vec<u8>) -> Given {
    Given {
        file: file.to_owned(),
        bytes,
        issue: None,
    }
}

fn rules() -> Rules {
    Rules {
        now: "2026-12-02T00:00:00Z".parse().unwrap(),
        simulated: false,
        project: "metalshim/metalshim".to_owned(),
    }
}

fn records() -> Records {
    let (records, problems) = Records::load(Path::new(RECORDS));
    assert_eq!(problems, []);
    records
}

fn texts(records: &Records) -> BTreeMap<String, String> {
    let read = |file: &str| std::fs::read_to_string(Path::new(RECORDS).join(file)).unwrap();
    let pairs = records.pairs.iter();
    pairs
        .filter(|p| Path::new(RECORDS).join(&p.file).exists())
        .map(|p| (p.file.clone(), read(&p.file)))
        .collect()
}

fn taken(given: &[Given]) -> Ingested {
    let records = records();
    ingest(&records, &texts(&records), given, &rules())
}

fn of(reports: &[Report]) -> Ingested {
    let all = reports.iter().enumerate();
    let all: Vec<Given> = all
        .map(|(at, r)| given(&format!("{at}.json"), bytes(r)))
        .collect();
    taken(&all)
}

/// Why the report is refused, where it is.
fn against(change: impl FnOnce(&mut Report)) -> String {
    let mut report = good(1);
    change(&mut report);
    let done = of(&[report]);
    assert_eq!(done.proposals, [], "it should be refused");
    done.refused
        .iter()
        .flat_map(|r| r.because.clone())
        .collect::<Vec<_>>()
        .join("; ")
}

#[test]
fn one_report_makes_a_record_of_level_1() {
    let done = of(&[good(1)]);
    assert_eq!(done.refused, []);
    let proposal = &done.proposals[0];
    assert_eq!((proposal.level_before, proposal.level), (None, 1));
    insta::assert_snapshot!("ingest-new", proposal.text);
    insta::assert_snapshot!("ingest-review", proposal.review.join("\n"));
}

#[test]
fn two_independent_machines_make_level_2_and_nothing_less_does() {
    assert_eq!(of(&[good(1), good(2)]).proposals[0].level, 2);
    // The same machine twice, on two boots.
    let mut again = good(2);
    again.machine = good(1).machine;
    let done = of(&[good(1), again]);
    assert_eq!(done.proposals[0].level, 1);
    assert!(done.notes[0].contains("counted once"), "{:?}", done.notes);
    // One person with two machines, and nobody named.
    for by in [good(1).reporter, None] {
        let mut other = good(2);
        other.reporter = by;
        assert_eq!(of(&[good(1), other]).proposals[0].level, 1);
    }
    // A host's build that was only stated is level 1 at most.
    let mut stated = good(2);
    stated.host.as_mut().unwrap().source = HostSource::Stated;
    assert_eq!(of(&[good(1), stated]).proposals[0].level, 1);
    // A copy.
    let mut copy = good(2);
    copy.bench[0].series = good(1).bench[0].series.clone();
    let done = of(&[good(1), copy]);
    assert_eq!(done.proposals[0].level, 1);
    assert!(done.refused[0].because[0].contains("to the last digit"));
}

#[test]
fn ci_on_two_days_makes_level_3() {
    let ci = |machine, day: &str| Report {
        ci_run: Some(format!("https://example.org/runs/{machine}")),
        reporter: Some("the-ci".into()),
        made_at: format!("2026-12-01T{day}Z").parse().unwrap(),
        ..good(machine)
    };
    let one_day = [good(1), ci(2, "10:00:00"), ci(3, "11:00:00")];
    assert_eq!(of(&one_day).proposals[0].level, 2);
    let mut two_days = one_day.clone();
    two_days[1].made_at = "2026-11-30T10:00:00Z".parse().unwrap();
    assert_eq!(of(&two_days).proposals[0].level, 3);
    // CI alone is one machine, on however many days.
    assert_eq!(of(&two_days[1..]).proposals[0].level, 1);
}

#[test]
fn a_record_is_raised_and_its_comments_stay() {
    let on_p0003 = |machine| {
        let mut report = good(machine);
        let told: Profile = "1009/32768".parse().unwrap();
        report.guest.build = build("25G76");
        report.guest.version = "26.6.1".into();
        report.verdict.profile = Some(told);
        let probe = report.probe.as_mut().unwrap();
        (probe.profile, probe.shimmed) = (Some(told), Some(answers(1009, 32768)));
        report.canary.as_mut().unwrap().profile = told;
        let conditions = report.bench[0].conditions.as_mut().unwrap();
        conditions.guest_build = build("25G76");
        conditions.profile = told;
        report
    };
    let done = of(&[on_p0003(1), on_p0003(2)]);
    assert_eq!(done.refused, []);
    let proposal = &done.proposals[0];
    assert_eq!((proposal.level_before, proposal.level), (Some(1), 2));
    assert!(
        proposal.text.contains("# Off for the workloads below"),
        "{}",
        proposal.text
    );
    let pair: Pair = toml::from_str(&proposal.text).unwrap();
    assert!(
        pair.evidence.says.contains("ardanlabs/kronk"),
        "{}",
        pair.evidence.says
    );
    // A wider one, a narrower one, and one with other stock answers raise nothing.
    let refused = |change: fn(&mut Report)| {
        let mut report = on_p0003(1);
        change(&mut report);
        let done = of(&[report]);
        assert_eq!(done.proposals, []);
        done.refused[0].because.join("; ")
    };
    let narrower = refused(|r| r.canary.as_mut().unwrap().profile = profile());
    assert!(narrower.contains("raises no level"), "{narrower}");
    let stock = refused(|r| {
        let probe = r.probe.as_mut().unwrap();
        probe.stock.families.push(3004);
        probe.shimmed.as_mut().unwrap().families.push(3004);
    });
    assert!(stock.contains("not those of P0003"), "{stock}");
    // Taken back is taken back.
    let mut records = records();
    let pair = records.pairs.iter_mut().find(|p| p.id == "P0003").unwrap();
    pair.status = compatdb::records::Status::Revoked;
    let given = [given("a.json", bytes(&on_p0003(1)))];
    let done = ingest(&records, &texts(&records), &given, &rules());
    assert_eq!(done.proposals, []);
    assert!(done.refused[0].because[0].contains("revoked"));
}

#[test]
fn what_contradicts_itself_is_refused() {
    type Change = fn(&mut Report);
    let cases: [(Change, &str); 24] = [
        (|r| r.simulated = true, "simulated guest"),
        (|r| r.host = None, "host's build is not known"),
        (|r| r.guest.build = build("26A9999"), "table of builds"),
        (|r| r.guest.version = "26.5".into(), "the report says 26.5"),
        (|r| r.guest.model = "Mac16,9".into(), "no virtual Mac"),
        (
            |r| r.made_at = "2027-01-01T00:00:00Z".parse().unwrap(),
            "still to come",
        ),
        (|r| r.machine = "../../etc".into(), "machine and boot"),
        (|r| r.vm_software = None, "what runs the virtual machine"),
        (|r| r.metalshim.shim_sha256 = None, "which shim"),
        (|r| r.verdict.allowed = false, "refused there"),
        (|r| r.probe = None, "no probe"),
        (
            |r| r.probe.as_mut().unwrap().shimmed = None,
            "only the stock side",
        ),
        (
            |r| r.probe.as_mut().unwrap().shimmed = Some(answers(1009, 32768)),
            "1008, 1009",
        ),
        (
            |r| r.probe.as_mut().unwrap().shimmed = Some(answers(1007, 65536)),
            "threadgroup memory",
        ),
        (
            |r| {
                r.probe
                    .as_mut()
                    .unwrap()
                    .shimmed
                    .as_mut()
                    .unwrap()
                    .families
                    .push(5001)
            },
            "Metal 3",
        ),
        (
            |r| {
                r.probe
                    .as_mut()
                    .unwrap()
                    .shimmed
                    .as_mut()
                    .unwrap()
                    .name
                    .push('x')
            },
            "more than the two answers changed: name",
        ),
        (|r| r.canary = None, "no canary"),
        (
            |r| r.canary.as_mut().unwrap().outcome = "wrong".into(),
            "did not pass",
        ),
        (|r| r.bench.clear(), "nothing was measured"),
        (
            |r| r.bench[0].series[0].ratio = 99.0,
            "not those of its samples",
        ),
        (
            |r| r.bench[0].series[0].shimmed.median += 1.0,
            "not those of its samples",
        ),
        (
            |r| r.bench[0].series[0].stock.runs[0][0] = -1.0,
            "no positive number",
        ),
        (
            |r| r.bench[0].conditions.as_mut().unwrap().boot = sha256_hex(b"other"),
            "another boot",
        ),
        (
            |r| r.bench[0].conditions.as_mut().unwrap().busy = true,
            "busy machine",
        ),
    ];
    for (change, says) in cases {
        let why = against(change);
        assert!(why.contains(says), "{says}: {why}");
    }
    // A denied guest, whatever was measured on it.
    let denied = against(|r| {
        r.guest.build = build("23J631");
        r.guest.version = "14.8.7".into();
    });
    assert!(denied.contains("denied by D"), "{denied}");
}

#[test]
fn two_reports_that_contradict_each_other_keep_both_out() {
    let mut other = good(2);
    let probe = other.probe.as_mut().unwrap();
    probe.stock.families.push(3004);
    probe.shimmed.as_mut().unwrap().families.push(3004);
    let done = of(&[good(1), other]);
    assert_eq!(done.proposals, []);
    assert_eq!(done.refused.len(), 2);
    assert!(done.refused[0].because[0].contains("contradict each other"));
}

fn read(text: &str) -> String {
    let done = taken(&[given("evil\x1b[31m<b>.json", text.as_bytes().to_vec())]);
    assert_eq!(done.proposals, []);
    let refused = &done.refused[0];
    let said = format!("{}: {}", refused.file, refused.because.join("; "));
    assert!(said.chars().all(|c| (' '..='~').contains(&c)), "{said:?}");
    assert!(said.len() < 400, "{said}");
    said
}

/// A good report as JSON, with one value put in somewhere.
fn with(place: &str, value: Value) -> String {
    let mut report: Value = serde_json::from_slice(&bytes(&good(1))).unwrap();
    *report.pointer_mut(place).unwrap() = value;
    report.to_string()
}

#[test]
fn hostile_reports_are_refused_and_say_why() {
    for (text, says) in [
        (String::new(), "no JSON"),
        ("[]".into(), "schema"),
        ("{}".into(), "schema"),
        ("null".into(), "schema"),
        (r#"{"schema":"metalshim.report/2"}"#.into(), "schema"),
        (r#"{"schema":"metalshim.report/1"}"#.into(), "shape"),
        ("[".repeat(100_000), "no JSON"),
        ("{\"a\":".repeat(1000), "no JSON"),
        (" ".repeat(2 << 20), "larger than"),
        (with("/bench/0/series/0/ratio", json!("fast")), "shape"),
        (with("/guest/build", json!("25F84; rm -rf /")), "shape"),
        (with("/guest/build", json!(5)), "shape"),
        (with("/probe/profile/apple_family_max", json!(-1)), "shape"),
        (
            with("/probe/profile/apple_family_max", json!(70_000)),
            "shape",
        ),
        (
            with("/guest/chip", json!("<script>alert(1)</script>")),
            "markup",
        ),
        (with("/guest/chip", json!("x\u{1b}]0;title\u{7}")), "markup"),
        (with("/guest/chip", json!("a`b`")), "markup"),
        (with("/guest/chip", json!("\u{202e}gnp.exe")), "markup"),
        (with("/guest/chip", json!("x".repeat(10_000))), "too long"),
        (with("/probe/stock/features", json!({"a|b": "c"})), "markup"),
        (
            with("/guest/sip", json!("disabled")).replacen('{', r#"{"extra":1,"#, 1),
            "shape",
        ),
    ] {
        let said = read(&text);
        assert!(said.contains(says), "{says}: {said}");
    }
    // Numbers that JSON has no word for, or that no computer holds.
    for number in ["NaN", "Infinity", "1e400", "-1e400"] {
        let text = with("/bench/0/series/0/ratio", json!("RATIO"));
        let said = read(&text.replace("\"RATIO\"", number));
        assert!(said.contains("no JSON"), "{number}: {said}");
    }
    // And those that are as large as can be.
    let huge = with(
        "/bench/0/series/0/shimmed/runs",
        json!([[1e308, 1e308, 1.7e308]]),
    );
    assert!(read(&huge).contains("not those of its samples"));
    let many = json!([vec![1.0; 20_000]]);
    assert!(read(&with("/bench/0/series/0/stock/runs", many)).contains("more than any tool"));
}

#[test]
fn the_tool_prints_a_diff_that_applies() {
    let dir = tempfile::tempdir().unwrap();
    let copied = Command::new("cp")
        .args(["-r", RECORDS, "records"])
        .current_dir(dir.path())
        .status();
    assert!(copied.unwrap().success());
    std::fs::write(dir.path().join("a.json"), bytes(&good(1))).unwrap();
    std::fs::write(dir.path().join("b.json"), b"{}").unwrap();
    let tool = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_compatdb"));
        command.args(args).current_dir(dir.path()).output().unwrap()
    };
    let ingest = [
        "ingest",
        "a.json",
        "--records",
        "records",
        "--now",
        "2026-12-02T00:00:00Z",
    ];
    let out = tool(&ingest);
    let text = String::from_utf8(out.stdout).unwrap();
    assert_eq!(
        out.status.code(),
        Some(0),
        "{text}{}",
        String::from_utf8_lossy(&out.stderr)
    );
    std::fs::write(dir.path().join("p.diff"), &text).unwrap();
    let patched = Command::new("patch")
        .args(["-p1", "-i", "p.diff"])
        .current_dir(dir.path())
        .output();
    match patched {
        Err(e) => eprintln!("skipped: no patch program ({e})"),
        Ok(patched) => {
            assert!(
                patched.status.success(),
                "{}",
                String::from_utf8_lossy(&patched.stdout)
            );
            let lint = tool(&["lint", "records"]);
            assert!(
                lint.status.success(),
                "{}",
                String::from_utf8_lossy(&lint.stdout)
            );
            let show = tool(&["show", "P0004", "--records", "records"]);
            assert!(String::from_utf8_lossy(&show.stdout).contains("26A428"));
        }
    }
    let out = tool(&[
        "ingest",
        "b.json",
        "a.json",
        "--records",
        "records",
        "--json",
    ]);
    assert_eq!(out.status.code(), Some(1));
    let out = tool(&["ingest", "gone.json", "--records", "records"]);
    assert_eq!(out.status.code(), Some(2));
    let out = tool(&["ingest", "/dev/zero", "--records", "records"]);
    assert_eq!(out.status.code(), Some(2));
}

#[test]
fn plain_text_stays_as_it_is() {
    assert_eq!(
        plain("Apple M1 Ultra (48-core GPU), b10167"),
        "Apple M1 Ultra (48-core GPU), b10167"
    );
}

#[test]
fn the_fuzz_targets_seed_is_a_report_that_fits() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/report.json");
    let seed = std::fs::read(path).unwrap_or_default();
    let wanted = String::from_utf8(bytes(&good(1))).unwrap();
    assert!(
        Report::read(&seed) == Ok(good(1)),
        "{path} has to hold:\n{wanted}"
    );
}
