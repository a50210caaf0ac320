//! Batches of executions, as a function of their numbers alone.

use std::ops::RangeInclusive;

/// Executions of a batch. Parents come from the pool as it was when their batch began, whatever the number of jobs is.
pub const BATCH: u64 = 16;

/// The batches: the initial pool first, in batches of its own, and then the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Schedule {
    /// Executions that fill the initial pool.
    pub(super) initial: u64,
    /// Executions of a batch.
    pub(super) batch: u64,
}

impl Schedule {
    /// Returns true if an execution (from 1) fills the initial pool.
    pub(super) const fn is_initial(self, execution: u64) -> bool {
        execution <= self.initial
    }

    /// The batch that an execution (from 1) belongs to.
    pub(super) const fn batch_of(self, execution: u64) -> RangeInclusive<u64> {
        let (from, end) =
            if self.is_initial(execution) { (1, self.initial) } else { (self.initial + 1, u64::MAX) };
        let first = from + (execution - from) / self.batch * self.batch;
        let last = first.saturating_add(self.batch - 1);
        first..=if last < end { last } else { end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_follow_each_other_and_none_is_both_initial_and_not() {
        for (initial, batch) in [(32, 16), (1, 16), (20, 16), (5, 1)] {
            let schedule = Schedule { initial, batch };
            let mut next = 1;
            while next < 200 {
                let members = schedule.batch_of(next);
                assert_eq!(*members.start(), next);
                assert!(members.clone().all(|number| schedule.batch_of(number) == members));
                assert_eq!(schedule.is_initial(*members.start()), schedule.is_initial(*members.end()));
                assert!(members.clone().count() as u64 <= batch);
                next = members.end() + 1;
            }
        }
        assert_eq!(Schedule { initial: 32, batch: 16 }.batch_of(33), 33..=48);
    }
}
