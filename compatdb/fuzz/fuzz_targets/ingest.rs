//! Any bytes as a report, and a good report with bytes written over it: refused or taken in,
//! never a crash, and what is said never moves a cursor.
#![no_main]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use compatdb::ingest::{Given, Rules, ingest};
use compatdb::records::Records;
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;

static RECORDS: LazyLock<Records> = LazyLock::new(|| {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../records");
    Records::load(Path::new(dir)).0
});

const GOOD: &[u8] = include_bytes!("../report.json");

fuzz_target!(|data: &[u8]| {
    // Two bytes of place, then what to write there, until the input ends.
    let mut changed = GOOD.to_vec();
    for patch in data.chunks_exact(3) {
        let [high, low, byte] = patch else { continue };
        let at = usize::from(*high) << 8 | usize::from(*low);
        let len = changed.len();
        if let Some(place) = changed.get_mut(at % len) {
            *place = *byte;
        }
    }
    let given = [data.to_vec(), changed, GOOD.to_vec()].map(|bytes| Given {
        file: String::from_utf8_lossy(data).into_owned(),
        bytes,
        issue: None,
    });
    let rules = Rules {
        now: Timestamp::from_second(1_796_200_000).unwrap_or_default(),
        simulated: true,
        project: "metalshim/metalshim".to_owned(),
    };
    let done = ingest(&RECORDS, &BTreeMap::new(), &given, &rules);
    let said = done.refused.iter().flat_map(|r| r.because.iter().chain([&r.file]));
    for text in said.chain(&done.notes) {
        assert!(!text.chars().any(char::is_control), "{text:?}");
    }
});
