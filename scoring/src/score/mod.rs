//! How odd a test was, for the search, and whether that is an anomaly, for people.

mod objective;

use corpus::TestConfig;
use dumper::Observation;
use serde::{Deserialize, Serialize};

use crate::{Analysis, Anomaly};
pub use objective::Objective;

/// A run that a test is compared with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Reference {
    /// The same traffic between the same NICs, without events.
    WithoutEvents,
}

impl Reference {
    /// The test to run for it.
    #[must_use]
    pub fn of(self, config: &TestConfig) -> TestConfig {
        match self {
            Self::WithoutEvents => TestConfig { events: Vec::new(), ..config.clone() },
        }
    }
}

/// What of a reference run the score needs: small, so that thousands can be kept.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Baseline {}

impl Baseline {
    /// Sums up a reference run.
    pub fn of(observation: &Observation, analysis: &Analysis) -> Self {
        todo!("{observation:?} {analysis:?}")
    }
}

/// The reference runs that [`references_needed`] asked for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct References {
    /// [`Reference::WithoutEvents`].
    pub without_events: Option<Baseline>,
}

/// Which reference runs a score needs: none unless something looks suspicious by itself.
pub fn references_needed(
    config: &TestConfig,
    observation: &Observation,
    analysis: &Analysis,
) -> Vec<Reference> {
    todo!("{config:?} {observation:?} {analysis:?}")
}

/// How odd a test was, and what of it is anomalous.
#[derive(Clone, PartialEq, Debug)]
pub struct Assessment {
    /// Every objective, in the order of [`Objective::ALL`]: each in [0, 1], never NaN.
    pub objectives: [f64; Objective::ALL.len()],
    /// Every anomaly: the analyzers', and what the oracles add that need the whole test or a reference. One of
    /// each signature, the one with the earliest evidence.
    pub anomalies: Vec<Anomaly>,
    /// Which of `anomalies` another one in this test explains, by index: the symptom and its cause. A symptom is no
    /// finding of its own.
    pub explained: Vec<(usize, usize)>,
}

impl Assessment {
    /// The anomalies that nothing else in the test explains, in the order of their evidence.
    pub fn findings(&self) -> impl Iterator<Item = &Anomaly> {
        (0..self.anomalies.len())
            .filter(|at| self.explained.iter().all(|(symptom, _)| symptom != at))
            .map(|at| &self.anomalies[at])
    }

    /// [`Self::findings`], each with the symptoms that it explains.
    pub fn findings_with_symptoms(&self) -> impl Iterator<Item = (&Anomaly, impl Iterator<Item = &Anomaly>)> {
        (0..self.anomalies.len()).filter(|at| self.explained.iter().all(|(symptom, _)| symptom != at)).map(|at| {
            let symptoms = self.explained.iter().filter(move |(_, cause)| *cause == at);
            (&self.anomalies[at], symptoms.map(|(symptom, _)| &self.anomalies[*symptom]))
        })
    }

    /// Of a test that had to be stopped after so many packets, as its QPs repeat themselves without end.
    pub fn of_endless_test(packets: usize) -> Self {
        todo!("{packets}")
    }
}

/// Judges a test.
pub fn score(
    config: &TestConfig,
    observation: &Observation,
    analysis: &Analysis,
    references: &References,
) -> Assessment {
    todo!("{config:?} {observation:?} {analysis:?} {references:?}")
}

impl crate::Kind {
    /// The objective that counts anomalies of this kind.
    #[must_use]
    pub const fn objective(self) -> Objective {
        todo!()
    }
}
