//! Summaries of reference runs, kept in the store.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::in_memory_tests::runs;

    #[test]
    fn what_could_not_be_judged_is_run_again_where_that_may_help() {
        let folder = tempfile::tempdir().unwrap();
        for (deterministic, expected) in [(true, 1), (false, 2)] {
            let store = Store::create(&folder.path().join(deterministic.to_string())).unwrap();
            assert_eq!(runs(&Stored::new(&store, deterministic)), expected);
        }
    }
}
