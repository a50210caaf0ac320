//! The questions of a minimiser: does a test show the finding?

use std::collections::HashMap;

use corpus::{Answer, FindingRecord, Key, Minimising, TestConfig};
use executor::{Testbed, TestbedError};
use mutators::swap_nics;

use super::{Answers, Budget, Course, MinimiseError, Progress, Start, Step};
use crate::judge::{InMemory, JudgeError};
use crate::minimize::{Effort, TraceLimit, derandomise, is_smaller, minimize, minimize_with_restarts};
use crate::policy::Policy;
use crate::repeat::{self, Frequency, Shown};

/// Events that a test may begin its minimisation with: each question compares all pairs of them.
pub(super) const FEW_EVENTS: usize = 256;

/// A minimiser at work on a finding.
pub(super) struct Questions<'a, 'b> {
    testbed: &'a mut dyn Testbed,
    finding: &'a FindingRecord,
    often: Frequency,
    baselines: InMemory,
    course: &'a Course<'b>,
    /// The test that the minimiser began with.
    begun_with: &'a TestConfig,
    known: &'a mut HashMap<Key, Answer>,
    /// Runs so far, references included.
    executions: u64,
    /// Tests have no longer traces.
    trace_limit: TraceLimit,
    /// Packets of the runs of this minimiser, but for those of references.
    packets: u64,
    /// Searches after the first one.
    restarts: u64,
    /// The budget did not suffice for a question.
    is_cut: bool,
    /// The smallest test that shows it.
    smallest: TestConfig,
}

impl<'a, 'b> Questions<'a, 'b> {
    /// Those of a minimiser that has begun, and may have answers.
    pub(super) fn new(
        finding: &'a FindingRecord,
        often: Frequency,
        testbed: &'a mut dyn Testbed,
        course: &'a Course<'b>,
        answers: &'a mut Answers,
    ) -> Self {
        let baselines = InMemory::after(answers.references(), Policy::on(testbed));
        let (taken, packets) = (answers.executions(), answers.packets());
        let Answers { begun: Some(Minimising { start, spent }), known } = answers else {
            unreachable!("it has begun")
        };
        Self {
            testbed,
            finding,
            often,
            baselines,
            course,
            begun_with: start,
            known,
            executions: spent.saturating_add(taken),
            trace_limit: TraceLimit::NONE,
            packets,
            restarts: 0,
            is_cut: false,
            smallest: finding.reproducer.clone(),
        }
    }

    /// The smallest test so far, and the executions that minimising the finding took.
    pub(super) fn end(self) -> (TestConfig, u64) {
        (self.smallest, self.executions)
    }

    /// Looks for the smallest test; returns true if nothing more can be removed from it, and false if the budget ran out.
    pub(super) fn minimise(&mut self, start: Start) -> Result<bool, MinimiseError> {
        let mut from = self.first(start)?;
        // Few events are minimised faster than many, and name what matters more often than the network does.
        if let Some(explicit) = self.explicit(&from)?.filter(|explicit| explicit.events.len() <= FEW_EVENTS) {
            from = explicit;
            self.take(&from);
        }
        loop {
            let (smallest, is_complete) = self.search(&from)?;
            // A smaller test may lose no more packets than events can say.
            match self.explicit(&smallest)? {
                Some(explicit) => from = explicit,
                None => {
                    if start != Start::FirstSighting || is_better(&smallest, &self.finding.reproducer) {
                        self.smallest = smallest;
                    }
                    return Ok(is_complete && !self.is_cut);
                }
            }
            self.take(&from);
        }
    }

    /// The test to begin with.
    fn first(&mut self, start: Start) -> Result<TestConfig, MinimiseError> {
        let reproducer = self.begun_with.clone();
        let other = match start {
            Start::Reproducer => return Ok(reproducer),
            Start::FirstSighting => self.finding.config.clone(),
            Start::SwappedNics => {
                let mut swapped = reproducer.clone();
                swap_nics(&mut swapped);
                swapped
            }
        };
        if !self.shows(&other)? {
            return Ok(reproducer);
        }
        // It is no smaller, but has the NICs in the places that the campaign gave them.
        if start == Start::SwappedNics && self.smallest == reproducer {
            self.smallest = other.clone();
        }
        Ok(other)
    }

