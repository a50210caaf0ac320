//! Summaries of reference runs, kept in memory: those of one test, or of the work on one finding.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use corpus::Key;
use executor::Testbed;
use scoring::score::Baseline;

use super::{Baselines, JudgeError};
use crate::policy::Policy;

/// Reference runs that are kept in memory.
pub struct InMemory {
    known: Mutex<BTreeMap<Key, Option<Baseline>>>,
    runs: AtomicU64,
    /// Policy on the testbed of the references.
    policy: Policy,
}

impl InMemory {
    /// For the tests of a testbed.
    #[must_use]
    pub fn on(testbed: &dyn Testbed) -> Self {
        Self::new(Policy::on(testbed))
    }

    /// For the tests of testbeds with this policy.
    #[must_use]
    pub const fn new(policy: Policy) -> Self {
        Self { known: Mutex::new(BTreeMap::new()), runs: AtomicU64::new(0), policy }
    }

    /// References that were run.
    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }
}

impl Baselines for InMemory {
    fn get_or_run(
        &self,
        key: Key,
        run: &mut dyn FnMut() -> Result<Option<Baseline>, JudgeError>,
    ) -> Result<Option<Baseline>, JudgeError> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(baseline) = lock().get(&key) {
            return Ok(baseline.clone());
        }
        let baseline = run()?;
        self.runs.fetch_add(1, Ordering::Relaxed);
        if self.policy.settles(&baseline) {
            lock().insert(key, baseline.clone());
        }
        Ok(baseline)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use corpus::{Capabilities, TestConfig};
    use dumper::Observation;
    use executor::TestbedError;

    use super::*;

    /// A testbed that runs nothing.
    struct Idle {
        deterministic: bool,
    }

    impl Testbed for Idle {
        fn capabilities(&self) -> Capabilities {
            Capabilities { deterministic: self.deterministic, ..Capabilities::all() }
        }

        fn run(&mut self, _: &TestConfig) -> Result<Observation, TestbedError> {
            Err(TestbedError::Broken("it runs nothing".into()))
        }
    }

    /// Runs of a reference that can be judged from the second one on, when it is needed three times.
    pub(crate) fn runs(baselines: &dyn Baselines) -> u32 {
        let mut runs = 0;
        for _ in 0..3 {
            let mut run = || {
                runs += 1;
                Ok((runs > 1).then(Baseline::default))
            };
            baselines.get_or_run(Key::of(&TestConfig::default()), &mut run).unwrap();
        }
        runs
    }

    #[test]
    fn what_could_not_be_judged_is_run_again_where_that_may_help() {
        for (deterministic, expected) in [(true, 1), (false, 2)] {
            let in_memory = InMemory::on(&Idle { deterministic });
            assert_eq!(runs(&in_memory), expected);
            assert_eq!(in_memory.runs(), u64::from(expected));
        }
    }
}
