//! The repository, through the real tool, the real files, and a client that is not ours.

mod attacks;
mod client;
mod keys;
mod partial;
mod refusals;
mod rig;
