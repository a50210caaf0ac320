//! A search: steps down from a test until none shows the signature, then smaller tests drawn at random, and steps down from each that
//! shows it.

use std::collections::HashMap;

use corpus::{Key, TestConfig};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::axes::{self, Axis};
use super::size::Size;
use super::{draw, fit, trade};

/// Result of minimising.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Minimised {
    /// The smallest test that was found.
    pub config: TestConfig,
    /// Tests that were run for it.
    pub executions: u64,
    /// Searches after the first one.
    pub restarts: u64,
    /// True if nothing more can be removed; else the budget ran out.
    pub complete: bool,
}

/// Effort beyond the steps: tests that are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// Many, where a test takes a millisecond.
    Many,
    /// Few, where it takes tens of them, or several runs.
    Few,
}

impl Effort {
    /// Smaller tests that are drawn and run in a row without success, before the search ends, for each pair of things of which there
    /// could be less ([`Size::things`]): one may be traded for the other.
    const fn asked(self) -> u64 {
        match self {
            Self::Many => 250,
            Self::Few => 20,
        }
    }
}

/// Largest load of a candidate that grows in one way to shrink in another, as a multiple of the first test's:
/// enough to make up for the connections that it does without, and not so much that it takes long to run.
pub(super) const GROWTH: u64 = 4;

/// Draws for each one that may be run: larger tests, and those that were run before, are not.
const DRAWS: u64 = 16;

/// Load in packets that a drawn test may always have, however small the best one is; else it has at most [`GROWTH`] times as much.
const DRAWN_PACKETS: u64 = 1_024;

/// Reasons why a search ends early.
enum Halt<E> {
    OutOfBudget,
    Failed(E),
}

/// Searches from one test, and the answers that they share.
pub(super) struct Search<'a, E> {
    first: &'a TestConfig,
    /// The smallest test of this search so far, and its size.
    best: TestConfig,
    size: Size,
    /// No candidate that grows in one way, to shrink in another, has more data packets.
    most_packets: u64,
    /// Tests that were run, and whether they show it.
    answers: HashMap<Key, bool>,
    executions: u64,
    effort: Effort,
    budget: Option<u64>,
    shows: &'a mut dyn FnMut(&TestConfig) -> Result<bool, E>,
}

impl<'a, E> Search<'a, E> {
    /// A search from a test that shows it, which asks `shows` at most `budget` times.
    pub(super) fn new(
        first: &'a TestConfig,
        effort: Effort,
        budget: Option<u64>,
        shows: &'a mut dyn FnMut(&TestConfig) -> Result<bool, E>,
    ) -> Self {
        Self {
            first,
            best: first.clone(),
            size: Size::of(first),
            most_packets: first.traffic.total_packets().saturating_mul(GROWTH),
            answers: HashMap::new(),
            executions: 0,
            effort,
            budget,
            shows,
        }
    }

    /// Tests that all searches so far have run.
    pub(super) const fn executions(&self) -> u64 {
        self.executions
    }

    /// Searches from the first test, with the draws of a seed.
    ///
    /// # Errors
    /// The first one of `shows`.
    pub(super) fn run(&mut self, seed: u64) -> Result<Minimised, E> {
        (self.best, self.size) = (self.first.clone(), Size::of(self.first));
        let complete = match self.search(ChaCha8Rng::seed_from_u64(seed)) {
            Ok(()) => true,
            Err(Halt::OutOfBudget) => false,
            Err(Halt::Failed(error)) => return Err(error),
        };
        Ok(Minimised { config: self.best.clone(), executions: self.executions, restarts: 0, complete })
    }

