//! The ticket: the verdict in a small file. Written by the command line, read by the shim.
//!
//! # Contract
//!
//! A ticket is at most [`MAX_LEN`] bytes of ASCII. Its first line is `metalshim-ticket 1`. Then
//! comes one `key=value` a line, every key once, in the order of [`Key`]; only `metal_uuid` and
//! `driver_uuid` may be left out. The last line is `sha256=` and 64 small hexadecimal digits, over
//! every byte before that line. Every line ends with a line feed.
//!
//! The form is canonical: for every ticket there is exactly one text, so what [`Ticket::parse`]
//! accepts, [`Ticket::write`] repeats byte for byte. Whatever is not understood is refused, with a
//! [`Problem`] whose [`code`](Problem::code) is stable.
//!
//! The hash guards against accidents (a file cut short, a flipped bit). It is no signature: who
//! can write to the user's files can make a ticket.
//!
//! No allocation, no unsafe code, and no way to panic: the shim reads tickets inside other
//! people's processes.
#![no_std]
#![forbid(unsafe_code)]

mod problem;
mod read;
mod value;
mod write;

pub use problem::{Key, Problem};

/// The version of the interface between ticket and shim: the ticket's `shim_abi`.
pub const SHIM_ABI: u32 = 1;
/// The most bytes that a ticket may have.
pub const MAX_LEN: usize = 4096;

/// The first line, with its line feed.
const HEAD: &[u8] = b"metalshim-ticket 1\n";
/// What the last line starts with.
const TAIL: &[u8] = b"sha256=";
/// The length of the last line: the key, 64 digits, the line feed.
const TAIL_LEN: usize = TAIL.len() + 64 + 1;

/// The verdict, as the shim needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket<'a> {
    /// The guest's exact build, `kern.osversion`: two digits, a capital, one to five digits, and
    /// for a beta a small letter (`25F84`).
    pub guest_build: &'a str,
    /// The boot this is for, `kern.bootsessionuuid`: a UUID of 36 characters, either case.
    pub boot_session: &'a str,
    /// The class of the paravirtual device: a C identifier of at most 128 characters.
    pub device_class: &'a str,
    /// The highest Apple family that the device itself answers yes to: 1001 to 1009.
    pub stock_apple_family: u16,
    /// What the device itself answers for threadgroup memory, in bytes: 1 to 65,536.
    pub stock_max_threadgroup_memory: u32,
    /// The highest Apple family to answer yes to: 1001 to 1009.
    pub apple_family_max: u16,
    /// The threadgroup memory to answer, in bytes: 1 to 65,536.
    pub max_threadgroup_memory: u32,
    /// The UUID (`LC_UUID`) that Metal's image must have.
    pub metal_uuid: Option<&'a str>,
    /// The UUID (`LC_UUID`) that the driver's image must have.
    pub driver_uuid: Option<&'a str>,
    /// The record that allows this, or `unverified:<guest build>`: at most 128 letters, digits
    /// and `._:-`.
    pub record: &'a str,
    /// The database that it was read from: `<seq>:<first 16 hexadecimal digits of its SHA-256>`.
    pub database: &'a str,
    /// Which children are followed: `none`, `all`, or a comma list of `self` and names of
    /// executables (printable, without a slash), at most 1,024 characters.
    pub follow: &'a str,
}
