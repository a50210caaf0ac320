//! What is done with a finding: minimise its test, and say what that shows.

use corpus::{FindingRecord, Minimized, TestConfig};
use executor::Testbed;
use mutators::swap_nics;

use crate::campaign::{InMemory, Stop};
use crate::judge::{JudgeError, Judged, Verdict, judge};
use crate::measure::{Measurements, measure};
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
/// to the end. NICs that have changed places come back to those that the campaign gave them, if it shows there too.
///
/// # Errors
/// See [`WorkError`]. The reproducer is then the smallest test so far.
pub fn minimise(
    finding: &mut FindingRecord,
    has_swapped_nics: bool,
    testbed: &mut dyn Testbed,
    budget: Option<u64>,
    stop: &Stop,
) -> Result<(), WorkError> {
    let baselines = InMemory::default();
    let mut runs = 0;
    let mut is_cut = false;
    let mut smallest = None;
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
        let shows = match judge(testbed, config, &baselines)? {
            Verdict::Judged(judged) => judged.signatures().contains(&finding.signature),
            Verdict::Invalid { .. } => false,
        };
        if shows {
            smallest = Some(config.clone());
        }
        Ok(shows)
    };
    let minimised = if has_swapped_nics {
        let mut as_given = finding.reproducer.clone();
        swap_nics(&mut as_given);
        shows(&as_given).map(|shows| if shows { as_given } else { finding.reproducer.clone() })
    } else {
        Ok(finding.reproducer.clone())
    }
    .and_then(|start| minimize(&start, budget, &mut shows));
    finding.minimizer_executions = finding.minimizer_executions.saturating_add(runs + baselines.runs());
    match minimised {
        Ok(minimised) => {
            finding.reproducer = minimised.config;
            let is_full = minimised.complete && !is_cut;
            finding.minimized = if is_full { Minimized::Full } else { Minimized::Partial };
            Ok(())
        }
        Err(error) => {
            // Each test that shows it is smaller than the one before.
            finding.reproducer = smallest.unwrap_or_else(|| finding.reproducer.clone());
            Err(error)
        }
    }
}

/// What the reproducer of a finding shows.
#[derive(Debug)]
pub struct Reproduced {
    /// Its run.
    pub judged: Box<Judged>,
    /// The numbers behind it, once the reproducer is minimised: before that there may be more than one thing in it.
    pub measurements: Measurements,
}

/// Runs a finding's reproducer again, and measures what is behind it; none if it does not show the signature. What this
/// runs is not counted among the minimiser's executions.
///
/// # Errors
/// The testbed fails.
pub fn reproduce(
    finding: &FindingRecord,
    testbed: &mut dyn Testbed,
) -> Result<Option<Reproduced>, JudgeError> {
    let judged = match judge(testbed, &finding.reproducer, &InMemory::default())? {
        Verdict::Judged(judged) if judged.signatures().contains(&finding.signature) => judged,
        Verdict::Judged(_) | Verdict::Invalid { .. } => return Ok(None),
    };
    let measurements = match finding.minimized {
        Minimized::Pending => Measurements::default(),
        Minimized::Partial | Minimized::Full => measure(finding, &judged, testbed)?,
    };
    Ok(Some(Reproduced { judged, measurements }))
}

/// Puts into a finding what its reproducer shows.
pub fn describe(finding: &mut FindingRecord, Reproduced { judged, .. }: &Reproduced) {
    if let Some(anomaly) = judged.anomaly(&finding.signature) {
        finding.title = report::title(anomaly, &finding.reproducer);
        finding.evidence = crate::analyze::json::anomaly(anomaly);
    }
}
