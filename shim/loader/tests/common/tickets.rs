//! Tickets of the real command line.

use std::fs;
use std::process::Command;
use std::sync::OnceLock;

use metalshim_guest::{FactsFile, TicketFile, built};
use metalshim_ticket::{MAX_LEN, Ticket};

use crate::common::script;

/// The text of the ticket that the command writes for the sample's guest.
pub(crate) fn ticket_text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let state = tempfile::tempdir().expect("folder");
        let facts = FactsFile::sample().save();
        let output = Command::new(script("shim/loader/build-command", &[]))
            .args(["run", "--dry-run", "--json", "--"])
            .arg(built().program("corners"))
            .env("METALSHIM_STATE_DIR", state.path())
            .env("METALSHIM_FACTS", facts.path())
            .output()
            .expect("the command starts");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|why| panic!("metalshim run --dry-run --json: {why}: {output:?}"));
        let path = json["ticket"]
            .as_str()
            .unwrap_or_else(|| panic!("no ticket: {json}"));
        fs::read_to_string(path).expect("the ticket's file")
    })
}

/// The command's ticket, as one row changes it: untouched where it changes nothing.
pub(crate) fn ticket(change: fn(&mut Ticket<'_>)) -> TicketFile {
    let text = ticket_text();
    let before = Ticket::parse(text.as_bytes()).expect("the command's ticket");
    let mut after = before;
    change(&mut after);
    if after == before {
        return TicketFile::raw(text.as_bytes());
    }
    let mut bytes = [0; MAX_LEN];
    let length = after.write(&mut bytes).expect("a ticket");
    TicketFile::raw(&bytes[..length])
}
