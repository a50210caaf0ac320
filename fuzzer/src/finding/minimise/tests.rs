use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use corpus::Capabilities;
use dumper::Observation;
use executor::TestbedError;

use super::questions::FEW_EVENTS;
use super::*;
use crate::minimize::{derandomise, is_smaller};
use crate::policy::Policy;
use crate::report::tests::{self, LOSSES, NOISY};

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

/// So many runs, and the packets that fit.
fn budget(executions: u64) -> Budget {
    Budget::of(executions, Policy::OneRun)
}

/// Minimises the finding, killed whenever so many answers were kept.
fn minimised(budget: Budget, answers_of_a_life: usize) -> (FindingRecord, u32) {
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
        let course = Course { budget: Some(budget), is_over: &is_over, keep: &keep, watch: &|_| () };
        let often = Frequency::always(Policy::OneRun);
        match minimise(&mut finding, often, Start::Reproducer, &mut Same, &course, &mut answers) {
            Ok(()) => return (finding, lives),
            Err(MinimiseError::Interrupted) => {}
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("it ends")
}

#[test]
fn a_killed_minimiser_goes_on_as_if_it_had_not_been() {
    let few_packets = Budget { packets: 100_000, ..budget(5_000) };
    for (budget, minimized) in [
        (budget(5_000), Minimized::Full),
        (budget(60), Minimized::Partial),
        (few_packets, Minimized::Partial),
    ] {
        let (whole, lives) = minimised(budget, usize::MAX);
        assert_eq!(lives, 1);
        assert!(whole.reproducer != whole.config && whole.minimizer_executions > 50, "{whole:?}");
        assert_eq!(whole.minimized, minimized);
        let (killed, lives) = minimised(budget, whole.minimizer_executions as usize / 14);
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
        let course = Course {
            budget: Some(self::budget(budget)),
            is_over: &|| false,
            keep: &|_| Ok(()),
            watch: &|_| (),
        };
        minimise(&mut finding, often, Start::Reproducer, &mut Same, &course, &mut Answers::default())
            .unwrap();
        assert_eq!(finding.minimized, Minimized::Partial);
        assert!(finding.minimizer_executions <= budget + 5, "{} of {budget}", finding.minimizer_executions);
        assert_eq!(finding.reproducer.network.moves_packets(), budget == 0, "{budget}");
    }
}

/// The same NICs, and the most packets that each test was to have.
struct Limited(Vec<usize>);

impl Testbed for Limited {
    fn capabilities(&self) -> Capabilities {
        Same.capabilities()
    }

    fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
        Same.run(config)
    }

    fn run_within(&mut self, packets: usize, config: &TestConfig) -> Result<Observation, TestbedError> {
        self.0.push(packets);
        Same.run(config)
    }
}

/// QPs that retransmit in a storm take seconds for each smaller test.
#[test]
fn smaller_tests_keep_to_the_length_of_a_trace_that_showed_it() {
    let mut finding = noisy();
    let shown = RefCell::new(None);
    let asked = Cell::new(0);
    let keep = |step: Step<'_>| {
        if let Step::Answered(answer) = step {
            asked.set(asked.get() + 1);
            let mut shown = shown.borrow_mut();
            if answer.shows && shown.is_none() {
                *shown = Some((asked.get(), answer.packets));
            }
        }
        Ok(())
    };
    let course = Course { budget: Some(budget(100)), is_over: &|| false, keep: &keep, watch: &|_| () };
    let mut testbed = Limited(Vec::new());
    let often = Frequency::always(Policy::OneRun);
    minimise(&mut finding, often, Start::Reproducer, &mut testbed, &course, &mut Answers::default()).unwrap();
    let (first, packets) = shown.into_inner().unwrap();
    let (before, after) = testbed.0.split_at(first);
    assert!(before.iter().all(|limit| *limit == usize::MAX), "{before:?}");
    assert!(
        after.len() > 20 && after.iter().all(|limit| *limit <= 65_536.max(16 * packets as usize)),
        "{after:?}"
    );
}

/// A finding after a minimiser without a budget that was interrupted after so many answers.
fn interrupted(mut finding: FindingRecord, start: Start, answers: usize) -> FindingRecord {
    let shows = RefCell::new(BTreeSet::from([Key::of(&finding.reproducer)]));
    let left = Cell::new(answers);
    let keep = |step: Step<'_>| {
        if let Step::Answered(answer) = step {
            left.set(left.get() - 1);
            shows.borrow_mut().extend(answer.shows.then_some(answer.test));
        }
        Ok(())
    };
    let course = Course { budget: None, is_over: &|| left.get() == 0, keep: &keep, watch: &|_| () };
    let often = Frequency::always(Policy::OneRun);
    let result = minimise(&mut finding, often, start, &mut Same, &course, &mut Answers::default());
    assert!(matches!(result, Err(MinimiseError::Interrupted)), "{result:?}");
    assert!(shows.borrow().contains(&Key::of(&finding.reproducer)), "{}", finding.reproducer);
    finding
}

#[test]
fn an_interrupted_minimiser_leaves_the_smallest_test_so_far() {
    let reproducer = |answers| interrupted(noisy(), Start::Reproducer, answers).reproducer;
    let [first, early, late] = [1, 5, 80].map(reproducer);
    assert!(!is_smaller(&first, &early) && is_smaller(&late, &early));
    // From the first sighting it takes the same way, after one question of the test there.
    let from_first = |reproducer: &TestConfig, answers| {
        let finding = FindingRecord { reproducer: reproducer.clone(), ..noisy() };
        interrupted(finding, Start::FirstSighting, answers).reproducer
    };
    assert_eq!(from_first(&early, 81), late);
    assert_eq!(from_first(&late, 6), late, "it does not become larger");
}

/// The first test is no start if it does not show the finding, as on NICs that were replaced.
#[test]
fn a_first_sighting_that_does_not_show_it_is_left() {
    let mut finding = noisy();
    finding.config.events.clear();
    let minimised = interrupted(finding.clone(), Start::FirstSighting, 80);
    assert!(is_smaller(&minimised.reproducer, &finding.reproducer));
}
