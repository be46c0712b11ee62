//! The simulated guest: what tests need to find and drive it.
#![forbid(unsafe_code)]
