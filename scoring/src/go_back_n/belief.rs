//! Beliefs: the range in which a part of an end's state lies, as far as the switch can tell.
//!
//! A packet that enters the switch shows the state that its sender had when it sent it; a packet that leaves bounds the
//! state that its receiver may have from then on. One law holds: only behaviour that is impossible for every member of the
//! belief breaks a rule. The range therefore grows with everything that may have happened, and shrinks only by what a
//! packet proves.

use dumper::Psn;

/// Values that lie in order, at least near each other.
pub trait Ordered: Copy + PartialEq {
    /// Signed distance from an earlier value.
    fn distance(self, from: Self) -> i64;
}

impl Ordered for Psn {
    #[inline]
    fn distance(self, from: Self) -> i64 {
        self.since(from).into()
    }
}

impl Ordered for u32 {
    #[inline]
    fn distance(self, from: Self) -> i64 {
        i64::from(self) - i64::from(from)
    }
}

/// A range of possible values, both ends included. It is never empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Belief<T> {
    least: T,
    most: T,
}

impl<T: Ordered> Belief<T> {
    /// A value that is certain.
    #[inline]
    pub(crate) const fn certain(value: T) -> Self {
        Self { least: value, most: value }
    }

    /// The smallest possible value.
    #[inline]
    pub const fn least(&self) -> T {
        self.least
    }

    /// The largest possible value.
    #[inline]
    pub const fn most(&self) -> T {
        self.most
    }

    /// Number of possible values, less one: 0 where the value is certain.
    pub fn width(&self) -> i64 {
        self.most.distance(self.least)
    }

    /// Returns true if the value may be this one.
    #[inline]
    pub fn allows(&self, value: T) -> bool {
        value.distance(self.least) >= 0 && value.distance(self.most) <= 0
    }

    /// Returns true if the value may be larger than this one.
    #[inline]
    pub(super) fn may_exceed(&self, value: T) -> bool {
        value.distance(self.most) < 0
    }

    /// Returns true if the value is certainly larger than this one.
    #[inline]
    pub(super) fn exceeds(&self, value: T) -> bool {
        value.distance(self.least) < 0
    }

    /// The value may have grown to this one.
    #[inline]
    pub(crate) fn may_reach(&mut self, value: T) {
        if value.distance(self.most) > 0 {
            self.most = value;
        }
    }

    /// The value is at least this one, as a packet shows, whatever was believed before.
    #[inline]
    pub(super) fn is_at_least(&mut self, value: T) {
        if value.distance(self.least) > 0 {
            self.least = value;
            self.may_reach(value);
        }
    }

    /// The value may be as small as this one.
    pub(super) fn may_be(&mut self, value: T) {
        if self.exceeds(value) {
            self.least = value;
        }
    }

    /// The value is at most this one, as a packet shows: of a smaller value than the smallest possible, that one is left.
    pub(super) fn is_at_most(&mut self, value: T) {
        if self.may_exceed(value) {
            self.most = if self.exceeds(value) { self.least } else { value };
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_belief_grows_by_what_may_be_and_shrinks_by_what_is_shown() {
        let mut expected = Belief::certain(Psn::new(0xff_fffe));
        expected.may_reach(Psn::new(3));
        assert_eq!(expected.width(), 5);
        assert!(expected.allows(Psn::new(0)) && !expected.allows(Psn::new(4)));
        assert!(expected.may_exceed(Psn::new(2)) && !expected.may_exceed(Psn::new(3)));
        expected.is_at_least(Psn::new(1));
        assert!(expected.exceeds(Psn::new(0)) && !expected.exceeds(Psn::new(1)));
        expected.is_at_most(Psn::new(0));
        assert_eq!(expected, Belief::certain(Psn::new(1)));
        expected.is_at_least(Psn::new(9));
        assert_eq!(expected, Belief::certain(Psn::new(9)));
    }

    proptest! {
        /// A value that is bounded truthfully stays in the belief.
        #[test]
        fn truthful_bounds_keep_the_value(start in 0_u32..100, steps in prop::collection::vec((0_u32..3, 0_u32..10), 0..40)) {
            let mut value = start;
            let mut belief = Belief::certain(value);
            for (kind, by) in steps {
                match kind {
                    0 => { value += by / 2; belief.may_reach(value + by % 2); }
                    1 => belief.is_at_least(value.saturating_sub(by)),
                    _ => belief.is_at_most(value + by),
                }
                prop_assert!(belief.allows(value), "{value} is not in {belief:?}");
                prop_assert!(belief.width() >= 0);
            }
        }
    }
}
