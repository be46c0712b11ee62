//! Any bytes, and a good database with bytes written over it: opening refuses or answers,
//! and neither panics nor reads where it must not.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use compatdb::records::Records;
use compatdb::{Database, OsBuild, PairFilter, build_database};
use libfuzzer_sys::fuzz_target;

static GOOD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../records");
    let (mut records, _) = Records::load(Path::new(dir));
    // Small, so that writing over it hits something.
    records.builds.record.build.truncate(3);
    records.faults.truncate(1);
    records.leads.truncate(1);
    records.clients.truncate(2);
    records.stock_reports.truncate(1);
    build_database(&records, &records.release).unwrap_or_default()
});

fuzz_target!(|data: &[u8]| {
    ask(data);
    // Two bytes of place, then what to write there, until the input ends.
    let mut changed = GOOD.clone();
    for patch in data.chunks_exact(3) {
        let [high, low, byte] = patch else { continue };
        let at = usize::from(*high) << 8 | usize::from(*low);
        if let Some(place) = changed.get_mut(at) {
            *place = *byte;
        }
    }
    ask(&changed);
});

fn ask(bytes: &[u8]) {
    let Ok(db) = Database::open(bytes) else { return };
    let (Ok(guest), Ok(host)) = ("25F84".parse::<OsBuild>(), "25G76".parse::<OsBuild>()) else {
        return;
    };
    let _ = db.lookup(&guest, Some(&host), None);
    let _ = db.lookup(&host, None, None);
    let _ = db.pairs(&PairFilter::default());
    let _ = (db.clients(), db.faults(), db.leads(), db.builds());
    let _ = (db.deny_ranges(), db.stock_reports());
    for id in ["P0001", "D0001", "L0001", "F01", "S01", "llama.cpp", "25F84"] {
        let _ = db.show(id);
    }
    let _ = db.quick_check();
}
