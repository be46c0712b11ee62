//! Medians, spreads and limits: what the benchmarks print.
//!
//! # Contract
//!
//! A limit is one line on stdout that begins with `OK` or `OVER`, and nothing else a benchmark
//! prints begins so: `make bench` repeats those lines at its end.

/// Measurements of one thing, all in the same unit.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<f64>);

impl Times {
    /// Adds one measurement.
    pub fn push(&mut self, time: f64) {
        self.0.push(time);
    }

    /// The middle one; 0 without any.
    pub fn median(&self) -> f64 {
        self.part(1, 2)
    }

    /// How far the middle half of them lies apart: the third quartile less the first.
    pub fn spread(&self) -> f64 {
        self.part(3, 4) - self.part(1, 4)
    }

    /// These and those.
    #[must_use]
    pub fn with(&self, others: &Self) -> Self {
        Self(self.0.iter().chain(&others.0).copied().collect())
    }

    fn part(&self, of: usize, parts: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
            .get(sorted.len() * of / parts)
            .copied()
            .unwrap_or_default()
    }
}

/// The line of one limit: whether `value` is at most `limit`, both in `unit`.
pub fn limit(name: &str, value: f64, limit: f64, unit: &str) -> String {
    let kept = if value <= limit { "OK" } else { "OVER" };
    format!("{kept:<5} {name:<56} {value:>9.2} {unit:<2}  at most {limit:.2} {unit}")
}

#[cfg(test)]
mod tests {
    use super::{Times, limit};

    #[test]
    fn the_median_and_the_spread_do_not_depend_on_the_order() {
        let mut times = Times::default();
        for time in [5.0, 1.0, 4.0, 2.0, 900.0] {
            times.push(time);
        }
        assert_eq!((times.median(), times.spread()), (4.0, 3.0));
        assert_eq!(Times::default().median(), 0.0);
    }

    #[test]
    fn a_limit_is_kept_up_to_its_value() {
        assert!(limit("a", 3.0, 3.0, "ns").starts_with("OK "));
        assert!(limit("a", 3.01, 3.0, "ns").starts_with("OVER "));
        assert!(limit("a", f64::NAN, 3.0, "ns").starts_with("OVER "));
    }
}
