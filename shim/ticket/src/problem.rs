//! Why a ticket is refused.

use core::fmt;

/// A key of the ticket. The order here is the order in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Key {
    /// `guest_build`
    GuestBuild,
    /// `boot_session`
    BootSession,
    /// `device_class`
    DeviceClass,
    /// `stock_apple_family`
    StockAppleFamily,
    /// `stock_max_threadgroup_memory`
    StockMaxThreadgroupMemory,
    /// `apple_family_max`
    AppleFamilyMax,
    /// `max_threadgroup_memory`
    MaxThreadgroupMemory,
    /// `metal_uuid`
    MetalUuid,
    /// `driver_uuid`
    DriverUuid,
    /// `record`
    Record,
    /// `database`
    Database,
    /// `shim_abi`
    ShimAbi,
    /// `follow`
    Follow,
}

impl Key {
    /// Every key, in the order of the file.
    pub const ALL: [Self; 13] = [
        Self::GuestBuild,
        Self::BootSession,
        Self::DeviceClass,
        Self::StockAppleFamily,
        Self::StockMaxThreadgroupMemory,
        Self::AppleFamilyMax,
        Self::MaxThreadgroupMemory,
        Self::MetalUuid,
        Self::DriverUuid,
        Self::Record,
        Self::Database,
        Self::ShimAbi,
        Self::Follow,
    ];

    /// The key as it stands in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GuestBuild => "guest_build",
            Self::BootSession => "boot_session",
            Self::DeviceClass => "device_class",
            Self::StockAppleFamily => "stock_apple_family",
            Self::StockMaxThreadgroupMemory => "stock_max_threadgroup_memory",
            Self::AppleFamilyMax => "apple_family_max",
            Self::MaxThreadgroupMemory => "max_threadgroup_memory",
            Self::MetalUuid => "metal_uuid",
            Self::DriverUuid => "driver_uuid",
            Self::Record => "record",
            Self::Database => "database",
            Self::ShimAbi => "shim_abi",
            Self::Follow => "follow",
        }
    }

    /// Whether a ticket may do without it.
    pub const fn is_optional(self) -> bool {
        matches!(self, Self::MetalUuid | Self::DriverUuid)
    }
}

/// What is wrong with a ticket. The first problem found is the one told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Nothing in it.
    Empty,
    /// More than [`MAX_LEN`](crate::MAX_LEN) bytes.
    TooLong,
    /// A byte that is not ASCII.
    NotAscii,
    /// The first line is not `metalshim-ticket 1`.
    Version,
    /// It does not end with a whole `sha256` line: cut short, or with something behind it.
    Incomplete,
    /// The hash is not that of the bytes before it.
    Hash,
    /// A line without `=`.
    Line,
    /// A key that this version does not know.
    KeyUnknown,
    /// A key for the second time.
    KeyDoubled(Key),
    /// A key after one that it belongs before.
    KeyOrder(Key),
    /// A key that is not there.
    KeyMissing(Key),
    /// A value that the key cannot have.
    Value(Key),
}

impl Problem {
    /// The stable code: what status lines hold and scripts read.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Empty => "ticket-empty",
            Self::TooLong => "ticket-too-long",
            Self::NotAscii => "ticket-not-ascii",
            Self::Version => "ticket-version",
            Self::Incomplete => "ticket-incomplete",
            Self::Hash => "ticket-hash",
            Self::Line => "ticket-line",
            Self::KeyUnknown => "ticket-key-unknown",
            Self::KeyDoubled(_) => "ticket-key-doubled",
            Self::KeyOrder(_) => "ticket-key-order",
            Self::KeyMissing(_) => "ticket-key-missing",
            Self::Value(Key::ShimAbi) => "ticket-shim-abi",
            Self::Value(_) => "ticket-value",
        }
    }

    /// The key that the problem is about, where it is about one.
    pub const fn key(self) -> Option<Key> {
        match self {
            Self::KeyDoubled(key)
            | Self::KeyOrder(key)
            | Self::KeyMissing(key)
            | Self::Value(key) => Some(key),
            _ => None,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the ticket is empty"),
            Self::TooLong => f.write_str("the ticket has more than 4096 bytes"),
            Self::NotAscii => f.write_str("the ticket has a byte that is not ASCII"),
            Self::Version => f.write_str("the first line is not \"metalshim-ticket 1\""),
            Self::Incomplete => f.write_str("the ticket does not end with its sha256 line"),
            Self::Hash => f.write_str("the ticket's sha256 is not that of its content"),
            Self::Line => f.write_str("a line of the ticket is not key=value"),
            Self::KeyUnknown => f.write_str("the ticket has a key that this version does not know"),
            Self::KeyDoubled(key) => write!(f, "the key {} is there twice", key.name()),
            Self::KeyOrder(key) => write!(f, "the key {} is out of order", key.name()),
            Self::KeyMissing(key) => write!(f, "the key {} is missing", key.name()),
            Self::Value(Key::ShimAbi) => {
                f.write_str("the ticket is for another version of the shim")
            }
            Self::Value(key) => write!(f, "the value of {} is not valid", key.name()),
        }
    }
}

impl core::error::Error for Problem {}
