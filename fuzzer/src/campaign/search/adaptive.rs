//! The adaptive search: broad tests with rare combinations of parameters, mutants of tests that behave in rare ways, and tests
//! crossed of two of those; what has brought new behaviours lately is tried more often.

use corpus::store::{Store, StoreError};
use corpus::{Evaluation, Lineage, Outcome, TestConfig};
use mutators::{Covered, Levels, Mutation};
use rand_chacha::ChaCha8Rng;

use super::archive::Archive;
use super::bandit::Bandit;
use super::{Choice, Room};
use crate::strategy::{Part, Parts};

/// Ways to make a test, by their places in the bandit.
const BROAD: usize = 0;
const MUTANT: usize = 1;
const CROSSED: usize = 2;

/// Names of the operators of tests that are no mutants.
const BROAD_NAME: &str = "broad";
const CROSSED_NAME: &str = "crossover";

/// Memory of the adaptive search.
#[derive(Debug)]
pub(in crate::campaign) struct Adaptive {
    parts: Parts,
    /// Combinations of parameters of all tests, those that are drawn and have not run included.
    covered: Covered,
    /// Tests that are drawn and have not run.
    drawn: Vec<Levels>,
    archive: Archive,
    ways: Bandit,
}

impl Adaptive {
    pub(super) fn new(parts: Parts) -> Self {
        let ways = match (parts.has(Part::Archive), parts.has(Part::Crossover)) {
            (false, _) => 1,
            (true, false) => 2,
            (true, true) => 3,
        };
        Self {
            parts,
            covered: Covered::default(),
            drawn: Vec::new(),
            archive: Archive::default(),
            ways: Bandit::new(ways),
        }
    }

    pub(super) fn begin_batch(&mut self) {
        for levels in self.drawn.drain(..) {
            self.covered.remove(&levels);
        }
    }

    pub(super) fn learn(&mut self, evaluation: &Evaluation, score: f64) {
        self.covered.add(&Levels::of(&evaluation.config));
        let new = match &evaluation.outcome {
            Outcome::Scored(scores) => self.archive.add(evaluation.number, scores, score),
            Outcome::Invalid { .. } => 0,
        };
        if self.parts.has(Part::Bandit) {
            self.ways.learn(way_of(&evaluation.lineage), new > 0);
        }
    }

    pub(super) fn choose(
        &mut self,
        room: Room<'_>,
        store: &Store,
        rng: &mut ChaCha8Rng,
    ) -> Result<Choice, StoreError> {
        let made = match self.ways.choose(rng) {
            MUTANT => self.mutant(room, store, rng)?,
            CROSSED => self.crossed(room, store, rng)?,
            _ => None,
        };
        let choice = made.unwrap_or_else(|| self.broad(room, rng));
        let levels = Levels::of(&choice.config);
        self.covered.add(&levels);
        self.drawn.push(levels);
        Ok(choice)
    }

    fn broad(&self, room: Room<'_>, rng: &mut ChaCha8Rng) -> Choice {
        let covered = self.parts.has(Part::Covering).then_some(&self.covered);
        let config = if self.parts.has(Part::Broad) {
            room.target.broad(room.hosts, covered, rng)
        } else {
            room.target.random(room.hosts, rng)
        };
        Choice { config, parent: None, operators: vec![BROAD_NAME] }
    }

    /// The elite of a behaviour, and its execution.
    fn elite(&self, store: &Store, rng: &mut ChaCha8Rng) -> Result<Option<(u64, TestConfig)>, StoreError> {
        let Some(number) = self.archive.draw(rng) else { return Ok(None) };
        Ok(store.evaluation(number)?.map(|evaluation| (number, evaluation.config)))
    }

    fn mutant(
        &self,
        room: Room<'_>,
        store: &Store,
        rng: &mut ChaCha8Rng,
    ) -> Result<Option<Choice>, StoreError> {
        let Some((parent, config)) = self.elite(store, rng)? else { return Ok(None) };
        Ok(match room.target.mutate(&config, rng) {
            Mutation::Changed(mutant) => {
                Some(Choice { config: mutant.config, parent: Some(parent), operators: mutant.operators })
            }
            Mutation::NotApplicable => None,
        })
    }

    fn crossed(
        &self,
        room: Room<'_>,
        store: &Store,
        rng: &mut ChaCha8Rng,
    ) -> Result<Option<Choice>, StoreError> {
        let (Some((parent, first)), Some((_, second))) = (self.elite(store, rng)?, self.elite(store, rng)?)
        else {
            return Ok(None);
        };
        let child = room.target.cross(&first, &second, rng);
        Ok(child.map(|config| Choice { config, parent: Some(parent), operators: vec![CROSSED_NAME] }))
    }
}

/// The way in which a test was made.
fn way_of(lineage: &Lineage) -> usize {
    match (lineage.parent, &lineage.operators[..]) {
        (None, _) => BROAD,
        (Some(_), [only]) if only == CROSSED_NAME => CROSSED,
        (Some(_), _) => MUTANT,
    }
}
