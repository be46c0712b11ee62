//! Which time counts.
//!
//! **Contract.** The later of this machine's clock and of what was signed. Only signed times
//! raise the floor: a machine's clock can be days ahead once and right again, and a floor made
//! of it would stop every update for those days. A time that was signed by keys that have been
//! replaced since counts no more, so that a thief cannot stop the clock for good.

use jiff::Timestamp;

/// The date of this release: no clock of a machine that has it is earlier. Set with each
/// release, by hand, so that a build is the same wherever and whenever it is made.
pub const RELEASED: Timestamp = jiff_constant(1_796_083_200);

const fn jiff_constant(seconds: i64) -> Timestamp {
    Timestamp::constant(seconds, 0)
}

/// A machine's clock, and the latest time that is known by signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// What the machine says.
    pub system: Timestamp,
    /// It cannot be earlier.
    pub floor: Timestamp,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            system: Timestamp::UNIX_EPOCH,
            floor: RELEASED,
        }
    }
}

impl Clock {
    /// This machine's, with these signed times.
    pub fn here(signed: impl IntoIterator<Item = Timestamp>) -> Self {
        Self {
            system: Timestamp::now(),
            floor: signed.into_iter().fold(RELEASED, Timestamp::max),
        }
    }

    /// The time that counts.
    pub fn now(self) -> Timestamp {
        self.system.max(self.floor)
    }

    /// By how many seconds the machine's clock is known to be behind; none where it is not.
    pub fn behind(self) -> Option<i64> {
        (self.system < self.floor).then(|| apart(self.system, self.floor))
    }
}

/// How many seconds lie between the two.
pub(crate) fn apart(a: Timestamp, b: Timestamp) -> i64 {
    (a.as_second() - b.as_second()).abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_date_is_the_one_of_the_records() {
        // A database of the same release is not from the future.
        let database = compatdb::Database::open(crate::database::EMBEDDED).unwrap();
        assert!(database.published_at() <= RELEASED);
        assert_eq!(RELEASED.to_string(), "2026-12-01T00:00:00Z");
    }

    #[test]
    fn only_a_later_signed_time_moves_a_clock() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let late = at("2027-03-01T00:00:00Z");
        for (system, floor, now) in [
            ("2020-01-01T00:00:00Z", late, late),
            ("2028-01-01T00:00:00Z", late, at("2028-01-01T00:00:00Z")),
        ] {
            let clock = Clock {
                system: at(system),
                floor,
            };
            assert_eq!(clock.now(), now);
            assert_eq!(clock.behind().is_some(), now == late);
        }
    }
}