    /// The smallest test that a search finds, with restarts unless it has a budget, and whether nothing more can be removed from it.
    fn search(&mut self, from: &TestConfig) -> Result<(TestConfig, bool), MinimiseError> {
        let effort = if Policy::on(self.testbed).is_quick() { Effort::Many } else { Effort::Few };
        let before = self.restarts;
        let minimised = match self.course.budget {
            Some(Budget { executions, .. }) => {
                minimize(from, effort, Some(executions), &mut |config| self.shows(config))?
            }
            None => minimize_with_restarts(from, effort, &mut |config, restarts| {
                self.restarts = before + restarts;
                self.shows(config)
            })?,
        };
        self.restarts = before + minimised.restarts;
        self.tell();
        Ok((minimised.config, minimised.complete))
    }

    fn tell(&self) {
        let Self { executions, restarts, smallest, .. } = self;
        (self.course.watch)(Progress { executions: *executions, restarts: *restarts, smallest });
    }

    fn shows(&mut self, config: &TestConfig) -> Result<bool, MinimiseError> {
        if self.is_spent() && !(self.course.is_over)() && !self.known.contains_key(&Key::of(config)) {
            self.is_cut = true;
            return Ok(false);
        }
        let shows = self.ask(config)?;
        if shows {
            self.take(config);
        }
        Ok(shows)
    }

    /// Returns true if the budget does not suffice for a test and its reference, or its packets are used up.
    fn is_spent(&self) -> bool {
        self.course.budget.is_some_and(|Budget { executions, packets }| {
            self.executions + 2 > executions || self.packets >= packets
        })
    }

    /// Takes a test that shows it, if it is better than the smallest one so far.
    fn take(&mut self, config: &TestConfig) {
        if is_better(config, &self.smallest) {
            self.smallest = config.clone();
        }
    }

    /// Returns true if a test shows it, whatever the budget is.
    fn ask(&mut self, config: &TestConfig) -> Result<bool, MinimiseError> {
        let Course { is_over, keep, .. } = self.course;
        let key = Key::of(config);
        if let Some(answer) = self.known.get(&key) {
            self.trace_limit.learn(answer.shows, answer.packets, answer.runs);
            return Ok(answer.shows);
        }
        if is_over() {
            return Err(MinimiseError::Interrupted);
        }
        let ran = self.baselines.runs() as usize;
        let Shown { shows, runs, packets } = repeat::shows(
            self.testbed,
            config,
            &self.finding.signature,
            &self.baselines,
            self.often,
            self.trace_limit.of(config),
        )?;
        self.trace_limit.learn(shows, packets, runs);
        let answer = Answer { test: key, shows, runs, packets, references: self.baselines.runs_from(ran) };
        self.executions += runs + answer.references.len() as u64;
        self.packets = self.packets.saturating_add(packets);
        keep(Step::Answered(&answer)).map_err(JudgeError::from)?;
        self.known.insert(key, answer);
        self.tell();
        Ok(shows)
    }

    /// The test with an event for each packet that its network loses at random, if events can express them and it shows the finding. That
    /// takes a few runs, also beyond a budget.
    fn explicit(&mut self, config: &TestConfig) -> Result<Option<TestConfig>, MinimiseError> {
        let Course { budget, is_over, .. } = self.course;
        if !config.network.moves_packets() {
            return Ok(None);
        }
        if is_over() {
            return Err(MinimiseError::Interrupted);
        }
        if budget.is_some_and(|budget| budget.executions == 0) {
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
                | TestbedError::TooManyPackets { .. }
                | TestbedError::Stopped { .. },
            ) => None,
        };
        match explicit {
            Some(explicit) if self.ask(&explicit)? => Ok(Some(explicit)),
            _ => Ok(None),
        }
    }
}

/// Returns true if a test is smaller than another one that shows the same, or names the lost packets where the other one loses some at
/// random.
fn is_better(one: &TestConfig, other: &TestConfig) -> bool {
    match (one.network.moves_packets(), other.network.moves_packets()) {
        (false, true) => true,
        (true, false) => false,
        _ => is_smaller(one, other),
    }
}
