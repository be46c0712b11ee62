//! Updates against real repositories, a real web server and real clocks.
//!
//! Each attack is a folder below `attacks/`: `make.py` builds the repositories with PyPI `tuf`,
//! the reference implementation, and `steps.toml` says what the user does and what has to come
//! of it. Where Python's package or `faketime` cannot be had, the tests that need it say so and
//! are skipped.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test whose set-up fails has failed, and a skip prints its reason"
)]

mod attacks;
mod automatic;
mod https;
mod machine;
mod places;
mod revoked;
#[cfg(feature = "self-update")]
mod self_update;
mod server;
mod service;
mod tuf_client;
