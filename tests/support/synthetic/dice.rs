//! The random stream of a world.

use std::ops::RangeInclusive;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A seeded stream of choices.
#[derive(Clone, Debug)]
pub struct Dice(ChaCha8Rng);

impl Dice {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number of a range. Modulo bias does not matter here.
    pub fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        let (low, high) = range.into_inner();
        low + self.number() % (high - low + 1)
    }

    /// True in `percent` of all cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.within(0..=99) < percent
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.within(0..=of.len() as u64 - 1) as usize]
    }
}
