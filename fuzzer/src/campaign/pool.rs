//! The pool of kept tests: numbers and scores only; the tests themselves stay in the store.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The kept executions, in order.
#[derive(Debug, Default)]
pub(super) struct Pool {
    numbers: Vec<u64>,
    median: Median,
    best: Option<f64>,
}

impl Pool {
    /// Adds an execution, later than all before.
    pub(super) fn keep(&mut self, number: u64, score: f64) {
        debug_assert!(self.numbers.last().is_none_or(|last| *last < number));
        self.numbers.push(number);
        self.median.add(score);
        self.best = Some(self.best.map_or(score, |best| best.max(score)));
    }

    /// The executions that were kept before one.
    pub(super) fn before(&self, number: u64) -> &[u64] {
        &self.numbers[..self.numbers.partition_point(|kept| *kept < number)]
    }

    pub(super) const fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The median score; the mean of the middle two of an even number.
    pub(super) fn median(&self) -> Option<f64> {
        self.median.get()
    }

    /// The highest score.
    pub(super) const fn best(&self) -> Option<f64> {
        self.best
    }
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

/// A running median in O(log n) per score: the lower half below the upper half, each with its edge on top.
#[derive(Debug, Default)]
struct Median {
    lower: BinaryHeap<Score>,
    upper: BinaryHeap<Reverse<Score>>,
}

impl Median {
    fn add(&mut self, score: f64) {
        let score = Score(score);
        if self.lower.peek().is_none_or(|edge| score <= *edge) {
            self.lower.push(score);
        } else {
            self.upper.push(Reverse(score));
        }
        // The lower half has as many as the upper one, or one more.
        if self.lower.len() > self.upper.len() + 1 {
            self.upper.extend(self.lower.pop().map(Reverse));
        } else if self.upper.len() > self.lower.len() {
            self.lower.extend(self.upper.pop().map(|Reverse(score)| score));
        }
    }

    fn get(&self) -> Option<f64> {
        let low = self.lower.peek()?.0;
        Some(match self.upper.peek() {
            Some(Reverse(high)) if self.upper.len() == self.lower.len() => f64::midpoint(low, high.0),
            _ => low,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_median_is_that_of_the_sorted_scores(scores in prop::collection::vec(0.0..10.0f64, 1..60)) {
            let mut pool = Pool::default();
            for (number, score) in (1..).zip(&scores) {
                pool.keep(number, *score);
                let mut sorted = scores[..number as usize].to_vec();
                sorted.sort_by(f64::total_cmp);
                let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
                prop_assert_eq!(pool.median(), Some(f64::midpoint(low, high)));
                prop_assert_eq!(pool.best(), sorted.last().copied());
            }
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
}
