//! `compatdb`: the maintainers' tool. Data on stdout, everything else on stderr.
//!
//! Exit codes: 0 yes, 1 findings, 2 usage, or could not tell.
#![forbid(unsafe_code)]

mod tool;

use std::process::ExitCode;

fn main() -> ExitCode {
    tool::main()
}
