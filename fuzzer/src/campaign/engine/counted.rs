//! Count of the tests that a campaign's testbeds run, for whatever purpose.

use std::sync::atomic::{AtomicU64, Ordering};

use corpus::{Capabilities, TestConfig};
use dumper::Observation;
use executor::{Testbed, TestbedError};

/// A testbed that counts.
pub(super) struct Counted<'a> {
    testbed: Box<dyn Testbed>,
    runs: &'a AtomicU64,
}

impl<'a> Counted<'a> {
    pub(super) fn new(testbed: Box<dyn Testbed>, runs: &'a AtomicU64) -> Self {
        Self { testbed, runs }
    }
}

impl Testbed for Counted<'_> {
    fn capabilities(&self) -> Capabilities {
        self.testbed.capabilities()
    }

    fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.testbed.run(config)
    }
}
