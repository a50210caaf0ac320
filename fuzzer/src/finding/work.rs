//! What is done with a finding: minimise its test, and say what that shows.

use std::collections::HashMap;

use corpus::{FindingRecord, Key, Minimized, TestConfig};
use executor::Testbed;
use mutators::swap_nics;
use scoring::Kind;
use scoring::score::Reference;

use crate::campaign::InMemory;
use crate::judge::{JudgeError, Judged, Verdict, judge};
use crate::measure::{Measurements, measure};
use crate::minimize::minimize;
use crate::repeat::{self, Frequency};
use crate::report;

/// Why work on a finding ended early.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The testbed, or what keeps reference runs.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// It is to end before it is done.
    #[error("interrupted")]
    Interrupted,
}

/// What a minimiser has learnt, so that one that is interrupted can go on: with the same answers it asks the same questions,
/// up to the first new one.
#[derive(Debug, Default)]
pub struct Answers {
    /// The test that it began with.
    start: Option<TestConfig>,
    /// Whether a test shows the finding.
    known: HashMap<Key, bool>,
}

/// Makes the reproducer of a finding smaller, by at most `budget` runs, references included. Without a budget it goes on
/// to the end, unless it `is_over` before. NICs that have changed places come back to those that the campaign gave them, if it
/// shows there too.
///
/// # Errors
/// See [`WorkError`]. The reproducer is then the smallest test so far, and with the same answers another call goes on.
pub fn minimise(
    finding: &mut FindingRecord,
    has_swapped_nics: bool,
    testbed: &mut dyn Testbed,
    budget: Option<u64>,
    is_over: &dyn Fn() -> bool,
    answers: &mut Answers,
) -> Result<(), WorkError> {
    let baselines = InMemory::default();
    let spent = finding.minimizer_executions;
    let mut runs = 0;
    let mut is_cut = false;
    let mut smallest = None;
    let Answers { start, known } = answers;
    let start = &*start.get_or_insert_with(|| finding.reproducer.clone());
    let mut shows = |config: &TestConfig| {
        let key = Key::of(config);
        let shows = match known.get(&key) {
            Some(shows) => *shows,
            None if is_over() => return Err(WorkError::Interrupted),
            // A test and its reference.
            None if budget.is_some_and(|budget| spent + runs + baselines.runs() + 2 > budget) => {
                is_cut = true;
                return Ok(false);
            }
            None => {
                let (shows, tried) = repeat::shows(testbed, config, &finding.signature, &baselines)?;
                runs += tried;
                known.insert(key, shows);
                shows
            }
        };
        if shows {
            smallest = Some(config.clone());
        }
        Ok(shows)
    };
    let minimised = if has_swapped_nics {
        let mut as_given = start.clone();
        swap_nics(&mut as_given);
        shows(&as_given).map(|shows| if shows { as_given } else { start.clone() })
    } else {
        Ok(start.clone())
    }
    .and_then(|start| minimize(&start, budget, &mut shows));
    finding.minimizer_executions = spent.saturating_add(runs + baselines.runs());
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
    /// How often it shows.
    pub frequency: Frequency,
    /// The numbers behind it, once the reproducer is minimised: before that there may be more than one thing in it.
    pub measurements: Measurements,
    /// How often it shows, where that is not always, and how sure it is that something is slow.
    pub notes: Vec<String>,
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
    let baselines = InMemory::default();
    let (said, frequency) = repeat::frequency(testbed, &finding.reproducer, &finding.signature, &baselines)?;
    let Verdict::Judged(judged) = said else { return Ok(None) };
    if frequency.seen == 0 {
        return Ok(None);
    }
    let mut notes = Vec::new();
    if !frequency.is_confirmed() {
        notes.push(frequency.to_string());
    }
    if judged.anomaly(&finding.signature).is_some_and(|anomaly| anomaly.kind() == Kind::NoisyNeighbor) {
        notes.extend(slower_than_without_events(&finding.reproducer, testbed)?);
    }
    let measurements = match finding.minimized {
        Minimized::Pending | Minimized::Flaky => Measurements::default(),
        Minimized::Partial | Minimized::Full => measure(finding, &judged, testbed)?,
    };
    Ok(Some(Reproduced { judged, frequency, measurements, notes }))
}

/// How sure it is that connections without events are slower than without anybody's, on a testbed whose times vary: their
/// slowest messages in some runs of each, compared. None where one run says all.
fn slower_than_without_events(
    config: &TestConfig,
    testbed: &mut dyn Testbed,
) -> Result<Option<String>, JudgeError> {
    if testbed.capabilities().deterministic {
        return Ok(None);
    }
    let without = Reference::WithoutEvents.of(config);
    let (mut with_events, mut usual) = (Vec::new(), Vec::new());
    for _ in 0..repeat::RUNS {
        // By turns, so that what slows the whole testbed down slows both.
        for (test, times) in [(config, &mut with_events), (&without, &mut usual)] {
            if let Verdict::Judged(judged) = judge(testbed, test, &InMemory::default())? {
                let innocent = judged.analysis.message_times.iter();
                let innocent = innocent.filter(|message| !config.has_events_on(message.connection));
                times.extend(innocent.map(|message| message.completion_time_ns.0).max());
            }
        }
    }
    let chance = repeat::chance(&with_events, &usual);
    let runs = repeat::RUNS;
    Ok(Some(format!("slower in {runs} runs than in {runs} without events with p = {chance:.3}")))
}

/// Puts into a finding what its reproducer shows.
pub fn describe(finding: &mut FindingRecord, Reproduced { judged, notes, .. }: &Reproduced) {
    if let Some(anomaly) = judged.anomaly(&finding.signature) {
        finding.title = report::title(anomaly, &finding.reproducer);
        for note in notes {
            finding.title.push_str(&format!("; {note}"));
        }
        finding.evidence = crate::analyze::json::anomaly(anomaly);
    }
}
