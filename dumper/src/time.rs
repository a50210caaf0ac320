//! Time: nanoseconds in one newtype.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// Significant digits of a time for people.
const DIGITS: u32 = 3;

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

    /// The time to the nanosecond, for tables in which neighbouring times are compared.
    #[must_use]
    pub const fn exact(self) -> Exact {
        Exact(self)
    }

    /// Two times for people, with as many digits, three at least, as it takes to tell them apart.
    #[must_use]
    pub fn apart(self, other: Self) -> [String; 2] {
        let mut both = [self, other].map(|time| time.digits(DIGITS));
        // No number of nanoseconds has more than 20 digits.
        for digits in DIGITS + 1..=20 {
            if both[0] != both[1] || self == other {
                break;
            }
            both = [self, other].map(|time| time.digits(digits));
        }
        both
    }

    /// The time rounded to so many significant digits, in the largest unit of which it is one or more.
    fn digits(self, digits: u32) -> String {
        let surplus = (self.0.checked_ilog10().unwrap_or(0) + 1).saturating_sub(digits);
        let step = 10u64.saturating_pow(surplus);
        let rounded = self.0.saturating_add(step / 2) / step * step;
        let (unit, name) = match rounded {
            0..1_000 => return format!("{rounded} ns"),
            1_000..1_000_000 => (1_000, "µs"),
            1_000_000..1_000_000_000 => (1_000_000, "ms"),
            1_000_000_000.. => (1_000_000_000u64, "s"),
        };
        let whole = rounded / unit;
        let after = digits.saturating_sub(whole.ilog10() + 1).min(unit.ilog10());
        if after == 0 {
            return format!("{whole} {name}");
        }
        let fraction = rounded % unit / (unit / 10u64.pow(after));
        format!("{whole}.{fraction:0after$} {name}", after = after as usize)
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

/// For people: three significant digits in a fitting unit, as in `51 ns`, `2.10 µs`, `83.4 ms`, `6.27 s`. Where every
/// nanosecond counts, [`Nanos::exact`].
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.digits(DIGITS))
    }
}

/// A time to the nanosecond.
#[derive(Clone, Copy, Debug)]
pub struct Exact(Nanos);

/// Three or more significant digits in the unit that keeps the number readable; whole nanoseconds below 10 µs.
impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.0;
        f.pad(&match ns {
            0..10_000 => format!("{ns} ns"),
            10_000..10_000_000 => format!("{}.{:03} µs", ns / 1_000, ns % 1_000),
            10_000_000..10_000_000_000 => format!("{}.{:06} ms", ns / 1_000_000, ns % 1_000_000),
            _ => format!("{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_for_people() {
        for (ns, text) in [
            (0, "0 ns"),
            (7, "7 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (2_104, "2.10 µs"),
            (9_996, "10.0 µs"),
            (83_449_999, "83.4 ms"),
            (83_450_000, "83.5 ms"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (6_269_565_777, "6.27 s"),
            (999_500_000, "1.00 s"),
            (12_345_678_900_000, "12300 s"),
        ] {
            assert_eq!(Nanos(ns).to_string(), text);
        }
        assert!(Nanos(u64::MAX).to_string().ends_with(" s"));
        assert_eq!(format!("[{:>9}]", Nanos(2_104)), "[  2.10 µs]");
    }

    #[test]
    fn two_times_are_told_apart() {
        let apart = |one, other| Nanos(one).apart(Nanos(other));
        assert_eq!(apart(67_108_864, 134_217_728), ["67.1 ms", "134 ms"]);
        assert_eq!(apart(67_108_863, 67_108_864), ["67.108863 ms", "67.108864 ms"]);
        assert_eq!(apart(67_100_000, 67_108_864), ["67.10 ms", "67.11 ms"]);
        assert_eq!(apart(5_000, 5_000), ["5.00 µs", "5.00 µs"]);
    }

    #[test]
    fn exact_times_have_every_nanosecond() {
        for (ns, text) in [
            (7, "7 ns"),
            (9_999, "9999 ns"),
            (12_266_485, "12.266485 ms"),
            (67_109_001, "67.109001 ms"),
            (150_020, "150.020 µs"),
            (12_000_000_001, "12.000000001 s"),
        ] {
            assert_eq!(Nanos(ns).exact().to_string(), text);
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
