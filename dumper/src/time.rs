//! Time: nanoseconds in one newtype.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// A moment or a span in nanoseconds, unsigned, 0 to 2^64 - 1 (584 years).
///
/// Moments count from an origin that the capture chose (the switch's clock, or the Unix epoch of a plain
/// capture); only differences mean something. Subtraction saturates at 0, so that a hostile capture whose clock
/// runs backwards cannot overflow; where the sign matters, use [`Nanos::signed_since`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Zero nanoseconds.
    pub const ZERO: Self = Self(0);

    /// A span of `us` microseconds, saturating.
    pub const fn from_micros(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// A span of `ms` milliseconds, saturating.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// Seconds, as a float for display and statistics.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Signed nanoseconds from `earlier` to `self`, saturating at the ends of `i64`.
    pub fn signed_since(self, earlier: Self) -> i64 {
        i64::try_from(i128::from(self.0) - i128::from(earlier.0)).unwrap_or(if self > earlier {
            i64::MAX
        } else {
            i64::MIN
        })
    }

    /// `self` times `factor`, saturating.
    pub const fn times(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Add for Nanos {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl Sub for Nanos {
    type Output = Self;
    #[inline]
    fn sub(self, rhs: Self) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }
}

impl fmt::Debug for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

/// Three or more significant digits in the unit that keeps the number readable; exact below 10 µs.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        match ns {
            0..10_000 => write!(f, "{ns} ns"),
            10_000..10_000_000 => write!(f, "{}.{:03} µs", ns / 1_000, ns % 1_000),
            10_000_000..10_000_000_000 => write!(f, "{}.{:06} ms", ns / 1_000_000, ns % 1_000_000),
            _ => write!(f, "{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_every_nanosecond() {
        for (ns, text) in [
            (7, "7 ns"),
            (9_999, "9999 ns"),
            (12_266_485, "12.266485 ms"),
            (67_109_001, "67.109001 ms"),
            (150_020, "150.020 µs"),
            (12_000_000_001, "12.000000001 s"),
        ] {
            assert_eq!(Nanos(ns).to_string(), text);
        }
    }

    #[test]
    fn subtraction_saturates_and_signed_distance_does_not_wrap() {
        assert_eq!(Nanos(3) - Nanos(5), Nanos::ZERO);
        assert_eq!(Nanos(3).signed_since(Nanos(5)), -2);
        assert_eq!(Nanos(u64::MAX).signed_since(Nanos(0)), i64::MAX);
        assert_eq!(Nanos(0).signed_since(Nanos(u64::MAX)), i64::MIN);
    }
}
