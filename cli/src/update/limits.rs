//! How much is read, and for how long: whatever answers may be hostile.

use std::time::Duration;

/// The longest root metadata, in bytes.
pub(crate) const ROOT: u64 = 64 << 10;
/// The longest timestamp metadata, in bytes.
pub(crate) const TIMESTAMP: u64 = 16 << 10;
/// The longest snapshot, targets or revoker metadata, in bytes.
pub(crate) const LISTS: u64 = 256 << 10;
/// The longest deny list, in bytes.
pub(crate) const DENY_LIST: u64 = 256 << 10;
/// The longest target, in bytes.
pub(crate) const TARGET: u64 = 64 << 20;
/// The longest release archive when it is unpacked, in bytes.
#[cfg(feature = "self-update")]
pub(crate) const UNPACKED: u64 = 256 << 20;
/// The longest repository in one file, in bytes.
pub(crate) const ARCHIVE: u64 = 256 << 20;
/// How many new roots are followed in one refresh: many years of them.
pub(crate) const ROOTS: u32 = 256;
/// How long a whole update may take where the user says nothing.
pub(crate) const BUDGET: Duration = Duration::from_secs(300);
/// How long one small file may take: slow data is not an answer.
pub(crate) const SMALL_FILE: Duration = Duration::from_secs(30);
/// How long a connection may take.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);
