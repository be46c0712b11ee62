//! How old something is that was stored at one time and is used for a while.
//!
//! **Contract.** A clock that was set back makes nothing last longer: what was stored more than
//! [`TOLERANCE`] after now, as the clock has it, is not used.

use jiff::{SignedDuration, Timestamp};

/// How far a stored time may be ahead: clocks of guests that wake up are off by a while.
pub const TOLERANCE: SignedDuration = SignedDuration::from_hours(48);

/// Whether what was stored is still used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    /// It is.
    Holds,
    /// It was stored too long ago.
    Over,
    /// It was stored under a clock that is far ahead of this one: nobody knows when.
    Ahead,
}

/// The age at `now` of what was stored `at` and is used for a time of `lasts`.
pub fn of(at: Timestamp, now: Timestamp, lasts: SignedDuration) -> Age {
    let age = now.duration_since(at);
    if age >= lasts {
        Age::Over
    } else if age < -TOLERANCE {
        Age::Ahead
    } else {
        Age::Holds
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_time() -> impl Strategy<Value = Timestamp> {
        let all = Timestamp::MIN.as_second()..=Timestamp::MAX.as_second();
        // Near each other as well as at both ends of time.
        let near = -40 * 86_400..=40 * 86_400i64;
        prop_oneof![all, near].prop_map(|s| Timestamp::from_second(s).unwrap())
    }

    proptest! {
        #[test]
        fn whatever_the_clocks_say_nothing_is_used_outside_its_time(
            at in any_time(), now in any_time(), hours in 1i64..=24 * 60,
        ) {
            let lasts = SignedDuration::from_hours(hours);
            let age = now.duration_since(at);
            let within = age < lasts && age >= -TOLERANCE;
            prop_assert_eq!(of(at, now, lasts) == Age::Holds, within);
        }

        #[test]
        fn all_the_clocks_under_which_it_is_used_lie_within_its_time_and_the_tolerance(
            at in any_time(), nows in proptest::collection::vec(any_time(), 1..40),
        ) {
            let lasts = SignedDuration::from_hours(24 * 30);
            let mut used: Vec<_> = nows.into_iter().filter(|n| of(at, *n, lasts) == Age::Holds).collect();
            used.sort();
            if let (Some(first), Some(last)) = (used.first(), used.last()) {
                prop_assert!(last.duration_since(*first) <= lasts + TOLERANCE);
            }
        }
    }
}
