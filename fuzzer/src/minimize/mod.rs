//! The minimiser: the smallest test that still shows a signature.

use corpus::TestConfig;

/// What minimising came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Minimised {
    /// The smallest test that was found.
    pub config: TestConfig,
    /// Tests that were run for it.
    pub executions: u64,
    /// Whether nothing more can be taken away; else the budget ran out.
    pub complete: bool,
}

/// Makes a test smaller as long as it `shows` what it should: fewest QPs, then messages, bytes, events, and every
/// parameter at its default. `shows` is asked at most `budget` times, and never twice for one test; `config` shows it.
///
/// # Errors
/// The first one of `shows`.
pub fn minimize<E>(
    config: &TestConfig,
    budget: Option<u64>,
    shows: &mut dyn FnMut(&TestConfig) -> Result<bool, E>,
) -> Result<Minimised, E> {
    todo!()
}
