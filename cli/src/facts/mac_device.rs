//! The Metal device's stock answers. Makes a device: only ever in a process of its own.

use std::ops::RangeInclusive;

use compatdb::facts::Device;
use objc2::runtime::AnyObject;
use objc2_metal::{MTLCreateSystemDefaultDevice, MTLDevice, MTLGPUFamily};

use crate::error::Error;

/// As Metal numbers them; a few beyond those that are published.
const APPLE: RangeInclusive<u16> = 1001..=1021;
const COMMON: RangeInclusive<u16> = 3001..=3009;
const METAL3: u16 = 5001;

/// Asks the system's default device.
///
/// # Errors
/// There is none.
pub(crate) fn device() -> Result<Device, Error> {
    let device = MTLCreateSystemDefaultDevice().ok_or_else(|| {
        Error::machine("this system has no Metal device")
            .hint("a guest needs a graphics device in its VM software's configuration")
    })?;
    let family = |family: u16| MTLGPUFamily(isize::try_from(family).unwrap_or_default());
    let supports = |number: u16| device.supportsFamily(family(number));
    let highest = |families: RangeInclusive<u16>| families.rev().find(|f| supports(*f));
    let object: &AnyObject = device.as_ref();
    Ok(Device {
        class: object.class().name().to_string_lossy().into_owned(),
        name: device.name().to_string(),
        apple_family: highest(APPLE).unwrap_or_default(),
        common_family: highest(COMMON),
        metal3: supports(METAL3),
        max_threadgroup_memory: u32::try_from(device.maxThreadgroupMemoryLength())
            .unwrap_or(u32::MAX),
        metal_uuid: None,
        driver_uuid: None,
    })
}
