//! Numbers from observations: those of the paper's experiments, and those behind a finding.

mod finding;
mod numbers;
mod probe;
mod reordering;
pub mod setups;
#[cfg(test)]
mod tests;
mod threshold;
mod value;

pub use finding::{Measured, Measurements, lines, measure};
pub use numbers::{Phase, Points, micros, scope_words};
pub use value::{Shown, Value, digits, mean};

use corpus::TestConfig;
use dumper::Observation;
use scoring::Analysis;

/// A test that ran, with its analysis.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The test.
    pub config: &'a TestConfig,
    /// Observation of the run.
    pub observation: &'a Observation,
    /// Analysis of the observation.
    pub analysis: &'a Analysis,
}
