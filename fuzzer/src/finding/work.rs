//! Work on a finding: its test is minimised, and the reproducer's anomaly described.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use corpus::store::StoreError;
use corpus::{Answer, FindingRecord, Key, Minimising, Minimized, TestConfig};
use dumper::observation::CompletionStatus;
use executor::{Testbed, TestbedError};
use mutators::swap_nics;
use scoring::Kind;
use scoring::score::Reference;

use crate::judge::{InMemory, JudgeError, Judged, Verdict, judge};
use crate::measure::{Measurements, measure};
use crate::minimize::{Effort, Minimised, derandomise, minimize};
use crate::policy::Policy;
use crate::repeat::{self, Frequency, Runs};
use crate::report;

/// Reasons why work on a finding ended early.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The testbed, or the store of reference runs.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// It is to end before it is done.
    #[error("interrupted")]
    Interrupted,
}

/// A minimiser and its answers so far, so that an interrupted one can resume: with the same answers it asks the same questions,
/// up to the first new one.
#[derive(Debug, Default)]
pub struct Answers {
    begun: Option<Minimising>,
    known: HashMap<Key, Answer>,
}

/// A step of a minimiser, to be kept.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// It begins.
    Begun(&'a Minimising),
    /// It has an answer, or another one than before.
    Answered(&'a Answer),
}

impl Answers {
    /// Those of a minimiser that was interrupted, if there is one.
    #[must_use]
    pub fn of(interrupted: Option<(Minimising, Vec<Answer>)>) -> Self {
        let Some((begun, answers)) = interrupted else { return Self::default() };
        let known = answers.into_iter().map(|answer| (answer.test, answer)).collect();
        Self { begun: Some(begun), known }
    }

    /// Takes back that a test shows the finding: when it was run more often, it did not do so often enough. The answer, if
    /// it has one.
    pub fn reject(&mut self, test: &TestConfig) -> Option<&Answer> {
        let answer = self.known.get_mut(&Key::of(test))?;
        answer.shows = false;
        Some(answer)
    }

    /// Executions that the answers took.
    fn executions(&self) -> u64 {
        self.known.values().map(|answer| answer.runs + answer.references.len() as u64).sum()
    }

    /// References that were run for the answers.
    fn references(&self) -> BTreeSet<Key> {
        self.known.values().flat_map(|answer| answer.references.iter().copied()).collect()
    }
}

/// Limits and steps of a minimiser.
pub struct Course<'a> {
    /// Most runs, references included, but for the few that put events in the place of losses at random; without a budget it goes on to
    /// the end.
    pub budget: Option<u64>,
    /// Returns true if it is to end before.
    pub is_over: &'a dyn Fn() -> bool,
    /// Keeps its steps.
    pub keep: &'a dyn Fn(Step<'_>) -> Result<(), StoreError>,
}

/// Makes the reproducer of a finding smaller, which shows it so `often`. NICs that have changed places come
/// back to those that the campaign gave them, if it shows there too.
///
/// # Errors
/// See [`WorkError`]. The reproducer is then the smallest test so far, and with the same answers another call goes on.
pub fn minimise(
    finding: &mut FindingRecord,
    often: Frequency,
    has_swapped_nics: bool,
    testbed: &mut dyn Testbed,
    course: &Course<'_>,
    answers: &mut Answers,
) -> Result<(), WorkError> {
    if answers.begun.is_none() {
        let begun = Minimising { start: finding.reproducer.clone(), spent: finding.minimizer_executions };
        (course.keep)(Step::Begun(&begun)).map_err(JudgeError::from)?;
        answers.begun = Some(begun);
    }
    let baselines = InMemory::after(answers.references(), Policy::on(testbed));
    let taken = answers.executions();
    let Answers { begun: Some(Minimising { start, spent }), known } = answers else {
        unreachable!("it has begun")
    };
    let mut questions = Questions {
        testbed,
        signature: &finding.signature,
        often,
        baselines,
        course,
        known,
        executions: spent.saturating_add(taken),
        is_cut: false,
        smallest: None,
    };
    let minimised = questions.minimise(start, has_swapped_nics);
    let Questions { executions, is_cut, smallest, .. } = questions;
    finding.minimizer_executions = executions;
    match minimised {
        Ok(minimised) => {
            finding.reproducer = minimised.config;
            let is_full = minimised.complete && !is_cut;
            finding.minimized = if is_full { Minimized::Full } else { Minimized::Partial };
            Ok(())
        }
        Err(error) => {
            // Each test that shows it is smaller than the one before, or has events in place of losses at random.
            finding.reproducer = smallest.unwrap_or_else(|| finding.reproducer.clone());
            Err(error)
        }
    }
}

