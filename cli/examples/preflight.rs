//! Prints what the command would say of programs.
use std::path::Path;

use compatdb::facts::Sip;
use metalshim_cli::program::{Context, preflight};

fn main() {
    for path in std::env::args_os().skip(1) {
        let answer = preflight(Path::new(&path), &[], &Context::here(Sip::Enabled, &[]));
        println!("{}", serde_json::to_string(&answer).unwrap());
    }
}
