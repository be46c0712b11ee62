//! The one printer: data on stdout, everything else on stderr, text and JSON from the same
//! values.
//!
//! **Contract.** A broken pipe is not an error: what reads us has seen enough. Colour is
//! never the only sign, and is off without a terminal and with `NO_COLOR`. No control character
//! of a file name, a fact, a database or a program reaches a terminal: whatever is not our own
//! colour is written as `\u{1b}`. With `--json` an error is an object on stdout, too.
#![allow(clippy::print_stderr)]

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::error::{Error, plain};
use crate::variables::Variables;

/// What a command reports, as text and as JSON.
pub trait Report: Serialize {
    /// The JSON's first key, like `metalshim.status/1`.
    const SCHEMA: &'static str;

    /// As people read it; ends with a newline.
    fn text(&self, style: Style) -> String;
}

/// Where and how to print.
#[derive(Clone, Copy, Debug, Default)]
pub struct Printer {
    /// `--json`
    pub json: bool,
    /// `--quiet`: no notes on stderr; errors stay.
    pub quiet: bool,
    out: Style,
    err: Style,
}

#[derive(Serialize)]
struct Tagged<'a, T> {
    schema: &'static str,
    #[serde(flatten)]
    body: &'a T,
}

#[derive(Serialize)]
struct ErrorObject<'a> {
    schema: &'static str,
    error: &'a str,
    hints: &'a [String],
    exit_code: u8,
}

/// Pretty JSON and a line break. What JSON would let through to a terminal is escaped, too.
fn json(value: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(value)?;
    let mut safe = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        match c {
            '\n' => safe.push(c),
            c if harmful(c) => safe.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => safe.push(c),
        }
    }
    safe.push('\n');
    Ok(safe)
}

/// Control characters, and those that turn the order of the text around.
fn harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A piece of text that somebody else may have chosen, on one line and without harm.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(harmful) {
        return text.into();
    }
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            c if harmful(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    safe.into()
}

/// Whole text as it may be printed: lines and tabs stay, and where `style` has colour, colours.
fn for_screen(text: &str, style: Style) -> Cow<'_, str> {
    let stays = |c: char| matches!(c, '\n' | '\t');
    if !text.contains(|c| harmful(c) && !stays(c)) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let len = match colour_len(rest).filter(|_| style.colour) {
            Some(len) => {
                safe.push_str(&rest[..len]);
                len
            }
            None if harmful(c) && !stays(c) => {
                safe.extend(c.escape_unicode());
                c.len_utf8()
            }
            None => {
                safe.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[len..];
    }
    safe.into()
}

/// The length of the colour code that `text` begins with, if it is one of those that we, or
/// clap, print.
fn colour_len(text: &str) -> Option<usize> {
    let code = text.strip_prefix("\x1b[")?;
    let end = code.find('m').filter(|end| *end <= 2)?;
    let ours = ["0", "1", "2", "4", "31", "32", "33"];
    ours.contains(&&code[..end]).then_some(2 + end + 1)
}

impl Printer {
    /// As the flags, the variables and the two streams say.
    pub fn new(json: bool, quiet: bool, variables: &Variables) -> Self {
        let colour = |terminal: bool| Style {
            colour: terminal && !variables.no_color,
        };
        Self {
            json,
            quiet,
            out: colour(io::stdout().is_terminal()),
            err: colour(io::stderr().is_terminal()),
        }
    }

    /// Prints what a command reports, on stdout.
    pub fn report<R: Report>(&self, report: &R) -> Result<(), Error> {
        if self.json {
            self.out(&self.json_of(report)?)
        } else {
            self.out(&for_screen(&report.text(self.out), self.out))
        }
    }

    /// The report as the one JSON object that `--json` prints.
    ///
    /// # Errors
    /// None that a report of ours gives.
    pub fn json_of<R: Report>(&self, report: &R) -> Result<String, Error> {
        let tagged = Tagged {
            schema: R::SCHEMA,
            body: report,
        };
        json(&tagged)
            .map_err(|e| Error::project(format!("could not write {} as JSON: {e}", R::SCHEMA)))
    }

    /// Prints help on stdout.
    pub fn help(&self, text: &clap::builder::StyledStr) -> Result<(), Error> {
        self.out(&self.out.of_clap(text))
    }

