//! `sample-ticket PATH`: the ticket of the sample's guest, for scripts.
#![forbid(unsafe_code)]
#![allow(clippy::print_stderr)]

use std::process::ExitCode;

use metalshim_guest::{FactsFile, TicketFile};

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: sample-ticket PATH");
        return ExitCode::from(2);
    };
    let facts = FactsFile::sample();
    let ticket = TicketFile::new(&facts, |_| {});
    match std::fs::copy(ticket.path(), &path) {
        Ok(_) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("sample-ticket: {}: {why}", path.to_string_lossy());
            ExitCode::FAILURE
        }
    }
}
