//! Judging on a testbed that is not deterministic: the frequency of a signature in a test, and the confidence
//! that something is slower.

use std::sync::Arc;

use corpus::TestConfig;
use executor::Testbed;
use serde::{Deserialize, Serialize};

use crate::judge::{Baselines, JudgeError, Judged, Verdict, judge, judge_within};
use crate::policy::Policy;

/// So many of five runs confirm it: a signature in half of all runs is confirmed with a probability of a half,
/// one in twenty runs with a probability of 1 in 900.
pub const CONFIRMED_BY: u32 = 3;

/// Most runs of which two sets are compared exactly, by all ways to divide them.
const MAX_COMPARED: usize = 8;

/// Frequency of a signature in the runs of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Frequency {
    /// In so many runs.
    #[serde(rename = "seen_in")]
    pub seen: u32,
    /// Of so many.
    pub runs: u32,
}

impl Frequency {
    /// In every run, of as many as tell.
    #[must_use]
    pub const fn always(policy: Policy) -> Self {
        let runs = policy.runs();
        Self { seen: runs, runs }
    }

    /// Returns true if every run or nearly every run shows it.
    #[must_use]
    pub const fn is_confirmed(self) -> bool {
        self.seen >= CONFIRMED_BY || self.seen == self.runs
    }

    /// Returns true if this is at least as frequent as the other.
    #[must_use]
    pub fn is_no_rarer_than(self, other: Self) -> bool {
        let product = |seen: u32, runs: u32| u64::from(seen) * u64::from(runs);
        product(self.seen, other.runs) >= product(other.seen, self.runs)
    }
}

impl std::fmt::Display for Frequency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "seen in {} of {} runs", self.seen, self.runs)
    }
}

/// Runs a test as often as tells how often it shows something, and hands on the verdict of each run. All runs are made, so
/// that a signature that not every run shows is known for it. Returns their number.
///
/// # Errors
/// The testbed fails.
pub fn each_run(
    testbed: &mut dyn Testbed,
    config: &TestConfig,
    baselines: &dyn Baselines,
    mut each: impl FnMut(Verdict),
) -> Result<u32, JudgeError> {
    let runs = Policy::on(testbed).runs();
    for _ in 0..runs {
        each(judge(testbed, config, baselines)?);
    }
    Ok(runs)
}

/// Runs of a test, as many as tell how often it shows something; none of those that could not be judged.
#[derive(Debug)]
pub struct Runs {
    judged: Vec<Arc<Judged>>,
    runs: u32,
}

impl Runs {
    /// Runs a test.
    ///
    /// # Errors
    /// The testbed fails.
    pub fn of(
        testbed: &mut dyn Testbed,
        config: &TestConfig,
        baselines: &dyn Baselines,
    ) -> Result<Self, JudgeError> {
        let mut judged = Vec::new();
        let runs = each_run(testbed, config, baselines, |verdict| {
            if let Verdict::Judged(one) = verdict {
                judged.push(Arc::from(one));
            }
        })?;
        Ok(Self { judged, runs })
    }

    /// The first run that shows a signature, and its frequency; none if none does.
    #[must_use]
    pub fn first_of(&self, signature: &str) -> Option<(Arc<Judged>, Frequency)> {
        let mut showing = self.judged.iter().filter(|judged| judged.shows(signature));
        let first = showing.next()?;
        let seen = 1 + showing.count() as u32;
        Some((Arc::clone(first), Frequency { seen, runs: self.runs }))
    }
}

/// Frequency of a signature in the runs of a test, and the verdict on the first run that shows it, or else on the
/// last one.
///
/// # Errors
/// The testbed fails.
pub fn frequency(
    testbed: &mut dyn Testbed,
    config: &TestConfig,
    signature: &str,
    baselines: &dyn Baselines,
) -> Result<(Verdict, Frequency), JudgeError> {
    let mut said = None;
    let mut seen = 0;
    let runs = each_run(testbed, config, baselines, |verdict| {
        let shows = verdict.shows(signature);
        if seen == 0 {
            said = Some(verdict);
        }
        seen += u32::from(shows);
    })?;
    let said = said.expect("a policy asks for at least one run");
    Ok((said, Frequency { seen, runs }))
}

