//! Errors of opening, reading and writing a corpus.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::record::SCHEMA;

/// A corpus that cannot be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file or folder, as the system sees it.
    #[error("{}: {what}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Operation that failed.
        what: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file system is full, or a quota is used up. Nothing was written; records written before are whole.
    #[error(
        "{}: no space left on the disk; free some and go on: everything up to here is kept",
        path.display()
    )]
    Full {
        /// The folder of the corpus.
        path: PathBuf,
    },
    /// The database was deleted or replaced under the process that has it open.
    #[error(
        "{}: was deleted or replaced while it was in use; what was saved is there only if it was moved to another place: put it \
         back and go on",
        path.display()
    )]
    Gone {
        /// The folder of the database.
        path: PathBuf,
    },
    /// There is no corpus.
    #[error("{}: there is no corpus; name a campaign's folder, or the corpus in it", path.display())]
    Missing {
        /// The folder.
        path: PathBuf,
    },
    /// A new corpus needs a new folder.
    #[error("{}: is not empty; name a new folder or an empty one", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// One process at a time.
    #[error("{}: another process has this corpus open; wait for it, or stop it", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// Written by another version of the program.
    #[error(
        "{}: the corpus has schema {found}, this program reads schema {SCHEMA}; use the version that wrote it",
        path.display()
    )]
    Schema {
        /// The folder.
        path: PathBuf,
        /// Its schema.
        found: String,
    },
    /// Nothing of it can be read.
    #[error(
        "{}: nothing in this corpus can be read ({reason}); take it from a backup, or start a new campaign",
        path.display()
    )]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// A record differs from the written one, or the database does not continue.
    #[error("{}: {reason}; `lumina-fuzz corpus check` says what of it can be read", path.display())]
    Damaged {
        /// The file or folder.
        path: PathBuf,
        /// Description of the error.
        reason: String,
    },
    /// An execution was decided that was not recorded.
    #[error("execution {number} is not recorded, and cannot be kept")]
    NotRecorded {
        /// Number of the execution.
        number: u64,
    },
    /// A record that no reader would accept.
    #[error("a record of {bytes} bytes is too large to be kept; the largest has {max}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The bound.
        max: usize,
    },
}

impl StoreError {
    /// Returns true if the disk is full: the remedy is to stop, and to resume later.
    #[must_use]
    pub fn is_full(&self) -> bool {
        match self {
            Self::Full { .. } => true,
            Self::Io { source, .. } => is_full(source),
            _ => false,
        }
    }

    /// An error of the database underneath.
    pub(super) fn database(path: &Path, error: &sled::Error) -> Self {
        match error {
            sled::Error::Io(source) if is_full(source) => Self::Full { path: path.to_owned() },
            other => Self::Damaged {
                path: path.to_owned(),
                reason: format!("the database does not go on ({other})"),
            },
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

/// Adds the operation and the file to an error.
pub(super) trait Context<T> {
    fn context(self, path: &Path, what: &'static str) -> Result<T, StoreError>;
}

impl<T, E: Into<io::Error>> Context<T> for Result<T, E> {
    fn context(self, path: &Path, what: &'static str) -> Result<T, StoreError> {
        self.map_err(|error| StoreError::Io { path: path.to_owned(), what, source: error.into() })
    }
}
