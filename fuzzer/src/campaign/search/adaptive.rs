//! The adaptive search: broad tests, with the combinations of parameters that were tried least.

use corpus::Evaluation;
use mutators::{Covered, Levels, Parts};
use rand_chacha::ChaCha8Rng;

use super::{Choice, Room};

/// Memory of the adaptive search.
#[derive(Debug)]
pub(in crate::campaign) struct Adaptive {
    parts: Parts,
    /// Combinations of parameters of all tests, those that are drawn and have not run included.
    covered: Covered,
    /// Tests that are drawn and have not run.
    drawn: Vec<Levels>,
}

impl Adaptive {
    pub(super) fn new(parts: Parts) -> Self {
        Self { parts, covered: Covered::default(), drawn: Vec::new() }
    }

    pub(super) fn begin_batch(&mut self) {
        for levels in self.drawn.drain(..) {
            self.covered.remove(&levels);
        }
    }

    pub(super) fn learn(&mut self, evaluation: &Evaluation) {
        self.covered.add(&Levels::of(&evaluation.config));
    }

    pub(super) fn choose(&mut self, room: Room<'_>, rng: &mut ChaCha8Rng) -> Choice {
        let config = room.target.broad(room.hosts, &self.covered, self.parts, rng);
        let levels = Levels::of(&config);
        self.covered.add(&levels);
        self.drawn.push(levels);
        Choice { config, parent: None, operators: vec!["broad"] }
    }
}
