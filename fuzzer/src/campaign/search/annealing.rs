//! Simulated annealing as Collie's published program has it (Kong and others, NSDI'22), on our score: a chain of tests, each
//! of them the one before with one thing changed. A chain begins anew with a random test after so many tests, and after an anomaly.
//! As the tests of a batch are drawn before any of them has run, there are as many chains as a batch has tests.
//!
//! Collie moreover leaves out tests that match the minimal feature set of an anomaly that it has found; here a chain only begins
//! anew.

use corpus::Evaluation;
use mutators::Mutation;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::{Choice, Room, is_anomalous};
use corpus::TestConfig;

/// Tests of a chain, its random one included (`kStageIterations`).
const STAGE: u32 = 2;

/// Temperature of the first test (`kStartTemp`), and its factor from one test of a chain to the next (`kAlpha`).
const START: f64 = 1.0;
const COOLING: f64 = 0.99;

/// Chains of tests.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::campaign) struct Annealing {
    chains: Vec<Chain>,
    /// The last execution that it has learned from.
    learned: u64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Chain {
    /// The test that the next one is made of, with its execution and score; none where the chain begins anew.
    last: Option<(u64, TestConfig, f64)>,
    /// Tests of this chain since it began anew.
    age: u32,
    /// Tests of this chain in all.
    tests: i32,
}

impl Annealing {
    pub(super) fn new(chains: u64) -> Self {
        Self { chains: vec![Chain::default(); usize::try_from(chains).unwrap_or(1).max(1)], learned: 0 }
    }

    fn chain(&mut self, number: u64) -> &mut Chain {
        let chains = self.chains.len() as u64;
        &mut self.chains[(number % chains) as usize]
    }

    pub(super) const fn learned(&self) -> u64 {
        self.learned
    }

    pub(super) fn learn(&mut self, evaluation: &Evaluation, score: f64) {
        self.learned = evaluation.number;
        let chain = self.chain(evaluation.number);
        chain.tests += 1;
        chain.age += 1;
        if chain.age >= STAGE || is_anomalous(evaluation) {
            (chain.last, chain.age) = (None, 0);
            return;
        }
        let accepts = match &chain.last {
            Some((_, _, before)) if score < *before => {
                // The worse and the hotter, the less likely, as published.
                let worse = (before - score) / before * START * COOLING.powi(chain.tests);
                ChaCha8Rng::seed_from_u64(evaluation.lineage.seed).random::<f64>() > worse
            }
            _ => true,
        };
        if accepts {
            chain.last = Some((evaluation.number, evaluation.config.clone(), score));
        }
    }

    pub(super) fn choose(&mut self, number: u64, room: Room<'_>, rng: &mut ChaCha8Rng) -> Choice {
        if let Some((parent, config, _)) = &self.chain(number).last
            && let Mutation::Changed(mutant) = room.target.mutate_once(config, rng)
        {
            return Choice { config: mutant.config, parent: Some(*parent), operators: mutant.operators };
        }
        Choice { config: room.target.random(room.hosts, rng), parent: None, operators: vec!["random"] }
    }
}
