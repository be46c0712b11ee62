//! docs/faults.md is made from the records.
//!
//! After a change of a fault: `UPDATE_DOCS=1 cargo test -p compatdb --test it faults_page`.

use std::fmt::Write as _;
use std::path::Path;

use compatdb::records::Records;

fn page() -> String {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (records, problems) = Records::load(&manifest.join("records"));
    assert!(problems.is_empty(), "{problems:?}");
    let mut text = "\
# Known faults

What is known to go wrong on the paravirtual device, from public reports, with and without the overrides. Made from
the records; `metalshim db faults` and `metalshim db show F01` print the same, and `metalshim doctor` names those
that bear on your guest.
"
    .to_owned();
    // Angle brackets would begin a tag.
    let plain = |text: &str| text.replace('<', "\\<");
    for filed in &records.faults {
        let fault = &filed.record;
        writeln!(text, "\n## {}: {}\n", fault.id, plain(&fault.title)).unwrap();
        writeln!(text, "{}\n", plain(&fault.says)).unwrap();
        let known = if fault.measured {
            "measured"
        } else {
            "said, not measured"
        };
        writeln!(text, "- Guests: {}; {known}", plain(&fault.guests)).unwrap();
        if !fault.clients.is_empty() {
            writeln!(text, "- Programs: {}", plain(&fault.clients.join(", "))).unwrap();
        }
        if let Some(advice) = &fault.advice {
            writeln!(text, "- What to do: {}", plain(advice)).unwrap();
        }
        for source in &fault.sources {
            writeln!(text, "- Source: {source}").unwrap();
        }
    }
    text
}

#[test]
fn the_page_of_faults_is_the_records() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/faults.md");
    let is = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &is).unwrap();
    }
    let was = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        was == is,
        "docs/faults.md is not what the records say: UPDATE_DOCS=1 cargo test -p compatdb --test it faults_page"
    );
}
