//! Checks of what is newer: the database's last check, and metalshim's own version.

use jiff::Timestamp;

use super::STOCK;
use super::finding::Severity::{Fine, Note, Problem, Unknown, Warning};
use super::finding::{Finding, sentence};
use super::seen::Seen;
use crate::commands::update::program;
use crate::managed::Manager;
use crate::update::automatic::{Check, Outcome};

/// When a newer database was looked for last by itself, and what came of it.
pub(super) fn updates(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "updates";
    let last = seen.state.as_ref().ok().and_then(Check::last);
    let Some(last) = last else {
        let says = "Nothing has looked for a newer database by itself yet.";
        let finding = Finding::new(NAME, Note, says).command("Look now.", "metalshim update");
        return vec![match Manager::here() {
            Ok(Manager::Homebrew) => {
                // Homebrew's times know no "every six hours".
                finding.command("Look every day.", "brew services start metalshim")
            }
            _ => finding.command("Look every six hours.", "metalshim service install"),
        }];
    };
    let at = last.at.strftime("%F %R UTC");
    let finding = |severity, says: String| Finding::new(NAME, severity, sentence(&says));
    vec![match last.outcome {
        _ if last.at > Timestamp::now() => finding(
            Note,
            format!(
                "The last check was at {at}, which is yet to come: this machine's clock was ahead"
            ),
        )
        .command("Look now.", "metalshim update"),
        Outcome::Failed => finding(
            Warning,
            format!("The last check, at {at}, failed: {}", last.says),
        )
        .affects("news: what was verified or taken back since is not known here")
        .command("Look now, and see all of the reason.", "metalshim update"),
        Outcome::NeedsNewerMetalshim => finding(
            Warning,
            format!("The last check was at {at}: {}", last.says),
        )
        .affects("news: the newest database cannot be read by this metalshim")
        .command("Update metalshim, or see what does.", "metalshim update"),
        Outcome::Started => finding(Note, format!("A check began at {at}, and has not ended")),
        _ => finding(Fine, format!("The last check was at {at}: {}", last.says)),
    }]
}

/// Whether the database needs a newer metalshim, and whether a newer one is out.
pub(super) fn version(seen: &Seen) -> Vec<Finding> {
    const NAME: &str = "version";
    let ours = env!("CARGO_PKG_VERSION");
    let loaded = seen.known.database.as_ref().ok();
    let program = match program::look(loaded.map_or(&[], |l| l.releases.as_slice())) {
        Ok(program) => program,
        Err(e) => return vec![Finding::new(NAME, Unknown, sentence(&e.says))],
    };
    let needs = loaded.map(|l| l.database.min_cli());
    let too_old = needs.is_some_and(|needs| *needs > program.installed);
    let command = program.manager.update_command();
    if too_old {
        let says = format!("metalshim {ours} is too old for its database.");
        return vec![
            Finding::new(NAME, Problem, says)
                .affects(STOCK)
                .command("Update metalshim.", command),
        ];
    }
    let Some(newer) = &program.newer else {
        return vec![Finding::new(NAME, Fine, format!("metalshim {ours}."))];
    };
    vec![if program.revoked {
        let says = format!("metalshim {ours} was taken back; {newer} is out.");
        Finding::new(NAME, Warning, says)
            .affects("every program that it starts: its publisher says not to use it any more")
            .command("Update metalshim.", command)
    } else {
        Finding::new(NAME, Note, format!("metalshim {ours}; {newer} is out."))
            .command("Update metalshim.", command)
    }]
}
