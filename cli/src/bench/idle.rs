//! Is this machine idle enough to measure on.

/// More load than this on each processor, and it is called busy.
const BUSY: f64 = 0.25;

/// How busy the machine is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Processes that ran or waited to run in the last minute, on average.
    pub one_minute: f64,
    /// Processors.
    pub processors: usize,
}

impl Load {
    /// Of this machine, now; none where it cannot be told.
    pub fn now() -> Option<Self> {
        let processors = std::thread::available_parallelism().ok()?.get();
        Some(Self {
            one_minute: one_minute()?,
            processors,
        })
    }

    /// Of one processor.
    #[allow(
        clippy::cast_precision_loss,
        reason = "no machine has that many processors"
    )]
    pub fn of_each(self) -> f64 {
        self.one_minute / self.processors as f64
    }

    /// Whether figures would tell more of what else runs than of the program.
    pub fn is_busy(self) -> bool {
        self.of_each() > BUSY
    }
}

#[cfg(not(target_os = "macos"))]
fn one_minute() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

/// `vm.loadavg`, a `struct loadavg`: three fixed-point numbers of 32 bits, and, aligned to
/// eight bytes, what one is.
#[cfg(target_os = "macos")]
fn one_minute() -> Option<f64> {
    use sysctl::{Ctl, CtlValue, Sysctl};
    let value = Ctl::new("vm.loadavg").and_then(|ctl| ctl.value()).ok()?;
    let CtlValue::Struct(bytes) = value else {
        return None;
    };
    fixed_point(&bytes)
}

#[cfg(any(target_os = "macos", test))]
fn fixed_point(bytes: &[u8]) -> Option<f64> {
    let first = u32::from_ne_bytes(*bytes.first_chunk::<4>()?);
    let scale = i64::from_ne_bytes(*bytes.get(16..)?.first_chunk::<8>()?);
    let scale = u32::try_from(scale).ok().filter(|s| *s > 0)?;
    Some(f64::from(first) / f64::from(scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_told() {
        assert!(Load::now().is_some_and(|load| load.one_minute >= 0.0));
        let load = |one_minute| Load {
            one_minute,
            processors: 8,
        };
        assert!(load(3.0).is_busy() && !load(1.0).is_busy());
    }

    #[test]
    fn a_macs_load_is_a_fixed_point_number() {
        let mut bytes = [0; 24];
        bytes[..4].copy_from_slice(&5120_u32.to_ne_bytes());
        bytes[16..].copy_from_slice(&2048_i64.to_ne_bytes());
        assert_eq!(fixed_point(&bytes), Some(2.5));
        assert_eq!(fixed_point(&bytes[..20]), None);
    }
}
