//! Summaries of reference runs, kept in the store.

use std::sync::{Mutex, PoisonError};

use corpus::Key;
use corpus::store::Store;
use scoring::score::Baseline;

use crate::judge::{Baselines, JudgeError};
use crate::policy::Policy;

/// Locks that the references of a campaign share. More than there are cores, so that jobs seldom wait for each other.
const LOCKS: usize = 64;

/// Kept in the store: each reference is run once in a campaign, also where two jobs need it at the same moment.
pub(super) struct Stored<'a> {
    store: &'a Store,
    /// Policy on the testbeds of the campaign.
    policy: Policy,
    locks: [Mutex<()>; LOCKS],
}

impl<'a> Stored<'a> {
    pub(super) fn new(store: &'a Store, policy: Policy) -> Self {
        Self { store, policy, locks: [const { Mutex::new(()) }; LOCKS] }
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
            && self.policy.settles(&baseline)
        {
            return Ok(baseline);
        }
        let baseline = run()?;
        if !self.policy.settles(&baseline) {
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
        for (policy, expected) in [(Policy::OneRun, 1), (Policy::SeveralRuns, 2)] {
            let store = Store::create(&folder.path().join(expected.to_string())).unwrap();
            assert_eq!(runs(&Stored::new(&store, policy)), expected);
        }
    }
}
