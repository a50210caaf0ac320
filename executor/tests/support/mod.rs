//! Tests on two simulated NICs, judged with the references that they need.

use corpus::TestConfig;
use dumper::Observation;
use executor::NicProfile;
use scoring::score::{self, Assessment, Baseline, Reference, References};
use scoring::{Analysis, Options};

/// Judges a test that ran on these NICs, as targets judge it that do not name the collapse of goodput under reordering, which breaks
/// no rule.
pub(crate) fn assess(config: &TestConfig, nics: &[NicProfile; 2], observation: &Observation) -> Assessment {
    let analysis = analyze(config, observation);
    let mut references = References::default();
    let needed = score::references_needed(config, observation, &analysis);
    for reference in needed.into_iter().filter(|reference| *reference != Reference::OnePath) {
        let test = reference.of(config);
        let [requester, responder] = nics.clone();
        let pair = match reference {
            Reference::WithoutEvents
            | Reference::WithoutEts
            | Reference::WithoutMitigation
            | Reference::OnePath
            | Reference::FewerFlows
            | Reference::FewestFlows
            | Reference::WithoutRemoval => [requester, responder],
            Reference::RequesterWithItself => [requester.clone(), requester],
            Reference::ResponderWithItself => [responder.clone(), responder],
        };
        let usual = executor::sim::run(&test, pair).ok();
        references.set(reference, usual.map(|usual| Baseline::of(&usual, &analyze(&test, &usual))));
    }
    score::score(config, observation, &analysis, &references)
}

/// Analysis of a test that ran.
pub(crate) fn analyze(config: &TestConfig, observation: &Observation) -> Analysis {
    scoring::analyze(observation, Options { config: Some(config) })
}
