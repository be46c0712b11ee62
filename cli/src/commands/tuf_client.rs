//! `metalshim tuf-client`: the interface that the public conformance suite for TUF clients
//! wants, over the module that does the product's updates. Hidden: nobody else needs it.

use std::path::PathBuf;

use clap::Subcommand;

use crate::error::{Error, Outcome};
use crate::update::tuf_client;

/// The arguments of `metalshim tuf-client`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder of trusted metadata
    #[arg(long, value_name = "DIR")]
    metadata_dir: PathBuf,
    /// The base address of metadata
    #[arg(long, value_name = "URL")]
    metadata_url: Option<String>,
    /// A target to download
    #[arg(long, value_name = "PATH")]
    target_name: Vec<String>,
    /// The base address of targets
    #[arg(long, value_name = "URL")]
    target_base_url: Option<String>,
    /// Where targets go
    #[arg(long, value_name = "DIR")]
    target_dir: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start from a root
    Init {
        /// The root's file
        trusted_root: PathBuf,
    },
    /// Refresh the metadata
    Refresh,
    /// Refresh, and download targets
    Download,
}

/// Runs it. 0 or 1, as the suite wants.
///
/// # Errors
/// An option that the command needs is missing.
pub fn run(args: &Args) -> Result<Outcome, Error> {
    let needed = |name: &str| {
        Error::user(format!("this needs {name}")).hint("see metalshim tuf-client --help")
    };
    let url = || {
        args.metadata_url
            .as_deref()
            .ok_or_else(|| needed("--metadata-url"))
    };
    let done = match &args.command {
        Command::Init { trusted_root } => tuf_client::init(&args.metadata_dir, trusted_root),
        Command::Refresh => tuf_client::refresh(&args.metadata_dir, url()?, None),
        Command::Download => {
            let base = args.target_base_url.as_deref();
            let base = base.ok_or_else(|| needed("--target-base-url"))?;
            let folder = args.target_dir.as_deref();
            let folder = folder.ok_or_else(|| needed("--target-dir"))?;
            if args.target_name.is_empty() {
                return Err(needed("--target-name"));
            }
            let targets = Some((args.target_name.as_slice(), base, folder));
            tuf_client::refresh(&args.metadata_dir, url()?, targets)
        }
    };
    match done {
        Ok(()) => Ok(Outcome::Yes),
        Err(problem) => {
            use std::io::Write;
            // Nothing can be said about a stderr that is gone.
            let _ = writeln!(std::io::stderr(), "metalshim tuf-client: {problem}");
            Ok(Outcome::No)
        }
    }
}
