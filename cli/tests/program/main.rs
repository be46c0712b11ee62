//! Can a program be injected: on files made by hand, on real ones, on this system's own.

// Helpers of tests fail as tests do, and skips are said.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod build;
mod follow;
mod judge;
mod random;
mod real;
mod shim;
mod stricter;

use compatdb::facts::Sip;
use metalshim_cli::program::{self, Code, FileFacts, Judgement, System};

/// The judgement about bytes that lie, executable, in a user's folder of a Mac.
fn judged(bytes: &[u8]) -> Judgement {
    judged_at("/Users/me/tool", 0o755, Sip::Enabled, bytes)
}

fn judged_at(path: &str, mode: u32, sip: Sip, bytes: &[u8]) -> Judgement {
    let facts = FileFacts {
        path: path.into(),
        mode,
        ..FileFacts::default()
    };
    program::judge(&bytes, &facts, sip, System::Mac)
}

fn codes(judgement: &Judgement) -> Vec<Code> {
    judgement.causes.iter().map(|cause| cause.code).collect()
}
