//! Effect size: how often one sample is earlier than another (Vargha and Delaney 2000).

use statrs::distribution::{ContinuousCDF as _, Normal};

use super::Time;

/// Probability that a time of one sample is earlier than one of another, with its 95 % interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Effect {
    /// The estimate, where times that cannot be told apart count half: 0.5 if none of the samples is earlier.
    pub estimate: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Vargha and Delaney's A12: the probability that a time of `first` is earlier than one of `second`. Times that were not
/// reached are later than all that were, and not told apart. The interval is Newcombe's (2006, part 2, method 5), which holds for
/// small samples and where all of one are earlier.
#[must_use]
pub fn vargha_delaney(first: &[Time], second: &[Time]) -> Effect {
    if first.is_empty() || second.is_empty() {
        return Effect { estimate: 0.5, low: 0.0, high: 1.0 };
    }
    let key = |time: &Time| if time.reached { time.at } else { f64::INFINITY };
    let wins = |a: f64, b: f64| {
        if a < b {
            1.0
        } else if a > b {
            0.0
        } else {
            0.5
        }
    };
    let won: f64 = first.iter().flat_map(|a| second.iter().map(move |b| wins(key(a), key(b)))).sum();
    let (m, n) = (first.len() as f64, second.len() as f64);
    let estimate = won / (m * n);

    let z = Normal::standard().inverse_cdf(0.975);
    let others = (m + n) / 2.0 - 1.0;
    let variance =
        |at: f64| at * (1.0 - at) * (1.0 + others * ((1.0 - at) / (2.0 - at) + at / (1.0 + at))) / (m * n);
    // True for the values that the estimate is too far from.
    let excluded = |at: f64| (estimate - at).abs() > z * variance(at).sqrt();
    let bisect = |mut out: f64, mut inside: f64| {
        if !excluded(out) {
            return out;
        }
        for _ in 0..60 {
            let middle = f64::midpoint(out, inside);
            if excluded(middle) { out = middle } else { inside = middle }
        }
        inside
    };
    Effect { estimate, low: bisect(0.0, estimate), high: bisect(1.0, estimate) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(times: &[f64]) -> Vec<Time> {
        times.iter().map(|at| Time { at: *at, reached: true }).collect()
    }

    #[test]
    fn a_sample_that_is_always_earlier_has_one_and_an_interval_below() {
        let effect = vargha_delaney(&at(&[1.0, 2.0, 3.0, 4.0, 5.0]), &at(&[6.0, 7.0, 8.0, 9.0, 10.0]));
        assert_eq!((effect.estimate, effect.high), (1.0, 1.0));
        assert!(0.5 < effect.low && effect.low < 0.9, "{effect:?}");
        let more: Vec<f64> = (0..20).map(f64::from).collect();
        let later: Vec<f64> = (20..40).map(f64::from).collect();
        assert!(vargha_delaney(&at(&more), &at(&later)).low > effect.low);
    }

    #[test]
    fn what_was_not_reached_is_later_and_not_told_apart() {
        let reached = Time { at: 10.0, reached: true };
        let censored = Time { at: 10.0, reached: false };
        assert_eq!(vargha_delaney(&[reached], &[censored]).estimate, 1.0);
        assert_eq!(vargha_delaney(&[censored, censored], &[censored]).estimate, 0.5);
    }

    /// The end of the interval solves the equation that defines it.
    #[test]
    fn the_interval_is_where_the_estimate_is_so_many_deviations_away() {
        let (first, second) = (at(&[1.0, 3.0, 5.0, 7.0]), at(&[2.0, 4.0, 6.0, 8.0, 9.0]));
        let Effect { estimate, low, high } = vargha_delaney(&first, &second);
        assert!((estimate - 14.0 / 20.0).abs() < 1e-12, "{estimate}");
        for end in [low, high] {
            let others = 4.5 - 1.0;
            let variance =
                end * (1.0 - end) * (1.0 + others * ((1.0 - end) / (2.0 - end) + end / (1.0 + end))) / 20.0;
            assert!(((estimate - end).abs() / variance.sqrt() - 1.959_964).abs() < 1e-4, "{end}");
        }
    }

    proptest! {
        #[test]
        fn it_is_the_part_of_pairs_and_the_interval_contains_it(
            first in prop::collection::vec(0..20_u8, 1..12), second in prop::collection::vec(0..20_u8, 1..12),
        ) {
            let of = |drawn: &[u8]| at(&drawn.iter().map(|one| f64::from(*one)).collect::<Vec<_>>());
            let (first, second) = (of(&first), of(&second));
            let there = vargha_delaney(&first, &second);
            let back = vargha_delaney(&second, &first);
            prop_assert!((there.estimate + back.estimate - 1.0).abs() < 1e-9);
            prop_assert!((there.low + back.high - 1.0).abs() < 1e-6);
            prop_assert!(0.0 <= there.low && there.low <= there.estimate && there.estimate <= there.high && there.high <= 1.0);
        }
    }
}
