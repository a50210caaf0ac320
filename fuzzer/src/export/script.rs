//! A test as a packet script, with the packets and anomalies of a run.

use std::collections::BTreeSet;

use corpus::TestConfig;
use dumper::Observation;
use dumper::script::{Anomalies, At, Expectation, Expected, Script};
use executor::script::record;

use crate::judge::Judged;
use crate::minimize::derandomise_exactly;

/// The observation of a test as a script, with the anomalies that were found in it. Losses at random become events where these
/// can express them.
#[must_use]
pub fn script(config: &TestConfig, observation: &Observation, judged: Option<&Judged>) -> Script {
    let explicit = derandomise_exactly(config, observation);
    let mut script = record(explicit.as_ref().unwrap_or(config), observation);
    if let Some(judged) = judged {
        let found: BTreeSet<_> =
            judged.sightings().map(|anomaly| (anomaly.kind().name(), anomaly.rule.name())).collect();
        let some = found
            .iter()
            .map(|(kind, rule)| Anomalies::Some { kind: (*kind).to_owned(), rule: Some((*rule).to_owned()) });
        let none = found.is_empty().then_some(Anomalies::No);
        let expected = none.into_iter().chain(some);
        let expected =
            expected.map(|expected| Expectation { at: At::default(), expected: Expected::Anomaly(expected) });
        script.expectations.splice(0..0, expected.collect::<Vec<_>>());
    }
    script
}
