//! One test, run and judged: the seam that every command shares. `campaign`, `minimize`, `replay` and `run` call [`judge`],
//! `analyze` calls [`judge_observed`], on which that stands: the same packets come to the same verdict.

mod in_memory;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use corpus::{Key, TestConfig};
use dumper::Observation;
use dumper::integrity::{self, Integrity};
use executor::{History, Testbed, TestbedError};
use scoring::score::{self, Assessment, Baseline, References, Unjudged, signature_of};
use scoring::{Analysis, Anomaly, Options, Rule};

use crate::policy::Policy;

pub use in_memory::InMemory;
#[cfg(test)]
pub(crate) use in_memory::tests as in_memory_tests;

/// Verdict on a test.
#[derive(Debug)]
pub enum Verdict {
    /// It ran, and its trace is complete.
    Judged(Box<Judged>),
    /// It did not run to its end, or its trace has holes.
    Invalid(Invalid),
}

/// Reason why a test cannot be judged. `Display` is a sentence.
#[derive(Debug)]
pub enum Invalid {
    /// Its trace has holes, or is not in order.
    Incomplete(Box<(Observation, Integrity)>),
    /// The testbed could not run it to its end.
    NotRun(TestbedError),
    /// A fault of this program.
    Fault(String),
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete(seen) => {
                let conditions = &seen.1.conditions;
                let failed =
                    conditions.iter().filter(|condition| condition.verdict == integrity::Verdict::Fail);
                let failed: Vec<String> =
                    failed.map(|condition| format!("{}: {}", condition.name, condition.detail)).collect();
                write!(f, "the trace is not complete: {}", failed.join("; "))
            }
            Self::NotRun(TestbedError::Config(reason)) => f.write_str(reason),
            Self::NotRun(error) => error.fmt(f),
            Self::Fault(panic) => write!(f, "a fault of this program: {panic}"),
        }
    }
}

impl Verdict {
    /// Observation of the test, where there is any.
    #[must_use]
    pub fn observation(&self) -> Option<&Observation> {
        match self {
            Self::Judged(judged) => Some(&judged.observation),
            Self::Invalid(Invalid::Incomplete(seen)) => Some(&seen.0),
            Self::Invalid(Invalid::NotRun(_) | Invalid::Fault(_)) => None,
        }
    }

    /// Packets of the test, as far as they are known.
    #[must_use]
    pub fn packets(&self) -> usize {
        match self {
            Self::Judged(judged) => judged.packets,
            Self::Invalid(Invalid::NotRun(
                TestbedError::TooManyPackets { packets } | TestbedError::Stopped { packets },
            )) => *packets,
            Self::Invalid(_) => self.observation().map_or(0, |observation| observation.trace.records().len()),
        }
    }

    /// Returns true if the test shows a signature.
    #[must_use]
    pub fn shows(&self, signature: &str) -> bool {
        match self {
            Self::Judged(judged) => judged.shows(signature),
            Self::Invalid(_) => false,
        }
    }
}

/// A test that ran, with its analysis and assessment.
#[derive(Debug)]
pub struct Judged {
    /// Observation of the test; empty for a test that was stopped because it repeats itself without end.
    pub observation: Observation,
    /// Packets of the test, also of one that was stopped.
    pub packets: usize,
    /// Integrity check of its trace, which may fail where the user asked for a verdict all the same.
    pub integrity: Integrity,
    /// Analysis of the observation.
    pub analysis: Analysis,
    /// References that it was compared with.
    pub references: References,
    /// Keys of these runs.
    pub reference_keys: Vec<Key>,
    /// Objectives and anomalies.
    pub assessment: Assessment,
}

impl Judged {
    /// Signatures of the anomalies that nothing else in the test explains, in the order of their evidence.
    pub fn signatures(&self) -> Vec<String> {
        self.assessment.findings().map(Anomaly::signature).collect()
    }

    /// Returns true if the test shows a signature.
    #[must_use]
    pub fn shows(&self, signature: &str) -> bool {
        self.assessment.findings().any(|anomaly| anomaly.signature() == signature)
    }