    fn search(&mut self, mut rng: ChaCha8Rng) -> Result<(), Halt<E>> {
        // The same test in its simplest form; tests made from it have that form anyway.
        self.offer(self.best.clone())?;
        self.go_down()?;
        let (mut draws, mut asked) = (0, 0);
        loop {
            let most = self.effort.asked() * self.size.things().max(1).pow(2);
            if asked >= most || draws >= DRAWS * most {
                return Ok(());
            }
            draws += 1;
            let before = self.executions;
            let load = self.best.traffic.total_packets().saturating_mul(GROWTH).max(DRAWN_PACKETS);
            let load = load.min(self.most_packets);
            let draw = if rng.random_ratio(1, 7) { draw::draw } else { trade::trade };
            let drawn = draw(self.first, &self.best, load, &mut rng);
            if drawn.traffic.total_packets() <= load && self.offer(drawn)? {
                self.go_down()?;
                (draws, asked) = (0, 0);
            } else {
                asked += self.executions - before;
            }
        }
    }

    /// Takes steps until none shows it.
    fn go_down(&mut self) -> Result<(), Halt<E>> {
        loop {
            let before = self.size.clone();
            for group in axes::GROUPS {
                let axes = group(&self.best);
                self.sweep(&axes)?;
            }
            if self.size == before {
                return Ok(());
            }
        }
    }

    /// Takes axes to their bottom: all, or else each half by itself. The later half goes first, as deletions
    /// there do not change the numbers of the parts before it.
    fn sweep(&mut self, axes: &[Axis]) -> Result<(), Halt<E>> {
        let mut candidate = self.best.clone();
        for axis in axes.iter().rev() {
            axis.lower(&mut candidate, 0, self.most_packets);
        }
        match axes {
            [] => Ok(()),
            [axis] => self.descend(*axis),
            _ if self.offer(candidate)? => Ok(()),
            _ => {
                let (earlier, later) = axes.split_at(axes.len() / 2);
                self.sweep(later)?;
                self.sweep(earlier)
            }
        }
    }

    /// Lowers one axis: to the bottom, or else to a height below which it does not show.
    fn descend(&mut self, axis: Axis) -> Result<(), Halt<E>> {
        let base = self.best.clone();
        let mut offer = |height| {
            let mut candidate = base.clone();
            axis.lower(&mut candidate, height, self.most_packets);
            self.offer(candidate)
        };
        let height = axis.height(&base);
        if height == 0 || offer(0)? {
            return Ok(());
        }
        // An axis at its threshold already, as mostly after the first round, costs few questions and no bisection. A test that is
        // one step smaller need not show it where one does that is smaller by more: an event may meet another one there.
        let mut shows = None;
        for step in (0..u64::BITS).map(|power| 1 << power).take_while(|step| *step < height) {
            if offer(height - step)? {
                shows = Some(height - step);
                break;
            }
        }
        let Some(mut shows) = shows else { return Ok(()) };
        let mut hides = 0;
        while shows - hides > 1 {
            let middle = hides.midpoint(shows);
            if offer(middle)? {
                shows = middle;
            } else {
                hides = middle;
            }
        }
        Ok(())
    }

    /// Takes a candidate if it is smaller than the best, valid, and shows it.
    fn offer(&mut self, mut candidate: TestConfig) -> Result<bool, Halt<E>> {
        fit::fit(&mut candidate);
        let size = Size::of(&candidate);
        if size >= self.size || !candidate.is_valid() {
            return Ok(false);
        }
        let shows = self.shows(&candidate)?;
        if shows {
            (self.best, self.size) = (candidate, size);
        }
        Ok(shows)
    }

    fn shows(&mut self, candidate: &TestConfig) -> Result<bool, Halt<E>> {
        let key = Key::of(candidate);
        if let Some(shows) = self.answers.get(&key) {
            return Ok(*shows);
        }
        if self.budget.is_some_and(|budget| self.executions >= budget) {
            return Err(Halt::OutOfBudget);
        }
        self.executions += 1;
        let shows = (self.shows)(candidate).map_err(Halt::Failed)?;
        self.answers.insert(key, shows);
        Ok(shows)
    }
}
