//! The highest Apple family of a Mac's GPU.

/// By the chip, from Apple's Metal feature set tables: Apple7 is M1, Apple8 is M2, Apple9 is M3
/// and M4. What is newer is not guessed.
const CHIPS: &[(&str, u16)] = &[
    ("Apple M1", 1007),
    ("Apple M2", 1008),
    ("Apple M3", 1009),
    ("Apple M4", 1009),
];

/// Of this Mac: what Metal says where it can be asked, else what its chip is known for.
pub(super) fn of_this_mac(chip: Option<&str>) -> Option<u16> {
    asked().or_else(|| of_chip(chip?))
}

#[cfg(all(target_os = "macos", not(feature = "simulate")))]
fn asked() -> Option<u16> {
    let device = crate::facts::ask_device().ok()?;
    (device.apple_family != 0).then_some(device.apple_family)
}

#[cfg(any(feature = "simulate", not(target_os = "macos")))]
fn asked() -> Option<u16> {
    None
}

/// Of a chip, like `Apple M1 Ultra`; none where it is not known.
pub fn of_chip(chip: &str) -> Option<u16> {
    let family = |(name, family): &(&str, u16)| {
        let rest = chip.strip_prefix(name)?;
        (rest.is_empty() || rest.starts_with(' ')).then_some(*family)
    };
    CHIPS.iter().find_map(family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chip_is_known_by_its_whole_name_and_others_are_not_guessed() {
        assert_eq!(of_chip("Apple M1"), Some(1007));
        assert_eq!(of_chip("Apple M2 Max"), Some(1008));
        assert_eq!(of_chip("Apple M4 Pro"), Some(1009));
        for other in ["Apple M1X", "Apple M9", "Intel(R) Core(TM) i7", ""] {
            assert_eq!(of_chip(other), None, "{other}");
        }
    }
}
