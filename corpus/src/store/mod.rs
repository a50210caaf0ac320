//! The persistent corpus of a campaign, on sled: evaluations, which of them are kept, findings, and how far the search is.
//!
//! Everything of one campaign is in one folder, which one process may have open.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::evaluation::{Evaluation, FindingRecord, Key};

/// How far a campaign is. Written together with what it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Executions whose retention is decided: 1 to this number. Later ones may be recorded, and are not run again.
    pub executions: u64,
    /// Distinct reference runs that these needed.
    pub reference_executions: u64,
    /// Executions that minimisers took.
    pub minimizer_executions: u64,
    /// Executions among `executions` that were invalid.
    pub invalid: u64,
    /// Time spent, in milliseconds, over all resumptions.
    pub elapsed_ms: u64,
}

/// What is decided of one execution, written whole or not at all.
#[derive(Debug)]
pub struct Decision<'a> {
    /// Number of the execution; its evaluation is recorded already.
    pub number: u64,
    /// The score that it enters the pool with, if it is kept. The evaluation of one that is not is dropped.
    pub kept: Option<f64>,
    /// References that were needed for the first time in the campaign.
    pub new_references: &'a [Key],
    /// Findings that are new or whose counts changed.
    pub findings: &'a [FindingRecord],
    /// How far the campaign is with this.
    pub progress: Progress,
}

/// A corpus that cannot be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Placeholder, see the variants that follow.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// An open corpus. Shared between threads; closing it (dropping) releases the lock.
#[derive(Debug)]
pub struct Store;

impl Store {
    /// A new corpus in a folder that does not exist or is empty.
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        todo!("{path:?}")
    }
    /// An existing corpus; notes say what had to be mended (a broken snapshot set aside, ...), for the user.
    pub fn open(path: &Path) -> Result<(Self, Vec<String>), StoreError> {
        todo!("{path:?}")
    }
    /// Records an execution, before its result is shown to anybody. Its retention is not decided yet.
    pub fn record(&self, evaluation: &Evaluation) -> Result<(), StoreError> {
        todo!("{evaluation:?}")
    }
    /// Decides an execution: kept or dropped, and everything that it changed, in one atomic step.
    pub fn decide(&self, decision: &Decision<'_>) -> Result<(), StoreError> {
        todo!("{decision:?}")
    }
    /// How far the campaign is.
    pub fn progress(&self) -> Result<Progress, StoreError> {
        todo!()
    }
    /// An execution that was kept, or is recorded and not decided yet.
    pub fn evaluation(&self, number: u64) -> Result<Option<Evaluation>, StoreError> {
        todo!("{number}")
    }
    /// Number and retained score of every kept execution, in order, without their tests.
    pub fn kept(&self) -> impl Iterator<Item = Result<(u64, f64), StoreError>> {
        std::iter::empty()
    }
    /// Every finding, by signature.
    pub fn findings(&self) -> Result<Vec<FindingRecord>, StoreError> {
        todo!()
    }
    /// Writes a finding and the progress that goes with it (after minimising), in one atomic step.
    pub fn put_finding(&self, finding: &FindingRecord, progress: Progress) -> Result<(), StoreError> {
        todo!("{finding:?} {progress:?}")
    }
    /// What a reference run was summed up to, if it was run.
    pub fn reference(&self, key: Key) -> Result<Option<Vec<u8>>, StoreError> {
        todo!("{key:?}")
    }
    /// Keeps the summary of a reference run.
    pub fn put_reference(&self, key: Key, summary: &[u8]) -> Result<(), StoreError> {
        todo!("{key:?} {summary:?}")
    }
    /// Whether a decided execution needed the reference: it is counted.
    pub fn counts_reference(&self, key: Key) -> Result<bool, StoreError> {
        todo!("{key:?}")
    }
    /// Hands everything written to the system: it survives the death of this process.
    pub fn flush(&self) -> Result<(), StoreError> {
        todo!()
    }
    /// [`Self::flush`], and fsync: it survives a power failure.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        todo!()
    }
    /// Bytes on disk.
    pub fn size_on_disk(&self) -> Result<u64, StoreError> {
        todo!()
    }
}
