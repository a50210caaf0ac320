//! Scores on a testbed that does not do the same thing twice.

use corpus::{Outcome, Scores};

use super::Decider;
use crate::campaign::error::CampaignError;

impl Decider<'_> {
    /// The scores that a test enters the corpus with: those of its only run if that is not above the median,
    /// so that its score does not keep it, else the lower ones of two runs: a kept test has scored above the
    /// median twice. Sightings of either run count. A test that cannot be judged again has scored above the
    /// median once only: that counts for nothing.
    pub(in crate::campaign::engine) fn steady(
        &self,
        number: u64,
        first: Scores,
        again: impl FnOnce() -> Result<Outcome, CampaignError>,
    ) -> Result<Scores, CampaignError> {
        let above = self.pool.median().is_some_and(|median| self.value(&first) > median);
        if self.schedule.is_initial(number) || !above {
            return Ok(first);
        }
        Ok(match again()? {
            Outcome::Scored(second) => lower_of(first, second, |scores| self.value(scores)),
            Outcome::Invalid { .. } => without_score(first),
        })
    }
}

/// The scores of a run, with every objective at 0.
fn without_score(mut scores: Scores) -> Scores {
    scores.objectives.values_mut().for_each(|score| *score = 0.0);
    scores
}

/// The run with the lower score, with the sightings and references of both.
fn lower_of(first: Scores, second: Scores, value: impl Fn(&Scores) -> f64) -> Scores {
    let (mut lower, other) = if value(&second) < value(&first) { (second, first) } else { (first, second) };
    for sighting in other.sightings {
        if lower.sightings.iter().all(|known| known.signature != sighting.signature) {
            lower.sightings.push(sighting);
        }
    }
    lower.references.extend(other.references);
    lower
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpus::Sighting;

    fn run(fsm: f64, signature: &str) -> Scores {
        let sighting = Sighting { signature: signature.into(), objectives: Vec::new() };
        Scores { objectives: [("fsm".into(), fsm)].into(), sightings: vec![sighting], ..Scores::default() }
    }

    #[test]
    fn the_lower_run_stands_for_both_and_nothing_seen_is_lost() {
        let value = |scores: &Scores| scores.objectives["fsm"];
        let seen = |scores: &Scores| -> Vec<String> {
            scores.sightings.iter().map(|one| one.signature.clone()).collect()
        };
        for (first, second, all) in [(0.9, 0.4, ["b", "a"]), (0.4, 0.9, ["a", "b"])] {
            let lower = lower_of(run(first, "a"), run(second, "b"), value);
            assert!((value(&lower) - 0.4).abs() < 1e-12);
            assert_eq!(seen(&lower), all);
        }
        assert_eq!(seen(&lower_of(run(0.9, "a"), run(0.2, "a"), value)), ["a"]);
        let unrepeated = without_score(run(0.9, "a"));
        assert!(value(&unrepeated) < 1e-12);
        assert_eq!(seen(&unrepeated), ["a"]);
    }
}