/// Answer to the question whether a test shows a signature, and its cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shown {
    /// True if it shows it often enough.
    pub shows: bool,
    /// Runs of the test.
    pub runs: u64,
    /// Packets of these runs.
    pub packets: u64,
}

/// Says if a test shows a signature as often as a larger one, whose place it may then take: a step that makes a finding rarer is
/// rejected, and one that takes more than so many packets. Most tests that do not show the signature at all cost one run.
///
/// # Errors
/// The testbed fails.
pub fn shows(
    testbed: &mut dyn Testbed,
    config: &TestConfig,
    signature: &str,
    baselines: &dyn Baselines,
    larger: Frequency,
    most_packets: usize,
) -> Result<Shown, JudgeError> {
    let (mut misses, mut packets) = (0, 0);
    for run in 1..=larger.runs {
        let verdict = judge_within(testbed, most_packets, config, baselines)?;
        packets += verdict.packets() as u64;
        misses += u32::from(!verdict.shows(signature));
        if larger.seen + misses > larger.runs {
            return Ok(Shown { shows: false, runs: run.into(), packets });
        }
    }
    Ok(Shown { shows: true, runs: larger.runs.into(), packets })
}

/// The probability that values are as much larger than others by chance alone as these are: the exact
/// one-sided test of Mann and Whitney, over all ways to divide the values. 1 where there is nothing to
/// compare or too much.
#[must_use]
pub fn chance(larger: &[u64], smaller: &[u64]) -> f64 {
    let (n, m) = (larger.len(), smaller.len());
    if n == 0 || m == 0 || n > MAX_COMPARED || m > MAX_COMPARED {
        return 1.0;
    }
    let all: Vec<u64> = larger.iter().chain(smaller).copied().collect();
    // Twice the number of pairs in which the first is larger; a tie is a half.
    let statistic = |is_first: &dyn Fn(usize) -> bool| -> u32 {
        let (firsts, others): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|at| is_first(*at));
        let pairs = firsts.iter().flat_map(|a| others.iter().map(move |b| (*a, *b)));
        pairs.map(|(a, b)| u32::from(all[a] >= all[b]) + u32::from(all[a] > all[b])).sum()
    };
    let observed = statistic(&|at| at < n);
    let (mut ways, mut extreme) = (0_u32, 0_u32);
    for mask in 0..1_u32 << all.len() {
        if mask.count_ones() as usize == n {
            ways += 1;
            extreme += u32::from(statistic(&|at| mask >> at & 1 == 1) >= observed);
        }
    }
    f64::from(extreme) / f64::from(ways)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use corpus::Capabilities;
    use dumper::Observation;
    use dumper::observation::LogLine;
    use executor::TestbedError;

    use super::*;
    use crate::judge::InMemory;

    /// A testbed whose responder warns in some runs, and that breaks in others.
    struct Flaky {
        runs: VecDeque<Option<bool>>,
    }

    impl Testbed for Flaky {
        fn capabilities(&self) -> Capabilities {
            Capabilities { deterministic: false, ..Capabilities::all() }
        }

        fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
            let nic = executor::profile::load("reference", std::path::Path::new("."))?;
            let mut observation = executor::sim::run(config, [nic.clone(), nic])?;
            match self.runs.pop_front() {
                Some(None) => return Err(TestbedError::Broken("the switch died".into())),
                Some(Some(true)) => {
                    let text = "WARNING: CPU: 0 PID: 1 at a.c:1 rxe_x+0x1/0x2 [rdma_rxe]";
                    observation.responder_log = vec![LogLine::new(1, text)];
                }
                Some(Some(false)) | None => {}
            }
            Ok(observation)
        }
    }

    const WARNS: &str = "crash/responder/kernel-warns/rxe_x";

    fn flaky(runs: &str) -> Flaky {
        let run = |letter| match letter {
            'x' => None,
            letter => Some(letter == '1'),
        };
        Flaky { runs: runs.chars().map(run).collect() }
    }

    #[test]
    fn what_is_seen_now_and_then_is_counted() {
        let config = TestConfig::default();
        let seen = |runs: &str| {
            let (said, frequency) =
                frequency(&mut flaky(runs), &config, WARNS, &InMemory::new(Policy::OneRun)).unwrap();
            assert_eq!(said.shows(WARNS), frequency.seen > 0);
            (frequency.to_string(), frequency.is_confirmed())
        };
        assert_eq!(seen("10010"), ("seen in 2 of 5 runs".into(), false));
        assert_eq!(seen("01101"), ("seen in 3 of 5 runs".into(), true));
        assert_eq!(seen("11110"), ("seen in 4 of 5 runs".into(), true));
        assert_eq!(seen("00000"), ("seen in 0 of 5 runs".into(), false));
        assert_eq!(seen("11111"), ("seen in 5 of 5 runs".into(), true));
        // A run that broke does not count.
        assert_eq!(seen("x1x01xx00"), ("seen in 2 of 5 runs".into(), false));
    }

    #[test]
    fn a_smaller_test_shows_it_as_often_as_the_larger_one() {
        let packets_of_a_run = flaky("").run(&TestConfig::default()).unwrap().trace.records().len() as u64;
        assert!(packets_of_a_run > 0);
        let shows = |runs: &str, seen| {
            let larger = Frequency { seen, runs: Policy::SeveralRuns.runs() };
            let baselines = InMemory::new(Policy::OneRun);
            let config = TestConfig::default();
            let Shown { shows, runs, packets } =
                shows(&mut flaky(runs), &config, WARNS, &baselines, larger, usize::MAX).unwrap();
            assert_eq!(packets, runs * packets_of_a_run, "each run counts");
            (shows, runs)
        };
        assert_eq!(shows("11111", 5), (true, 5));
        assert_eq!(shows("10111", 5), (false, 2));
        assert_eq!(shows("01111", 5), (false, 1));
        assert_eq!(shows("10111", 4), (true, 5));
        assert_eq!(shows("10101", 4), (false, 4));
        assert_eq!(shows("10101", 3), (true, 5));
        assert_eq!(shows("00011", 3), (false, 3));
    }

    #[test]
    fn what_is_rarer_is_known_however_many_runs_say_so() {
        let of = |seen, runs| Frequency { seen, runs };
        assert!(of(4, 5).is_no_rarer_than(of(4, 5)) && of(1, 1).is_no_rarer_than(of(5, 5)));
        assert!(!of(4, 5).is_no_rarer_than(of(5, 5)) && !of(4, 5).is_no_rarer_than(of(1, 1)));
    }

    #[test]
    fn a_testbed_that_stays_broken_stops_everything() {
        let error =
            judge(&mut flaky("xxx"), &TestConfig::default(), &InMemory::new(Policy::OneRun)).unwrap_err();
        assert_eq!(error.to_string(), "the testbed is broken: the switch died");
    }

    #[test]
    fn chances_are_those_of_tables() {
        // 5 of 5 above 5: one way of 252.
        assert!((chance(&[6, 7, 8, 9, 10], &[1, 2, 3, 4, 5]) - 1.0 / 252.0).abs() < 1e-12);
        // U = 24 of 25: two ways.
        assert!((chance(&[5, 7, 8, 9, 10], &[1, 2, 3, 4, 6]) - 2.0 / 252.0).abs() < 1e-12);
        assert!((chance(&[3, 3], &[3, 3]) - 1.0).abs() < 1e-12);
        assert!(chance(&[1, 2, 3], &[4, 5, 6]) > 0.99);
        assert!((chance(&[], &[1]) - 1.0).abs() < 1e-12);
    }
}
