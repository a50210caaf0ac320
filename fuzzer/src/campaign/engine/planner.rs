//! The planner: draws the test of each execution, a function of the settings, its number and the pool at the start of its
//! batch.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use corpus::store::{Store, StoreError};
use corpus::{Evaluation, Host, Lineage, Outcome, TestConfig};
use mutators::{Mutation, Target};
use rand::RngExt;

use crate::campaign::pool::Pool;
use crate::campaign::random::{Purpose, stream, test_seed, test_stream};
use crate::campaign::retention::score;
use crate::campaign::schedule::Schedule;
use crate::campaign::search::{Choice, Memory, Room};
use crate::strategy::Strategy;

/// Name of the operator of tests that were drawn afresh.
const RANDOM: &str = "random";

/// Name of the operator of tests that the user gave.
const INITIAL: &str = "initial";

/// Draws tests.
pub(super) struct Planner<'a> {
    pub(super) target: &'a Target,
    /// The hosts of every test.
    pub(super) hosts: &'a [Host; 2],
    pub(super) strategy: Strategy,
    pub(super) seed: u64,
    pub(super) schedule: Schedule,
    /// Tests that the user gave to start from.
    pub(super) initial: &'a [TestConfig],
    /// Store of the tests in the pool.
    pub(super) store: &'a Store,
    /// What the strategy has learned, of one that learns.
    pub(super) memory: Option<Memory>,
    /// The executions since it has learned, for one that learns: they need not be read from the store.
    pub(super) recent: BTreeMap<u64, Evaluation>,
    /// The first execution after the newest distillation of the corpus; 0 if there was none.
    pub(super) distilled: u64,
}

/// A test to run.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) config: TestConfig,
    pub(super) lineage: Lineage,
}

impl Planner<'_> {
    /// Executions from `next` to the end of its batch, or to the last one of the campaign.
    fn rest_of_batch(&self, next: u64, last: Option<u64>) -> RangeInclusive<u64> {
        let end = *self.schedule.batch_of(next).end();
        next..=last.map_or(end, |last| end.min(last))
    }

    /// The tests of the executions from `next` to the end of its batch, or to the last one of the campaign.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) fn draw_rest_of_batch(
        &mut self,
        next: u64,
        last: Option<u64>,
        pool: &Pool,
    ) -> Result<Vec<(u64, Candidate)>, StoreError> {
        let numbers = self.rest_of_batch(next, last);
        let mut drawn = self.draw_batch(*numbers.end(), pool)?;
        drawn.retain(|(number, _)| numbers.contains(number));
        Ok(drawn)
    }

    /// The tests of the batch of an execution, from the first one to this one. A strategy that learns has learned from all
    /// executions that were kept before the batch, and from no other.
    fn draw_batch(&mut self, last: u64, pool: &Pool) -> Result<Vec<(u64, Candidate)>, StoreError> {
        let first = *self.schedule.batch_of(last).start();
        self.learn_before(first, pool)?;
        (first..=last).map(|number| Ok((number, self.draw(number, pool)?))).collect()
    }

    /// Has a strategy that learns learn from all executions that were kept before one.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) fn learn_before(&mut self, first: u64, pool: &Pool) -> Result<(), StoreError> {
        if let Some(memory) = &mut self.memory {
            let kept = pool.before(first);
            let learned = memory.begin_batch(kept);
            for &number in &kept[kept.partition_point(|number| *number <= learned)..] {
                let evaluation = match self.recent.remove(&number) {
                    Some(evaluation) => Some(evaluation),
                    None => self.store.evaluation(number)?,
                };
                if let Some(evaluation) = evaluation {
                    let score = match &evaluation.outcome {
                        // What is an anomaly by now may not have been known then.
                        Outcome::Scored(scores) => score(scores, &self.target.weights, |_| true),
                        Outcome::Invalid { .. } => 0.0,
                    };
                    memory.learn(&evaluation, score);
                }
            }
            self.recent.clear();
        }
        Ok(())
    }

    /// An execution is recorded, and decided about.
    pub(super) fn has_run(&mut self, evaluation: Evaluation) {
        if self.memory.is_some() {
            self.recent.insert(evaluation.number, evaluation);
        }
    }

    /// Returns true if the batch that ended with the execution `last` showed that there is nothing left to try: a campaign
    /// that ended so ends again.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) fn is_exhausted(&mut self, last: u64, pool: &Pool) -> Result<bool, StoreError> {
        if last == 0 || self.schedule.is_initial(last) {
            return Ok(false);
        }
        let batch = self.schedule.batch_of(last);
        // The corpus is distilled when another batch begins: then there was something left.
        if *batch.end() != last || self.distilled > *batch.start() {
            return Ok(false);
        }
        let drawn = self.draw_batch(last, pool)?;
        Ok(self.is_one_test(drawn.iter().map(|(number, candidate)| (*number, &candidate.config))))
    }

    /// Returns true if the tests of a batch, with their executions, are all the same one, which no operator changes.
    pub(super) fn is_one_test<'t>(&self, tests: impl IntoIterator<Item = (u64, &'t TestConfig)>) -> bool {
        let mut first = None;
        tests.into_iter().all(|(number, test)| {
            let mut rng = test_stream(test_seed(self.seed, number));
            test == *first.get_or_insert(test)
                && matches!(self.target.mutate(test, &mut rng), Mutation::NotApplicable)
        })
    }

    /// The test of an execution.
    ///
    /// # Errors
    /// The store cannot be read.
    fn draw(&mut self, number: u64, pool: &Pool) -> Result<Candidate, StoreError> {
        let seed = test_seed(self.seed, number);
        let mut rng = test_stream(seed);
        let of = |config, parent, operators: &[&str]| {
            let operators = operators.iter().map(|&name| name.to_owned()).collect();
            Candidate { config, lineage: Lineage { parent, operators, seed } }
        };
        let given = usize::try_from(number - 1).ok().and_then(|at| self.initial.get(at));
        if let Some(given) = given {
            return Ok(of(given.clone(), None, &[INITIAL]));
        }
        if let Some(memory) = &mut self.memory {
            let room = Room { target: self.target, hosts: self.hosts };
            let Choice { config, parent, operators } = memory.choose(number, room, &mut rng);
            return Ok(of(config, parent, &operators));
        }
        let parent = match self.strategy {
            Strategy::Genetic if !self.is_fresh(number) => self.parent(number, pool)?,
            _ => None,
        };
        if let Some((parent, config)) = &parent
            && let Mutation::Changed(mutant) = self.target.mutate(config, &mut rng)
        {
            return Ok(of(mutant.config, Some(*parent), &mutant.operators));
        }
        Ok(of(self.target.random(self.hosts, &mut rng), None, &[RANDOM]))
    }

    /// Returns true if a genetic search draws the test of an execution at random: those of the initial pool,
    /// and as many others as the target says.
    fn is_fresh(&self, number: u64) -> bool {
        self.schedule.is_initial(number)
            || stream(self.seed, number, Purpose::Fresh).random_ratio(self.target.fresh, 100)
    }

    /// A random entry of the pool as it was when the execution's batch began; none of an empty pool.
    fn parent(&self, number: u64, pool: &Pool) -> Result<Option<(u64, TestConfig)>, StoreError> {
        let kept = pool.before(*self.schedule.batch_of(number).start());
        if kept.is_empty() {
            return Ok(None);
        }
        let parent = kept[stream(self.seed, number, Purpose::Parent).random_range(0..kept.len())];
        Ok(self.store.evaluation(parent)?.map(|evaluation| (parent, evaluation.config)))
    }
}
