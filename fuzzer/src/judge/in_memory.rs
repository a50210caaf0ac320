//! Summaries of reference runs, kept in memory: those of one test, or of the work on one finding.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use corpus::Key;
use executor::Testbed;
use scoring::score::Baseline;

use super::{Baselines, JudgeError};
use crate::policy::Policy;

/// Reference runs that are kept in memory.
pub struct InMemory {
    known: Mutex<BTreeMap<Key, Option<Baseline>>>,
    /// Those that were run, once for each run.
    ran: Mutex<Vec<Key>>,
    /// References that were run, and counted, before.
    counted: BTreeSet<Key>,
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
    pub fn new(policy: Policy) -> Self {
        Self::after(BTreeSet::new(), policy)
    }

    /// The same, after references whose runs are counted already: run again, they do not count.
    #[must_use]
    pub const fn after(counted: BTreeSet<Key>, policy: Policy) -> Self {
        Self { known: Mutex::new(BTreeMap::new()), ran: Mutex::new(Vec::new()), counted, policy }
    }

    /// References that were run and count.
    pub fn runs(&self) -> u64 {
        self.ran().len() as u64
    }

    /// The references that were run and count, from the first or from a later one on.
    pub fn runs_from(&self, first: usize) -> Vec<Key> {
        self.ran().get(first..).unwrap_or_default().to_vec()
    }

    fn ran(&self) -> MutexGuard<'_, Vec<Key>> {
        self.ran.lock().unwrap_or_else(PoisonError::into_inner)
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
        if !self.counted.contains(&key) {
            self.ran().push(key);
        }
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

    #[test]
    fn references_that_are_counted_do_not_count_again() {
        let counted = BTreeSet::from([Key::of(&TestConfig::default())]);
        let in_memory = InMemory::after(counted, Policy::OneRun);
        assert_eq!(runs(&in_memory), 1);
        assert_eq!((in_memory.runs(), in_memory.runs_from(0)), (0, Vec::new()));
    }
}
