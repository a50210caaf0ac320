//! Outcome of a test, in the form that the corpus keeps.

use corpus::{Outcome, Scores, Sighting, TestConfig};
use scoring::losses;
use scoring::machines::Situation;
use scoring::score::Objective;

use crate::judge::{Judged, Verdict};
use crate::losses::encode;

/// Outcome of a test of a campaign, by its verdict.
pub(super) fn outcome_of(config: &TestConfig, verdict: Verdict) -> Outcome {
    match verdict {
        Verdict::Invalid(invalid) => Outcome::Invalid { reason: invalid.to_string() },
        Verdict::Judged(judged) => Outcome::Scored(scores_of(config, &judged)),
    }
}

fn scores_of(config: &TestConfig, judged: &Judged) -> Scores {
    let assessment = &judged.assessment;
    let objectives = Objective::ALL.into_iter().zip(assessment.objectives);
    Scores {
        objectives: objectives.map(|(objective, s)| (objective.name().to_owned(), s)).collect(),
        sightings: assessment
            .findings_with_symptoms()
            .map(|(anomaly, symptoms)| Sighting {
                signature: anomaly.signature(),
                objectives: std::iter::once(anomaly)
                    .chain(symptoms)
                    .map(|anomaly| anomaly.kind().objective().name().to_owned())
                    .collect(),
            })
            .collect(),
        references: judged.reference_keys.clone(),
        coverage: judged.observation.coverage.clone(),
        situations: judged.analysis.transitions.situations().map(Situation::number).collect(),
        losses: encode(&losses::of(config, &judged.observation, &judged.analysis)),
    }
}
