//! Summaries of reference runs: kept in the store, or in memory while one finding is minimised.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use corpus::Key;
use corpus::store::Store;
use executor::Testbed;
use scoring::score::Baseline;

use crate::judge::{Baselines, JudgeError};

/// Locks that the references of a campaign share. More than there are cores, so that jobs seldom wait for each other.
const LOCKS: usize = 64;

/// Kept in the store: each reference is run once in a campaign, also where two jobs need it at the same moment.
pub(super) struct Stored<'a> {
    store: &'a Store,
    /// True if a reference that could not be judged never can be.
    is_deterministic: bool,
    locks: [Mutex<()>; LOCKS],
}

impl<'a> Stored<'a> {
    pub(super) fn new(store: &'a Store, is_deterministic: bool) -> Self {
        Self { store, is_deterministic, locks: [const { Mutex::new(()) }; LOCKS] }
    }
}

impl Baselines for Stored<'_> {
    fn get_or_run(
        &self,
        key: Key,
        run: &mut dyn FnMut() -> Result<Option<Baseline>, JudgeError>,
    ) -> Result<Option<Baseline>, JudgeError> {
        // A job that panicked leaves nothing half done: the data that it guards is in the store.
        let _guard = self.locks[usize::from(key.0[0]) % LOCKS].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = self.store.reference(key)?
            && let Ok(baseline) = postcard::from_bytes::<Option<Baseline>>(&bytes)
            && (baseline.is_some() || self.is_deterministic)
        {
            return Ok(baseline);
        }
        let baseline = run()?;
        if baseline.is_none() && !self.is_deterministic {
            return Ok(None);
        }
        let bytes = postcard::to_allocvec(&baseline).expect("plain data, whose lists know their lengths");
        self.store.put_reference(key, &bytes)?;
        Ok(baseline)
    }
}

/// Kept in memory.
#[derive(Default)]
pub struct InMemory {
    known: Mutex<BTreeMap<Key, Option<Baseline>>>,
    runs: AtomicU64,
    /// True if a reference that could not be judged is run again when it is needed again.
    tries_again: bool,
}

impl InMemory {
    /// For the tests of a testbed: where it does not do the same thing twice, a reference that could not be
    /// judged may be judged the next time.
    #[must_use]
    pub fn on(testbed: &dyn Testbed) -> Self {
        Self { tries_again: !testbed.capabilities().deterministic, ..Self::default() }
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
        if baseline.is_some() || !self.tries_again {
            lock().insert(key, baseline.clone());
        }
        Ok(baseline)
    }
}

#[cfg(test)]
mod tests {
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
    fn runs(baselines: &dyn Baselines) -> u32 {
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
        let folder = tempfile::tempdir().unwrap();
        for (deterministic, expected) in [(true, 1), (false, 2)] {
            let in_memory = InMemory::on(&Idle { deterministic });
            assert_eq!(runs(&in_memory), expected);
            assert_eq!(in_memory.runs(), u64::from(expected));
            let store = Store::create(&folder.path().join(deterministic.to_string())).unwrap();
            assert_eq!(runs(&Stored::new(&store, deterministic)), expected);
        }
    }
}
