//! `metalshim host preference enable | disable`.

use clap::Subcommand;
use jiff::Timestamp;
use serde::Serialize;

use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::host::ThisHost;
use crate::host::preference::{self, Did, Value};
use crate::printer::{Report, Style};

/// Set the host's preference ForceUnrestrictedDeviceFeatureLevel for guests' GPUs, or put back
/// what was there before.
#[derive(Debug, clap::Args)]
#[command(after_help = preference::KNOWN)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Copy, Debug, Subcommand)]
enum Command {
    /// Set it, and keep what was there before
    Enable,
    /// Put back what was there before
    Disable,
}

#[derive(Debug, Serialize)]
struct Changed {
    did: Did,
    /// As it is now.
    now: Value,
    known: &'static str,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    ThisHost::read_real()?;
    let state = context.state()?;
    let did = match args.command {
        Command::Enable => preference::enable(&state, Timestamp::now())?,
        Command::Disable => preference::disable(&state)?,
    };
    context.printer.report(&Changed {
        did,
        now: Value::read()?,
        known: preference::KNOWN,
    })?;
    Ok(Outcome::Yes)
}

impl Report for Changed {
    const SCHEMA: &'static str = "metalshim.host-preference/1";

    fn text(&self, _: Style) -> String {
        let now = self.now.says();
        let key = preference::KEY;
        let first = match self.did {
            Did::Set => format!(
                "{key} is set; what was there before is kept, and `metalshim host preference disable` puts it back"
            ),
            Did::AlreadyOurs => format!("{key} is set already, by metalshim"),
            Did::AlreadyTheirs => {
                format!("{key} is {now} already, and not by metalshim: left as it is")
            }
            Did::Restored => format!("{key} is as it was before: {now}"),
            Did::ChangedSince => {
                format!("{key} was changed since metalshim set it: {now}, left as it is")
            }
            Did::NotOurs if self.now == Value::Absent => format!("{key} is not set"),
            Did::NotOurs => format!(
                "{key} is {now}, and not by metalshim: left as it is; to remove it: defaults delete {} {key}",
                preference::DOMAIN
            ),
        };
        format!("{first}\n\n{}\n", self.known)
    }
}
