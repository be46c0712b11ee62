//! `metalshim db export FILE`: the database in use, as a file of its own.

use std::path::PathBuf;

use serde::Serialize;

use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::printer::{Report, Style};

/// The arguments of `metalshim db export`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file to write; one that is there is replaced
    file: PathBuf,
}

/// What was written.
#[derive(Debug, Serialize)]
struct Exported {
    file: PathBuf,
    seq: u64,
    sha256: String,
    #[serde(skip)]
    says: String,
}

/// Runs it.
///
/// # Errors
/// The file cannot be written.
pub(super) fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    let mut loaded = context.database()?;
    let bytes = loaded.database.bytes().map_err(|e| {
        Error::machine(e.to_string()).hint("free some memory, or update the database")
    })?;
    compatdb::write_file(&args.file, &bytes).map_err(|e| {
        Error::machine(e.to_string()).hint("name a file in a folder that this user can write")
    })?;
    context.printer.report(&Exported {
        file: args.file.clone(),
        seq: loaded.database.seq(),
        sha256: loaded.database.sha256().to_owned(),
        says: loaded.says(),
    })?;
    Ok(Outcome::Yes)
}

impl Report for Exported {
    const SCHEMA: &'static str = "metalshim.db-export/1";

    fn text(&self, _: Style) -> String {
        let file = self.file.display();
        format!("{file}: {}\n  sha256  {}\n", self.says, self.sha256)
    }
}
