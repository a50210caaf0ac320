//! Mutation: named operators that each change one thing.

mod classes;
mod events;
mod offload;
mod sets;
mod traffic;

use std::collections::BTreeMap;

use corpus::TestConfig;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp};
use sha2::{Digest, Sha256};

use crate::settle::{drop_faulty, fit, settle};
use crate::space::Space;
use crate::{Mutant, Mutation};

/// Tries of each operator: its effect on a test is random.
const TRIES: usize = 4;
/// One child in so many is changed by two operators, and one in so many of these by three.
const FURTHER: u32 = 4;
pub(crate) const MOST: usize = 3;

/// An operator.
#[derive(Debug)]
pub struct Operator {
    /// Its name, in targets and in the lineage of tests.
    pub name: &'static str,
    /// Weight of the operator in the draw, against the others.
    pub weight: f64,
    /// Description of its effect.
    pub what: &'static str,
    apply: fn(&mut Bench<'_>) -> Applied,
}

impl PartialEq for Operator {
    /// Names tell operators apart.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Result of an operator. A change is repaired afterwards, and the repair may undo it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Applied {
    Changed,
    NotApplicable,
}

impl From<bool> for Applied {
    fn from(changed: bool) -> Self {
        if changed { Self::Changed } else { Self::NotApplicable }
    }
}

/// Data that operators work on.
struct Bench<'a> {
    space: &'a Space,
    test: &'a mut TestConfig,
    rng: &'a mut ChaCha8Rng,
}

/// Every operator, in the order of a printed target.
pub fn all() -> impl Iterator<Item = &'static Operator> + Clone {
    traffic::OPERATORS
        .iter()
        .chain(classes::OPERATORS)
        .chain(events::OPERATORS)
        .chain(sets::OPERATORS)
        .chain(offload::OPERATORS)
}

/// The operators of a target, to draw from: an exponential race, in which each runs with a random stream of its own. An
/// operator that is new moves only the draws that it wins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Race {
    runners: Vec<Runner>,
}

#[derive(Debug, Clone, PartialEq)]
struct Runner {
    operator: &'static Operator,
    /// Time to the goal, with the weight as its rate: the probability to be first is the share of the weight.
    time: Exp<f64>,
    /// Number of the random stream, from the name.
    stream: u64,
}

impl Race {
    /// The operators with these weights, by name; without those of weight 0.
    pub(crate) fn new(weights: &BTreeMap<String, f64>) -> Self {
        let runner = |operator: &'static Operator| {
            let weight = weights.get(operator.name).copied().filter(|weight| *weight > 0.0)?;
            let time = Exp::new(weight).ok()?;
            Some(Runner { operator, time, stream: stream_of(operator.name) })
        };
        Self { runners: all().filter_map(runner).collect() }
    }

    /// The operators in the order in which they come to the goal, each with the rest of its stream.
    fn run(&self, rng: &mut ChaCha8Rng) -> Vec<(&'static Operator, ChaCha8Rng)> {
        let streams = ChaCha8Rng::from_rng(rng);
        let run = |runner: &Runner| {
            let mut rng = streams.clone();
            rng.set_stream(runner.stream);
            (runner.time.sample(&mut rng), runner.operator, rng)
        };
        let mut arrivals: Vec<_> = self.runners.iter().map(run).collect();
        arrivals.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
        arrivals.into_iter().map(|(_, operator, rng)| (operator, rng)).collect()
    }

    /// A test changed by one operator, or sometimes more, at most so many.
    pub(crate) fn mutate(
        &self,
        space: &Space,
        parent: &TestConfig,
        most: usize,
        rng: &mut ChaCha8Rng,
    ) -> Mutation {
        // A parent from elsewhere is brought inside first.
        let mut child = parent.clone();
        fit(space, &mut child);
        if child != *parent && !drop_faulty(space, &mut child) {
            return Mutation::NotApplicable;
        }
        let mut wanted = 1;
        while wanted < most && rng.random_ratio(1, FURTHER) {
            wanted += 1;
        }
        let mut operators = Vec::with_capacity(wanted);
        for _ in 0..wanted {
            let mut order = self.run(rng);
            let count = order.len();
            let turns = (0..count * TRIES).map(|turn| turn % count);
            let changed = turns.into_iter().find_map(|turn| {
                let (operator, rng) = &mut order[turn];
                Some((operator.name, try_on(operator, space, &child, parent, rng)?))
            });
            let Some((name, changed)) = changed else { break };
            child = changed;
            operators.push(name);
        }
        if operators.is_empty() {
            Mutation::NotApplicable
        } else {
            Mutation::Changed(Box::new(Mutant { config: child, operators }))
        }
    }
}

/// Number of the random stream of a name.
fn stream_of(name: &str) -> u64 {
    let digest: [u8; 32] = Sha256::digest(name).into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// The test that an operator makes of a test: valid, inside the space, and different from that test and from
/// the first one.
fn try_on(
    operator: &Operator,
    space: &Space,
    test: &TestConfig,
    parent: &TestConfig,
    rng: &mut ChaCha8Rng,
) -> Option<TestConfig> {
    let mut child = test.clone();
    let applied = (operator.apply)(&mut Bench { space, test: &mut child, rng });
    let changed = applied == Applied::Changed && settle(space, &mut child);
    (changed && child != *test && child != *parent).then_some(child)
}
