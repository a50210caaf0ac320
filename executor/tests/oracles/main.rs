//! Oracles and inferences on simulated NICs: models with one published behaviour are found, with the right
//! numbers; NICs that conform are not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic where they fail")]

mod clock;
mod malformed;
mod mitigation;
mod pairs;
#[path = "../random/profiles.rs"]
mod profiles;
mod sharing;
mod slow_reads;
#[path = "../support/mod.rs"]
mod support;
mod symptoms;
mod timers;

use corpus::TestConfig;
use executor::NicProfile;
use scoring::score::Assessment;
use scoring::{Analysis, Options};

fn test(text: &str) -> TestConfig {
    corpus::from_toml("test.toml", text).unwrap_or_else(|errors| panic!("{text}\n{errors}"))
}

fn nic(fields: &str) -> NicProfile {
    fields.parse().unwrap_or_else(|error| panic!("{fields}: {error}"))
}

/// Verdict on a test on two NICs.
fn judged(config: &TestConfig, nics: &[NicProfile; 2]) -> (Analysis, Assessment) {
    let observation = executor::sim::run(config, nics.clone()).unwrap();
    let analysis = scoring::analyze(&observation, Options { config: Some(config) });
    (analysis, support::assess(config, nics, &observation))
}

/// Signatures of the findings.
fn signatures(assessment: &Assessment) -> Vec<String> {
    assessment.findings().map(scoring::Anomaly::signature).collect()
}