    /// Of a test that had to be stopped after so many packets.
    fn of_endless_test(packets: usize) -> Self {
        let observation = Observation::default();
        Self {
            integrity: integrity_of(&observation),
            analysis: scoring::analyze(&observation, Options::default()),
            observation,
            packets,
            references: References::default(),
            reference_keys: Vec::new(),
            assessment: Assessment::of_endless_test(packets),
        }
    }

    /// Every sighting that was kept whole: those of the analyzers, and those of the oracles.
    pub fn sightings(&self) -> impl Iterator<Item = &Anomaly> {
        let analyzers = self.analysis.anomalies.kept();
        let known: BTreeSet<String> = analyzers.iter().map(signature_of).collect();
        let oracles = self.assessment.anomalies.iter();
        analyzers.iter().chain(oracles.filter(move |anomaly| !known.contains(&anomaly.signature())))
    }

    /// Number of sightings of each signature, kept whole or not.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        let seen = self.analysis.anomalies.sightings();
        let mut counted = BTreeSet::new();
        let mut counts = BTreeMap::new();
        for anomaly in self.sightings() {
            let signature = anomaly.signature();
            let count = seen.get(&signature).copied().unwrap_or(1);
            if counted.insert(signature) {
                *counts.entry(signature_of(anomaly)).or_default() += count;
            }
        }
        counts
    }

    /// Kinds and connections that were not judged, each with the reason; `config` is the test, where it is known.
    pub fn unjudged(&self, config: Option<&TestConfig>) -> Vec<Unjudged> {
        if self.assessment.anomalies.iter().any(|anomaly| anomaly.rule == Rule::NeverEnds) {
            let reason = "the test was stopped, and its trace was not kept".to_owned();
            return vec![Unjudged { what: "everything else".to_owned(), reason }];
        }
        score::unjudged(config, &self.observation, &self.analysis, &self.references)
    }

    /// The anomaly with a signature, if the test shows it.
    pub fn anomaly(&self, signature: &str) -> Option<&Anomaly> {
        self.assessment.anomalies.iter().find(|anomaly| anomaly.signature() == signature)
    }
}

/// Keeps the summaries of reference runs, so that each is run once.
pub trait Baselines: Sync {
    /// The summary with a key: the kept one, or the one that `run` makes, which is kept from then on. None of
    /// a run that cannot be judged.
    ///
    /// # Errors
    /// Those of `run`, and of the store.
    fn get_or_run(
        &self,
        key: Key,
        run: &mut dyn FnMut() -> Result<Option<Baseline>, JudgeError>,
    ) -> Result<Option<Baseline>, JudgeError>;
}

/// Errors that keep a test from being judged, for reasons outside of the test.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The testbed.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
    /// The place where the summaries of reference runs are kept.
    #[error(transparent)]
    Store(#[from] corpus::store::StoreError),
}

/// Source of the runs that an observation is compared with.
pub enum ReferenceRuns<'a> {
    /// A testbed.
    On {
        /// The testbed.
        testbed: &'a mut dyn Testbed,
        /// Keeps them.
        baselines: &'a dyn Baselines,
        /// True if a testbed that fails is a reason to go without them, and no error.
        may_fail: bool,
    },
    /// None are made.
    None {
        /// Reason, in a phrase.
        reason: String,
    },
}

