//! Packet scripts on a testbed: a script becomes a test configuration, and the observation is compared with
//! it line by line. `docs/packet-scripts.md` is the description for users; the language is
//! [`dumper::script`].

mod compare;
mod config;
mod events;
mod expect;
mod mismatch;
mod record;
mod seen;
mod settings;
mod times;

use corpus::TestConfig;
use dumper::Observation;
use dumper::script::{Found, Script, ScriptErrors};

pub use compare::compare;
pub use config::to_config;
pub use mismatch::Mismatch;
pub use record::record;
pub use settings::settings;

use crate::{Testbed, TestbedError};

/// A script that was run.
#[derive(Debug)]
pub struct Outcome {
    /// The test that it describes.
    pub config: TestConfig,
    /// Observation of the test.
    pub observation: Observation,
    /// Differences from the script; empty if the script passed.
    pub mismatches: Vec<Mismatch>,
}

/// Reasons why a script was not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It describes no test.
    #[error(transparent)]
    Script(#[from] ScriptErrors),
    /// The testbed could not run the test.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
}

/// Runs a script. `judge` returns what the analyzers say of the observation.
///
/// # Errors
/// The script describes no test, or the testbed cannot run it. An observation that differs from the script is
/// not an error, but listed in [`Outcome::mismatches`].
pub fn run(
    script: &Script,
    testbed: &mut dyn Testbed,
    judge: impl FnOnce(&TestConfig, &Observation) -> Found,
) -> Result<Outcome, RunError> {
    let config = to_config(script)?;
    let observation = testbed.run(&config)?;
    let found = judge(&config, &observation);
    let mismatches = compare(script, &config, &observation, &found);
    Ok(Outcome { config, observation, mismatches })
}
