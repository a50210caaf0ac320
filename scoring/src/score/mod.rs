//! Score of a test, for the search, and the decision that it is an anomaly, for people.

pub mod calibration;
mod explain;
mod measures;
mod objective;
mod unjudged;

use std::collections::BTreeSet;

use corpus::TestConfig;
use dumper::Observation;

use self::measures::measure;
use crate::analyzers::Analyzer;
use crate::anomaly::{Anomaly, Evidence, Role, Who};
pub use crate::oracles::{Baseline, Burst, Mct, Operations, Recovery, Reference, References};
use crate::oracles::{Measure, ORACLES, Test};
use crate::rules::Rule;
use crate::{Analysis, Kind};
pub use explain::signature_of;
pub use objective::Objective;
pub use unjudged::{Unjudged, unjudged};

/// Reference runs that a score needs: none unless the test looks suspicious by itself.
pub fn references_needed(
    config: &TestConfig,
    observation: &Observation,
    analysis: &Analysis,
) -> Vec<Reference> {
    let test = Test::new(config, observation, analysis);
    let needed: BTreeSet<Reference> = ORACLES.iter().flat_map(|oracle| (oracle.references)(&test)).collect();
    needed.into_iter().collect()
}

/// The analyzers that judge a test as a whole, in the order in which they run; the last one judges tests that have no end.
pub fn oracles() -> impl Iterator<Item = Analyzer> {
    ORACLES.iter().map(|oracle| oracle.analyzer).chain([Analyzer::End])
}

/// Assessment of a test: its objectives and its anomalies.
#[derive(Clone, PartialEq, Debug)]
pub struct Assessment {
    /// Every objective, in the order of [`Objective::ALL`]: each in [0, 1], never NaN.
    pub objectives: [f64; Objective::ALL.len()],
    /// Every anomaly: the analyzers', and those of oracles that need the whole test or a reference. One of
    /// each signature, the one with the earliest evidence.
    pub anomalies: Vec<Anomaly>,
    /// Indices of `anomalies` that another one in this test explains: the symptom and its cause. A symptom is
    /// not a finding of its own.
    pub explained: Vec<(usize, usize)>,
}

impl Assessment {
    /// The anomalies that nothing else in the test explains, in the order of their evidence.
    pub fn findings(&self) -> impl Iterator<Item = &Anomaly> {
        self.findings_with_symptoms().map(|(finding, _)| finding)
    }

    /// [`Self::findings`], each with the symptoms that it explains.
    pub fn findings_with_symptoms(&self) -> impl Iterator<Item = (&Anomaly, impl Iterator<Item = &Anomaly>)> {
        (0..self.anomalies.len()).filter(|at| self.explained.iter().all(|(symptom, _)| symptom != at)).map(
            |at| {
                let symptoms = self.explained.iter().filter(move |(_, cause)| *cause == at);
                (&self.anomalies[at], symptoms.map(|(symptom, _)| &self.anomalies[*symptom]))
            },
        )
    }

    /// Of packets whose test is not known: no oracle judges them, and no objective is reached.
    pub fn without_test(analysis: &Analysis) -> Self {
        let (anomalies, explained) = explain::conclude(&analysis.anomalies, Vec::new());
        Self { objectives: calibration::objectives(&[0.0; Measure::COUNT]), anomalies, explained }
    }

    /// Of a test that had to be stopped after so many packets, as its QPs repeat themselves without end.
    pub fn of_endless_test(packets: usize) -> Self {
        let anomaly = Anomaly {
            rule: Rule::NeverEnds,
            who: Who { role: Role::Requester, address: None, connection: None },
            state: "endless".into(),
            what: format!("retransmits for ever: {packets} packets and no end"),
            evidence: Evidence::default(),
        };
        let mut values = [0.0; Measure::COUNT];
        values[Measure::Stalls as usize] = 1.0;
        Self { objectives: calibration::objectives(&values), anomalies: vec![anomaly], explained: Vec::new() }
    }
}

/// Judges a test.
pub fn score(
    config: &TestConfig,
    observation: &Observation,
    analysis: &Analysis,
    references: &References,
) -> Assessment {
    let test = Test::new(config, observation, analysis);
    let mut values = [0.0; Measure::COUNT];
    let mut found: Vec<Anomaly> =
        ORACLES.iter().flat_map(|oracle| (oracle.judge)(&test, references, &mut values)).collect();
    measure(&test, references, &mut values);
    if analysis.host_crashed {
        // In a test whose host has died, only that counts.
        found.clear();
    }
    let (anomalies, explained) = explain::conclude(&analysis.anomalies, found);
    Assessment { objectives: calibration::objectives(&values), anomalies, explained }
}

impl Kind {
    /// The objective that counts anomalies of this kind.
    #[must_use]
    pub const fn objective(self) -> Objective {
        match self {
            Self::GbnViolation | Self::ProtocolViolation => Objective::Fsm,
            Self::UnexpectedTimeout | Self::RetryCount | Self::MitigationHarm => Objective::Timeouts,
            Self::Stall | Self::Crash => Objective::Stall,
            Self::DataCorruption => Objective::Integrity,
            Self::CnpGeneration => Objective::Cnp,
            Self::CounterMismatch => Objective::Counters,
            Self::UnexplainedDiscard | Self::InteropDiscard => Objective::Discards,
            Self::NonWorkConserving => Objective::Sharing,
            Self::NoisyNeighbor => Objective::NoisyNeighbor,
            Self::SlowRetransmission => Objective::Latency,
            Self::ReorderCollapse => Objective::Reorder,
            Self::SlowFlow
            | Self::PerformanceCliff
            | Self::NoRecovery
            | Self::OffloadInstability
            | Self::OffloadInconsistent
            | Self::SlowControl
            | Self::LinkDown => Objective::Offload,
        }
    }
}
