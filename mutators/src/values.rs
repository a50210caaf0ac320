//! Sets of numbers that a field may have.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// A range is drawn from by orders of magnitude where its ends are this many times apart.
const WIDE: u64 = 100;

/// The values that a field of a test may have. Words, flags and MTUs are numbers here too (see [`crate::Kind`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Values {
    /// All whole numbers from `min` to `max`, both inclusive, `min` below `max`.
    Range {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// These, ascending, at least one.
    List(Vec<u64>),
}

impl Values {
    /// Only this value.
    #[must_use]
    pub fn only(value: u64) -> Self {
        Self::List(vec![value])
    }

    /// Returns true if `value` is one of them.
    #[must_use]
    pub fn contains(&self, value: u64) -> bool {
        match self {
            Self::Range { min, max } => (*min..=*max).contains(&value),
            Self::List(list) => list.contains(&value),
        }
    }

    /// The smallest.
    #[must_use]
    pub fn smallest(&self) -> u64 {
        match self {
            Self::Range { min, .. } => *min,
            Self::List(list) => list.first().copied().unwrap_or_default(),
        }
    }

    /// The largest.
    #[must_use]
    pub fn largest(&self) -> u64 {
        match self {
            Self::Range { max, .. } => *max,
            Self::List(list) => list.last().copied().unwrap_or_default(),
        }
    }

    /// The largest that is not above `value`.
    pub(crate) fn at_most(&self, value: u64) -> Option<u64> {
        match self {
            Self::Range { min, max } => (*min <= value).then_some(value.min(*max)),
            Self::List(list) => list.iter().rev().find(|one| **one <= value).copied(),
        }
    }

    /// The smallest that is not below `value`.
    pub(crate) fn at_least(&self, value: u64) -> Option<u64> {
        match self {
            Self::Range { min, max } => (value <= *max).then_some(value.max(*min)),
            Self::List(list) => list.iter().find(|one| **one >= value).copied(),
        }
    }

    /// Those from `least` to `most`; `None` for the empty set.
    pub(crate) fn between(&self, least: u64, most: u64) -> Option<Self> {
        match self {
            Self::Range { min, max } => {
                let (min, max) = ((*min).max(least), (*max).min(most));
                match min.cmp(&max) {
                    std::cmp::Ordering::Less => Some(Self::Range { min, max }),
                    std::cmp::Ordering::Equal => Some(Self::only(min)),
                    std::cmp::Ordering::Greater => None,
                }
            }
            Self::List(list) => {
                let left: Vec<u64> =
                    list.iter().copied().filter(|one| (least..=most).contains(one)).collect();
                (!left.is_empty()).then_some(Self::List(left))
            }
        }
    }

    /// Those up to `most`, or `most` where all are larger.
    pub(crate) fn cut(&self, most: u64) -> Self {
        self.between(0, most).unwrap_or_else(|| Self::only(most))
    }

    /// The nearest to `value`; of two, the smaller.
    pub(crate) fn nearest(&self, value: u64) -> u64 {
        match (self.at_most(value), self.at_least(value)) {
            (Some(below), Some(above)) if above - value < value - below => above,
            (Some(below), _) => below,
            (None, above) => above.unwrap_or_default(),
        }
    }

    /// One of them: each alike of a list and of a range that is narrow, each order of magnitude (of 2) alike of a wide
    /// one. Whole numbers only, so that it is the same on every machine.
    pub(crate) fn draw(&self, rng: &mut ChaCha8Rng) -> u64 {
        match self {
            Self::Range { min, max } if *max / WIDE >= (*min).max(1) => {
                let bits = |number: u64| u64::BITS - number.leading_zeros();
                let bits = rng.random_range(bits(*min)..=bits(*max));
                let from = bits.checked_sub(1).map_or(0, |high| 1 << high);
                let to = 1_u64.checked_shl(bits).map_or(u64::MAX, |next| next - 1);
                rng.random_range(from.max(*min)..=to.min(*max))
            }
            _ => self.draw_evenly(rng),
        }
    }

    /// One of them, each alike.
    pub(crate) fn draw_evenly(&self, rng: &mut ChaCha8Rng) -> u64 {
        match self {
            Self::Range { min, max } => rng.random_range(*min..=*max),
            Self::List(list) => list[rng.random_range(0..list.len())],
        }
    }

    /// Another one than `value`, if there is one: near to it, half or twice as large, or any.
    pub(crate) fn other(&self, value: u64, rng: &mut ChaCha8Rng) -> Option<u64> {
        let changed = match self {
            Self::Range { .. } => {
                let wanted = match rng.random_range(0..5) {
                    0 => value.saturating_mul(2),
                    1 => value / 2,
                    2 => value.saturating_add(1),
                    3 => value.saturating_sub(1),
                    _ => self.draw(rng),
                };
                let nearest = self.nearest(wanted);
                // At the end of the range, the way back.
                if nearest == value { self.draw(rng) } else { nearest }
            }
            Self::List(list) => {
                let others = list.iter().filter(|one| **one != value);
                let count = others.clone().count();
                let picked = (count > 0).then(|| rng.random_range(0..count))?;
                others.copied().nth(picked)?
            }
        };
        (changed != value).then_some(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::btree_set, prelude::*};
    use rand::SeedableRng;

    fn values() -> impl Strategy<Value = Values> {
        prop_oneof![
            (0..50_u64, 1..5_000_u64).prop_map(|(min, span)| Values::Range { min, max: min + span }),
            btree_set(0..300_u64, 1..8).prop_map(|set| Values::List(set.into_iter().collect())),
        ]
    }

    proptest! {
        #[test]
        fn neighbours_agree_with_enumeration(values in values(), value in 0..6_000_u64) {
            let all: Vec<u64> = (0..=values.largest()).filter(|one| values.contains(*one)).collect();
            prop_assert_eq!(values.smallest(), all[0]);
            prop_assert_eq!(values.at_most(value), all.iter().rev().find(|one| **one <= value).copied());
            prop_assert_eq!(values.at_least(value), all.iter().find(|one| **one >= value).copied());
            let nearest = all.iter().min_by_key(|one| (one.abs_diff(value), **one)).copied();
            prop_assert_eq!(Some(values.nearest(value)), nearest);
        }

        #[test]
        fn what_is_drawn_is_one_of_them(values in values(), seed in any::<u64>(), from in any::<u64>()) {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let first = values.draw(&mut rng);
            prop_assert!(values.contains(first));
            for value in [first, from] {
                let other = values.other(value, &mut rng);
                prop_assert!(other.is_none_or(|other| other != value && values.contains(other)));
            }
            prop_assert_eq!(Values::only(7).other(7, &mut rng), None);
        }
    }

    #[test]
    fn wide_ranges_are_drawn_by_orders_of_magnitude() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut below =
            |values: &Values, limit: u64| (0..4_000).filter(|_| values.draw(&mut rng) < limit).count();
        // 21 bit lengths from 0 to 2^20 - 1: half of the draws are below 2^10.
        let wide = Values::Range { min: 0, max: (1 << 20) - 1 };
        assert!((1_900..2_300).contains(&below(&wide, 1 << 10)), "{}", below(&wide, 1 << 10));
        let narrow = Values::Range { min: 2, max: 101 };
        assert!((1_800..2_200).contains(&below(&narrow, 52)));
        let everything = Values::Range { min: 0, max: u64::MAX };
        assert!(below(&everything, 1 << 32) > 1_800);
    }
}
