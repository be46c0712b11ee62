//! From a database file to an answer: `cargo bench -p compatdb`.
//!
//! Budgets: under 1 ms with the records as they are, under 10 ms with 100,000 synthetic
//! pairs, most of it hashing; the lookup itself does not grow with the number of pairs. The
//! baseline is what no verified start can do without: reading the file and hashing it. Rows
//! take turns, so that a busy machine troubles all of them alike; the fastest of each is
//! what the machine can do, the median what it did.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use compatdb::records::{Filed, Pair, Records};
use compatdb::verdict::{Case, Evidence, Request};
use compatdb::{Database, Facts, Policy, Profile, Verdict, build_database, decide, sha256_hex};

const ROUNDS: usize = 301;
/// Guests of the synthetic pairs; each is paired with every host.
const GUESTS: u32 = 250;
/// How many times as long a lookup may take among ten times as many pairs: a tree's depth and
/// noise fit in it, going through the pairs does not.
const GROWTH: f64 = 1.5;

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let (records, problems) =
        Records::load(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/records")));
    assert!(problems.is_empty(), "{problems:?}");
    println!(
        "{:<46} {:>10} {:>10} {:>7}",
        "", "fastest", "median", "ratio"
    );
    let (_, real) = measure(&dir.path().join("db"), &records);
    let [few, many] = [40, 400].map(|hosts| {
        let records = synthetic(&records, hosts);
        measure(&dir.path().join("db"), &records)
    });
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    limit(
        "file to verdict, the records as they are",
        ms(real),
        1.0,
        "ms",
    );
    limit("file to verdict, 100,000 pairs", ms(many.1), 10.0, "ms");
    let ratio = many.0.as_secs_f64() / few.0.as_secs_f64();
    limit(
        "ten times as many pairs: look up and decide",
        ratio,
        GROWTH,
        "x",
    );
}

/// One line for the end of `make bench`, which gathers what begins with these words.
fn limit(name: &str, value: f64, limit: f64, unit: &str) {
    let kept = if value <= limit { "OK" } else { "OVER" };
    println!("{kept:<5} {name:<56} {value:>9.2} {unit:<2}  at most {limit:.2} {unit}");
}

/// Every guest on that many hosts, and fifty kinds of details.
fn synthetic(records: &Records, hosts: u32) -> Records {
    let sample: &Pair = &records.pairs[0];
    let mut all = records.clone();
    all.pairs = (0..hosts * GUESTS)
        .map(|n| {
            let mut pair = sample.clone();
            pair.id = format!("P{:04}", n + 1);
            pair.guest.build = format!("25F{}", n / hosts + 1).parse().unwrap();
            pair.host.build = format!("25G{}", n % hosts + 50).parse().unwrap();
            pair.host.chips = vec![format!("Apple M{}", n % 50)];
            Filed {
                file: String::new(),
                record: pair,
            }
        })
        .collect();
    all
}

/// Measures these records' database, prints its rows, and returns the fastest lookup and the
/// median of all of it.
fn measure(path: &Path, records: &Records) -> (Duration, Duration) {
    let pairs = records.pairs.len();
    std::fs::write(path, build_database(records, &records.release).unwrap()).unwrap();
    let facts = facts();
    let db = Database::open(std::fs::read(path).unwrap()).unwrap();
    assert!(matches!(answer(&db, &facts), Verdict::Allow(_)));
    let (mut hash, mut open, mut whole, mut lookup) = (vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        hash.push(time(|| sha256_hex(&std::fs::read(path).unwrap())));
        open.push(time(|| {
            Database::open(std::fs::read(path).unwrap()).unwrap()
        }));
        whole.push(time(|| {
            answer(
                &Database::open(std::fs::read(path).unwrap()).unwrap(),
                &facts,
            )
        }));
        lookup.push(time(|| answer(&db, &facts)));
    }
    let kib = std::fs::metadata(path).unwrap().len() / 1024;
    println!("{pairs} pairs, {kib} KiB");
    let base = fastest(&hash);
    for (name, times) in [
        ("read and hash (baseline)", &hash),
        ("read, hash, open", &open),
        ("read, hash, open, look up, decide", &whole),
        ("look up, decide", &lookup),
    ] {
        let ratio = fastest(times).as_secs_f64() / base.as_secs_f64();
        println!(
            "  {name:<44} {:>10} {:>10} {ratio:>6.2}x",
            show(fastest(times)),
            show(median(times))
        );
    }
    (fastest(&lookup), median(&whole))
}

fn answer(db: &Database, facts: &Facts) -> Verdict {
    let host = facts.host.as_ref().map(|h| &h.build);
    let found = db.lookup(&facts.guest.build, host, None).unwrap();
    decide(&Case {
        facts,
        database: Evidence::Known {
            meta: db.meta(),
            lookup: &found,
        },
        policy: &Policy::default(),
        request: &Request {
            at_most: None,
            profile: Some(Profile::CAUTIOUS),
            ..Request::default()
        },
        cli: db.min_cli(),
        shim_abi: 1,
        now: db.published_at(),
        fresh_until: None,
        unsigned: true,
    })
}

/// The machine that the first record is about; the synthetic pairs have it, too.
fn facts() -> Facts {
    toml::from_str(
        r#"
        [guest]
        build = "25F84"
        version = "26.5.2"
        model = "VirtualMac2,1"
        chip = "Apple M1 Ultra (Virtual)"
        vm = true
        sip = "disabled"
        boot_session = "1"
        [host]
        build = "25G76"
        source = "attested"
        "#,
    )
    .unwrap()
}

fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

fn fastest(times: &[Duration]) -> Duration {
    times.iter().copied().min().unwrap_or_default()
}

fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

fn show(time: Duration) -> String {
    format!("{:.1} us", time.as_secs_f64() * 1e6)
}
