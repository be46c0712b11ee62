//! What the kernels have to give, calculated in `f64` by the shortest code there is, with how
//! far each result may be off.

use super::formats::{BFLOAT_STEP, FLOAT_FLOOR, FLOAT_STEP, gamma};

/// A SIMD-group.
pub const LANES: usize = 32;

/// One result, and how far from it still counts as right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    /// The exact result.
    pub want: f64,
    /// The most that it may be off.
    pub within: f64,
}

impl Near {
    /// Nothing else is right.
    pub fn exactly(want: u32) -> Self {
        Self {
            want: f64::from(want),
            within: 0.0,
        }
    }
}

/// The sum of every 32 values, for each of the 32 lanes. Any order of 31 additions.
pub fn simd_sums(values: &[f32]) -> Vec<Near> {
    let group = |lanes: &[f32]| {
        let want = lanes.iter().map(|v| f64::from(*v)).sum();
        let size: f64 = lanes.iter().map(|v| f64::from(v.abs())).sum();
        let within = gamma(LANES - 1) * size;
        [Near { want, within }; LANES]
    };
    values.chunks_exact(LANES).flat_map(group).collect()
}

/// The eight results of `simd_shuffles` for every lane.
pub fn simd_shuffles(values: &[u32]) -> Vec<Near> {
    let mut all = Vec::with_capacity(8 * values.len());
    for group in values.chunks_exact(LANES) {
        let at = |lane: usize| group.get(lane).copied().unwrap_or_default();
        let highest = group.iter().max().copied().unwrap_or_default();
        let lowest = group.iter().min().copied().unwrap_or_default();
        for lane in 0..LANES {
            let own = [
                at(31 - lane),
                at(lane ^ 16),
                at(lane ^ 5),
                if lane < 28 { at(lane + 4) } else { 0 },
                if lane >= 3 { at(lane - 3) } else { 0 },
                at(7),
                highest,
                lowest,
            ];
            all.extend(own.map(Near::exactly));
        }
    }
    all
}

/// The product of two matrices, row by row, `inner` long and `columns` wide. Each result is a
/// sum of `inner` products, each rounded at most once more.
pub fn matrix(a: &[f64], b: &[f64], inner: usize, columns: usize) -> Vec<Near> {
    let mut all = Vec::new();
    for row in a.chunks_exact(inner) {
        for column in 0..columns {
            let of_column = b.iter().skip(column).step_by(columns);
            let products = row.iter().zip(of_column).map(|(a, b)| a * b);
            let (want, size) =
                products.fold((0.0, 0.0), |(sum, size), p| (sum + p, size + p.abs()));
            let within = gamma(inner + 1) * size;
            all.push(Near { want, within });
        }
    }
    all
}

/// The three results of `bfloat_arithmetic` for every three values.
pub fn bfloat_arithmetic(a: &[f64], b: &[f64], c: &[f64]) -> Vec<Near> {
    let each = a.iter().zip(b).zip(c);
    let three = |((a, b), c): ((&f64, &f64), &f64)| {
        let rounded = |want: f64, before: f64| Near {
            want,
            within: BFLOAT_STEP * (want.abs() + before) + before,
        };
        // A sum or product is exact before it is rounded to bfloat, or was rounded to float.
        let once = |want: f64| rounded(want, FLOAT_STEP * want.abs());
        let in_float = gamma(2) * ((a * b).abs() + c.abs());
        [once(a + b), once(a * b), rounded(a * b + c, in_float)]
    };
    each.flat_map(three).collect()
}

/// How a row is shared out among threads: what the bounds of a sum depend on.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// Threads of the threadgroup.
    pub threads: usize,
}

impl Shared {
    /// The most additions on the way of one value into the sum: those of its thread, 31 within a
    /// SIMD-group in any order, and 31 over what the groups found.
    fn depth(self, values: usize) -> usize {
        values.div_ceil(self.threads) + 2 * (LANES - 1)
    }
}

/// What Metal's fast `exp` may be off, in units of the last place.
fn exp_steps(x: f64) -> f64 {
    3.0 + (2.0 * x.abs()).floor()
}

