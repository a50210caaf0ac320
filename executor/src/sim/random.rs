//! Random streams: one for each component, by the component's name, so that one's draws do not move another's, nor does
//! a new component move any.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest as _, Sha256};

use crate::profile::Span;

/// The stream of a component, by its name and the seed of the test: the same on every machine.
pub(super) fn stream(seed: u64, component: &str) -> ChaCha8Rng {
    let key = Sha256::new().chain_update(seed.to_le_bytes()).chain_update(component).finalize();
    ChaCha8Rng::from_seed(key.into())
}

/// A value of a span; draws nothing for a span of one value.
#[inline]
pub(super) fn draw(span: Span<u64>, rng: &mut ChaCha8Rng) -> u64 {
    if span.min >= span.max { span.min } else { rng.random_range(span.min..=span.max) }
}

/// A value of a span of factors.
#[inline]
pub(super) fn draw_factor(span: Span<f64>, rng: &mut ChaCha8Rng) -> f64 {
    if span.min >= span.max { span.min } else { rng.random_range(span.min..=span.max) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_and_by_name_and_by_nothing_else() {
        let first = |seed, name| stream(seed, name).random::<u64>();
        assert_eq!(first(1, "nic/0"), first(1, "nic/0"));
        let mut all = vec![first(1, "nic/0"), first(2, "nic/0"), first(1, "nic/1"), first(1, "link/0")];
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4);
    }
}
