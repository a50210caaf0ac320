//! Searches of one test with different draws, one after the other.

use std::cell::Cell;

use corpus::TestConfig;

use super::search::{Effort, Minimised, Search};
use super::size::is_smaller;

/// Restarts in a row that find nothing smaller, after which there is no further one. A smaller test that one search in five finds is then
/// missed with a probability of 0.07 (0.8^12).
const IN_VAIN: u64 = 12;

/// Makes a test smaller as [`minimize`](super::minimize) does without a budget, and again with other draws, until 12 restarts in
/// a row find nothing smaller. `shows` is asked with the number of restarts so far, and never twice for one test: the searches share
/// its answers.
///
/// # Errors
/// The first one of `shows`.
pub fn minimize_with_restarts<E>(
    config: &TestConfig,
    effort: Effort,
    shows: &mut dyn FnMut(&TestConfig, u64) -> Result<bool, E>,
) -> Result<Minimised, E> {
    let restarts = Cell::new(0);
    let mut shows = |test: &TestConfig| shows(test, restarts.get());
    let mut search = Search::new(config, effort, None, &mut shows);
    let mut smallest = search.run(0)?;
    let mut in_vain = 0;
    while in_vain < IN_VAIN {
        restarts.set(restarts.get() + 1);
        let again = search.run(restarts.get())?;
        if is_smaller(&again.config, &smallest.config) {
            smallest = again;
            in_vain = 0;
        } else {
            in_vain += 1;
        }
    }
    Ok(Minimised { executions: search.executions(), restarts: restarts.get(), ..smallest })
}
