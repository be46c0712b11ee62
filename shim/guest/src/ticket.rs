//! Tickets for the shim, without the command line.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use metalshim_ticket::{MAX_LEN, Ticket};
use tempfile::TempDir;

use crate::FactsFile;

/// A ticket on disk, with mode 0600, in a folder of its own, removed with this value.
#[derive(Debug)]
pub struct TicketFile {
    path: PathBuf,
    _folder: TempDir,
}

impl TicketFile {
    /// A ticket of 1009/65536 for the guest that these facts describe, following no child;
    /// `change` may alter it before it is written.
    ///
    /// # Panics
    ///
    /// When it is not a valid ticket, or cannot be written.
    pub fn new<'a>(facts: &'a FactsFile, change: impl FnOnce(&mut Ticket<'a>)) -> Self {
        let mut ticket = Ticket {
            guest_build: facts.text("guest.build"),
            boot_session: facts.text("guest.boot_session"),
            device_class: facts.text("device.class"),
            stock_apple_family: u16::try_from(facts.number("device.apple_family")).unwrap_or(0),
            stock_max_threadgroup_memory: u32::try_from(
                facts.number("device.max_threadgroup_memory"),
            )
            .unwrap_or(0),
            apple_family_max: 1009,
            max_threadgroup_memory: 65_536,
            metal_uuid: None,
            driver_uuid: None,
            record: "P0001",
            database: "1:0123456789abcdef",
            follow: "none",
        };
        change(&mut ticket);
        let mut text = [0; MAX_LEN];
        match ticket.write(&mut text) {
            Ok(length) => Self::raw(text.get(..length).unwrap_or_default()),
            Err(why) => panic!("not a valid ticket: {why}: {ticket:?}"),
        }
    }

    /// A ticket file of these bytes, valid or not.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    pub fn raw(bytes: &[u8]) -> Self {
        let written = tempfile::tempdir().and_then(|folder| {
            let path = folder.path().join("ticket");
            fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)?
                .write_all(bytes)?;
            Ok(Self {
                path,
                _folder: folder,
            })
        });
        written.unwrap_or_else(|why| panic!("a ticket cannot be written: {why}"))
    }

    /// Where the ticket is: the value for `METALSHIM_TICKET`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every line of the status file beside it; empty when there is none.
    pub fn status(&self) -> Vec<String> {
        let mut path = self.path.clone().into_os_string();
        path.push(".status");
        fs::read_to_string(path)
            .map(|text| text.lines().map(str::to_owned).collect())
            .unwrap_or_default()
    }
}
