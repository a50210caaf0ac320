//! Retention of tests: the median-score rule (Lumina, Algorithm 1, lines 9 to 12), and code that none has run before.

use std::collections::{BTreeMap, BTreeSet};

use corpus::Scores;
use dumper::observation::Coverage;
use rand::RngExt;

use super::pool::Pool;
use super::random::{Purpose, stream};

/// The score of a test: the weighted sum of its objectives, where those that a known signature raises count 0, so that
/// one bug cannot fill the corpus.
pub(super) fn score(
    scores: &Scores,
    weights: &BTreeMap<String, f64>,
    is_known: impl Fn(&str) -> bool,
) -> f64 {
    let muted: BTreeSet<&str> = scores
        .sightings
        .iter()
        .filter(|sighting| is_known(&sighting.signature))
        .flat_map(|sighting| sighting.objectives.iter().map(String::as_str))
        .collect();
    weights
        .iter()
        .filter(|(objective, _)| !muted.contains(objective.as_str()))
        .map(|(objective, weight)| weight * scores.objectives.get(objective).copied().unwrap_or(0.0))
        // The sum of nothing is -0.
        .fold(0.0, |sum, part| sum + part)
}

/// Returns true if an execution is kept: if its score is above the median, and above `least` where there is
/// one, and with a small probability if it is not.
pub(super) fn keeps(
    score: f64,
    pool: &Pool,
    least: Option<f64>,
    probability: f64,
    seed: u64,
    number: u64,
) -> bool {
    // Drawn from a stream of its own, so that the draw does not depend on the score.
    let lucky = stream(seed, number, Purpose::Retention).random_bool(probability);
    [pool.median(), least].into_iter().flatten().all(|least| score > least) || lucky
}

/// Adds what a test ran on both hosts; returns true if some of it is new.
pub(super) fn add(reached: &mut [Coverage; 2], ran: &[Coverage; 2]) -> bool {
    reached.iter_mut().zip(ran).map(|(reached, ran)| reached.add(ran)).sum::<usize>() > 0
}

#[cfg(test)]
mod tests {
    use corpus::Sighting;

    use super::*;

    fn scores() -> Scores {
        Scores {
            objectives: [("fsm", 0.5), ("stall", 0.25), ("latency", 1.0)]
                .map(|(name, s)| (name.into(), s))
                .into(),
            sightings: vec![Sighting {
                signature: "gbn-violation/x".into(),
                objectives: vec!["fsm".into(), "counters".into()],
            }],
            ..Scores::default()
        }
    }

    #[test]
    fn a_score_is_a_weighted_sum_without_what_is_known() {
        let weights =
            [("fsm", 2.0), ("stall", 4.0), ("goodput", 3.0)].map(|(name, w)| (name.into(), w)).into();
        assert!((score(&scores(), &weights, |_| false) - 2.0).abs() < 1e-12);
        assert!((score(&scores(), &weights, |known| known == "gbn-violation/x") - 1.0).abs() < 1e-12);
        assert!((score(&scores(), &weights, |known| known == "stall/x") - 2.0).abs() < 1e-12);
    }

    #[test]
    fn above_the_median_is_kept_and_a_tenth_of_the_rest() {
        let mut pool = Pool::default();
        assert!(keeps(0.0, &pool, None, 0.0, 1, 1), "an empty pool takes anything");
        [1.0, 2.0, 3.0].into_iter().zip(1..).for_each(|(score, number)| pool.keep(number, score));
        assert!(keeps(2.5, &pool, None, 0.0, 1, 4));
        assert!(!keeps(2.0, &pool, None, 0.0, 1, 4), "a tie is not above");
        assert!(!keeps(2.5, &pool, Some(2.5), 0.0, 1, 4), "nor if the median was higher before");
        assert!(keeps(2.6, &pool, Some(2.5), 0.0, 1, 4));
        let kept = (0..10_000).filter(|number| keeps(2.0, &pool, None, 0.1, 1, *number)).count();
        assert!((900..1100).contains(&kept), "{kept}");
    }
}
