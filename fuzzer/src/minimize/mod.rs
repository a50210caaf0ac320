//! The minimiser: the smallest test that still shows a signature.
//!
//! A test can be made smaller along many axes, each with a bottom: no innocent connections, one message, no
//! such event, a parameter at its default. A group of axes is taken to the bottom together, else in halves, as delta
//! debugging does (Zeller and Hildebrandt, 2002); an axis that cannot go there is lowered to its threshold by
//! bisection. Groups are gone through until a whole round changes nothing: then no single step along any axis shows
//! the signature. Smaller tests that are several steps away are then drawn at random, and the search goes on from one that
//! shows it: what is left of a test when several things change (`draw`), and trades of more of one thing for less of another
//! (`trade`). Only smaller tests are ever taken, so that this ends for every predicate.

mod axes;
mod connections;
mod derandomise;
mod draw;
mod events;
mod fit;
mod parameters;
mod shares;
mod size;
#[cfg(test)]
mod tests;
mod trade;

use std::collections::HashSet;

use corpus::{Key, TestConfig};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use axes::Axis;
pub use derandomise::derandomise;
use size::Size;

/// Result of minimising.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Minimised {
    /// The smallest test that was found.
    pub config: TestConfig,
    /// Tests that were run for it.
    pub executions: u64,
    /// True if nothing more can be removed; else the budget ran out.
    pub complete: bool,
}

/// Makes a test smaller as long as `shows` returns true: fewest QPs with events, fewest QPs, then messages,
/// bytes, events, and every parameter at its default. `shows` is asked at most `budget` times, and never
/// twice for one test; `config` shows it.
///
/// # Errors
/// The first one of `shows`.
pub fn minimize<E>(
    config: &TestConfig,
    effort: Effort,
    budget: Option<u64>,
    shows: &mut dyn FnMut(&TestConfig) -> Result<bool, E>,
) -> Result<Minimised, E> {
    // The same draws for the same test, so that an interrupted search goes on as it was.
    minimize_with(config, 0, effort, budget, shows)
}

/// The same with other draws.
fn minimize_with<E>(
    config: &TestConfig,
    seed: u64,
    effort: Effort,
    budget: Option<u64>,
    shows: &mut dyn FnMut(&TestConfig) -> Result<bool, E>,
) -> Result<Minimised, E> {
    let mut search = Search {
        most_packets: config.traffic.total_packets().saturating_mul(GROWTH),
        size: Size::of(config),
        best: config.clone(),
        tried: HashSet::from([Key::of(config)]),
        executions: 0,
        effort,
        budget,
        shows,
    };
    let complete = match search.run(config, ChaCha8Rng::seed_from_u64(seed)) {
        Ok(()) => true,
        Err(Halt::OutOfBudget) => false,
        Err(Halt::Failed(error)) => return Err(error),
    };
    Ok(Minimised { config: search.best, executions: search.executions, complete })
}

/// Largest load of a candidate that grows in one way to shrink in another, as a multiple of the first test's:
/// enough to make up for the connections that it does without, and not so much that it takes long to run.
const GROWTH: u64 = 4;

/// Most tests that a campaign spends on minimising one finding; `minimize` goes on to the end.
pub const BUDGET: u64 = 5_000;

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

/// Draws for each one that may be run: larger tests, and those that were run before, are not.
const DRAWS: u64 = 16;

/// Load in packets that a drawn test may always have, however small the best one is; else it has at most [`GROWTH`] times as much.
const DRAWN_PACKETS: u64 = 1_024;

/// Reasons why a search ends early.
enum Halt<E> {
    OutOfBudget,
    Failed(E),
}

struct Search<'a, E> {
    /// The smallest test so far, and its size.
    best: TestConfig,
    size: Size,
    /// No candidate that grows in one way, to shrink in another, has more data packets.
    most_packets: u64,
    /// Every test that is known to show it or not.
    tried: HashSet<Key>,
    executions: u64,
    effort: Effort,
    budget: Option<u64>,
    shows: &'a mut dyn FnMut(&TestConfig) -> Result<bool, E>,
}

impl<E> Search<'_, E> {
    fn run(&mut self, first: &TestConfig, mut rng: ChaCha8Rng) -> Result<(), Halt<E>> {
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
            let drawn = draw(first, &self.best, load, &mut rng);
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

    /// Takes a candidate if it is smaller than the best, valid, new, and shows it.
    fn offer(&mut self, mut candidate: TestConfig) -> Result<bool, Halt<E>> {
        fit::fit(&mut candidate);
        let size = Size::of(&candidate);
        if size >= self.size || !candidate.is_valid() {
            return Ok(false);
        }
        if !self.tried.insert(Key::of(&candidate)) {
            return Ok(false);
        }
        if self.budget.is_some_and(|budget| self.executions >= budget) {
            return Err(Halt::OutOfBudget);
        }
        self.executions += 1;
        let shows = (self.shows)(&candidate).map_err(Halt::Failed)?;
        if shows {
            (self.best, self.size) = (candidate, size);
        }
        Ok(shows)
    }
}
