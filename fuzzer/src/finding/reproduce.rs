//! The reproducer of a finding, run again: how often it shows the finding, and the anomaly that it shows.

use std::fmt;
use std::sync::Arc;

use corpus::{FindingRecord, Minimized, TestConfig};
use dumper::observation::CompletionStatus;
use executor::Testbed;
use scoring::Kind;
use scoring::score::Reference;

use crate::judge::{InMemory, JudgeError, Judged, Verdict, judge};
use crate::measure::{Measurements, measure};
use crate::policy::Policy;
use crate::repeat::{self, Frequency, Runs};
use crate::report;

/// Result of a finding's reproducer.
#[derive(Debug)]
pub struct Reproduced {
    /// Its run.
    pub judged: Arc<Judged>,
    /// Frequency of the finding.
    pub frequency: Frequency,
    /// The numbers behind it, once the reproducer is minimised: before that there may be more than one thing in it.
    pub measurements: Measurements,
    /// Frequency of the finding, where not every run shows it, and the certainty that a test is slow.
    pub notes: Vec<String>,
    /// Test of slowness against chance; `None` for findings that are not about time.
    slowness: Option<Slowness>,
}

impl Reproduced {
    /// Returns true if every run or nearly every run shows the finding, and chance is ruled out.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        self.frequency.is_confirmed() && self.slowness.is_none_or(Slowness::is_sure)
    }

    /// Returns true if its test may be kept: it confirms the finding and, where it replaces a `larger` test,
    /// shows it as often as that one did. A reliable reproducer is worth more than a small one.
    #[must_use]
    pub fn may_be_kept(&self, larger: Option<Frequency>) -> bool {
        self.is_confirmed() && larger.is_none_or(|larger| self.frequency.is_no_rarer_than(larger))
    }

    /// Frequency of the finding, where one run is not enough.
    pub(super) fn told_frequency(&self) -> Option<Frequency> {
        Some(self.frequency).filter(|frequency| frequency.runs > 1)
    }
}

/// Runs a finding's reproducer again, and measures the numbers behind it; `None` if it does not show the
/// signature. These runs are not counted among the minimiser's executions.
///
/// # Errors
/// The testbed fails.
pub fn reproduce(
    finding: &FindingRecord,
    testbed: &mut dyn Testbed,
) -> Result<Option<Reproduced>, JudgeError> {
    let baselines = InMemory::on(testbed);
    let runs = Runs::of(testbed, &finding.reproducer, &baselines)?;
    reproduced(finding, testbed, &runs)
}

/// The same from runs that were made before.
///
/// # Errors
/// The testbed fails.
pub fn reproduced(
    finding: &FindingRecord,
    testbed: &mut dyn Testbed,
    runs: &Runs,
) -> Result<Option<Reproduced>, JudgeError> {
    let Some((judged, frequency)) = runs.first_of(&finding.signature) else { return Ok(None) };
    let is_neighbour =
        judged.anomaly(&finding.signature).is_some_and(|anomaly| anomaly.kind() == Kind::NoisyNeighbor);
    // Where one run is enough, it is enough for that too; and a rare finding is not confirmed anyway.
    let is_compared = is_neighbour && frequency.is_confirmed() && Policy::on(testbed).compares_times();
    let slowness =
        is_compared.then(|| slower_than_without_events(&finding.reproducer, testbed)).transpose()?;
    let measurements = match finding.minimized {
        Minimized::Pending | Minimized::Flaky => Measurements::default(),
        Minimized::Partial | Minimized::Full => measure(finding, &judged, testbed)?,
    };
    let mut reproduced = Reproduced { judged, frequency, measurements, notes: Vec::new(), slowness };
    if !reproduced.is_confirmed() || frequency.seen < frequency.runs {
        reproduced.notes.push(frequency.to_string());
    }
    reproduced.notes.extend(slowness.map(|slowness| slowness.to_string()));
    Ok(Some(reproduced))
}

/// Largest probability that a slow test is slow by chance. Five runs of each come down to 1 in 252, and four
/// to 1 in 70; three to 1 in 20, which is not enough.
const SURE: f64 = 0.05;

/// Certainty that a test is slow.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Slowness {
    /// The probability that it seems so by chance.
    chance: f64,
    /// Runs with events that could be judged.
    with_events: usize,
    /// Runs without any.
    without: usize,
}

impl Slowness {
    fn is_sure(self) -> bool {
        self.chance < SURE
    }
}

