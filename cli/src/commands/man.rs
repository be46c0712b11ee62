//! `metalshim man [DIR]`: the manual pages, made from the same texts as `--help`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::args::Cli;
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::variables;

/// Prints the manual page, or writes the pages of all commands into a folder.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder to write metalshim.1, metalshim-run.1 and so on into; it is made if missing
    folder: Option<PathBuf>,
}

/// Runs it.
///
/// # Errors
///
/// The folder, or stdout, cannot be written.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = &args.folder else {
        let page = page(&command).map_err(|e| Error::project(e.to_string()))?;
        context.printer.out(&String::from_utf8_lossy(&page))?;
        return Ok(Outcome::Yes);
    };
    fs::create_dir_all(folder).map_err(|e| {
        Error::file("make", folder, &e).hint("name a folder that this user can make and write")
    })?;
    write(&command, folder)?;
    Ok(Outcome::Yes)
}

/// The page of `command`, and those of its subcommands.
fn write(command: &Command, folder: &Path) -> Result<(), Error> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let path = folder.join(format!("{name}.1"));
    let page = page(command).map_err(|e| Error::project(e.to_string()))?;
    compatdb::write_file(&path, &page).map_err(|e| {
        Error::machine(e.to_string()).hint("name a folder that this user can write")
    })?;
    let shown = |c: &&Command| !c.is_hide_set() && c.get_name() != "help";
    command
        .get_subcommands()
        .filter(shown)
        .try_for_each(|subcommand| write(subcommand, folder))
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    if command.get_name() == "metalshim" {
        let mut roff = Roff::default();
        roff.control("SH", ["ENVIRONMENT"]);
        for variable in variables::ALL {
            roff.control("TP", []);
            roff.text([bold(variable.name)]);
            roff.text([roman(variable.says)]);
        }
        roff.to_writer(&mut page)?;
    }
    Ok(page)
}
