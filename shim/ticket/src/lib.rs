//! The ticket: the verdict in a small file. Written by the command line, read by the shim.
#![no_std]
#![forbid(unsafe_code)]
