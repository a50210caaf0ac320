//! Crossover: one test of two, with the traffic and hosts of the one and events of both.

use corpus::TestConfig;
use rand::RngExt;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;

use crate::settle::settle;
use crate::space::Space;

/// A test with the traffic and hosts of `first` and the events of `second`, or some of both; none if that is no other test than
/// `first`, or cannot be made valid.
pub(crate) fn cross(
    space: &Space,
    first: &TestConfig,
    second: &TestConfig,
    rng: &mut ChaCha8Rng,
) -> Option<TestConfig> {
    let mut child = first.clone();
    child.events.clone_from(&second.events);
    if rng.random_ratio(1, 2) {
        let both: Vec<_> = first.events.iter().chain(&second.events).cloned().collect();
        let count = rng.random_range(0..=both.len().min(space.max_entries()));
        child.events = both.sample(rng, count).cloned().collect();
    }
    (settle(space, &mut child) && child != *first).then_some(child)
}
