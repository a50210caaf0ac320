//! What a search has still to find, by how often it has seen what it found.

/// Estimates from the number of tests that showed each signature, as for species of which some were seen once, some twice, and
/// the others not yet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Discovery {
    /// Probability that the next test shows a new signature (Good, Biometrika 1953): signatures that were seen once, of all tests.
    pub next: f64,
    /// New signatures that as many tests again are expected to show (Good and Toulmin, Biometrika 1956, smoothed as by
    /// Efron and Thisted, Biometrika 1976).
    pub again: f64,
}

impl Discovery {
    /// The estimates after so many tests, 1 or more, of which `sightings` showed each signature.
    #[must_use]
    pub fn of(tests: u64, sightings: impl IntoIterator<Item = u64>) -> Self {
        let mut seen = [0_u32; TERMS];
        for times in sightings {
            if let Some(count) = (times as usize).checked_sub(1).and_then(|at| seen.get_mut(at)) {
                *count += 1;
            }
        }
        let again: f64 = seen
            .iter()
            .zip(tails())
            .zip([1.0, -1.0].into_iter().cycle())
            .map(|((count, tail), sign)| sign * tail * f64::from(*count))
            .sum();
        Self { next: f64::from(seen[0]) / tests.max(1) as f64, again: again.max(0.0) }
    }

    /// Probability that as many tests again show at least one new signature, if each comes by itself.
    #[must_use]
    pub fn probability_again(&self) -> f64 {
        -(-self.again).exp_m1()
    }
}

/// Terms of the series.
const TERMS: usize = 20;

/// Weight of each term: the probability that a binomial variable of `TERMS` trials of 1/2 is at least its number (Efron and
/// Thisted, 1976, with θ = 1/2).
fn tails() -> impl Iterator<Item = f64> {
    use statrs::distribution::{Binomial, DiscreteCDF as _};
    let binomial = Binomial::new(0.5, TERMS as u64).expect("a half is a probability");
    (1..=TERMS as u64).map(move |term| binomial.sf(term - 1))
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn nothing_seen_once_is_nothing_left() {
        let Discovery { next, again } = Discovery::of(1000, [400, 25, 900]);
        assert_eq!(next, 0.0);
        assert!(again < 1e-6, "{again}");
        assert_eq!(Discovery::of(0, []), Discovery { next: 0.0, again: 0.0 });
    }

    #[test]
    fn signatures_seen_once_are_the_first_term() {
        // Each weighs nearly 1: P(at least 1 of 20).
        let found = Discovery::of(100, [1, 1, 1, 50]);
        assert_eq!(found.next, 0.03);
        assert!((found.again - 3.0).abs() < 1e-4, "{found:?}");
        assert!((found.probability_again() - (1.0 - (-3.0_f64).exp())).abs() < 1e-4);
    }

    #[test]
    fn the_mean_of_the_estimates_is_the_mean_of_what_comes() {
        // Signatures whose rates lie orders of magnitude apart.
        let rates: Vec<f64> = (0..60).map(|n| 10_f64.powf(-1.0 - f64::from(n) / 20.0)).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (mut estimated, mut truth) = (0.0, 0.0);
        for _ in 0..200 {
            let mut counts = [vec![0_u64; rates.len()], vec![0; rates.len()]];
            for half in &mut counts {
                for _ in 0..500 {
                    for (count, rate) in half.iter_mut().zip(&rates) {
                        *count += u64::from(rng.random_bool(*rate));
                    }
                }
            }
            estimated += Discovery::of(500, counts[0].iter().copied().filter(|count| *count > 0)).again;
            truth += counts[0]
                .iter()
                .zip(&counts[1])
                .filter(|(first, second)| **first == 0 && **second > 0)
                .count() as f64;
        }
        assert!((estimated / truth - 1.0).abs() < 0.1, "{estimated} estimated, {truth} found");
    }
}
