//! `metalshim db`: looks into the database. Every figure with its source, and third-party
//! evidence called what it is.

mod export;
mod history;
mod import;
pub(crate) mod info;
mod lists;
mod mirror;
mod page;
mod pairs;
mod rollback;
mod show;
mod verify;
pub(crate) mod words;

use std::path::PathBuf;

use clap::Subcommand;
use compatdb::{OsBuild, QueryError, Shown};
use jiff::Timestamp;

use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::table::page_width;

/// The arguments of `metalshim db`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Which database is in use, how old it is, and what is in it
    Info,
    /// The pairs of host and guest builds that are verified or denied
    Pairs(pairs::Filter),
    /// Everything about one row: P0001, D0001, L0001, F01, S01, llama.cpp, 25F84
    Show {
        /// The row's id, a client's name, or a macOS build
        id: String,
    },
    /// The programs that are known, and how far each may be told
    Clients,
    /// The known faults of the guest's GPU
    Faults,
    /// The builds of macOS that are known
    Builds {
        /// Only these
        builds: Vec<OsBuild>,
    },
    /// Take a copied repository in, with the same checks as `metalshim update`
    Import(import::Args),
    /// Copy the update repository into a folder, verified, for a web server to serve
    Mirror(mirror::Args),
    /// Which databases are here, and what was taken in when
    History,
    /// Swap back to the database before the one in use, if that may still be used
    Rollback,
    /// Write the database in use into a file, one that `db verify` and any SQLite read
    Export(export::Args),
    /// Open a database file with all checks; 0 if it is one, 1 if not, 2 if it cannot be read
    Verify {
        /// The file
        file: PathBuf,
    },
}

/// Runs it.
///
/// # Errors
///
/// When the database in use, or the file to verify, cannot be read.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    let width = page_width(context.variables.columns);
    let printer = &context.printer;
    if let Command::Verify { file } = &args.command {
        let report = verify::verify(file, width)?;
        printer.report(&report)?;
        return Ok(if report.problem.is_none() {
            Outcome::Yes
        } else {
            Outcome::No
        });
    }
    match &args.command {
        Command::Export(args) => return export::run(args, context),
        Command::Import(args) => return import::run(args, context),
        Command::Mirror(args) => return mirror::run(args, context),
        Command::History => return history::run(context),
        Command::Rollback => return rollback::run(context),
        _ => {}
    }
    let loaded = context.database()?;
    let database = &loaded.database;
    match &args.command {
        Command::Info => {
            let rows = verify::Rows::count(database).map_err(damaged)?;
            // The machine's facts are not needed here, but the moment is: a facts file may name it.
            let now = context
                .machine(None)
                .map_or_else(|_| Timestamp::now(), |m| m.now);
            printer.report(&info::Info::new(&loaded, rows, now, width))?;
        }
        Command::Pairs(filter) => {
            let pairs = pairs::Pairs::new(database, filter, width).map_err(damaged)?;
            printer.report(&pairs)?;
        }
        Command::Show { id } => {
            let Some(row) = database.show(id).map_err(damaged)? else {
                return Err(no_row(id));
            };
            let named = match &row {
                Shown::Pair(pair) => pair.fault.clone(),
                Shown::Deny(deny) => Some(deny.fault.clone()),
                _ => None,
            };
            let mut faults = database.faults().map_err(damaged)?;
            faults.retain(|f| named.as_ref() == Some(&f.id));
            let fault = faults.pop();
            let about = match &row {
                Shown::Build(build) => {
                    Some(show::AboutBuild::new(database, &build.build).map_err(damaged)?)
                }
                _ => None,
            };
            printer.report(&show::ShownRow {
                row,
                about,
                fault,
                width,
            })?;
        }
        Command::Clients => printer.report(&lists::Clients {
            clients: database.clients().map_err(damaged)?,
            width,
        })?,
        Command::Faults => printer.report(&lists::Faults {
            faults: database.faults().map_err(damaged)?,
            width,
        })?,
        Command::Builds { builds } => {
            let all = database.builds().map_err(damaged)?;
            let pairs = database.pairs(&Default::default()).map_err(damaged)?;
            printer.report(&lists::Builds::new(all, &pairs, builds, width))?;
        }
        Command::Verify { .. }
        | Command::Export(_)
        | Command::Import(_)
        | Command::Mirror(_)
        | Command::History
        | Command::Rollback => {}
    }
    Ok(Outcome::Yes)
}

fn damaged(error: QueryError) -> Error {
    Error::machine(error.to_string()).hint("install metalshim again, or update the database")
}

fn no_row(id: &str) -> Error {
    Error::user(format!(
        "the database has no row \"{}\"",
        id.escape_default()
    ))
    .hint("list pairs, denied ranges and leads: metalshim db pairs --leads")
    .hint("or clients, faults and builds of macOS: metalshim db clients, metalshim db faults, metalshim db builds")
}
