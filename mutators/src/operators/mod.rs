//! Mutation: named operators that each change one thing.

mod classes;
mod events;
mod sets;
mod traffic;

use std::collections::BTreeMap;

use corpus::TestConfig;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::settle::{drop_faulty, fit, settle};
use crate::space::Space;
use crate::{Mutant, Mutation};

/// Draws of an operator before all are tried in turn.
const DRAWS: u32 = 16;
/// Tries of each operator in turn: its effect on a test is random.
const TRIES: u32 = 4;
/// One child in so many is changed by two operators, and one in so many of these by three.
const FURTHER: u32 = 4;
const MOST: usize = 3;

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
    traffic::OPERATORS.iter().chain(classes::OPERATORS).chain(events::OPERATORS).chain(sets::OPERATORS)
}

/// The operators of a target, to draw from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wheel {
    /// Each with the sum of the weights up to it.
    slots: Vec<(f64, &'static Operator)>,
}

impl Wheel {
    /// The operators with these weights, by name; without those of weight 0.
    pub(crate) fn new(weights: &BTreeMap<String, f64>) -> Self {
        let mut sum = 0.0;
        let weight = |operator: &Operator| weights.get(operator.name).copied().unwrap_or_default();
        let weighed = all().map(|operator| (weight(operator), operator)).filter(|(weight, _)| *weight > 0.0);
        let slots = weighed
            .map(|(weight, operator)| {
                sum += weight;
                (sum, operator)
            })
            .collect();
        Self { slots }
    }

    fn draw(&self, rng: &mut ChaCha8Rng) -> Option<&'static Operator> {
        let (sum, _) = self.slots.last()?;
        let point = rng.random::<f64>() * sum;
        let at = self.slots.partition_point(|(up_to, _)| *up_to <= point);
        Some(self.slots[at.min(self.slots.len() - 1)].1)
    }

    /// A test changed by one operator, or sometimes two or three.
    pub(crate) fn mutate(&self, space: &Space, parent: &TestConfig, rng: &mut ChaCha8Rng) -> Mutation {
        // A parent from elsewhere is brought inside first.
        let mut child = parent.clone();
        fit(space, &mut child);
        if child != *parent && !drop_faulty(&mut child) {
            return Mutation::NotApplicable;
        }
        let mut wanted = 1;
        while wanted < MOST && rng.random_ratio(1, FURTHER) {
            wanted += 1;
        }
        let mut operators = Vec::with_capacity(wanted);
        for _ in 0..DRAWS {
            let Some(operator) = self.draw(rng) else { break };
            if let Some(changed) = try_on(operator, space, &child, parent, rng) {
                child = changed;
                operators.push(operator.name);
                if operators.len() == wanted {
                    break;
                }
            }
        }
        if operators.is_empty() {
            let turns = self.slots.iter().flat_map(|slot| std::iter::repeat_n(slot.1, TRIES as usize));
            for operator in turns {
                if let Some(changed) = try_on(operator, space, &child, parent, rng) {
                    child = changed;
                    operators.push(operator.name);
                    break;
                }
            }
        }
        if operators.is_empty() {
            Mutation::NotApplicable
        } else {
            Mutation::Changed(Box::new(Mutant { config: child, operators }))
        }
    }
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
