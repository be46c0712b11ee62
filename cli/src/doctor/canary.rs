//! What the canary's kernels said on this boot.

use compatdb::facts::Canary;

use super::STOCK;
use super::finding::Finding;
use super::finding::Severity::{Fine, Note, Problem, Warning};
use super::seen::Seen;
use crate::canary::kept::Said;

const NAME: &str = "canary";

pub(super) fn canary(seen: &Seen) -> Vec<Finding> {
    let again = |finding: Finding| {
        finding.command(
            "Restart the guest and run it again: a virtual machine whose GPU is stuck fails whatever it is asked.",
            "metalshim canary",
        )
    };
    let known = &seen.known;
    let Some(kept) = known.canary() else {
        return vec![match known.machine.facts.local.canary {
            Canary::Failed => again(
                Finding::new(NAME, Problem, "Kernels gave wrong results on this boot.")
                    .affects(STOCK),
            ),
            Canary::Passed => Finding::new(NAME, Fine, "The canary passed on this boot."),
            Canary::None => Finding::new(NAME, Note, "The canary was not run on this boot.")
                .command(
                    "Have small kernels run with the overrides and compared with the CPU.",
                    "metalshim canary",
                ),
        }];
    };
    let what = kept.what.trim_end_matches('.');
    vec![match (kept.outcome, kept.lowered_from) {
        (Said::Failed, _) => {
            let says = format!(
                "The canary failed on this boot with {}: {what}.",
                kept.profile
            );
            again(Finding::new(NAME, Problem, says).affects(STOCK))
        }
        (Said::Passed, Some(from)) => {
            let says = format!(
                "The canary passed on this boot with {} only, and failed with {from}: {what}.",
                kept.profile
            );
            again(Finding::new(NAME, Warning, says).affects("every program: no more is told"))
        }
        (Said::Passed, None) => {
            let says = format!("The canary passed on this boot with {}.", kept.profile);
            Finding::new(NAME, Fine, says)
        }
    }]
}
