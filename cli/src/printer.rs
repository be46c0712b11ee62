//! The one printer: data on stdout, everything else on stderr, text and JSON from the same
//! values.
//!
//! **Contract.** A broken pipe is not an error: what reads us has seen enough. Colour is
//! never the only sign, and is off without a terminal and with `NO_COLOR`.
#![allow(clippy::print_stderr)]

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
            self.out(&report.text(self.out))
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
        let mut text = serde_json::to_string_pretty(&tagged)
            .map_err(|e| Error::project(format!("could not write {} as JSON: {e}", R::SCHEMA)))?;
        text.push('\n');
        Ok(text)
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
            self.line(&format!("metalshim: {text}"));
        }
    }

    /// An error with its hints, on stderr.
    pub fn error(&self, error: &Error) {
        let style = self.err;
        self.line(&format!("{} {}", style.red("error:"), error.says));
        for hint in &error.hints {
            self.line(&format!("{} {hint}", style.bold("hint:")));
        }
    }

    /// A line on stderr that is said whatever the flags.
    pub fn line(&self, text: &str) {
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
