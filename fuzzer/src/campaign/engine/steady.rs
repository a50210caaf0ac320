//! Scores on a testbed that does not do the same thing twice.

use corpus::{Outcome, Scores};

use super::Engine;
use crate::campaign::error::CampaignError;
use crate::campaign::retention::score;

/// How often a test is run again that would be kept for its score: with the first run these have a median.
const AGAIN: usize = 2;

impl Engine<'_> {
    /// The scores that a test enters the corpus with: those of its only run if that is not above the median, so that
    /// nobody keeps it for its score, else those of the run with the median score. What any run showed was seen.
    pub(super) fn steady(
        &self,
        number: u64,
        first: Scores,
        mut again: impl FnMut() -> Result<Outcome, CampaignError>,
    ) -> Result<Scores, CampaignError> {
        let settings = self.setup.settings;
        let is_known = |signature: &str| self.findings.contains_key(signature) || settings.ignores(signature);
        let value = |scores: &Scores| score(scores, &self.setup.target.weights, is_known);
        let above = self.pool.median().is_some_and(|median| value(&first) > median);
        if self.schedule.is_initial(number) || !above {
            return Ok(first);
        }
        let mut runs = vec![first];
        for _ in 0..AGAIN {
            if let Outcome::Scored(scores) = again()? {
                runs.push(scores);
            }
        }
        Ok(median_of(runs, value))
    }
}

/// The run with the median score, of two the lower one, with the sightings and references of all.
fn median_of(mut runs: Vec<Scores>, value: impl Fn(&Scores) -> f64) -> Scores {
    let (mut sightings, mut references) = (Vec::new(), Vec::new());
    for run in &runs {
        for sighting in &run.sightings {
            let is_new = |one: &&corpus::Sighting| one.signature == sighting.signature;
            if sightings.iter().find(is_new).is_none() {
                sightings.push(sighting.clone());
            }
        }
        references.extend(run.references.iter().copied());
    }
    runs.sort_by(|a, b| value(a).total_cmp(&value(b)));
    let median = runs.swap_remove((runs.len() - 1) / 2);
    Scores { sightings, references, ..median }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpus::Sighting;

    fn run(fsm: f64, signature: &str) -> Scores {
        let sighting = Sighting { signature: signature.into(), objectives: Vec::new() };
        Scores { objectives: [("fsm".into(), fsm)].into(), sightings: vec![sighting], references: Vec::new() }
    }

    #[test]
    fn the_median_run_stands_for_all_and_nothing_seen_is_lost() {
        let value = |scores: &Scores| scores.objectives["fsm"];
        let median = median_of(vec![run(0.9, "a"), run(0.1, "b"), run(0.4, "a")], value);
        assert!((value(&median) - 0.4).abs() < 1e-12);
        let seen: Vec<&str> = median.sightings.iter().map(|one| one.signature.as_str()).collect();
        assert_eq!(seen, ["a", "b"]);
        assert!((value(&median_of(vec![run(0.9, "a"), run(0.2, "a")], value)) - 0.2).abs() < 1e-12);
    }
}
