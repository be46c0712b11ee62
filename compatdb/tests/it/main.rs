//! The database and the verdict, through real SQLite bytes and the real tool.
// A test says what went wrong by stopping there, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic)]

mod client;
mod corrupt;
mod diff;
mod faults_page;
mod ingest;
mod properties;
mod query;
mod repo;
mod reproducible;
mod samples;
mod tool;
mod verdict;
