//! The `metalshim` command: everything is in the library, so that tests reach it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    metalshim_cli::main(std::env::args_os().collect())
}
