//! What is done with a finding: minimise its test, and say what that shows.

use corpus::{FindingRecord, Minimized, TestConfig};
use executor::Testbed;

use crate::campaign::{InMemory, Stop};
use crate::judge::{JudgeError, Judged, Verdict, judge};
use crate::minimize::minimize;
use crate::report;

/// Why work on a finding ended early.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The testbed, or what keeps reference runs.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// Somebody asked to stop; the finding is as it was.
    #[error("interrupted")]
    Interrupted,
}

/// Makes the reproducer of a finding smaller, by at most `budget` runs, references included. Without a budget it goes on
/// to the end.
///
/// # Errors
/// See [`WorkError`]; the finding is then as it was.
pub fn minimise(
    finding: &mut FindingRecord,
    testbed: &mut dyn Testbed,
    budget: Option<u64>,
    stop: &Stop,
) -> Result<(), WorkError> {
    let baselines = InMemory::default();
    let mut runs = 0;
    let mut is_cut = false;
    let mut shows = |config: &TestConfig| {
        if stop.is_asked() {
            return Err(WorkError::Interrupted);
        }
        // A test and its reference.
        if budget.is_some_and(|budget| runs + baselines.runs() + 2 > budget) {
            is_cut = true;
            return Ok(false);
        }
        runs += 1;
        Ok(match judge(testbed, config, &baselines)? {
            Verdict::Judged(judged) => judged.signatures().contains(&finding.signature),
            Verdict::Invalid { .. } => false,
        })
    };
    let minimised = minimize(&finding.reproducer, budget, &mut shows)?;
    finding.reproducer = minimised.config;
    finding.minimized =
        if minimised.complete && !is_cut { Minimized::Full } else { Minimized::Partial };
    finding.minimizer_executions += runs + baselines.runs();
    Ok(())
}

/// Runs a finding's reproducer again; none if it does not show the signature.
///
/// # Errors
/// The testbed fails.
pub fn reproduce(
    finding: &FindingRecord,
    testbed: &mut dyn Testbed,
) -> Result<Option<Box<Judged>>, JudgeError> {
    Ok(match judge(testbed, &finding.reproducer, &InMemory::default())? {
        Verdict::Judged(judged) if judged.signatures().contains(&finding.signature) => Some(judged),
        Verdict::Judged(_) | Verdict::Invalid { .. } => None,
    })
}

/// Puts into a finding what its reproducer shows.
pub fn describe(finding: &mut FindingRecord, judged: &Judged) {
    if let Some(anomaly) = judged.anomaly(&finding.signature) {
        finding.title = report::title(anomaly, &finding.reproducer);
        finding.evidence = crate::analyze::json::anomaly(anomaly);
    }
}
