//! Errors that keep a campaign from starting or continuing.

use std::io;
use std::path::PathBuf;

use corpus::ConfigErrors;
use corpus::store::StoreError;

use crate::finding::{MinimiseError, WriteError, is_full};
use crate::judge::JudgeError;

/// Error that keeps a campaign from starting or continuing.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// A file that the user gave is wrong: a target, a NIC profile, a test to start from.
    #[error(transparent)]
    Input(#[from] ConfigErrors),
    /// The request does not fit the folder, the target or the NICs.
    #[error("{0}")]
    Usage(String),
    /// The corpus.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file or folder of the campaign.
    #[error("{}: {what}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Operation that failed.
        what: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A test could not be judged.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// Work on a finding ended early.
    #[error(transparent)]
    Minimise(#[from] MinimiseError),
    /// A finding could not be written out.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl CampaignError {
    /// Returns true if there is no room left on the disk.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Store(error)
            | Self::Judge(JudgeError::Store(error))
            | Self::Minimise(MinimiseError::Judge(JudgeError::Store(error))) => error.is_full(),
            Self::Io { source, .. } => is_full(source),
            Self::Write(error) => error.is_disk_full(),
            Self::Input(_) | Self::Usage(_) | Self::Judge(_) | Self::Minimise(_) => false,
        }
    }
}
