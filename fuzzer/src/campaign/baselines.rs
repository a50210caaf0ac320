//! Summaries of reference runs: kept in the store, or in memory while one finding is minimised.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use corpus::Key;
use corpus::store::Store;
use scoring::score::Baseline;

use crate::judge::{Baselines, JudgeError};

/// Locks that the references of a campaign share. More than there are cores, so that jobs seldom wait for each other.
const LOCKS: usize = 64;

/// Kept in the store: each reference is run once in a campaign, also where two jobs need it at the same moment.
pub(super) struct Stored<'a> {
    store: &'a Store,
    locks: [Mutex<()>; LOCKS],
}

impl<'a> Stored<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self { store, locks: [const { Mutex::new(()) }; LOCKS] }
    }
}

impl Baselines for Stored<'_> {
    fn get_or_run(
        &self,
        key: Key,
        run: &mut dyn FnMut() -> Result<Option<Baseline>, JudgeError>,
    ) -> Result<Option<Baseline>, JudgeError> {
        // A job that panicked leaves nothing half done: what it guards is in the store.
        let _guard = self.locks[usize::from(key.0[0]) % LOCKS].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = self.store.reference(key)?
            && let Ok(baseline) = postcard::from_bytes(&bytes)
        {
            return Ok(baseline);
        }
        let baseline = run()?;
        let bytes = postcard::to_allocvec(&baseline).expect("plain data, whose lists know their lengths");
        self.store.put_reference(key, &bytes)?;
        Ok(baseline)
    }
}

/// Kept in memory.
#[derive(Default)]
pub struct InMemory {
    known: Mutex<BTreeMap<Key, Option<Baseline>>>,
}

impl InMemory {
    /// References that were run.
    pub fn runs(&self) -> u64 {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).len() as u64
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
        lock().insert(key, baseline.clone());
        Ok(baseline)
    }
}
