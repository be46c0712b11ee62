//! The commands, one a file: its arguments, what it does, and what it reports.

pub mod completions;
pub mod db;
pub mod demo;
pub mod disable;
pub mod doctor;
pub mod enable;
pub mod host;
pub mod man;
pub mod run;
pub mod shellenv;
pub mod status;
pub mod tuf_client;
pub mod update;
