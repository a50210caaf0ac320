//! Minimising of a finding: its reproducer becomes smaller as long as it shows the finding.

mod questions;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use corpus::store::StoreError;
use corpus::{Answer, FindingRecord, Key, Minimising, Minimized, TestConfig};
use executor::Testbed;

use crate::judge::JudgeError;
use crate::policy::Policy;
use crate::repeat::Frequency;
use questions::Questions;

/// Reasons why minimising a finding ended early.
#[derive(Debug, thiserror::Error)]
pub enum MinimiseError {
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

    /// Packets of the runs, but for those of references.
    fn packets(&self) -> u64 {
        self.known.values().fold(0, |sum, answer| sum.saturating_add(answer.packets))
    }

    /// References that were run for the answers.
    fn references(&self) -> BTreeSet<Key> {
        self.known.values().flat_map(|answer| answer.references.iter().copied()).collect()
    }
}

/// Test that a minimiser begins with, if it shows the finding as often as the reproducer; else it begins with the reproducer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The reproducer.
    Reproducer,
    /// The reproducer with its NICs in each other's places.
    SwappedNics,
    /// The test of the first sighting.
    FirstSighting,
}

/// Most work of a minimiser, but for the few runs that put events in the place of losses at random. It is counted in runs and packets
/// and not in time, so that a campaign does the same on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Runs for the finding, by all of its minimisers, references included.
    executions: u64,
    /// Packets of this minimiser's runs, references not included. A test whose QPs retransmit for ever has millions.
    packets: u64,
}

impl Budget {
    /// So many runs on a testbed with this policy, and packets for all of them.
    #[must_use]
    pub const fn of(executions: u64, policy: Policy) -> Self {
        Self { executions, packets: executions.saturating_mul(policy.packets_of_a_run()) }
    }
}

/// Limits and steps of a minimiser.
pub struct Course<'a> {
    /// Most work. Without a budget it restarts with other draws, until many restarts in a row find nothing smaller.
    pub budget: Option<Budget>,
    /// Returns true if it is to end before.
    pub is_over: &'a dyn Fn() -> bool,
    /// Keeps its steps.
    pub keep: &'a dyn Fn(Step<'_>) -> Result<(), StoreError>,
    /// Is told how far it is.
    pub watch: &'a dyn Fn(Progress<'_>),
}

/// Progress of a minimiser.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Executions that minimising the finding took so far, those of earlier minimisers included.
    pub executions: u64,
    /// Searches after the first one.
    pub restarts: u64,
    /// The smallest test so far.
    pub smallest: &'a TestConfig,
}

/// Makes the reproducer of a finding smaller, which shows it so `often`. It never becomes larger, whatever the search starts from.
///
/// # Errors
/// See [`MinimiseError`]. The reproducer is then the smallest test so far, and with the same answers another call goes on.
pub fn minimise(
    finding: &mut FindingRecord,
    often: Frequency,
    start: Start,
    testbed: &mut dyn Testbed,
    course: &Course<'_>,
    answers: &mut Answers,
) -> Result<(), MinimiseError> {
    if answers.begun.is_none() {
        let begun = Minimising { start: finding.reproducer.clone(), spent: finding.minimizer_executions };
        (course.keep)(Step::Begun(&begun)).map_err(JudgeError::from)?;
        answers.begun = Some(begun);
    }
    let mut questions = Questions::new(finding, often, testbed, course, answers);
    let is_complete = questions.minimise(start);
    let (reproducer, executions) = questions.end();
    finding.reproducer = reproducer;
    finding.minimizer_executions = executions;
    finding.minimized = if is_complete? { Minimized::Full } else { Minimized::Partial };
    Ok(())
}
