//! The pool of kept tests: numbers and scores only; the tests themselves stay in the store.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The kept executions, in order.
#[derive(Debug, Default)]
pub(super) struct Pool {
    numbers: Vec<u64>,
    scores: Vec<f64>,
    /// Scores of the tests that were kept once and are distilled.
    dropped: Dropped,
    /// Scores of all tests that were ever kept.
    spread: Spread,
    best: Option<f64>,
}

/// Scores of tests that are distilled, each rounded down to one of 64 steps between two powers of two, so that there are at most
/// some thousand different ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Dropped {
    /// How often each score was there, by its bits: those of positive numbers are in the order of the numbers.
    scores: BTreeMap<u64, u64>,
    /// The highest one, exactly.
    best: Option<f64>,
}

/// Bits of a score that are rounded away: of the 52 behind the point 6 are left.
const ROUNDED: u32 = 46;

impl Dropped {
    fn add(&mut self, score: f64) {
        *self.scores.entry(score.max(0.0).to_bits() >> ROUNDED << ROUNDED).or_default() += 1;
        self.best = higher(self.best, score);
    }
}

fn higher(best: Option<f64>, score: f64) -> Option<f64> {
    Some(best.map_or(score, |best| best.max(score)))
}

impl Pool {
    /// An empty one, after so many have been distilled.
    pub(super) fn after(dropped: Dropped) -> Self {
        let mut spread = Spread::default();
        for (bits, times) in &dropped.scores {
            spread.add(f64::from_bits(*bits), *times);
        }
        Self { spread, best: dropped.best, dropped, ..Self::default() }
    }

    /// Adds an execution, later than all before.
    pub(super) fn keep(&mut self, number: u64, score: f64) {
        debug_assert!(self.numbers.last().is_none_or(|last| *last < number));
        self.numbers.push(number);
        self.scores.push(score);
        self.spread.add(score, 1);
        self.best = higher(self.best, score);
    }

    /// Drops the tests that do not stay, which are in order. Their scores count on, rounded.
    pub(super) fn distil(&mut self, stay: &[u64]) {
        let mut dropped = std::mem::take(&mut self.dropped);
        let (mut numbers, mut scores) = (Vec::new(), Vec::new());
        for (number, score) in self.kept() {
            if stay.binary_search(&number).is_ok() {
                numbers.push(number);
                scores.push(score);
            } else {
                dropped.add(score);
            }
        }
        *self = Self::after(dropped);
        for (number, score) in numbers.into_iter().zip(scores) {
            self.keep(number, score);
        }
    }

    /// Scores of those that are distilled.
    pub(super) const fn dropped(&self) -> &Dropped {
        &self.dropped
    }

    /// The kept executions with their scores, in order.
    pub(super) fn kept(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        self.numbers.iter().copied().zip(self.scores.iter().copied())
    }

    /// The executions that were kept before one.
    pub(super) fn before(&self, number: u64) -> &[u64] {
        &self.numbers[..self.numbers.partition_point(|kept| *kept < number)]
    }

    pub(super) const fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The median score of all tests that were ever kept; the mean of the middle two of an even number.
    pub(super) fn median(&self) -> Option<f64> {
        self.spread.median()
    }

    /// The highest score that was ever kept.
    pub(super) const fn best(&self) -> Option<f64> {
        self.best
    }
}

/// Reasons for which a test stays before others when the corpus is distilled; the last one is the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Dear {
    /// It has a combination of parameters that no earlier kept test has.
    Combination,
    /// It ran code that no earlier kept test ran.
    Code,
    /// It showed a finding first.
    Finding,
}

/// The part of the kept tests that stays when the corpus is distilled: so many, the `dear` ones before others, and of each kind the
/// ones with the highest scores; of equal scores the later ones.
pub(super) fn stay(
    kept: impl Iterator<Item = (u64, f64)>,
    dear: &BTreeMap<u64, Dear>,
    most: usize,
) -> Vec<u64> {
    let mut kept: Vec<_> = kept.map(|(number, score)| (dear.get(&number), Score(score), number)).collect();
    kept.sort_unstable_by(|one, other| other.cmp(one));
    kept.truncate(most);
    let mut stay: Vec<u64> = kept.into_iter().map(|(.., number)| number).collect();
    stay.sort_unstable();
    stay
}

/// A score in its total order.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Score(f64);

impl Eq for Score {}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Scores, with a running median in O(log n) per score.
#[derive(Debug, Default)]
struct Spread {
    /// How often each score is there.
    times: BTreeMap<Score, u64>,
    /// Scores in all.
    all: u64,
    /// The score in the middle, the lower one of the middle two.
    middle: Option<Score>,
    /// Scores below it.
    below: u64,
}

