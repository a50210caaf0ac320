//! Runs of the paper's tests on the simulated testbed, each once.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use corpus::{Key, TestConfig};
use dumper::Observation;
use executor::sim::Sim;
use executor::{Testbed as _, TestbedError};
use rayon::prelude::*;
use scoring::{Analysis, Options};

use super::{engines, tables};
use crate::judge::integrity_of;
use crate::measure::Seen;

/// Everything that was run.
#[derive(Debug)]
pub struct Lab {
    runs: BTreeMap<Key, Run>,
}

#[derive(Debug)]
struct Run {
    config: TestConfig,
    observation: Observation,
    analysis: Analysis,
}

/// A test of the paper that could not be run.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The testbed.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
    /// Its trace has holes.
    #[error("the trace of a test has holes, so that it shows nothing; it is:\n{0}")]
    Incomplete(String),
}

/// A testbed that knows the NICs of all experiments.
pub(super) fn testbed() -> Sim {
    let known = engines::known().chain([tables::one_table()]);
    known.fold(Sim::new(Path::new("")), |sim, (name, profile)| sim.with_profile(name, profile))
}

impl Lab {
    /// Runs tests, equal ones once, on all cores. `progress` receives the number of finished tests and of
    /// all.
    ///
    /// # Errors
    /// A test cannot be run.
    pub fn run(
        tests: impl Iterator<Item = TestConfig>,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Self, LabError> {
        let tests: BTreeMap<Key, TestConfig> = tests.map(|config| (Key::of(&config), config)).collect();
        let (all, done) = (tests.len(), AtomicUsize::new(0));
        let testbed = testbed();
        let runs = tests
            .into_par_iter()
            .map(|(key, config)| {
                let run = Run::of(config, testbed.clone())?;
                progress(done.fetch_add(1, Ordering::Relaxed) + 1, all);
                Ok((key, run))
            })
            .collect::<Result<_, LabError>>()?;
        Ok(Self { runs })
    }

    /// Runs of some tests; `None` if not all of them were run.
    pub fn seen(&self, tests: &[TestConfig]) -> Option<Vec<Seen<'_>>> {
        tests.iter().map(|config| self.runs.get(&Key::of(config)).map(Run::seen)).collect()
    }
}

impl Run {
    fn of(config: TestConfig, mut testbed: Sim) -> Result<Self, LabError> {
        let observation = testbed.run(&config)?;
        if integrity_of(&observation).is_invalid() {
            return Err(LabError::Incomplete(config.to_toml()));
        }
        let analysis = scoring::analyze(&observation, Options { config: Some(&config) });
        Ok(Self { config, observation, analysis })
    }

    const fn seen(&self) -> Seen<'_> {
        Seen { config: &self.config, observation: &self.observation, analysis: &self.analysis }
    }
}
