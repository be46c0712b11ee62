//! What the two overrides answer, and what counts as the stock answer.

/// `MTLGPUFamilyApple1`, the lowest family that is ever answered for the device.
pub(crate) const APPLE1: u32 = 1001;
/// The highest family asked for when looking for the stock one: beyond every known Apple family.
pub(crate) const HIGHEST_ASKED: u32 = 1015;

/// `supportsFamily:`: stock, or yes to an Apple family up to the ceiling. A ceiling of 0 is stock.
#[inline]
pub(crate) fn family(stock: u8, asked: isize, ceiling: u32) -> u8 {
    let raised = asked >= APPLE1 as isize && asked <= ceiling as isize;
    if raised { 1 } else { stock }
}

/// `maxThreadgroupMemoryLength`: the larger of both. An override of 0 is stock.
#[inline]
pub(crate) fn memory(stock: usize, raised: u32) -> usize {
    stock.max(raised as usize)
}

/// The highest Apple family to which the device itself says yes, or 0.
pub(crate) fn stock_family(mut supports: impl FnMut(u32) -> bool) -> u32 {
    (APPLE1..=HIGHEST_ASKED)
        .rev()
        .find(|family| supports(*family))
        .unwrap_or(0)
}

/// What a device's own answer about threadgroup memory says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstMemory {
    /// 0: the device is still being set up. No answer yet, and no drift.
    NotYet,
    /// As recorded.
    AsRecorded,
    /// Drift.
    Other,
}

/// Compares the stock answer with the ticket's.
pub(crate) fn first_memory(stock: usize, recorded: u32) -> FirstMemory {
    match stock {
        0 => FirstMemory::NotYet,
        n if n == recorded as usize => FirstMemory::AsRecorded,
        _ => FirstMemory::Other,
    }
}
