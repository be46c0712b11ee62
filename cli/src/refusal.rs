//! How a refusal is told in text, wherever one is.

use std::ffi::OsStr;

use compatdb::verdict::{Refusal, Remedy};

use crate::printer::{Style, escaped};
use crate::shell;

/// The reason, what decided, what to do, and what else applies. No line break at the end.
pub fn text(refusal: &Refusal, style: Style) -> String {
    let mut lines = vec![format!(
        "{} {}: {}",
        style.red("refused:"),
        style.bold(refusal.reason.code()),
        escaped(&refusal.says)
    )];
    lines.extend(refusal.remedies.iter().map(|r| remedy(r, style)));
    if !refusal.also.is_empty() {
        let also: Vec<&str> = refusal.also.iter().map(|r| r.code()).collect();
        lines.push(format!("also: {}", also.join(", ")));
    }
    lines.join("\n")
}

/// Puts the program that is known in the place of `PROGRAM` in what there is to do.
pub fn fill<W: AsRef<OsStr>>(refusal: &mut Refusal, words: impl IntoIterator<Item = W>) {
    let program = format!(" -- {}", shell::line(words));
    for remedy in &mut refusal.remedies {
        for text in remedy.command.iter_mut().chain([&mut remedy.says]) {
            *text = text.replace(" -- PROGRAM", &program);
        }
    }
}

/// One thing to do, and the command that does it on a line of its own.
pub fn remedy(remedy: &Remedy, style: Style) -> String {
    let says = format!("{} {}", style.bold("hint:"), escaped(&remedy.says));
    match &remedy.command {
        Some(command) => format!("{says}\n    {}", escaped(command)),
        None => says,
    }
}
