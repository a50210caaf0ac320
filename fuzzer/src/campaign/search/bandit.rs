//! A bandit: chooses among ways to make tests by what each has brought lately (Thompson sampling, with old results discounted).

use rand_chacha::ChaCha8Rng;
use rand_distr::{Beta, Distribution as _};

/// Weight of a result after each further one: some hundred results count.
const MEMORY: f64 = 0.99;

/// Share of the draws that go to each way whatever it has brought: what brings nothing now may bring something later.
const FLOOR: f64 = 0.05;

/// Ways and what they have brought.
#[derive(Debug, Clone)]
pub(super) struct Bandit {
    /// Discounted successes and failures of each way.
    results: Vec<[f64; 2]>,
}

impl Bandit {
    /// So many ways, of which nothing is known.
    pub(super) fn new(ways: usize) -> Self {
        Self { results: vec![[0.0; 2]; ways] }
    }

    /// A way has brought something, or nothing.
    pub(super) fn learn(&mut self, way: usize, success: bool) {
        let Some(results) = self.results.get_mut(way) else { return };
        results.iter_mut().for_each(|result| *result *= MEMORY);
        results[usize::from(!success)] += 1.0;
    }

    /// A way to try.
    pub(super) fn choose(&self, rng: &mut ChaCha8Rng) -> usize {
        use rand::RngExt as _;
        let ways = self.results.len();
        if rng.random_bool((FLOOR * ways as f64).min(1.0)) {
            return rng.random_range(0..ways);
        }
        let sample = |[successes, failures]: &[f64; 2]| {
            let beta = Beta::new(1.0 + successes, 1.0 + failures).expect("both are at least 1");
            beta.sample(rng)
        };
        let samples: Vec<f64> = self.results.iter().map(sample).collect();
        (0..ways).max_by(|a, b| samples[*a].total_cmp(&samples[*b])).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    #[test]
    fn what_brings_more_is_chosen_more_and_nothing_is_given_up() {
        let mut bandit = Bandit::new(3);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut chosen = [0; 3];
        for round in 0..2_000 {
            let way = bandit.choose(&mut rng);
            chosen[way] += 1;
            // The second one is best at first, the third one later.
            let best = if round < 1_000 { 1 } else { 2 };
            bandit.learn(way, way == best && round % 3 == 0);
        }
        assert!(chosen[1] > 500 && chosen[2] > 500, "{chosen:?}");
        assert!(chosen[0] > 50, "{chosen:?}");
    }
}
