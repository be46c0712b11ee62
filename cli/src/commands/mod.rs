//! The commands, one a file: its arguments, what it does, and what it reports.

pub mod agent;
pub mod bench;
pub mod canary;
pub mod ci;
pub mod completions;
pub mod db;
pub mod demo;
pub mod disable;
pub mod doctor;
pub mod enable;
pub mod host;
pub mod man;
pub mod probe;
pub mod report;
pub mod run;
pub mod service;
pub mod shellenv;
pub mod status;
pub mod tuf_client;
pub mod update;

use std::time::Duration;

/// A number of seconds on the command line, like 60 or 0.5.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text
        .parse::<f32>()
        .ok()
        .filter(|s| (0.05..=86_400.0).contains(s));
    seconds
        .map(Duration::from_secs_f32)
        .ok_or_else(|| "it is a number of seconds from 0.05 to 86400".to_owned())
}
