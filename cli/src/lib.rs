//! The `metalshim` command.
#![deny(unsafe_code)]
