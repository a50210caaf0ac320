//! The runner: does work on the testbeds of this process, one for each thread of the current pool.

use std::sync::atomic::{AtomicU64, Ordering};

use corpus::{Capabilities, TestConfig};
use dumper::Observation;
use executor::{History, Testbed, TestbedError};
use rayon::prelude::*;

use crate::campaign::error::CampaignError;

/// Runs tests, and counts them.
pub(super) struct Runner<'a> {
    testbed: &'a (dyn Fn() -> Box<dyn Testbed> + Sync),
    runs: AtomicU64,
}

impl<'a> Runner<'a> {
    /// A runner after so many runs, whose testbeds `testbed` makes.
    pub(super) fn new(testbed: &'a (dyn Fn() -> Box<dyn Testbed> + Sync), runs: u64) -> Self {
        Self { testbed, runs: AtomicU64::new(runs) }
    }

    /// Tests that ran, for whatever purpose: executions, references, repetitions, those of minimisers.
    pub(super) fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    /// Tests that can run at a time.
    pub(super) fn jobs(&self) -> usize {
        rayon::current_num_threads()
    }

    /// Does the work of each task on a testbed; the results are in the order of the tasks.
    ///
    /// # Errors
    /// That of a task that failed.
    pub(super) fn each<T: Send, R: Send>(
        &self,
        tasks: Vec<T>,
        work: impl Fn(&mut dyn Testbed, T) -> Result<R, CampaignError> + Sync,
    ) -> Result<Vec<R>, CampaignError> {
        tasks
            .into_par_iter()
            .with_max_len(1)
            .map_init(
                || Counted { testbed: (self.testbed)(), runs: &self.runs },
                |testbed, task| work(testbed, task),
            )
            .collect()
    }
}

/// A testbed that counts.
struct Counted<'a> {
    testbed: Box<dyn Testbed>,
    runs: &'a AtomicU64,
}

impl Testbed for Counted<'_> {
    fn capabilities(&self) -> Capabilities {
        self.testbed.capabilities()
    }

    fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.testbed.run(config)
    }

    fn run_after(&mut self, history: &History<'_>, config: &TestConfig) -> Result<Observation, TestbedError> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.testbed.run_after(history, config)
    }

    fn run_within(&mut self, packets: usize, config: &TestConfig) -> Result<Observation, TestbedError> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.testbed.run_within(packets, config)
    }
}