impl ReferenceRuns<'_> {
    /// The runs that a test needs, and their keys.
    fn of(
        &mut self,
        config: &TestConfig,
        observation: &Observation,
        analysis: &Analysis,
    ) -> Result<(References, Vec<Key>), JudgeError> {
        let mut references = References::default();
        let mut keys = Vec::new();
        for reference in score::references_needed(config, observation, analysis) {
            let (testbed, baselines, may_fail) = match self {
                Self::On { testbed, baselines, may_fail } => (&mut **testbed, *baselines, *may_fail),
                Self::None { reason } => {
                    references.not_made.insert(reference, reason.clone());
                    continue;
                }
            };
            let test = reference.of(config);
            let key = Key::of(&test);
            let mut summary = || {
                Ok(match run(testbed, &test)? {
                    Run::Complete(complete) => Some(Baseline::of(&complete.0, &complete.2)),
                    // A reference that cannot be judged says nothing of the test.
                    Run::Invalid(_) | Run::Endless { .. } => None,
                })
            };
            match baselines.get_or_run(key, &mut summary) {
                Ok(baseline) => {
                    keys.push(key);
                    references.set(reference, baseline);
                }
                Err(error) if may_fail => {
                    references.not_made.insert(reference, error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        Ok((references, keys))
    }
}

/// Runs a test and judges it, with the reference runs that it needs. A test that our own code cannot take must not end a
/// night's hunt: it is invalid, and says why.
///
/// # Errors
/// The testbed or the store of the references fails. An error of the test itself is an invalid test, and
/// faults of the NICs are judged.
pub fn judge(
    testbed: &mut dyn Testbed,
    config: &TestConfig,
    baselines: &dyn Baselines,
) -> Result<Verdict, JudgeError> {
    judge_by(testbed, &|testbed| testbed.run(config), config, baselines)
}

/// The same for a test of a campaign, which may run on hosts that have run others before it. Its reference runs do not.
///
/// # Errors
/// See [`judge`].
pub fn judge_after(
    testbed: &mut dyn Testbed,
    history: &History<'_>,
    config: &TestConfig,
    baselines: &dyn Baselines,
) -> Result<Verdict, JudgeError> {
    judge_by(testbed, &|testbed| testbed.run_after(history, config), config, baselines)
}

/// The same for a test that says nothing if its trace has more than so many packets: it is stopped there if the testbed can, and invalid.
/// Its reference runs have no such limit.
///
/// # Errors
/// See [`judge`].
pub fn judge_within(
    testbed: &mut dyn Testbed,
    packets: usize,
    config: &TestConfig,
    baselines: &dyn Baselines,
) -> Result<Verdict, JudgeError> {
    judge_by(testbed, &|testbed| testbed.run_within(packets, config), config, baselines)
}

/// Runs a test in a way and judges it, with reference runs on its testbed.
fn judge_by(
    testbed: &mut dyn Testbed,
    way: Way<'_>,
    config: &TestConfig,
    baselines: &dyn Baselines,
) -> Result<Verdict, JudgeError> {
    guarded(|| {
        let seen = run_by(testbed, way, config)?;
        let mut references = ReferenceRuns::On { testbed, baselines, may_fail: false };
        judge_run(config, seen, &mut references)
    })
}

/// The same without reference runs: what takes one is not judged, for this reason.
///
/// # Errors
/// The testbed fails.
pub fn judge_alone(
    testbed: &mut dyn Testbed,
    config: &TestConfig,
    reason: &str,
) -> Result<Verdict, JudgeError> {
    guarded(|| {
        let seen = run(testbed, config)?;
        judge_run(config, seen, &mut ReferenceRuns::None { reason: reason.to_owned() })
    })
}

/// Judges what was observed of a test that has been run. Packets whose test is not known are judged by the rules that need
/// none.
///
/// # Errors
/// The testbed of the references fails, where that is an error.
pub fn judge_observed(
    config: Option<&TestConfig>,
    observation: Observation,
    integrity: Integrity,
    references: &mut ReferenceRuns<'_>,
) -> Result<Judged, JudgeError> {
    let analysis = scoring::analyze(&observation, Options { config });
    conclude(config, observation, integrity, analysis, references)
}

/// Judges by what the analyzers say, and by what the test is compared with.
fn conclude(
    config: Option<&TestConfig>,
    observation: Observation,
    integrity: Integrity,
    analysis: Analysis,
    references: &mut ReferenceRuns<'_>,
) -> Result<Judged, JudgeError> {
    let (references, reference_keys) = match config {
        Some(config) => references.of(config, &observation, &analysis)?,
        None => Default::default(),
    };
    let assessment = match config {
        Some(config) => score::score(config, &observation, &analysis, &references),
        None => Assessment::without_test(&analysis),
    };
    let packets = observation.trace.records().len();
    Ok(Judged { observation, packets, integrity, analysis, references, reference_keys, assessment })
}

/// Turns a panic into an invalid test.
fn guarded(judge: impl FnOnce() -> Result<Verdict, JudgeError>) -> Result<Verdict, JudgeError> {
    catch_unwind(AssertUnwindSafe(judge))
        .unwrap_or_else(|panic| Ok(Verdict::Invalid(Invalid::Fault(words_of(&*panic).to_owned()))))
}

/// Message of a panic.
fn words_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words")
}

fn judge_run(
    config: &TestConfig,
    seen: Run,
    references: &mut ReferenceRuns<'_>,
) -> Result<Verdict, JudgeError> {
    let judged = match seen {
        Run::Complete(complete) => {
            let (observation, integrity, analysis) = *complete;
            conclude(Some(config), observation, integrity, analysis, references)?
        }
        Run::Invalid(invalid) => return Ok(Verdict::Invalid(invalid)),
        Run::Endless { packets } => Judged::of_endless_test(packets),
    };
    Ok(Verdict::Judged(Box::new(judged)))
}

/// Result of a run.
enum Run {
    Complete(Box<(Observation, Integrity, Analysis)>),
    Invalid(Invalid),
    Endless { packets: usize },
}

/// Further runs of a test whose testbed broke or whose trace has holes: a testbed repairs itself between two
/// runs, and one that fails in all of them stays broken.
const RERUNS: u32 = 2;

/// Packets of a trace for each data packet of the test and each copy of one, beyond which the QPs repeat themselves: the packet, an answer
/// to it, and a retransmission.
const PACKETS_FOR_ONE: u64 = 3;

fn run(testbed: &mut dyn Testbed, config: &TestConfig) -> Result<Run, JudgeError> {
    run_by(testbed, &|testbed| testbed.run(config), config)
}

/// A way to run a test on a testbed.
type Way<'a> = &'a dyn Fn(&mut dyn Testbed) -> Result<Observation, TestbedError>;

fn run_by(testbed: &mut dyn Testbed, way: Way<'_>, config: &TestConfig) -> Result<Run, JudgeError> {
    let capabilities = testbed.capabilities();
    if let Err(error) = TestbedError::unless_capable(&capabilities, config) {
        return Ok(Run::Invalid(Invalid::NotRun(error)));
    }
    let mut last = run_once(testbed, way, config);
    for _ in 0..RERUNS {
        last = match last {
            Err(JudgeError::Testbed(TestbedError::Broken(_))) => run_once(testbed, way, config),
            // Of a test that always does the same one run is enough.
            Ok(Run::Invalid(_)) if Policy::of(&capabilities).retries_unjudged() => {
                run_once(testbed, way, config)
            }
            said => return said,
        };
    }
    last
}

fn run_once(testbed: &mut dyn Testbed, way: Way<'_>, config: &TestConfig) -> Result<Run, JudgeError> {
    let observation = match way(testbed) {
        Ok(observation) => observation,
        // Go-back-N comes through a network that sprays packets, at a rate that says nothing of the NIC.
        Err(error @ TestbedError::TooManyPackets { .. }) if config.network.paths.len() > 1 => {
            return Ok(Run::Invalid(Invalid::NotRun(error)));
        }
        // Most of them may be the test's own, with copies of them and answers to these: it is too long, and says nothing.
        Err(error @ TestbedError::TooManyPackets { packets })
            if config.packets_with_copies().saturating_mul(PACKETS_FOR_ONE) > packets as u64 =>
        {
            return Ok(Run::Invalid(Invalid::NotRun(error)));
        }
        Err(TestbedError::TooManyPackets { packets }) => return Ok(Run::Endless { packets }),
        Err(
            error @ (TestbedError::Config(_)
            | TestbedError::Target(_)
            | TestbedError::TimedOut { .. }
            | TestbedError::Stopped { .. }),
        ) => {
            return Ok(Run::Invalid(Invalid::NotRun(error)));
        }
        Err(error @ (TestbedError::Profile(_) | TestbedError::Broken(_))) => return Err(error.into()),
    };
    let integrity = integrity_of(&observation);
    Ok(if integrity.is_invalid() {
        Run::Invalid(Invalid::Incomplete(Box::new((observation, integrity))))
    } else {
        let analysis = scoring::analyze(&observation, Options { config: Some(config) });
        Run::Complete(Box::new((observation, integrity, analysis)))
    })
}

/// Integrity check of an observation.
pub fn integrity_of(observation: &Observation) -> Integrity {
    integrity::check(&observation.trace, observation.switch.as_ref())
}