/// The questions of a minimiser: does a test show the finding?
struct Questions<'a, 'b> {
    testbed: &'a mut dyn Testbed,
    signature: &'a str,
    often: Frequency,
    baselines: InMemory,
    course: &'a Course<'b>,
    known: &'a mut HashMap<Key, Answer>,
    /// Runs so far, references included.
    executions: u64,
    /// The budget did not suffice for a question.
    is_cut: bool,
    /// The last test that shows it.
    smallest: Option<TestConfig>,
}

/// Events that a test may begin its minimisation with: each question compares all pairs of them.
const FEW_EVENTS: usize = 256;

impl Questions<'_, '_> {
    fn minimise(&mut self, start: &TestConfig, has_swapped_nics: bool) -> Result<Minimised, WorkError> {
        let mut from = start.clone();
        if has_swapped_nics {
            swap_nics(&mut from);
            if !self.shows(&from)? {
                from.clone_from(start);
            }
        }
        // Few events are minimised faster than many, and name what matters more often than the network does.
        if let Some(explicit) = self.explicit(&from)?.filter(|explicit| explicit.events.len() <= FEW_EVENTS) {
            from = explicit;
        }
        let effort = if Policy::on(self.testbed).is_quick() { Effort::Many } else { Effort::Few };
        loop {
            let minimised = minimize(&from, effort, self.course.budget, &mut |config| self.shows(config))?;
            // A smaller test may lose no more packets than events can say.
            match self.explicit(&minimised.config)? {
                Some(explicit) => from = explicit,
                None => return Ok(minimised),
            }
        }
    }

    fn shows(&mut self, config: &TestConfig) -> Result<bool, WorkError> {
        let Course { budget, is_over, .. } = self.course;
        // A test and its reference.
        let is_spent = budget.is_some_and(|budget| self.executions + 2 > budget);
        if is_spent && !is_over() && !self.known.contains_key(&Key::of(config)) {
            self.is_cut = true;
            return Ok(false);
        }
        self.ask(config)
    }

    /// The same, whatever the budget is.
    fn ask(&mut self, config: &TestConfig) -> Result<bool, WorkError> {
        let Course { is_over, keep, .. } = self.course;
        let key = Key::of(config);
        let shows = match self.known.get(&key) {
            Some(answer) => answer.shows,
            None if is_over() => return Err(WorkError::Interrupted),
            None => {
                let ran = self.baselines.runs() as usize;
                let (shows, runs) =
                    repeat::shows(self.testbed, config, self.signature, &self.baselines, self.often)?;
                let answer = Answer { test: key, shows, runs, references: self.baselines.runs_from(ran) };
                self.executions += runs + answer.references.len() as u64;
                keep(Step::Answered(&answer)).map_err(JudgeError::from)?;
                self.known.insert(key, answer);
                shows
            }
        };
        if shows {
            self.smallest = Some(config.clone());
        }
        Ok(shows)
    }

