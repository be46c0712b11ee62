//! Holds what came back against what had to come back.

use serde::Serialize;

use super::cases::Output;

/// What an output buffer holds before the kernel runs. As a float or bfloat it is a NaN, so a
/// result that was not written is never taken for one.
pub const UNTOUCHED: u8 = 0xff;

/// Results that are wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wrong {
    /// How many.
    pub wrong: usize,
    /// Of how many.
    pub of: usize,
    /// The first that is wrong.
    pub first: usize,
    /// The one that is off furthest, in terms of what it may be off.
    pub worst: usize,
    /// What came back there; none where it is not a number.
    pub got: Option<f64>,
    /// What had to.
    pub want: f64,
    /// How far off it may be.
    pub within: f64,
    /// What all results have in common, where it tells something.
    pub pattern: Option<&'static str>,
}

impl Wrong {
    /// The end of a sentence.
    pub fn says(&self) -> String {
        let got = self
            .got
            .map_or("not a number".to_owned(), |v| v.to_string());
        let within = match self.within {
            0.0 => "exactly".to_owned(),
            within => format!("to within {within:.2e}"),
        };
        let pattern = self.pattern.map(|p| format!("; {p}")).unwrap_or_default();
        format!(
            "{} of {} results are wrong, the worst (number {}) is {got} and has to be {} {within}{pattern}",
            self.wrong, self.of, self.worst, self.want
        )
    }
}

/// How near `bytes` are to what `output` wants: the largest deviation, as a share of what is
/// allowed, or what is wrong.
///
/// # Errors
/// Results are wrong.
pub fn judge(output: &Output, bytes: &[u8]) -> Result<f64, Wrong> {
    let got = output.format.read(bytes);
    let mut wrong = Vec::new();
    let (mut worst, mut most) = (0, -1.0);
    for (index, near) in output.near.iter().enumerate() {
        let value = got.get(index).copied().unwrap_or(f64::NAN);
        let off = (value - near.want).abs();
        // What is exact has no share: right is 0, wrong is beyond all.
        let share = match off {
            0.0 => 0.0,
            off if off.is_nan() || near.within == 0.0 => f64::INFINITY,
            off => off / near.within,
        };
        if share > most {
            (worst, most) = (index, share);
        }
        if share > 1.0 {
            wrong.push(index);
        }
    }
    let Some(first) = wrong.first().copied() else {
        return Ok(most.max(0.0));
    };
    let pattern = if bytes.iter().all(|b| *b == 0) {
        Some("all are zero")
    } else if bytes.iter().all(|b| *b == UNTOUCHED) {
        Some("none was written")
    } else {
        None
    };
    let near = output.near.get(worst);
    Err(Wrong {
        wrong: wrong.len(),
        of: output.near.len(),
        first,
        worst,
        got: got.get(worst).copied().filter(|v| v.is_finite()),
        want: near.map_or(0.0, |n| n.want),
        within: near.map_or(0.0, |n| n.within),
        pattern,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canary::formats::Format;
    use crate::canary::reference::Near;

    fn judged(near: &[(f64, f64)], got: &[f32]) -> Result<f64, Wrong> {
        let near = near.iter().map(|&(want, within)| Near { want, within });
        let output = Output {
            format: Format::Float,
            near: near.collect(),
        };
        let bytes: Vec<u8> = got.iter().flat_map(|v| v.to_le_bytes()).collect();
        judge(&output, &bytes)
    }

    #[test]
    fn near_enough_is_right_and_the_share_is_told() {
        assert_eq!(judged(&[(1.0, 0.5), (2.0, 1.0)], &[1.25, 2.0]), Ok(0.5));
        assert_eq!(judged(&[(1.0, 0.0)], &[1.0]), Ok(0.0));
    }

    #[test]
    fn what_is_wrong_is_counted_and_the_worst_is_named() {
        let wrong = judged(&[(1.0, 0.1), (2.0, 0.1), (3.0, 0.1)], &[1.0, 2.5, 9.0]).unwrap_err();
        assert_eq!((wrong.wrong, wrong.first, wrong.worst), (2, 1, 2));
        assert_eq!((wrong.got, wrong.want), (Some(9.0), 3.0));
        assert!(wrong.says().starts_with("2 of 3 results are wrong"));
    }

    #[test]
    fn nothing_that_is_not_a_number_is_right() {
        for got in [f32::NAN, f32::INFINITY] {
            assert_eq!(judged(&[(1.0, 9.0)], &[got]).unwrap_err().got, None);
        }
        // Too short is not right either.
        assert!(judged(&[(1.0, 9.0), (1.0, 9.0)], &[1.0]).is_err());
    }

    #[test]
    fn zeros_and_what_was_not_written_are_called_so() {
        let near = [(1.0, 0.1), (2.0, 0.1)];
        let pattern = |got: &[f32]| judged(&near, got).unwrap_err().pattern;
        assert_eq!(pattern(&[0.0, 0.0]), Some("all are zero"));
        let untouched = f32::from_le_bytes([UNTOUCHED; 4]);
        assert!(untouched.is_nan());
        assert_eq!(pattern(&[untouched; 2]), Some("none was written"));
        assert_eq!(pattern(&[0.0, 2.0]), None);
    }
}
