//! The number formats of the kernels: how values are made, written and read, and how far a
//! calculation in them may be off.
//!
//! **Contract.** Values are made as bit patterns, so that nothing is rounded here. Everything
//! is read back as `f64`, which holds every value of all three exactly. docs/canary.md has the
//! reasons of the bounds.

/// A number format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// IEEE binary32.
    Float,
    /// The upper half of a float.
    Bfloat,
    /// Not a number to calculate with: 32 bits that are right or wrong.
    Word,
}

impl Format {
    /// Bytes of one value.
    pub fn size(self) -> usize {
        match self {
            Self::Float | Self::Word => 4,
            Self::Bfloat => 2,
        }
    }

    /// The values in `bytes`.
    pub fn read(self, bytes: &[u8]) -> Vec<f64> {
        let chunks = bytes.chunks_exact(self.size());
        let read = |chunk: &[u8]| match (self, chunk) {
            (Self::Float, &[a, b, c, d]) => f64::from(f32::from_le_bytes([a, b, c, d])),
            (Self::Word, &[a, b, c, d]) => f64::from(u32::from_le_bytes([a, b, c, d])),
            (_, &[a, b]) => bfloat(u16::from_le_bytes([a, b])),
            // No chunk has another length.
            _ => f64::NAN,
        };
        chunks.map(read).collect()
    }
}

/// The value of a bfloat.
pub fn bfloat(bits: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(bits) << 16))
}

/// The value of a half that is neither infinite nor NaN.
pub fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = if exponent == 0 {
        mantissa * 2f64.powi(-24)
    } else {
        (1.0 + mantissa / 1024.0) * 2f64.powi(exponent - 15)
    };
    sign * magnitude
}

/// One unit in the last place of a float at 1, twice the error of rounding to the nearest. Metal
/// promises no way of rounding inside a matrix product, so this is what each step may err.
pub const FLOAT_STEP: f64 = 1.0 / (1 << 23) as f64;
/// The same for bfloat: seven bits behind the leading one.
pub const BFLOAT_STEP: f64 = 1.0 / 128.0;
/// Below this a float may become zero.
pub const FLOAT_FLOOR: f64 = f32::MIN_POSITIVE as f64;

/// How far `steps` operations after each other may be off, relative to the sum of what they
/// add up without signs: the usual bound k e / (1 - k e).
pub fn gamma(steps: usize) -> f64 {
    let error = steps as f64 * FLOAT_STEP;
    error / (1.0 - error)
}

/// Values that look random and are the same everywhere: SplitMix64.
#[derive(Clone, Debug)]
pub struct Values(u64);

impl Values {
    /// Another row of values for every seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 32 bits.
    pub fn word(&mut self) -> u32 {
        (self.bits() >> 32) as u32
    }

    /// A float from -`most` to `most`, every bit of its mantissa in use.
    pub fn float(&mut self, most: f32) -> f32 {
        let unit = self.bits() as f32 / u64::MAX as f32;
        (2.0 * unit - 1.0) * most
    }

    /// A half of either sign from 1/16 up to 2.
    pub fn half(&mut self) -> u16 {
        let bits = self.bits();
        let exponent = 11 + (bits >> 16) % 5;
        ((bits & 1) << 15 | exponent << 10 | (bits >> 32 & 1023)) as u16
    }

    /// A bfloat of either sign from 1/16 up to 2.
    pub fn bfloat(&mut self) -> u16 {
        let bits = self.bits();
        let exponent = 123 + (bits >> 16) % 5;
        ((bits & 1) << 15 | exponent << 7 | (bits >> 32 & 127)) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_and_bfloats_are_read_as_their_formats_say() {
        for (bits, value) in [
            (0x3c00, 1.0),
            (0xbc00, -1.0),
            (0x7bff, 65504.0),
            (0x0001, 2f64.powi(-24)),
            (0x0400, 2f64.powi(-14)),
            (0x3555, 0.333_251_953_125),
        ] {
            assert_eq!(half(bits), value, "{bits:#x}");
        }
        for (bits, value) in [(0x3f80, 1.0), (0xc000, -2.0), (0x3eab, 0.333_984_375)] {
            assert_eq!(bfloat(bits), value, "{bits:#x}");
        }
        assert_eq!(Format::Bfloat.read(&[0x80, 0x3f, 0x00, 0xc0]), [1.0, -2.0]);
        assert_eq!(Format::Float.read(&1.5f32.to_le_bytes()), [1.5]);
        assert_eq!(Format::Word.read(&[1, 0, 0, 128]), [2_147_483_649.0]);
    }

    #[test]
    fn made_values_are_in_their_range_and_differ() {
        let mut values = Values::new(7);
        let halves: Vec<f64> = (0..1000).map(|_| half(values.half())).collect();
        let bfloats: Vec<f64> = (0..1000).map(|_| bfloat(values.bfloat())).collect();
        for made in [halves, bfloats] {
            assert!(made.iter().all(|v| (0.0625..2.0).contains(&v.abs())));
            assert!(made.iter().any(|v| *v < 0.0) && made.iter().any(|v| *v > 1.0));
        }
        let floats: Vec<f32> = (0..1000).map(|_| values.float(3.0)).collect();
        assert!(floats.iter().all(|v| v.abs() <= 3.0) && floats.iter().any(|v| v.abs() > 2.5));
        assert_ne!(Values::new(1).bits(), Values::new(2).bits());
    }

    #[test]
    fn the_bound_of_a_sum_holds_and_is_not_loose() {
        // A thousand times one third, one after the other: the error is of the bound's size.
        let third = 1.0f32 / 3.0;
        let sum = (0..1000).fold(0.0f32, |sum, _| sum + third);
        let exact = 1000.0 * f64::from(third);
        let error = (f64::from(sum) - exact).abs();
        assert!(error <= gamma(1000) * exact);
        assert!(error > gamma(1000) * exact / 1000.0, "{error}");
    }
}
