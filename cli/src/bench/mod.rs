//! `metalshim bench`: one program, stock and with the overrides in turn.
//!
//! **Contract.** The figures are the tool's own samples, or the time on the clock; what follows
//! from them is made by [`compatdb::bench`], which also checks them again when a report is
//! taken in. [`tool`] reads what tools print and never trusts it: it is a file from elsewhere.

mod capabilities;
pub mod files;
pub mod host;
pub mod idle;
mod leg;
pub mod markdown;
mod ollama;
pub mod picture;
pub mod tool;
mod turns;

pub use capabilities::{capabilities, capabilities_of};
pub use leg::{Asked, Leg, Outcome};
pub use turns::{Turns, turns};

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Arguments without the folders in them: they hold names of users, and say nothing.
pub fn without_folders(arguments: &[OsString]) -> Vec<String> {
    let short = |argument: &OsString| {
        let text = argument.to_string_lossy();
        let (option, value) = match text.split_once('=') {
            Some((option, value)) if option.starts_with('-') => (format!("{option}="), value),
            _ => (String::new(), &*text),
        };
        match value.contains('/') {
            true => format!("{option}{}", base_name(OsStr::new(value))),
            false => text.into_owned(),
        }
    };
    arguments.iter().map(short).collect()
}

/// The last part of a path.
pub fn base_name(path: &OsStr) -> String {
    let name = Path::new(path).file_name().unwrap_or(path);
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_left_out_of_arguments() {
        let arguments = ["-m", "/Users/me/x.gguf", "--model=a/b/y", "-p", "512"];
        let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
        assert_eq!(
            without_folders(&arguments),
            ["-m", "x.gguf", "--model=y", "-p", "512"]
        );
    }
}
