//! `metalshim db rollback`: swaps back to the database before the one in use.
//!
//! What is denied stays denied, and the newer database is not taken again by itself; a later one
//! is. Running it again swaps them once more.

use serde::Serialize;

use crate::commands::update;
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::printer::{Report, Style};
use crate::update::Updates;

/// What `db rollback` did.
#[derive(Debug, Serialize)]
struct RolledBack {
    /// The `seq` that was used before.
    from: u64,
    /// The `seq` that is used now.
    to: u64,
    /// The database that decides now; another one where the machine's or this build's is newer.
    in_use: String,
}

/// Runs it.
pub(super) fn run(context: &Context) -> Result<Outcome, Error> {
    let state = context.state()?;
    let trust = update::root(context, None, state.path())?;
    let loaded = context.database()?;
    let (from, to) = Updates::new(&trust, state.path())
        .roll_back()
        .map_err(|problem| problem.error(&loaded.says()))?;
    context.printer.report(&RolledBack {
        from,
        to,
        in_use: context.database()?.says(),
    })?;
    Ok(Outcome::Yes)
}

impl Report for RolledBack {
    const SCHEMA: &'static str = "metalshim.db-rollback/1";

    fn text(&self, style: Style) -> String {
        let mut text = format!(
            "{} from seq {} to seq {}; in use: {}\n",
            style.green("swapped:"),
            self.from,
            self.to,
            self.in_use,
        );
        if self.from > self.to {
            text.push_str(&format!(
                "what is denied stays denied; seq {} is not taken again by itself, `metalshim db rollback` swaps back\n",
                self.from
            ));
        }
        text
    }
}