    /// Prints data on stdout as it is.
    pub fn out(&self, text: &str) -> Result<(), Error> {
        let mut stdout = io::stdout().lock();
        match stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush())
        {
            Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(Error::machine(format!(
                "could not write to stdout: {}",
                plain(&e)
            ))
            .hint("look whether the disk that the output goes to is full")),
            _ => Ok(()),
        }
    }

    /// A line on stderr that scripts do not need, like a warning; not with `--quiet`.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            self.line(&format!("metalshim: {}", text.replace('\n', "\\n")));
        }
    }

    /// An error with its hints, on stderr, and with `--json` as an object on stdout. `code` is
    /// the exit code that follows.
    pub fn error(&self, error: &Error, code: u8) {
        let style = self.err;
        self.line(&format!("{} {}", style.red("error:"), escaped(&error.says)));
        for hint in &error.hints {
            self.line(&format!("{} {}", style.bold("hint:"), escaped(hint)));
        }
        self.error_object(error, code);
    }

    /// Wrong usage, as clap says it.
    pub fn usage(&self, text: &clap::builder::StyledStr, error: &Error, code: u8) {
        self.line(self.err.of_clap(text).trim_end_matches('\n'));
        self.error_object(error, code);
    }

    fn error_object(&self, error: &Error, code: u8) {
        if !self.json {
            return;
        }
        // Where stdout is the reason, there is nothing more to say.
        let _ = json(&ErrorObject {
            schema: "metalshim.error/1",
            error: &error.says,
            hints: &error.hints,
            exit_code: code,
        })
        .map(|text| self.out(&text));
    }

    /// A line on stderr that is said whatever the flags.
    pub fn line(&self, text: &str) {
        let text = for_screen(text, self.err);
        // Nothing can be said about a stderr that is gone.
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// What is being done, on a terminal only, in the place of what was said so before; nothing
    /// wipes it away.
    pub fn progress(&self, text: &str) {
        let mut stderr = io::stderr().lock();
        if !self.json && !self.quiet && stderr.is_terminal() {
            let _ = write!(stderr, "\r\x1b[2K{text}").and_then(|()| stderr.flush());
        }
    }

    /// How stderr may be styled.
    pub fn err_style(&self) -> Style {
        self.err
    }
}

/// Colour, where it may be used. Every method returns the text itself where it may not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    colour: bool,
}

impl Style {
    /// No colour at all.
    pub const PLAIN: Self = Self { colour: false };

    fn of_clap(self, text: &clap::builder::StyledStr) -> String {
        let text = if self.colour {
            text.ansi().to_string()
        } else {
            text.to_string()
        };
        for_screen(&text, self).into_owned()
    }

    fn wrap(self, code: u8, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Headings and names.
    pub fn bold(self, text: &str) -> String {
        self.wrap(1, text)
    }

    /// What is less important.
    pub fn dim(self, text: &str) -> String {
        self.wrap(2, text)
    }

    /// Errors and refusals.
    pub fn red(self, text: &str) -> String {
        self.wrap(31, text)
    }

    /// What is as it should be.
    pub fn green(self, text: &str) -> String {
        self.wrap(32, text)
    }

    /// Warnings.
    pub fn yellow(self, text: &str) -> String {
        self.wrap(33, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIL: &str = "a\x1b]0;title\x07b\x1b[2Jc\u{9b}31md\u{202e}e\r\x7f\n\tf";

    #[test]
    fn no_control_character_of_others_comes_through() {
        let safe = "a\\u{1b}]0;title\\u{7}b\\u{1b}[2Jc\\u{9b}31md\\u{202e}e\\u{d}\\u{7f}";
        for style in [Style::PLAIN, Style { colour: true }] {
            let text = format!("{} {EVIL}", style.red("error:"));
            let expected = format!("{} {safe}\n\tf", style.red("error:"));
            assert_eq!(for_screen(&text, style), expected);
        }
        assert_eq!(escaped(EVIL), format!("{safe}\\n\\u{{9}}f"));
        assert_eq!(for_screen("\x1b[31m", Style::PLAIN), "\\u{1b}[31m");
        assert_eq!(escaped("größer"), "größer");
    }

    #[test]
    fn json_is_the_same_value_without_them() {
        let text = json(&[EVIL]).unwrap();
        assert!(!text.contains(|c| harmful(c) && c != '\n'), "{text:?}");
        let read: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(read, [EVIL]);
    }
}
