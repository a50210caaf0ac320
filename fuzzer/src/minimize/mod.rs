//! The minimiser: the smallest test that still shows a signature.
//!
//! A test can be made smaller along many axes, each with a bottom: no innocent connections, one message, no
//! such event, a parameter at its default. A group of axes is taken to the bottom together, else in halves, as delta
//! debugging does (Zeller and Hildebrandt, 2002); an axis that cannot go there is lowered to its threshold by
//! bisection. Groups are gone through until a whole round changes nothing: then no single step along any axis shows
//! the signature. Smaller tests that are several steps away are then drawn at random, and the search goes on from one that
//! shows it: what is left of a test when several things change (`draw`), and trades of more of one thing for less of another
//! (`trade`). Only smaller tests are ever taken, so that this ends for every predicate. Where a fault needs several things at once, the
//! draws decide where it ends: without a budget the search is made again with other draws (`restarts`).

mod axes;
mod connections;
mod derandomise;
mod draw;
mod events;
mod fit;
mod offload;
mod parameters;
mod restarts;
mod search;
mod shares;
mod size;
#[cfg(test)]
mod tests;
mod trace;
mod trade;

use corpus::TestConfig;

pub(crate) use connections::renumber;
pub use derandomise::{derandomise, derandomise_exactly};
pub use restarts::minimize_with_restarts;
use search::Search;
pub use search::{Effort, Minimised};
pub use size::is_smaller;
pub(crate) use trace::TraceLimit;

/// Most tests that a campaign spends on minimising one finding; `minimize` goes on to the end.
pub const BUDGET: u64 = 5_000;

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
    Search::new(config, effort, budget, shows).run(0)
}
