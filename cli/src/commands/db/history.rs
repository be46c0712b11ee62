//! `metalshim db history`: which databases are here, and what was taken in when.

use jiff::Timestamp;
use serde::Serialize;

use crate::commands::update;
use crate::context::Context;
use crate::database::{Origin, Root};
use crate::error::{Error, Outcome};
use crate::printer::{Report, Style};
use crate::update::{Event, KeptDatabase, Updates};

/// What `db history` says.
#[derive(Debug, Serialize)]
struct History {
    in_use: InUse,
    trust_root: Option<Root>,
    /// The database taken in last.
    current: Option<KeptDatabase>,
    /// The one before it, which `db rollback` swaps back to.
    previous: Option<KeptDatabase>,
    /// The oldest first.
    events: Vec<Event>,
    problems: Vec<String>,
}

#[derive(Debug, Serialize)]
struct InUse {
    origin: Origin,
    seq: u64,
    published_at: Timestamp,
    sha256: String,
}

/// Runs it.
pub(super) fn run(context: &Context) -> Result<Outcome, Error> {
    let state = context.state()?;
    let loaded = context.database()?;
    let mut history = History {
        in_use: InUse {
            origin: loaded.origin,
            seq: loaded.database.seq(),
            published_at: loaded.database.published_at(),
            sha256: loaded.database.sha256().to_owned(),
        },
        trust_root: loaded.root.clone(),
        current: None,
        previous: None,
        events: Vec::new(),
        problems: Vec::new(),
    };
    // A build without a trust root has taken nothing in.
    if loaded.root.is_some() {
        let trust = update::root(context, None, state.path())?;
        let updates = Updates::new(&trust, state.path());
        let [current, previous] = updates.kept().map(|kept| {
            kept.unwrap_or_else(|problem| {
                history.problems.push(problem.to_string());
                None
            })
        });
        history.current = current;
        history.previous = previous;
        match updates.history() {
            Ok(events) => history.events = events,
            Err(problem) => history.problems.push(problem.to_string()),
        }
    }
    context.printer.report(&history)?;
    Ok(Outcome::Yes)
}

impl Report for History {
    const SCHEMA: &'static str = "metalshim.db-history/1";

    fn text(&self, style: Style) -> String {
        let mut lines = vec![format!(
            "in use: {}, seq {}, published {}",
            style.bold(self.in_use.origin.says()),
            self.in_use.seq,
            self.in_use.published_at.strftime("%F")
        )];
        for (name, kept) in [("taken in last", &self.current), ("before", &self.previous)] {
            if let Some(kept) = kept {
                lines.push(format!(
                    "{name}: seq {}, published {}, {:.16}",
                    kept.seq,
                    kept.published_at.strftime("%F"),
                    kept.sha256
                ));
            }
        }
        for event in &self.events {
            lines.push(format!(
                "  {}  {:<11}  seq {}  from {}",
                event.at.strftime("%F %R"),
                event.what,
                event.seq,
                event.from
            ));
        }
        let problems = self.problems.iter();
        lines.extend(problems.map(|p| format!("{} {p}", style.yellow("warning:"))));
        lines.join("\n") + "\n"
    }
}
