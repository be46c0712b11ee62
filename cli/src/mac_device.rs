//! The Metal device of a Mac. Only ever in a process of its own: see [`crate::helper`].
//!
//! **Contract.** This is the command's only module with `unsafe`. Nothing is asked that the
//! device does not have: what it does not respond to is left out. Not yet run on a Mac.
#![allow(unsafe_code)]

mod images;
mod kernels;

use std::fmt::{Display, Write};
use std::time::Instant;

use objc2::rc::Retained;
use objc2::runtime::{AnyObject, ProtocolObject, Sel};
use objc2::{msg_send, sel};
use objc2_metal::{MTLCreateSystemDefaultDevice, MTLDevice, MTLGPUFamily};

use crate::error::Error;
use crate::probe::{ASKED, HEADER};

type Device = ProtocolObject<dyn MTLDevice>;

/// What `metalshim __probe` prints: `key=value` lines, as `probe.rs` reads them.
pub(crate) fn probe() -> String {
    let begun = Instant::now();
    let device = MTLCreateSystemDefaultDevice();
    let took = begun.elapsed();
    let mut lines = Lines(format!("{HEADER}\n"));
    match device {
        None => lines.add("device", "none"),
        Some(device) => {
            lines.add("created_us", took.as_micros());
            describe(&mut lines, &device);
        }
    }
    lines.0
}

/// `metalshim __canary`: runs kernels as its stdin says.
///
/// # Errors
/// A pipe broke.
pub(crate) fn canary() -> Result<(), Error> {
    kernels::serve()
}

/// The highest Apple family that the device answers yes to.
fn apple_family(device: &Device) -> u16 {
    let supports = |family: &u16| device.supportsFamily(number(*family));
    (1001..=1021).rev().find(supports).unwrap_or_default()
}

fn number(family: u16) -> MTLGPUFamily {
    MTLGPUFamily(isize::try_from(family).unwrap_or_default())
}

struct Lines(String);

impl Lines {
    fn add(&mut self, key: &str, value: impl Display) {
        // A line break in a name would be another answer. Text takes everything.
        let value = value.to_string().replace(['\n', '\r'], " ");
        let _ = writeln!(self.0, "{key}={value}");
    }
}

fn describe(lines: &mut Lines, device: &Retained<Device>) {
    let object: &AnyObject = (**device).as_ref();
    let class = object.class();
    lines.add("name", device.name());
    lines.add("class", class.name().to_string_lossy());
    let supports = |family: &u16| device.supportsFamily(number(*family));
    let families: Vec<String> = ASKED
        .iter()
        .flat_map(|(first, last)| *first..=*last)
        .filter(supports)
        .map(|family| family.to_string())
        .collect();
    lines.add("families", families.join(","));
    lines.add(
        "max_threadgroup_memory",
        device.maxThreadgroupMemoryLength(),
    );
    if responds(object, sel!(hostSupportsFamily:)) {
        let host = |family: &isize| {
            // SAFETY: the object responds to it. Its type is that of `supportsFamily:`, as
            // Apple's own callers use it: one NSInteger in, one BOOL out. It is read only.
            unsafe { msg_send![object, hostSupportsFamily: *family] }
        };
        let highest = (1001..=1021isize).rev().find(host);
        lines.add("host_family", highest.unwrap_or(1000));
    }
    lines.add(
        "metal_uuid",
        images::uuid_of_class(c"_MTLDevice").unwrap_or_default(),
    );
    lines.add(
        "driver_uuid",
        images::uuid_of_class(class.name()).unwrap_or_default(),
    );
    features(lines, device, object);
}

/// What else the device says, each only where it has the method.
fn features(lines: &mut Lines, device: &Device, object: &AnyObject) {
    macro_rules! feature {
        ($name:literal, $selector:ident, $value:expr) => {
            if responds(object, sel!($selector)) {
                lines.add(concat!("feature.", $name), $value);
            }
        };
    }
    feature!(
        "unified_memory",
        hasUnifiedMemory,
        device.hasUnifiedMemory()
    );
    feature!(
        "max_buffer_length",
        maxBufferLength,
        device.maxBufferLength()
    );
    feature!(
        "recommended_working_set",
        recommendedMaxWorkingSetSize,
        device.recommendedMaxWorkingSetSize()
    );
    feature!("threads_per_threadgroup", maxThreadsPerThreadgroup, {
        let most = device.maxThreadsPerThreadgroup();
        format!("{}x{}x{}", most.width, most.height, most.depth)
    });
    feature!("architecture", architecture, device.architecture().name());
    feature!(
        "argument_buffers_tier",
        argumentBuffersSupport,
        device.argumentBuffersSupport().0
    );
    feature!(
        "read_write_textures_tier",
        readWriteTextureSupport,
        device.readWriteTextureSupport().0
    );
    feature!(
        "raytracing",
        supportsRaytracing,
        device.supportsRaytracing()
    );
    feature!(
        "function_pointers",
        supportsFunctionPointers,
        device.supportsFunctionPointers()
    );
    feature!(
        "dynamic_libraries",
        supportsDynamicLibraries,
        device.supportsDynamicLibraries()
    );
    feature!(
        "bc_textures",
        supportsBCTextureCompression,
        device.supportsBCTextureCompression()
    );
    feature!(
        "float_filtering",
        supports32BitFloatFiltering,
        device.supports32BitFloatFiltering()
    );
    feature!(
        "query_texture_lod",
        supportsQueryTextureLOD,
        device.supportsQueryTextureLOD()
    );
    feature!(
        "barycentric_coordinates",
        supportsShaderBarycentricCoordinates,
        device.supportsShaderBarycentricCoordinates()
    );
}

fn responds(object: &AnyObject, selector: Sel) -> bool {
    object.class().responds_to(selector)
}
