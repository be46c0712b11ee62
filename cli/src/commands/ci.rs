//! `metalshim ci`: prints what a step of a pipeline needs.
//!
//! **Contract.** The script fails unless the overrides are at work: a refusal, a program that
//! does not start with them, and an assertion that finds nothing are all failures. It is run by
//! the tests, on its good path and on each bad one.

use std::ffi::OsString;

use clap::ValueEnum;

use crate::context::Context;
use crate::error::{Error, Outcome};

/// How it is used, in the help and in docs/ci.md.
pub const HELP: &str = "\
Without a PROGRAM the script asserts what `metalshim probe` sees: the device's two answers are raised, \
and nothing else is. With a PROGRAM it starts that with --require and asserts the three lines with which \
llama.cpp says what it will use: simdgroup reduction, simdgroup matrix mul. and has bfloat, each = true. \
Give a command that loads a model and ends, like llama-bench -m model.gguf -n 1. A program that prints \
none of the lines has not passed.
The script ends with 0 only where all of it holds; 1 refused, or the assertion failed; the program's own \
code where that failed; 78 where the program stayed stock after all.";

/// Print what a step of a pipeline needs: enable, start with --require, and assert that the
/// overrides are at work.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The kind of pipeline
    #[arg(value_enum, default_value_t = Pipeline::Shell)]
    pipeline: Pipeline,
    /// A program on llama.cpp and its arguments, after --
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// The kinds of pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Pipeline {
    /// A script for sh: Cirrus, Buildkite, Jenkins, and whatever else runs one
    Shell,
    /// A step for GitHub Actions
    Github,
}

/// Runs it.
///
/// # Errors
/// The program cannot be written into a script.
pub fn run(args: &Args, context: &Context) -> Result<Outcome, Error> {
    let words = args
        .program
        .iter()
        .map(quoted)
        .collect::<Result<Vec<_>, _>>()?;
    let body = match words.as_slice() {
        [] => format!("{ENABLE}{PROBE}"),
        words => format!(
            "{ENABLE}{}",
            CAPABILITIES.replace("COMMAND", &words.join(" "))
        ),
    };
    context.printer.out(&match args.pipeline {
        Pipeline::Shell => format!("#!/bin/sh\n{body}"),
        Pipeline::Github => github(&body),
    })?;
    Ok(Outcome::Yes)
}

const ENABLE: &str = "\
# Made by `metalshim ci`. It fails unless the overrides are at work here.
set -eu

# This machine: a refusal ends it here, with the reason.
metalshim enable
";

const PROBE: &str = "
# The device, asked in a process with the overrides: two answers are raised, and nothing else.
metalshim probe --both
echo 'metalshim ci: the overrides are at work'
";

const CAPABILITIES: &str = "
# The program, with the overrides or not at all.
log=$(mktemp)
trap 'rm -f \"$log\"' EXIT
code=0
metalshim run --require -- COMMAND >\"$log\" 2>&1 || code=$?
cat \"$log\"
if [ \"$code\" -ne 0 ]; then
  echo \"metalshim ci: the program, or its start with the overrides, ended with $code\" >&2
  exit \"$code\"
fi

# What llama.cpp says that it will use. Lines that are not there fail, too.
for line in 'simdgroup reduction' 'simdgroup matrix mul.' 'has bfloat'; do
  if ! tr -s ' ' <\"$log\" | grep -qF \"$line = true\"; then
    echo \"metalshim ci: the program did not say: $line = true\" >&2
    code=1
  fi
  if tr -s ' ' <\"$log\" | grep -qF \"$line = false\"; then
    echo \"metalshim ci: the program said: $line = false\" >&2
    code=1
  fi
done
[ \"$code\" -eq 0 ] || exit \"$code\"
echo 'metalshim ci: the overrides are at work'
";

/// The build is that of the host, where the share does not say it: a variable of the repository.
fn github(body: &str) -> String {
    let mut step = "\
- name: Metal overrides at work
  shell: sh {0}
  env:
    METALSHIM_HOST_BUILD: ${{ vars.METALSHIM_HOST_BUILD }}
  run: |
"
    .to_owned();
    for line in body.lines() {
        if !line.is_empty() {
            step.push_str("    ");
            step.push_str(line);
        }
        step.push('\n');
    }
    step
}

/// As sh reads it back.
fn quoted(word: &OsString) -> Result<String, Error> {
    let text = word.to_str().filter(|text| !text.contains('\n'));
    let Some(text) = text else {
        return Err(Error::user(format!(
            "{} cannot be written into a script",
            word.to_string_lossy()
        ))
        .hint("give words of UTF-8 text without line breaks"));
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    Ok(match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    })
}
