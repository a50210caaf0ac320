//! A finding in one file: its folder as a `tar.gz`, for readers on other machines.
//!
//! ```text
//! <id>/finding.json  <id>/reproducer.toml  <id>/nic-*.toml  <id>/trace.pcapng  <id>/report.{txt,html,md}
//! <id>/result/...
//! ```

mod paths;
mod read;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use crate::finding::ReadError;

pub use read::{Opened, is_bundle, open, remove_unpacked};
pub use write::write;

/// Most members of a bundle: a finding has some 20 files.
const MAX_MEMBERS: usize = 256;
/// Most bytes of all members together: a trace of 20,000 packets, the most of the targets that come with the program, has
/// 82 MB, and a finding of guests has it twice.
const MAX_BYTES: u64 = 1 << 30;

/// A bundle that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The file, the temporary folder or a file of the finding.
    #[error("{}: {what}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Description of the failed step.
        what: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The finding to be packed cannot be read.
    #[error(transparent)]
    Finding(#[from] ReadError),
    /// A file of the finding cannot be packed.
    #[error("{}: cannot be part of a bundle: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// The archive as a whole.
    #[error("{}: is no bundle of a finding: {reason}", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// A member of the archive.
    #[error("{}: is no bundle of a finding: member `{member}`: {reason}", path.display())]
    Member {
        /// The archive.
        path: PathBuf,
        /// The member, without control characters.
        member: String,
        /// Reason.
        reason: String,
    },
}

impl BundleError {
    fn io(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.into(), what, source }
    }
}
