//! Mean and quantiles of times.

use dumper::Nanos;

/// Times in ascending order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ranks(Vec<Nanos>);

impl FromIterator<Nanos> for Ranks {
    fn from_iter<T: IntoIterator<Item = Nanos>>(times: T) -> Self {
        let mut times: Vec<Nanos> = times.into_iter().collect();
        times.sort_unstable();
        Self(times)
    }
}

impl Ranks {
    /// Number of times.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// The times.
    pub fn iter(&self) -> impl Iterator<Item = Nanos> + '_ {
        self.0.iter().copied()
    }

    /// Returns true if there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Mean, rounded down; 0 of no times.
    #[must_use]
    pub fn mean(&self) -> Nanos {
        let total: u128 = self.0.iter().map(|time| u128::from(time.0)).sum();
        let mean = total.checked_div(self.0.len() as u128).unwrap_or(0);
        Nanos(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// The time that so many of 1,000 times do not exceed (nearest rank); 0 of no times.
    #[must_use]
    pub fn of_thousand(&self, rank: usize) -> Nanos {
        let at = (self.0.len() * rank).div_ceil(1_000).saturating_sub(1);
        self.0.get(at).copied().unwrap_or_default()
    }

    /// The longest time; 0 of no times.
    #[must_use]
    pub fn longest(&self) -> Nanos {
        self.0.last().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_the_nearest() {
        let ranks: Ranks = (1..=2_000).rev().map(Nanos).collect();
        let at = [1, 500, 990, 999, 1_000].map(|rank| ranks.of_thousand(rank).0);
        assert_eq!(at, [2, 1_000, 1_980, 1_998, 2_000]);
        assert_eq!((ranks.mean(), ranks.longest(), ranks.len()), (Nanos(1_000), Nanos(2_000), 2_000));
        let few: Ranks = [5, 1, 3].map(Nanos).into_iter().collect();
        assert_eq!([500, 990, 999].map(|rank| few.of_thousand(rank).0), [3, 5, 5]);
    }

    #[test]
    fn of_no_times_all_are_0() {
        let none = Ranks::default();
        assert!(none.is_empty());
        assert_eq!([none.mean(), none.of_thousand(999), none.longest()], [Nanos::ZERO; 3]);
    }
}
