//! Checks of what is newer: the database's last check, and metalshim's own version.

use super::STOCK;
use super::finding::Finding;
use super::finding::Severity::{Fine, Note, Problem};
use super::seen::Seen;

/// When a newer database was looked for last, and what came of it.
pub(super) fn updates(_: &Seen) -> Vec<Finding> {
    const NAME: &str = "updates";
    vec![
        Finding::new(
            NAME,
            Note,
            "It looks for a newer database when it is told to.",
        )
        .command("Look now.", "metalshim update"),
    ]
}

/// Whether the database needs a newer metalshim, and whether a newer one is out.
pub(super) fn version(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "version";
    let ours = env!("CARGO_PKG_VERSION");
    let needs = seen.known.database.as_ref().map(|l| l.database.min_cli());
    let too_old = match (needs, ours.parse::<semver::Version>()) {
        (Ok(needs), Ok(ours)) => *needs > ours,
        _ => false,
    };
    vec![if too_old {
        let says = format!("metalshim {ours} is too old for its database.");
        Finding::new(NAME, Problem, says)
            .affects(STOCK)
            .command("Update metalshim.", "brew upgrade metalshim")
    } else {
        Finding::new(NAME, Fine, format!("metalshim {ours}."))
    }]
}
