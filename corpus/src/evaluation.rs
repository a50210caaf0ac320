//! The search's record of an executed test: the test, its origin and its outcome.

use std::collections::BTreeMap;

use dumper::observation::Coverage;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::TestConfig;

/// One execution of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Number of the execution, from 1, in the order of the search.
    pub number: u64,
    /// The test that was run.
    pub config: TestConfig,
    /// Origin of the test.
    pub lineage: Lineage,
    /// Outcome of the test.
    pub outcome: Outcome,
}

/// Origin of a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// The execution that it was mutated from; none of a test that was drawn afresh or given by the user.
    pub parent: Option<u64>,
    /// The operators that made it, in order; `random` or `initial` where there is no parent.
    pub operators: Vec<String>,
    /// Seed of the random stream that made it.
    pub seed: u64,
}

/// Outcome of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// It ran, and its trace is complete.
    Scored(Scores),
    /// It did not run to its end, or its trace has holes: never scored.
    Invalid {
        /// Reason, in a sentence.
        reason: String,
    },
}

/// Scores of a test: higher is odder.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Scores {
    /// The objectives, by name, each in [0, 1].
    pub objectives: BTreeMap<String, f64>,
    /// Anomalies of the test.
    pub sightings: Vec<Sighting>,
    /// Keys of the reference runs that it was compared with.
    pub references: Vec<Key>,
    /// Code that it ran in the kernels of the requester's and the responder's host, where they count it.
    pub coverage: [Coverage; 2],
    /// Situations that it went through, by numbers that only `scoring` reads, in order.
    pub situations: Vec<u16>,
    /// What came of its losses, in a form that only the campaign reads; empty where nothing was lost.
    pub losses: Vec<u8>,
}

/// A situation that tests of the campaign have gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SituationSeen {
    /// Its number, which only `scoring` reads.
    pub situation: u16,
    /// The first execution that went through it.
    pub first: u64,
    /// True if another one has as well.
    pub again: bool,
}

/// A signature in a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// Kind, role, rule and state, as `scoring` writes them.
    pub signature: String,
    /// The objectives that it raises, by name: its own, and those of the symptoms that it explains.
    pub objectives: Vec<String>,
}

/// Digest of a test's canonical text: equal for equal tests, on every machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key(pub [u8; 16]);

impl Key {
    /// The key of a test: the first half of the SHA-256 of [`TestConfig::to_toml`].
    #[must_use]
    pub fn of(config: &TestConfig) -> Self {
        let digest: [u8; 32] = Sha256::digest(config.to_toml()).into();
        let mut half = [0; 16];
        half.copy_from_slice(&digest[..16]);
        Self(half)
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// An anomaly that the search found, with the test that shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FindingRecord {
    /// Short name: the first twelve digits of the SHA-256 of the signature.
    pub id: String,
    /// Kind of anomaly, as reports name it.
    pub kind: String,
    /// Signature that distinguishes findings.
    pub signature: String,
    /// One line for people.
    pub title: String,
    /// The execution that showed it first.
    pub first_seen_execution: u64,
    /// Executions that showed it.
    pub sightings: u64,
    /// The test of the first sighting.
    pub config: TestConfig,
    /// The smallest test so far that shows it; the first one's until it is minimised.
    pub reproducer: TestConfig,
    /// Degree to which the reproducer has been minimised.
    pub minimized: Minimized,
    /// Executions that minimising took.
    pub minimizer_executions: u64,
    /// Verdict of `scoring` on the reproducer, as a JSON document that only `scoring` reads.
    pub evidence: String,
}

impl FindingRecord {
    /// The test that shows the finding over several paths, if one does: a reproducer may have delays of single packets in place of
    /// them, and then it is the test of the first sighting.
    #[must_use]
    pub fn over_paths(&self) -> Option<&TestConfig> {
        [&self.reproducer, &self.config].into_iter().find(|config| config.network.paths.len() > 1)
    }
}

/// An answer that a minimiser has: whether a test shows a finding, and the cost of knowing it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The test.
    pub test: Key,
    /// True if it shows the finding.
    pub shows: bool,
    /// Runs of the test.
    pub runs: u64,
    /// Packets of these runs.
    pub packets: u64,
    /// References that were run for it.
    pub references: Vec<Key>,
}

/// A minimiser that has not ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Minimising {
    /// The test that it began with.
    pub start: TestConfig,
    /// Executions that earlier minimisers of the finding took.
    pub spent: u64,
}

/// Degree to which a finding's test has been minimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Minimized {
    /// Not yet.
    Pending,
    /// The budget ran out: a smaller test may show it too.
    Partial,
    /// Nothing can be taken away.
    Full,
    /// Not: the test does not show it often enough to tell which smaller one does.
    Flaky,
}
