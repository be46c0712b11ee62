//! Median, range, ratio, and whether that is a gain.

use serde::{Deserialize, Serialize};

/// Fewer samples on a side have no range that says anything: with three on each side, two
/// ranges are apart by chance in one of ten cases, with ten in one of 92,378.
pub const LEAST_SAMPLES: usize = 3;
/// A difference below this is none, however narrow the ranges: two starts of one program
/// differ by as much.
pub const SMALLEST: f64 = 0.02;
/// Overlapping ranges whose medians differ by less are called flat, by more, noise.
pub const FLAT: f64 = 0.05;

/// Median and range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// How many samples.
    pub count: usize,
    /// The middle one; of an even number the mean of both in the middle.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

/// May a difference be called a gain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Faster, and the ranges are apart.
    Gain,
    /// Slower, and the ranges are apart.
    Loss,
    /// As fast as stock.
    Flat,
    /// The medians differ, and the ranges overlap: it may be chance.
    Noise,
    /// Fewer samples than [`LEAST_SAMPLES`] on a side.
    TooFew,
}

/// Of these samples; none where there is none, or one that is not a positive number.
pub fn spread(samples: &[f64]) -> Option<Spread> {
    let mut sorted = samples.to_vec();
    if sorted.is_empty() || !sorted.iter().all(|s| s.is_finite() && *s > 0.0) {
        return None;
    }
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    let median = match sorted.len() % 2 {
        1 => upper,
        // Halved first: the sum of two may be too large.
        _ => sorted.get(middle - 1)? / 2.0 + upper / 2.0,
    };
    Some(Spread {
        count: sorted.len(),
        median,
        min: *sorted.first()?,
        max: *sorted.last()?,
    })
}

/// How many times as fast `new` is as `old`.
pub fn ratio(old: f64, new: f64, less_is_better: bool) -> f64 {
    if less_is_better { old / new } else { new / old }
}

/// The ratio of the medians, and what it may be called.
pub fn judge(stock: &Spread, shimmed: &Spread, less_is_better: bool) -> (f64, Judgement) {
    let ratio = ratio(stock.median, shimmed.median, less_is_better);
    let overlap = stock.min <= shimmed.max && shimmed.min <= stock.max;
    let off = (ratio - 1.0).abs();
    let judgement = if stock.count.min(shimmed.count) < LEAST_SAMPLES {
        Judgement::TooFew
    } else if overlap && off >= FLAT {
        Judgement::Noise
    } else if overlap || off < SMALLEST {
        Judgement::Flat
    } else if ratio > 1.0 {
        Judgement::Gain
    } else {
        Judgement::Loss
    };
    (ratio, judgement)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(stock: &[f64], shimmed: &[f64]) -> Judgement {
        judge(&spread(stock).unwrap(), &spread(shimmed).unwrap(), false).1
    }

    #[test]
    fn overlapping_ranges_are_no_gain() {
        assert_eq!(judged(&[1., 2., 9.], &[8., 9., 10.]), Judgement::Noise);
        assert_eq!(
            judged(&[1., 1.01, 1.02], &[1., 1.01, 1.03]),
            Judgement::Flat
        );
        assert_eq!(judged(&[1., 2., 3.], &[8., 9., 10.]), Judgement::Gain);
        assert_eq!(judged(&[8., 9., 10.], &[1., 2., 3.]), Judgement::Loss);
        assert_eq!(judged(&[1., 2.], &[8., 9.]), Judgement::TooFew);
        assert_eq!(judged(&[1.; 3], &[1.01; 3]), Judgement::Flat);
    }

    #[test]
    fn of_seconds_less_is_better() {
        let (old, new) = (spread(&[10.; 3]).unwrap(), spread(&[5.; 3]).unwrap());
        assert_eq!(judge(&old, &new, true), (2.0, Judgement::Gain));
    }

    #[test]
    fn what_is_no_positive_number_has_no_median() {
        for bad in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            assert_eq!(spread(&[1.0, bad]), None);
        }
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[4., 1., 3., 2.]).map(|s| s.median), Some(2.5));
    }
}
