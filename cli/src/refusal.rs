//! How a refusal is told in text, wherever one is.

use compatdb::verdict::{Refusal, Remedy};

use crate::printer::Style;

/// The reason, what decided, what to do, and what else applies. No line break at the end.
pub fn text(refusal: &Refusal, style: Style) -> String {
    let mut lines = vec![format!(
        "{} {}: {}",
        style.red("refused:"),
        style.bold(refusal.reason.code()),
        refusal.says
    )];
    lines.extend(refusal.remedies.iter().map(|r| remedy(r, style)));
    if !refusal.also.is_empty() {
        let also: Vec<&str> = refusal.also.iter().map(|r| r.code()).collect();
        lines.push(format!("also: {}", also.join(", ")));
    }
    lines.join("\n")
}

/// One thing to do, and the command that does it on a line of its own.
pub fn remedy(remedy: &Remedy, style: Style) -> String {
    let says = format!("{} {}", style.bold("hint:"), remedy.says);
    match &remedy.command {
        Some(command) => format!("{says}\n    {command}"),
        None => says,
    }
}
