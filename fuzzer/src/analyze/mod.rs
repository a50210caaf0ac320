//! Judging captures and result folders: loading, integrity, analysis, and the two forms of the result.

mod input;
pub mod json;
pub(crate) mod packets;
pub mod text;

pub use input::{Input, LoadError};

use dumper::Observation;
use dumper::integrity::{self, Integrity};
use scoring::{Analysis, Options};

/// Analysis of an input, ready to be printed.
pub struct Report {
    /// The integrity check.
    pub integrity: Integrity,
    /// The analysis; none of an invalid trace, whose missing packets would look like a NIC's faults.
    pub analysis: Option<Analysis>,
}

impl Report {
    /// Checks the integrity of an observation and, if the trace is valid (or `even_if_invalid`), analyses it.
    pub fn of(observation: &Observation, options: Options<'_>, even_if_invalid: bool) -> Self {
        let integrity = integrity::check(&observation.trace, observation.switch.as_ref());
        let analyse = even_if_invalid || !integrity.is_invalid();
        let analysis = analyse.then(|| scoring::analyze(observation, options));
        Self { integrity, analysis }
    }

    /// The same for an observation from files, whose damage is a reason to doubt.
    pub fn of_input(input: &Input, options: Options<'_>, even_if_invalid: bool) -> Self {
        let mut report = Self::of(&input.observation, options, even_if_invalid);
        if !input.leftovers.damage.is_empty() {
            report.integrity.doubt("a capture file is damaged: packets may be missing");
        }
        report
    }
}