    /// The test with an event for each packet that its network loses at random, if events can express them and it shows the finding. That
    /// takes a few runs, also beyond a budget.
    fn explicit(&mut self, config: &TestConfig) -> Result<Option<TestConfig>, WorkError> {
        let Course { budget, is_over, .. } = self.course;
        if !config.network.moves_packets() {
            return Ok(None);
        }
        if is_over() {
            return Err(WorkError::Interrupted);
        }
        if *budget == Some(0) {
            self.is_cut = true;
            return Ok(None);
        }
        self.executions += 1;
        let explicit = match self.testbed.run(config) {
            Ok(observation) => derandomise(config, &observation),
            Err(error @ (TestbedError::Profile(_) | TestbedError::Broken(_))) => {
                return Err(JudgeError::from(error).into());
            }
            Err(
                TestbedError::Config(_)
                | TestbedError::Target(_)
                | TestbedError::TimedOut { .. }
                | TestbedError::TooManyPackets { .. },
            ) => None,
        };
        match explicit {
            Some(explicit) if self.ask(&explicit)? => Ok(Some(explicit)),
            _ => Ok(None),
        }
    }
}

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
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeMap;
    use std::path::Path;

    use corpus::Capabilities;
    use dumper::Observation;
    use executor::TestbedError;

    use super::*;
    use crate::report::tests::{self, LOSSES, NOISY};

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

    /// Such NICs, on a testbed that does the same each time.
    struct Same;

    impl Testbed for Same {
        fn capabilities(&self) -> Capabilities {
            Capabilities::all()
        }

        fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
            let nic = executor::profile::load("cx4-lx", Path::new("."))?;
            executor::sim::run(config, [nic.clone(), nic])
        }
    }

    /// Minimises the finding, killed whenever so many answers were kept.
    fn minimised(budget: Option<u64>, answers_of_a_life: usize) -> (FindingRecord, u32) {
        let begun = RefCell::new(None);
        let kept = RefCell::new(BTreeMap::new());
        for lives in 1.. {
            let left = Cell::new(answers_of_a_life);
            let is_over = || left.get() == 0;
            let keep = |step: Step<'_>| {
                match step {
                    Step::Begun(minimising) => drop(begun.borrow_mut().replace(minimising.clone())),
                    Step::Answered(answer) => {
                        left.set(left.get() - 1);
                        let before = kept.borrow_mut().insert(answer.test, answer.clone());
                        assert_eq!(before, None, "no test runs twice");
                    }
                }
                Ok(())
            };
            // All else is lost.
            let mut finding = noisy();
            let interrupted = begun.borrow().clone();
            let answers = kept.borrow().values().cloned().collect();
            let mut answers = Answers::of(interrupted.map(|begun| (begun, answers)));
            let course = Course { budget, is_over: &is_over, keep: &keep };
            let often = Frequency::always(Policy::OneRun);
            match minimise(&mut finding, often, false, &mut Same, &course, &mut answers) {
                Ok(()) => return (finding, lives),
                Err(WorkError::Interrupted) => {}
                Err(error) => panic!("{error}"),
            }
        }
        unreachable!("it ends")
    }

    #[test]
    fn a_killed_minimiser_goes_on_as_if_it_had_not_been() {
        for budget in [None, Some(60)] {
            let (whole, lives) = minimised(budget, usize::MAX);
            assert_eq!(lives, 1);
            assert!(whole.reproducer != whole.config && whole.minimizer_executions > 50, "{whole:?}");
            let cut = if budget.is_some() { Minimized::Partial } else { Minimized::Full };
            assert_eq!(whole.minimized, cut);
            let (killed, lives) = minimised(budget, 7);
            assert!(lives > 5, "{lives}");
            assert_eq!(killed, whole);
        }
    }

    /// However few tests are run, the last ones have events in the place of losses at random, of which there were too many to begin with.
    #[test]
    fn lost_packets_are_named_when_the_budget_ends() {
        let finding = tests::noisy(LOSSES, Minimized::Pending);
        let config = &finding.reproducer;
        assert!(derandomise(config, &Same.run(config).unwrap()).unwrap().events.len() > FEW_EVENTS);
        let often = Frequency::always(Policy::OneRun);
        for budget in [0, 1, 2, 30, 31, 32] {
            let mut finding = finding.clone();
            let course = Course { budget: Some(budget), is_over: &|| false, keep: &|_| Ok(()) };
            minimise(&mut finding, often, false, &mut Same, &course, &mut Answers::default()).unwrap();
            assert_eq!(finding.minimized, Minimized::Partial);
            assert!(
                finding.minimizer_executions <= budget + 5,
                "{} of {budget}",
                finding.minimizer_executions
            );
            assert_eq!(finding.reproducer.network.moves_packets(), budget == 0, "{budget}");
        }
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
