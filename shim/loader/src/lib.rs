//! Reads a thin Mach-O dylib into a [`Plan`]: what to map where, which words to
//! change, which calls to redirect and which functions to run at the start.
//!
//! Contract: everything a file can get wrong is found here, before a byte of it
//! is mapped. [`Plan::read`] takes any bytes at all and returns either a plan in
//! which every address lies inside a segment of the right kind, or a [`Problem`]
//! that says what is wrong, where, and (for files that are in order but need
//! something this loader does not do) what that is. It never panics.
//!
//! This is not part of the product. It exists so that the macOS library which
//! ships is executed on Linux before any Mac sees it: `shim/loader/preload`
//! carries a plan out inside a running process. What it supports is what the
//! linkers in use write for a small library without C++, Swift, Objective-C
//! metadata or thread-local variables; all of these are refused by name.

#![forbid(unsafe_code)]

mod bytes;
mod chained;
mod classic;
mod commands;
mod image;
mod plan;
mod problem;

pub use commands::{BuildVersion, Commands, Section, Segment};
pub use image::Cpu;
pub use plan::{Fixup, FixupKind, Interpose, Plan};
pub use problem::Problem;
