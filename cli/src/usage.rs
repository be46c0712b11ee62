//! Help, the version, and command lines that are none.
//!
//! **Contract.** What was asked for goes to stdout, and an error is said when it cannot be
//! written; wrong usage goes to stderr, and with `--json` as an object to stdout, as every error
//! does. The exit codes of `run` are its own, also where the rest of the line is wrong.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::ErrorKind;

use crate::args::Cli;
use crate::error::Error;
use crate::printer::Printer;
use crate::variables::Variables;
use crate::version;

/// Prints what clap has instead of a command.
pub(crate) fn not_a_command(
    error: &clap::Error,
    arguments: &[OsString],
    variables: &Variables,
) -> ExitCode {
    let in_run = names_run(arguments);
    let printer = Printer::new(wants_json(arguments), false, variables);
    if error.use_stderr() {
        let error_ = of_clap(error);
        let code = error_.exit_code(in_run);
        printer.usage(&error.render(), &error_, code);
        return code.into();
    }
    let printed = match error.kind() {
        ErrorKind::DisplayVersion => printer.out(&version(variables)),
        _ => printer.help(&error.render()),
    };
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let code = error.exit_code(in_run);
            printer.error(&error, code);
            code.into()
        }
    }
}

/// What clap says, as an error of ours: its first paragraph, and a hint for each other one.
fn of_clap(error: &clap::Error) -> Error {
    let text = error.to_string();
    let lines = |paragraph: &str| {
        let lines: Vec<&str> = paragraph.lines().map(str::trim).collect();
        lines.join(" ")
    };
    let mut paragraphs = text.split("\n\n").map(lines).filter(|p| !p.is_empty());
    let first = paragraphs.next().unwrap_or_default();
    let says = first.strip_prefix("error: ").unwrap_or(&first);
    paragraphs.fold(Error::user(says), |error, hint| {
        error.hint(hint.strip_prefix("tip: ").unwrap_or(&hint))
    })
}

/// The words of the line that are metalshim's: of `run`, those before its program.
fn ours(arguments: &[OsString]) -> Vec<&OsStr> {
    let mut command = &Cli::command();
    let mut ours = Vec::new();
    let mut words = arguments.iter().skip(1);
    let mut in_run = false;
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let option = text.starts_with('-') && text != "-";
        if text == "--" || (in_run && !option) {
            break;
        }
        ours.push(word.as_os_str());
        if option {
            let name = text.trim_start_matches('-');
            let mut all = command.get_arguments();
            let takes = all.any(|a| {
                let ours = a.get_long() == Some(name);
                ours && a.get_action().takes_values()
            });
            let global = name == "policy";
            if takes || global {
                words.next();
            }
        } else if let Some(sub) = command.find_subcommand(text.as_ref()) {
            in_run |= sub.get_name() == "run";
            command = sub;
        }
    }
    ours
}

/// Whether `--json` is among the words that are metalshim's.
fn wants_json(arguments: &[OsString]) -> bool {
    ours(arguments).contains(&OsStr::new("--json"))
}

/// Whether the command is `run`, also where the rest of the line is wrong.
pub(crate) fn names_run(arguments: &[OsString]) -> bool {
    let mut rest = arguments.iter().skip(1);
    while let Some(argument) = rest.next() {
        if argument == "--policy" {
            rest.next();
        } else if !argument.as_encoded_bytes().starts_with(b"-") {
            return argument == "run";
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(Into::into).collect()
    }

    #[test]
    fn run_is_told_from_programs_of_that_name() {
        for (line, is_run) in [
            ("metalshim run", true),
            ("metalshim --json --policy p run --x", true),
            ("metalshim --policy run status", false),
            ("metalshim doctor run", false),
        ] {
            assert_eq!(names_run(&words(line)), is_run, "{line}");
        }
    }

    #[test]
    fn a_programs_own_json_is_not_ours() {
        for (line, json) in [
            ("metalshim status --nosuch --json", true),
            ("metalshim --json nosuch", true),
            ("metalshim run --profile x --json -- tool", true),
            ("metalshim run --profile --json -- tool", false),
            ("metalshim run --nosuch --json tool", true),
            ("metalshim run --profile 1/1 tool --json", false),
            ("metalshim run --quiet -- tool --json", false),
            ("metalshim --policy --json status", false),
            ("metalshim db show --json --nosuch", true),
        ] {
            assert_eq!(wants_json(&words(line)), json, "{line}");
        }
    }
}