/// Soft-max of `score * scale + mask` over one row.
pub fn soft_max(scores: &[f32], mask: &[f64], scale: f32, shared: Shared) -> Vec<Near> {
    let scale = f64::from(scale);
    let parts = || {
        scores
            .iter()
            .zip(mask)
            .map(|(s, m)| (f64::from(*s) * scale, *m))
    };
    let values: Vec<f64> = parts().map(|(product, mask)| product + mask).collect();
    // The highest is chosen, not calculated: what rounding did to it, it did to all.
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let largest = parts().map(|(p, m)| p.abs() + m.abs()).fold(0.0, f64::max);
    // Of the exponent of each value: two roundings of it and of the highest, and the difference.
    let off = |value: f64| 2.0 * gamma(2) * largest + FLOAT_STEP * (value - highest).abs();
    let relative = |value: f64| off(value) + exp_steps(value - highest) * FLOAT_STEP;
    let powers: Vec<f64> = values.iter().map(|v| (v - highest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    let of_sum: f64 = values
        .iter()
        .zip(&powers)
        .map(|(v, p)| relative(*v) * p)
        .sum::<f64>()
        / sum;
    // Three steps for the division, and its rounding.
    let rest = of_sum + gamma(shared.depth(values.len())) + 4.0 * FLOAT_STEP;
    let near = |(value, power): (&f64, &f64)| {
        let want = power / sum;
        let within = want * (relative(*value) + rest) * 1.01 + FLOAT_FLOOR;
        Near { want, within }
    };
    values.iter().zip(&powers).map(near).collect()
}

/// RMS-norm of one row.
pub fn rms_norm(values: &[f32], epsilon: f32, shared: Shared) -> Vec<Near> {
    let squares: f64 = values.iter().map(|v| f64::from(*v) * f64::from(*v)).sum();
    let mean = squares / values.len() as f64;
    let scale = 1.0 / (mean + f64::from(epsilon)).sqrt();
    // A value's way into the sum: its square, three additions of the dot product, then as above
    // by quads. The mean and epsilon are three steps more; the root halves all of that. The root,
    // the division and the product are three, one and one, and one for good measure.
    let depth = 4 + shared.depth(values.len() / 4) + 3;
    let relative = gamma(depth) / 2.0 + 6.0 * FLOAT_STEP;
    let near = |value: &f32| {
        let want = f64::from(*value) * scale;
        let within = want.abs() * relative * 1.01 + FLOAT_FLOOR;
        Near { want, within }
    };
    values.iter().map(near).collect()
}

/// What `memory.metal` scatters its seeds with.
fn scramble(value: u32) -> u32 {
    let value = (value ^ (value >> 16)).wrapping_mul(0x85eb_ca6b);
    let value = (value ^ (value >> 13)).wrapping_mul(0xc2b2_ae35);
    value ^ (value >> 16)
}

/// The results of `threadgroup_words`: one for every thread of every threadgroup.
pub fn threadgroup_words(seeds: &[u32], words: usize, threads: usize) -> Vec<Near> {
    let mut all = Vec::with_capacity(seeds.len() * threads);
    for seed in seeds {
        let word = |i: usize| scramble(seed.wrapping_add(i as u32));
        for first in 0..threads {
            let own = (first..words).step_by(threads);
            let sum = own.fold(0u32, |sum, i| {
                sum.wrapping_mul(31).wrapping_add(word(words - 1 - i))
            });
            all.push(Near::exactly(sum));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(near: &[Near]) -> Vec<f64> {
        near.iter().map(|n| n.want).collect()
    }

    #[test]
    fn sums_are_of_each_group_of_32() {
        let values: Vec<f32> = (0..64).map(|i| i as f32).collect();
        let near = simd_sums(&values);
        assert_eq!(near.len(), 64);
        assert_eq!(
            (near[0].want, near[31].want, near[32].want),
            (496.0, 496.0, 1520.0)
        );
        assert!(near[0].within > 0.0 && near[0].within < 0.01);
    }

    #[test]
    fn shuffles_bring_the_lane_that_they_name() {
        let values: Vec<u32> = (100..132).collect();
        let near = simd_shuffles(&values);
        let lane = |l: usize| wants(&near[8 * l..8 * l + 8]);
        assert_eq!(
            lane(0),
            [131.0, 116.0, 105.0, 104.0, 0.0, 107.0, 131.0, 100.0]
        );
        assert_eq!(
            lane(30),
            [101.0, 114.0, 127.0, 0.0, 127.0, 107.0, 131.0, 100.0]
        );
    }

    #[test]
    fn a_product_of_matrices_by_hand() {
        let near = matrix(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], 2, 2);
        assert_eq!(wants(&near), [19.0, 22.0, 43.0, 50.0]);
        assert!((near[0].within - gamma(3) * 19.0).abs() < 1e-18);
    }

    #[test]
    fn bfloat_results_by_hand() {
        let near = bfloat_arithmetic(&[1.5], &[2.0], &[-3.0]);
        assert_eq!(wants(&near), [3.5, 3.0, 0.0]);
        // A rounding to bfloat, and no more.
        assert!(near[0].within >= 3.5 / 256.0 && near[0].within < 3.5 / 100.0);
    }

    #[test]
    fn soft_max_of_a_row_by_hand() {
        let shared = Shared { threads: 32 };
        let near = soft_max(&[0.0, 2.0], &[0.0, -1.0], 0.5, shared);
        assert_eq!(wants(&near), [0.5, 0.5]);
        let near = soft_max(&[0.0, 4.0, 8.0], &[0.0; 3], 0.25, shared);
        let e = std::f64::consts::E;
        assert!((near[2].want - e * e / (1.0 + e + e * e)).abs() < 1e-15);
        assert!((wants(&near).iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!(near[2].within < 1e-4 * near[2].want);
    }

    #[test]
    fn rms_norm_makes_the_mean_square_one() {
        let values = [3.0, -4.0, 3.0, -4.0];
        let near = rms_norm(&values, 0.0, Shared { threads: 32 });
        let mean: f64 = near.iter().map(|n| n.want * n.want).sum::<f64>() / 4.0;
        assert!((mean - 1.0).abs() < 1e-15);
        assert!(near[1].want < 0.0 && near[1].within < 1e-5);
    }

    #[test]
    fn words_are_read_by_another_thread_than_wrote_them() {
        // Two words, two threads: each reads the other's.
        let near = threadgroup_words(&[9], 2, 2);
        assert_eq!(
            wants(&near),
            [f64::from(scramble(10)), f64::from(scramble(9))]
        );
        assert_ne!(scramble(1), scramble(2));
        // The finaliser of MurmurHash3, whose first values are published.
        assert_eq!(scramble(1), 0x514e_28b7);
    }
}
