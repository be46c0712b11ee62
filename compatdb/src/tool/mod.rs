//! The commands of the maintainers' tool.

mod commands;
mod ingest;
mod keyfile;
mod keys;
mod repo;
mod signers;
mod site;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use jiff::Timestamp;
use serde::Serialize;

/// Builds, checks, compares, signs and publishes the compatibility database.
#[derive(Debug, Parser)]
#[command(name = "compatdb", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print one JSON object instead of text.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build the database from the records; the same records give the same bytes.
    Build(Build),
    /// Check the records, and report every problem.
    Lint {
        /// The folder of records.
        #[arg(value_name = "DIR", default_value = RECORDS)]
        records: PathBuf,
    },
    /// Show the record, client, fault or build that an id names.
    Show {
        /// Like P0001, D0001, L0001, F01, S01, llama.cpp or 25F84.
        id: String,
        #[command(flatten)]
        from: From,
    },
    /// Tell what a new database changes for users; exit code 1 when it changes anything.
    Diff {
        /// The database that users have: a file, or a folder of records.
        old: PathBuf,
        /// The database that they will get: a file, or a folder of records.
        new: PathBuf,
    },
    /// Take in what machines reported: a proposal for the records, as a diff for review.
    Ingest(ingest::Ingest),
    /// Write the compatibility page: static files that any web server can show.
    Site(site::Site),
    /// Make the keys that sign.
    #[command(subcommand)]
    Keys(keys::Keys),
    /// Make, change and check the repository that clients update from.
    #[command(subcommand)]
    Repo(Box<repo::Repo>),
}

const RECORDS: &str = "compatdb/records";

#[derive(Debug, Args)]
struct Build {
    /// The folder of records.
    #[arg(long, value_name = "DIR", default_value = RECORDS)]
    records: PathBuf,
    /// The file to write; replaced as a whole.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The number of this database; without it, what release.toml says.
    #[arg(long, value_name = "N")]
    seq: Option<u64>,
    /// When it is published, like 2026-12-01T00:00:00Z; without it, what release.toml says.
    #[arg(long, value_name = "TIME")]
    published_at: Option<Timestamp>,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
struct From {
    /// Look into this database.
    #[arg(long, value_name = "FILE")]
    database: Option<PathBuf>,
    /// Look into this folder of records.
    #[arg(long, value_name = "DIR", default_value = RECORDS)]
    records: PathBuf,
}

impl From {
    fn path(&self) -> &Path {
        self.database.as_deref().unwrap_or(&self.records)
    }
}

/// What a command found, and how it says so.
struct Output {
    text: String,
    json: String,
    /// 0 yes, 1 findings.
    code: u8,
}

/// A command that could not tell: exit code 2.
struct Failure(String);

impl<E: std::error::Error> std::convert::From<E> for Failure {
    fn from(e: E) -> Self {
        Self(e.to_string())
    }
}

/// One JSON object whose first key is the schema's name.
fn json<T: Serialize>(command: &str, value: &T) -> Result<String, Failure> {
    #[derive(Serialize)]
    struct Named<'a, T> {
        schema: String,
        #[serde(flatten)]
        value: &'a T,
    }
    let schema = format!("compatdb.{command}/1");
    Ok(serde_json::to_string_pretty(&Named { schema, value })?)
}

pub(super) fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = match cli.command {
        Command::Build(args) => commands::build(&args),
        Command::Lint { records } => commands::lint(&records),
        Command::Show { id, from } => commands::show(&id, from.path()),
        Command::Diff { old, new } => commands::diff(&old, &new),
        Command::Ingest(args) => ingest::run(&args),
        Command::Site(args) => site::run(&args),
        Command::Keys(command) => keys::run(&command),
        Command::Repo(command) => repo::run(&command),
    };
    match output {
        Ok(output) => {
            let text = match cli.json {
                true => output.json + "\n",
                false => output.text,
            };
            print(&text, output.code)
        }
        Err(Failure(says)) => {
            // Nobody is left to tell when stderr is gone.
            let _ = writeln!(io::stderr(), "compatdb: {says}");
            ExitCode::from(2)
        }
    }
}

/// A reader that closed its end has what it wanted.
fn print(text: &str, code: u8) -> ExitCode {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr(), "compatdb: cannot write the output: {e}");
            ExitCode::from(2)
        }
        _ => ExitCode::from(code),
    }
}
