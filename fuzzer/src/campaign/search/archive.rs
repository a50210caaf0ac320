//! An archive of behaviours (MAP-Elites; Mouret and Clune 2015): of the tests that show a behaviour, the one with the highest
//! score. A behaviour is drawn like any other, so that tests with rare ones are drawn more often than they are run.

use corpus::Scores;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use rustc_hash::FxHashMap;

/// The archive.
#[derive(Debug, Default)]
pub(super) struct Archive {
    /// Place of each behaviour in `elites`.
    places: FxHashMap<u32, usize>,
    /// Execution and score of the elite of each behaviour, in the order in which they were first shown.
    elites: Vec<(u64, f64)>,
}

impl Archive {
    /// Adds a test; the number of behaviours that no test has shown before.
    pub(super) fn add(&mut self, number: u64, scores: &Scores, score: f64) -> usize {
        let before = self.elites.len();
        // Code that a kernel has run counts like any other behaviour, where it is counted.
        for behaviour in &scores.behaviours {
            match self.places.get(behaviour) {
                Some(place) if self.elites[*place].1 < score => self.elites[*place] = (number, score),
                Some(_) => {}
                None => {
                    self.places.insert(*behaviour, self.elites.len());
                    self.elites.push((number, score));
                }
            }
        }
        self.elites.len() - before
    }

    /// The elite of any behaviour; none of an empty archive.
    pub(super) fn draw(&self, rng: &mut ChaCha8Rng) -> Option<u64> {
        (!self.elites.is_empty()).then(|| self.elites[rng.random_range(0..self.elites.len())].0)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    fn showing(behaviours: &[u32]) -> Scores {
        Scores { behaviours: behaviours.to_vec(), ..Scores::default() }
    }

    #[test]
    fn the_best_test_of_each_behaviour_is_kept() {
        let mut archive = Archive::default();
        assert_eq!(archive.add(1, &showing(&[7, 8]), 0.5), 2);
        assert_eq!(archive.add(2, &showing(&[8, 9]), 0.7), 1);
        assert_eq!(archive.add(3, &showing(&[7, 8, 9]), 0.6), 0);
        assert_eq!(archive.elites, [(3, 0.6), (2, 0.7), (2, 0.7)]);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let drawn = (0..300).filter(|_| archive.draw(&mut rng) == Some(3)).count();
        assert!((60..140).contains(&drawn), "{drawn}");
        assert_eq!(Archive::default().draw(&mut rng), None);
    }
}
