//! What a program's own log says of the device: the lines of ggml's Metal back end.

use std::collections::BTreeMap;
use std::path::Path;

use crate::regular;

/// Longer values are no answer.
const MAX_VALUE: usize = 120;

/// No log beside a file is larger.
const MAX_LOG: u64 = 16 << 20;

/// Lines of ggml's log, and what they are called here.
const LINES: [(&str, &str); 10] = [
    ("GPU name:", "gpu_name"),
    ("simdgroup reduction", "simdgroup_reduction"),
    ("simdgroup matrix mul.", "simdgroup_matrix"),
    ("has unified memory", "unified_memory"),
    ("has bfloat", "bfloat"),
    ("has tensor", "tensor"),
    ("use residency sets", "residency_sets"),
    ("use shared buffers", "shared_buffers"),
    ("recommendedMaxWorkingSetSize", "recommended_working_set"),
    ("tensor API disabled", "tensor_api"),
];

/// The capability lines in `log`; empty where there are none. llama-bench prints them with `-v`.
pub fn capabilities(log: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for line in log.lines() {
        // `ggml_metal_device_init: ` since September 2025, `ggml_metal_init: ` before.
        let Some((function, rest)) = line.trim().split_once(": ") else {
            continue;
        };
        if !function.starts_with("ggml_metal") {
            continue;
        }
        if let Some((name, number)) = family(rest) {
            found.insert(name.to_owned(), number);
            continue;
        }
        for (start, name) in LINES {
            let Some(value) = rest.strip_prefix(start) else {
                continue;
            };
            let value = value.trim_start_matches([' ', '=']).trim();
            found.insert(name.to_owned(), value.chars().take(MAX_VALUE).collect());
        }
    }
    found
}

/// Those in the log beside a file of samples: the same name with `.stderr`.
pub fn capabilities_of(samples: &Path) -> BTreeMap<String, String> {
    let log = regular::open(&samples.with_extension("stderr"));
    let log = log.and_then(|file| regular::bytes(file, MAX_LOG));
    // There need not be one.
    capabilities(&String::from_utf8_lossy(&log.unwrap_or_default()))
}

/// `GPU family: MTLGPUFamilyApple9  (1009)`
fn family(rest: &str) -> Option<(&'static str, String)> {
    let kinds = [
        ("Apple", "apple_family"),
        ("Common", "common_family"),
        ("Metal", "metal_family"),
    ];
    let rest = rest.strip_prefix("GPU family:")?.trim();
    let rest = rest.strip_prefix("MTLGPUFamily")?;
    let (_, name) = kinds.iter().find(|(kind, _)| rest.starts_with(kind))?;
    let number = rest.split_once('(')?.1.strip_suffix(')')?;
    number.parse::<u16>().ok()?;
    Some((name, number.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_prefixes_are_found() {
        let log = "\
ggml_metal_device_init: GPU name:   MTL0 (Apple Paravirtual device)
ggml_metal_device_init: GPU family: MTLGPUFamilyApple9  (1009)
ggml_metal_init: GPU family: MTLGPUFamilyCommon3 (3003)
ggml_metal_device_init: simdgroup matrix mul. = true
ggml_metal_device_init: has bfloat            = false
somebody: has bfloat            = true
";
        let found = capabilities(log);
        let found: Vec<_> = found.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(
            found,
            [
                "apple_family=1009",
                "bfloat=false",
                "common_family=3003",
                "gpu_name=MTL0 (Apple Paravirtual device)",
                "simdgroup_matrix=true",
            ]
        );
    }
}
