//! Memory of a search: what a strategy has learned from the executions so far. It is a function of the executions before a
//! batch, so that neither jobs nor interruptions change the tests.

mod adaptive;
mod annealing;

use corpus::{Evaluation, Host, Outcome, TestConfig};
use mutators::{Covered, Target};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

pub(super) use adaptive::Adaptive;
pub(super) use annealing::Annealing;

use crate::strategy::Strategy;

/// A test that a search chose.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) config: TestConfig,
    /// The execution that it was made of.
    pub(super) parent: Option<u64>,
    /// The operators that made it.
    pub(super) operators: Vec<&'static str>,
}

/// The rooms that a search draws in.
#[derive(Clone, Copy)]
pub(super) struct Room<'a> {
    pub(super) target: &'a Target,
    pub(super) hosts: &'a [Host; 2],
}

/// Memory of a search that learns from each kept execution.
#[derive(Debug)]
pub(super) enum Memory {
    /// Chains of tests.
    Annealing(Annealing),
    /// Combinations of parameters that were tried.
    Adaptive(Box<Adaptive>),
}

/// A memory as the store keeps it, when the tests that it was learned from are distilled.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Saved {
    Annealing(Annealing),
    Adaptive { covered: [Vec<u32>; 2], learned: u64 },
}

impl Memory {
    /// The memory in the form that the store keeps. No test may be drawn and not run.
    pub(super) fn save(&self) -> Saved {
        match self {
            Self::Annealing(annealing) => Saved::Annealing(annealing.clone()),
            Self::Adaptive(adaptive) => {
                let (covered, learned) = adaptive.learned();
                Saved::Adaptive { covered: covered.counts().map(<[u32]>::to_vec), learned }
            }
        }
    }

    /// The memory of a strategy, as it was saved; none of another strategy or version.
    pub(super) fn restore(strategy: Strategy, saved: Saved) -> Option<Self> {
        match (strategy, saved) {
            (Strategy::Annealing, Saved::Annealing(annealing)) => Some(Self::Annealing(annealing)),
            (Strategy::Adaptive(parts), Saved::Adaptive { covered, learned }) => {
                let covered = Covered::from_counts(covered)?;
                Some(Self::Adaptive(Box::new(Adaptive::with(parts, covered, learned))))
            }
            _ => None,
        }
    }

    /// The memory of a strategy before its first test; none of one that only looks at the kept tests. `batch` is the
    /// number of tests that are drawn before the first of them is learned from.
    pub(super) fn of(strategy: Strategy, batch: u64) -> Option<Self> {
        match strategy {
            Strategy::Genetic | Strategy::Random => None,
            Strategy::Annealing => Some(Self::Annealing(Annealing::new(batch))),
            Strategy::Adaptive(parts) => Some(Self::Adaptive(Box::new(Adaptive::new(parts)))),
        }
    }

    /// A batch begins, before which these executions were kept; returns the last one of them that the search has learned
    /// from.
    pub(super) fn begin_batch(&mut self, kept: &[u64]) -> u64 {
        match self {
            Self::Annealing(annealing) => annealing.learned(),
            Self::Adaptive(adaptive) => adaptive.begin_batch(kept),
        }
    }

    /// Learns from a kept execution, the next one in order, whose score counts what is no anomaly.
    pub(super) fn learn(&mut self, evaluation: &Evaluation, score: f64) {
        match self {
            Self::Annealing(annealing) => annealing.learn(evaluation, score),
            Self::Adaptive(adaptive) => adaptive.learn(evaluation),
        }
    }

    /// The test of an execution; those of a batch are asked for in order.
    pub(super) fn choose(&mut self, number: u64, room: Room<'_>, rng: &mut ChaCha8Rng) -> Choice {
        match self {
            Self::Annealing(annealing) => annealing.choose(number, room, rng),
            Self::Adaptive(adaptive) => adaptive.choose(number, room, rng),
        }
    }
}

/// Returns true if an execution shows an anomaly.
fn is_anomalous(evaluation: &Evaluation) -> bool {
    matches!(&evaluation.outcome, Outcome::Scored(scores) if !scores.sightings.is_empty())
}