impl Spread {
    fn add(&mut self, score: f64, times: u64) {
        let score = Score(score);
        *self.times.entry(score).or_default() += times;
        self.all += times;
        let mut middle = *self.middle.get_or_insert(score);
        if score < middle {
            self.below += times;
        }
        let wanted = (self.all - 1) / 2;
        while self.below > wanted {
            let Some((lower, times)) = self.times.range(..middle).next_back() else { break };
            self.below -= times;
            middle = *lower;
        }
        while self.below + self.times[&middle] <= wanted {
            let Some(higher) = self.next_above(middle) else { break };
            self.below += self.times[&middle];
            middle = higher;
        }
        self.middle = Some(middle);
    }

    fn next_above(&self, score: Score) -> Option<Score> {
        use std::ops::Bound::{Excluded, Unbounded};
        self.times.range((Excluded(score), Unbounded)).next().map(|(higher, _)| *higher)
    }

    fn median(&self) -> Option<f64> {
        let low = self.middle?;
        let is_last_of_its_half = self.below + self.times[&low] == self.all / 2;
        Some(match self.next_above(low) {
            Some(high) if self.all.is_multiple_of(2) && is_last_of_its_half => f64::midpoint(low.0, high.0),
            _ => low.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn median_of(scores: &[f64]) -> f64 {
        let mut sorted = scores.to_vec();
        sorted.sort_by(f64::total_cmp);
        f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
    }

    proptest! {
        #[test]
        fn the_median_is_that_of_the_sorted_scores(
            // Few different ones, so that there are equal ones.
            scores in prop::collection::vec((0..12_u32).prop_map(|n| f64::from(n) / 3.0), 1..60),
        ) {
            let mut pool = Pool::default();
            for (number, score) in (1..).zip(&scores) {
                pool.keep(number, *score);
                let known = &scores[..number as usize];
                prop_assert_eq!(pool.median(), Some(median_of(known)));
                prop_assert_eq!(pool.best(), known.iter().copied().max_by(f64::total_cmp));
            }
        }

        #[test]
        fn what_is_distilled_counts_on(
            scores in prop::collection::vec(0.0..10.0f64, 2..60),
            most in 0..60_usize,
        ) {
            let mut pool = Pool::default();
            for (number, score) in (1..).zip(&scores) {
                pool.keep(number, *score);
            }
            let stays = stay(pool.kept(), &BTreeMap::new(), most);
            pool.distil(&stays);
            prop_assert_eq!(pool.len(), scores.len().min(most));
            prop_assert_eq!(pool.best(), scores.iter().copied().max_by(f64::total_cmp));
            let (median, exact) = (pool.median().unwrap(), median_of(&scores));
            prop_assert!(median <= exact && exact - median <= exact / 64.0, "{} for {}", median, exact);
            // As it is read from a store.
            let mut again = Pool::after(pool.dropped().clone());
            pool.kept().for_each(|(number, score)| again.keep(number, score));
            prop_assert_eq!((again.median(), again.best()), (pool.median(), pool.best()));
        }
    }

    #[test]
    fn those_before_an_execution_are_those_kept_with_smaller_numbers() {
        let mut pool = Pool::default();
        [2, 5, 9].into_iter().for_each(|number| pool.keep(number, 1.0));
        assert_eq!(pool.before(5), [2]);
        assert_eq!(pool.before(6), [2, 5]);
        assert_eq!((pool.before(1).len(), pool.before(100).len(), pool.len()), (0, 3, 3));
        assert_eq!(Pool::default().median(), None);
    }

    #[test]
    fn dear_tests_stay_and_then_the_best_and_then_the_latest() {
        let kept = || [(1, 0.1), (2, 0.9), (3, 0.5), (4, 0.5), (5, 0.2)].into_iter();
        assert_eq!(stay(kept(), &BTreeMap::new(), 2), [2, 4]);
        let of = |number| (number, Dear::Combination);
        assert_eq!(stay(kept(), &[of(1)].into(), 3), [1, 2, 4]);
        assert_eq!(stay(kept(), &[of(1), of(5)].into(), 1), [5]);
        assert_eq!(stay(kept(), &[(1, Dear::Finding), of(5), (3, Dear::Code)].into(), 2), [1, 3]);
        assert_eq!(stay(kept(), &[of(1), of(9)].into(), 9), [1, 2, 3, 4, 5]);
    }
}
