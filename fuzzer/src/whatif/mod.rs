//! One test with other settings, each over the same seeds: what they change. Losses are drawn for each packet by itself
//! (docs/network.md), so that those of a seed are the same whatever the settings.

mod point;
mod summary;
mod text;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use corpus::lumina::Lab;
use corpus::{ConfigErrors, TestConfig};
use executor::{TestbedError, TestbedName};
use rayon::prelude::*;

use crate::judge::{JudgeError, Verdict};
use crate::run::{NoProfile, Overrides, Test};

use point::grid;
pub use point::{Point, Vary};
pub use summary::{Outcome, Summary, summarise};
pub use text::text;

/// Settings, and seeds of each.
#[derive(Debug)]
pub struct Plan {
    /// Settings with their tests, the first one to compare the others with.
    pub points: Vec<(Point, Test)>,
    /// Runs of each, whose seeds follow each other.
    pub runs: u32,
}

/// A plan that cannot be made.
#[derive(Debug)]
pub enum PlanError {
    /// A setting is not valid.
    Config(ConfigErrors),
    /// A NIC has no usable profile.
    Profile(NoProfile),
}

impl Plan {
    /// Every combination of the settings, on the test of a file.
    ///
    /// # Errors
    /// A setting is no key of a test or not allowed, or a NIC has no usable profile.
    pub fn of(
        file: &Path,
        config: &TestConfig,
        varied: &[Vary],
        runs: u32,
        overrides: &Overrides,
        testbed: &TestbedName,
    ) -> Result<Self, PlanError> {
        let test = |point: Point| {
            let config = point.applied_to(file, config).map_err(PlanError::Config)?;
            let test = Test::new(file, (config, None, Lab::default()), overrides, testbed.clone());
            Ok((point, test.map_err(PlanError::Profile)?))
        };
        let points = grid(varied).into_iter().map(test).collect::<Result<_, _>>()?;
        Ok(Self { points, runs })
    }

    /// Runs all of it; `progress` receives the number of finished runs and of all. Guests and real NICs run one test at a time.
    ///
    /// # Errors
    /// A test cannot be run.
    pub fn run(&self, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Vec<Vec<Outcome>>, JudgeError> {
        let (all, done) = (self.points.len() * self.runs as usize, AtomicUsize::new(0));
        let one = |test: &Test, run: u32| {
            let outcome = outcome_of(&with_seed(test, run))?;
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, all);
            Ok(outcome)
        };
        let of_point = |(_, test): &(Point, Test)| -> Result<Vec<Outcome>, JudgeError> {
            if test.testbed != TestbedName::Sim {
                return (0..self.runs).map(|run| one(test, run)).collect();
            }
            (0..self.runs).into_par_iter().map(|run| one(test, run)).collect()
        };
        self.points.iter().map(of_point).collect()
    }
}

/// The test with the seeds of a run: its own, and those that follow.
fn with_seed(test: &Test, run: u32) -> Test {
    let mut test = test.clone();
    let TestConfig { traffic, network, .. } = &mut test.config;
    for seed in [Some(&mut traffic.seed), network.seed.as_mut()].into_iter().flatten() {
        *seed = (*seed + u64::from(run)) % (corpus::config::fields::SEED.max + 1);
    }
    test
}

fn outcome_of(test: &Test) -> Result<Outcome, JudgeError> {
    const NO_REFERENCES: &str = "whatif makes no reference runs";
    match test.judge(Some(NO_REFERENCES))? {
        Verdict::Judged(judged) => Ok(Outcome::of(&judged)),
        Verdict::Invalid(invalid) => Err(JudgeError::Testbed(TestbedError::Broken(invalid.to_string()))),
    }
}
