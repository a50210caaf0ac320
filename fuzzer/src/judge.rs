//! One test, run and judged: the seam that the campaign, the minimiser and `replay` share.

use std::panic::{AssertUnwindSafe, catch_unwind};

use corpus::{Key, TestConfig};
use dumper::{Observation, integrity};
use executor::{Testbed, TestbedError};
use scoring::score::{self, Assessment, Baseline, References};
use scoring::{Analysis, Anomaly, Options};

use crate::analyze::Report;

/// Verdict on a test.
#[derive(Debug)]
pub enum Verdict {
    /// It ran, and its trace is complete.
    Judged(Box<Judged>),
    /// It did not run to its end, or its trace has holes.
    Invalid {
        /// Why, in a sentence.
        reason: String,
    },
}

impl Verdict {
    /// Returns true if the test shows a signature.
    #[must_use]
    pub fn shows(&self, signature: &str) -> bool {
        match self {
            Self::Judged(judged) => judged.signatures().iter().any(|one| one == signature),
            Self::Invalid { .. } => false,
        }
    }
}

/// A test that ran, with its analysis and assessment.
#[derive(Debug)]
pub struct Judged {
    /// Observation of the test; empty for a test that was stopped because it repeats itself without end.
    pub observation: Observation,
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
    catch_unwind(AssertUnwindSafe(|| run_and_judge(testbed, config, baselines))).unwrap_or_else(|panic| {
        Ok(Verdict::Invalid { reason: format!("a fault of this program: {}", words_of(&*panic)) })
    })
}

/// Message of a panic.
fn words_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words")
}

fn run_and_judge(
    testbed: &mut dyn Testbed,
    config: &TestConfig,
    baselines: &dyn Baselines,
) -> Result<Verdict, JudgeError> {
    let (observation, analysis) = match run(testbed, config)? {
        Run::Complete(complete) => *complete,
        Run::Invalid { reason } => return Ok(Verdict::Invalid { reason }),
        Run::Endless { packets } => {
            return Ok(Verdict::Judged(Box::new(Judged {
                observation: Observation::default(),
                analysis: scoring::analyze(&Observation::default(), Options::default()),
                references: References::default(),
                reference_keys: Vec::new(),
                assessment: Assessment::of_endless_test(packets),
            })));
        }
    };
    let mut references = References::default();
    let mut reference_keys = Vec::new();
    for reference in score::references_needed(config, &observation, &analysis) {
        let test = reference.of(config);
        let key = Key::of(&test);
        let mut summary = || {
            Ok(match run(testbed, &test)? {
                Run::Complete(complete) => Some(Baseline::of(&complete.0, &complete.1)),
                // A reference that cannot be judged says nothing of the test.
                Run::Invalid { .. } | Run::Endless { .. } => None,
            })
        };
        let baseline = baselines.get_or_run(key, &mut summary)?;
        reference_keys.push(key);
        references.set(reference, baseline);
    }
    let assessment = score::score(config, &observation, &analysis, &references);
    Ok(Verdict::Judged(Box::new(Judged { observation, analysis, references, reference_keys, assessment })))
}

/// Result of a run.
enum Run {
    Complete(Box<(Observation, Analysis)>),
    Invalid { reason: String },
    Endless { packets: usize },
}

/// Further runs of a test whose testbed broke or whose trace has holes: a testbed repairs itself between two
/// runs, and one that fails in all of them stays broken.
const RERUNS: u32 = 2;

fn run(testbed: &mut dyn Testbed, config: &TestConfig) -> Result<Run, JudgeError> {
    let capabilities = testbed.capabilities();
    if let Err(TestbedError::Config(reason)) = TestbedError::unless_capable(&capabilities, config) {
        return Ok(Run::Invalid { reason });
    }
    let mut last = run_once(testbed, config);
    for _ in 0..RERUNS {
        last = match last {
            Err(JudgeError::Testbed(TestbedError::Broken(_))) => run_once(testbed, config),
            // Of a test that always does the same one run is enough.
            Ok(Run::Invalid { .. }) if !capabilities.deterministic => run_once(testbed, config),
            said => return said,
        };
    }
    last
}

fn run_once(testbed: &mut dyn Testbed, config: &TestConfig) -> Result<Run, JudgeError> {
    let observation = match testbed.run(config) {
        Ok(observation) => observation,
        Err(TestbedError::Config(reason)) => return Ok(Run::Invalid { reason }),
        Err(TestbedError::TooManyPackets { packets }) => return Ok(Run::Endless { packets }),
        Err(error @ (TestbedError::Target(_) | TestbedError::TimedOut { .. })) => {
            return Ok(Run::Invalid { reason: error.to_string() });
        }
        Err(error @ (TestbedError::Profile(_) | TestbedError::Broken(_))) => return Err(error.into()),
    };
    let options = Options { config: Some(config) };
    let Report { integrity, analysis } = Report::of(&observation, options, false);
    Ok(match analysis {
        Some(analysis) => Run::Complete(Box::new((observation, analysis))),
        None => {
            let failed: Vec<String> = integrity
                .conditions
                .iter()
                .filter(|condition| condition.verdict == integrity::Verdict::Fail)
                .map(|condition| format!("{}: {}", condition.name, condition.detail))
                .collect();
            Run::Invalid { reason: format!("the trace is not complete: {}", failed.join("; ")) }
        }
    })
}