impl fmt::Display for Slowness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { chance, with_events, without } = self;
        write!(f, "slower in {with_events} runs than in {without} without events with p = {chance:.3}")
    }
}

/// Certainty that connections without events are slower than in a test without events, on a testbed whose
/// times vary: compares their slowest messages in some runs of each.
fn slower_than_without_events(
    config: &TestConfig,
    testbed: &mut dyn Testbed,
) -> Result<Slowness, JudgeError> {
    let without = Reference::WithoutEvents.of(config);
    let (mut with_events, mut usual) = (Vec::new(), Vec::new());
    for _ in 0..Policy::on(testbed).runs() {
        // By turns, so that a slower testbed slows both.
        for (test, times) in [(config, &mut with_events), (&without, &mut usual)] {
            let baselines = InMemory::on(testbed);
            if let Verdict::Judged(judged) = judge(testbed, test, &baselines)? {
                times.push(slowest_innocent(config, &judged));
            }
        }
    }
    let chance = repeat::chance(&with_events, &usual);
    Ok(Slowness { chance, with_events: with_events.len(), without: usual.len() })
}

/// Completion time of the slowest message of connections without events. A message that fails or never
/// completes is slower than any.
fn slowest_innocent(config: &TestConfig, judged: &Judged) -> u64 {
    let traffic = &config.traffic;
    let innocent = (1..=traffic.load.connections()).filter(|qpn| !config.has_events_on(*qpn)).count() as u64;
    let times = judged.analysis.message_times.iter();
    let done = times.filter(|message| {
        message.status == CompletionStatus::Success && !config.has_events_on(message.connection)
    });
    let (count, slowest) = done.fold((0, 0), |(count, slowest): (u64, u64), message| {
        (count + 1, slowest.max(message.completion_time_ns.0))
    });
    let all = innocent.saturating_mul(traffic.num_msgs_per_qp.into());
    if count < all { u64::MAX } else { slowest }
}

/// Returns true if the test of a finding showed it when it was run again. If not, it was seen once, and it
/// has no folder.
#[must_use]
pub fn is_reproduced(finding: &FindingRecord) -> bool {
    !finding.evidence.is_empty()
}

/// Writes the reproducer's anomaly into a finding.
pub fn describe(finding: &mut FindingRecord, Reproduced { judged, notes, .. }: &Reproduced) {
    if let Some(anomaly) = judged.anomaly(&finding.signature) {
        finding.title = report::title(anomaly, &finding.reproducer);
        for note in notes {
            finding.title.push_str(&format!("; {note}"));
        }
        finding.evidence = crate::analyze::json::anomaly(anomaly);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use corpus::Capabilities;
    use dumper::Observation;
    use executor::TestbedError;

    use super::*;
    use crate::report::tests::{self, NOISY};

    /// NICs that discard packets of others while they recover, on a testbed that becomes so slow that they
    /// suffer without it too.
    struct Slower {
        noisy: TestConfig,
        /// Runs without events that are still fast.
        fast: u32,
    }

    impl Testbed for Slower {
        fn capabilities(&self) -> Capabilities {
            Capabilities { deterministic: false, ..Capabilities::all() }
        }

        fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
            let nic = executor::profile::load("cx4-lx", Path::new("."))?;
            let is_slow = config.events.is_empty() && self.fast == 0;
            self.fast = self.fast.saturating_sub(u32::from(config.events.is_empty()));
            executor::sim::run(if is_slow { &self.noisy } else { config }, [nic.clone(), nic])
        }
    }

    /// A finding of NICs that discard packets of others.
    fn noisy() -> FindingRecord {
        tests::noisy(NOISY, Minimized::Pending)
    }

    /// Result of a test whose reference is fast for so many runs.
    fn reproduced(fast: u32) -> Reproduced {
        let finding = noisy();
        let mut testbed = Slower { noisy: finding.config.clone(), fast };
        reproduce(&finding, &mut testbed).unwrap().unwrap()
    }

    #[test]
    fn neighbours_are_noisy_only_if_chance_does_not_explain_it() {
        let sure = reproduced(100);
        assert!(sure.is_confirmed());
        assert_eq!(sure.notes, ["slower in 5 runs than in 5 without events with p = 0.004"]);
        let unsure = reproduced(1);
        assert!(unsure.frequency.is_confirmed() && !unsure.is_confirmed());
        let notes = ["seen in 5 of 5 runs", "slower in 5 runs than in 5 without events with p = 1.000"];
        assert_eq!(unsure.notes, notes);
    }
}
