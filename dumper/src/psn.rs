//! Packet sequence numbers: 24-bit serial arithmetic, in one place (IBA vol. 1, 9.7.2).

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A packet sequence number: 24 bits, compared and advanced modulo 2^24.
///
/// Two PSNs are ordered by the shorter way round the circle: `a` is before `b` when `b` is reached from `a` in
/// fewer than 2^23 steps (IBA vol. 1, 9.7.2: the valid window is half of the space). There is deliberately no
/// `Ord`: the relation is not transitive over the whole circle, so a sort by it would be meaningless.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
pub struct Psn(u32);

impl Psn {
    /// Number of distinct PSNs, 2^24.
    pub const SPACE: u32 = 1 << 24;
    /// Largest PSN, 2^24 - 1.
    pub const MAX: Self = Self(Self::SPACE - 1);

    /// A PSN from the low 24 bits of `value`.
    #[inline]
    pub const fn new(value: u32) -> Self {
        Self(value & (Self::SPACE - 1))
    }

    /// The 24-bit value.
    #[inline]
    pub const fn value(self) -> u32 {
        self.0
    }

    /// The PSN `n` steps later.
    #[inline]
    pub const fn add(self, n: u32) -> Self {
        Self::new(self.0.wrapping_add(n))
    }

    /// The PSN `n` steps earlier.
    #[inline]
    pub const fn sub(self, n: u32) -> Self {
        Self::new(self.0.wrapping_sub(n))
    }

    /// Signed distance from `earlier` to `self`, in -2^23 .. 2^23.
    #[inline]
    pub const fn since(self, earlier: Self) -> i32 {
        // Shifting the 24-bit difference to the top of an i32 and back extends its sign.
        ((self.0.wrapping_sub(earlier.0) << 8) as i32) >> 8
    }

    /// Returns true if `self` comes before `other`.
    #[inline]
    pub const fn is_before(self, other: Self) -> bool {
        self.since(other) < 0
    }

    /// Returns true if `self` comes after `other`.
    #[inline]
    pub const fn is_after(self, other: Self) -> bool {
        self.since(other) > 0
    }

    /// Serial comparison; [`Ordering::Equal`] only for the same PSN.
    pub const fn serial_cmp(self, other: Self) -> Ordering {
        match self.since(other) {
            0 => Ordering::Equal,
            d if d < 0 => Ordering::Less,
            _ => Ordering::Greater,
        }
    }

    /// The relative PSN that users write: 1 for the connection's initial PSN `ipsn`, counting on from there.
    pub const fn relative_to(self, ipsn: Self) -> u32 {
        Self::new(self.0.wrapping_sub(ipsn.0)).0 + 1
    }

    /// The PSN that users call `relative` (from 1) on a connection that starts at `ipsn`.
    pub const fn from_relative(relative: u32, ipsn: Self) -> Self {
        ipsn.add(relative.wrapping_sub(1))
    }
}

impl From<u32> for Psn {
    fn from(value: u32) -> Self {
        Self::new(value)
    }
}

impl From<Psn> for u32 {
    fn from(psn: Psn) -> Self {
        psn.0
    }
}

impl fmt::Display for Psn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Psn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "psn {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn order_holds_across_the_wrap() {
        assert!(Psn::MAX.is_before(Psn::new(0)));
        assert!(Psn::new(3).is_after(Psn::new(0xff_fff0)));
        assert_eq!(Psn::new(2).since(Psn::new(0xff_ffff)), 3);
        assert_eq!(Psn::new(0xff_ffff).since(Psn::new(2)), -3);
        // Half-way round belongs to neither side; the arithmetic calls it "before", as IBA's duplicate region does.
        assert_eq!(Psn::new(1 << 23).since(Psn::new(0)), -(1 << 23));
    }

    #[test]
    fn relative_numbers_start_at_one() {
        assert_eq!(Psn::new(1000).relative_to(Psn::new(1000)), 1);
        assert_eq!(Psn::new(4).relative_to(Psn::new(0xff_fffe)), 7);
        assert_eq!(Psn::from_relative(7, Psn::new(0xff_fffe)), Psn::new(4));
    }

    proptest! {
        #[test]
        fn distance_undoes_addition(a in 0..Psn::SPACE, n in 0u32..(1 << 23)) {
            let (a, b) = (Psn::new(a), Psn::new(a).add(n));
            prop_assert_eq!(b.since(a), n as i32);
            prop_assert_eq!(b.sub(n), a);
            prop_assert_eq!(a.is_before(b), n > 0);
            prop_assert_eq!(a.serial_cmp(b), b.serial_cmp(a).reverse());
        }
    }
}
