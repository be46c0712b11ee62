//! What touches the process: the only module with unsafe code.

mod cell;
mod children;
mod environ;
mod hooks;
mod install;
mod kept;
mod libc;
mod objc;
mod platform;
mod report;
mod start;
mod watch;
