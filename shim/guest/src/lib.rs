//! The simulated guest: what tests need to build it, describe it and drive it.
//!
//! # Contract
//!
//! [`built`] builds the stand-in for Metal, the sample clients and the shim, once per process,
//! and says where they are. [`FactsFile`] describes a guest, [`TicketFile`] writes a ticket for
//! the shim, and [`Run`] starts a client with both and gives back what it printed. Everything
//! runs in processes of its own, on a real Objective-C runtime.
//!
//! A failing build, or a temporary file that cannot be written, ends the test with its reason:
//! this crate is for tests only.
#![forbid(unsafe_code)]
// A test kit: what it cannot do ends the test, with the reason.
#![allow(clippy::panic)]

pub mod corners;
mod facts;
pub mod faulty;
pub mod figures;
mod kit;
mod run;
mod ticket;

pub use facts::{FactsFile, SavedFacts};
pub use kit::{Kit, built};
pub use run::{Outcome, Run};
pub use ticket::TicketFile;
