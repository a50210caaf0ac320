//! The adaptive search: broad tests, with the combinations of parameters that the fewest kept tests have.

use corpus::Evaluation;
use mutators::{Covered, Levels, Parts};
use rand_chacha::ChaCha8Rng;

use super::{Choice, Room};

/// Tests that are drawn at random before the first broad one: an anomaly that nearly every test shows is in them, and in a smaller
/// test.
const FIRST: u64 = 4;

/// Memory of the adaptive search.
#[derive(Debug)]
pub(in crate::campaign) struct Adaptive {
    parts: Parts,
    /// Combinations of parameters of the kept tests, and of those that are drawn and have not run.
    covered: Covered,
    /// Tests that are drawn and have not run, by their executions.
    drawn: Vec<(u64, Levels)>,
    /// The last kept execution that it has learned from.
    learned: u64,
}

impl Adaptive {
    pub(super) fn new(parts: Parts) -> Self {
        Self { parts, covered: Covered::default(), drawn: Vec::new(), learned: 0 }
    }

    /// As it was when its memory was saved.
    pub(super) const fn with(parts: Parts, covered: Covered, learned: u64) -> Self {
        Self { parts, covered, drawn: Vec::new(), learned }
    }

    /// Combinations of the kept tests that it has learned from, up to the last of them. No test may be drawn and not run.
    pub(super) fn learned(&self) -> (&Covered, u64) {
        debug_assert!(self.drawn.is_empty());
        (&self.covered, self.learned)
    }

    /// Of the tests that were drawn since the batch before began, those that are kept were tried; others are forgotten.
    pub(super) fn begin_batch(&mut self, kept: &[u64]) -> u64 {
        for (number, levels) in self.drawn.drain(..) {
            if kept.binary_search(&number).is_ok() {
                self.learned = number;
            } else {
                self.covered.remove(&levels);
            }
        }
        self.learned
    }

    pub(super) fn learn(&mut self, evaluation: &Evaluation) {
        self.learned = evaluation.number;
        self.covered.add(&Levels::of(&evaluation.config));
    }

    pub(super) fn choose(&mut self, number: u64, room: Room<'_>, rng: &mut ChaCha8Rng) -> Choice {
        let (config, operator) = if number <= FIRST {
            (room.target.random(room.hosts, rng), "random")
        } else {
            (room.target.broad(room.hosts, &self.covered, self.parts, rng), "broad")
        };
        let levels = Levels::of(&config);
        self.covered.add(&levels);
        self.drawn.push((number, levels));
        Choice { config, parent: None, operators: vec![operator] }
    }
}
