//! How much more of a search comes upon what none of it has come upon.

use std::collections::BTreeSet;

/// How many of as many tests again are expected to show something new, from the tests that first showed what no other has.
///
/// The share of tests without which something would not have been seen is the probability that the next one shows something new
/// (leave-one-out; for one thing a test that is the estimate of Good, Biometrika 1953; for fuzzers, Böhme, ACM TOSEM 2018).
/// It falls with the reciprocal of the number of tests, if what is rarer by an order of magnitude is as much: from n to 2n tests
/// these are ln 2 of the tests that it counts. It takes tests that come alike, whatever came before.
#[must_use]
pub fn discoveries_again(seen_once: impl IntoIterator<Item = u64>) -> f64 {
    let alone: BTreeSet<u64> = seen_once.into_iter().collect();
    alone.len() as f64 * std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn a_test_that_shows_several_new_things_counts_once() {
        assert_eq!(discoveries_again([]), 0.0);
        assert!((discoveries_again([7, 7, 9]) - 1.386).abs() < 0.001);
    }

    #[test]
    fn the_mean_of_the_estimates_is_the_mean_of_what_comes() {
        // Things whose rates lie orders of magnitude apart, several of them in one test.
        let rates: Vec<f64> = (0..80).map(|n| 10_f64.powf(-0.5 - f64::from(n) / 20.0)).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (mut estimated, mut truth) = (0.0, 0_usize);
        const TESTS: u64 = 200;
        for _ in 0..200 {
            let mut seen = vec![Vec::new(); rates.len()];
            let mut new = BTreeSet::new();
            for test in 0..2 * TESTS {
                if test == TESTS {
                    let once = seen.iter().filter(|tests: &&Vec<u64>| tests.len() == 1).map(|tests| tests[0]);
                    estimated += discoveries_again(once);
                }
                for (tests, rate) in seen.iter_mut().zip(&rates) {
                    if rng.random_bool(*rate) {
                        if tests.is_empty() && test >= TESTS {
                            new.insert(test);
                        }
                        tests.push(test);
                    }
                }
            }
            truth += new.len();
        }
        assert!((estimated / truth as f64 - 1.0).abs() < 0.1, "{estimated} estimated, {truth} came");
    }
}
