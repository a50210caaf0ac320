//! Errors with guests, and their remedies.

use std::io;
use std::path::{Path, PathBuf};

use super::{AGENT, Kernel};

/// Failures to get guests or their images. All of these are the testbed's fault: a fault of a guest's kernel
/// under test is not an error but an observation.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// A program is not on the path.
    #[error("{program} is not installed")]
    Missing {
        /// The program.
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// A file or folder cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// Operation that failed.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// Reason.
        source: io::Error,
    },
    /// A program failed.
    #[error("{doing}: {program} failed: {said}")]
    Tool {
        /// Operation that failed.
        doing: String,
        /// The program.
        program: String,
        /// The end of its output, or its exit status.
        said: String,
    },
    /// No Debian archive is known to this machine's apt.
    #[error("this machine's apt knows no Debian archive")]
    NoArchive,
    /// The keys of the Debian archive are not there.
    #[error("the keys of the Debian archive are not installed ({})", .0.display())]
    NoKeys(PathBuf),
    /// The archive has something else than expected.
    #[error("package {package}: {why}")]
    Package {
        /// The package.
        package: String,
        /// Description of the error.
        why: String,
    },
    /// The disk has too little room.
    #[error("{} has {free} MB free, and {needed} MB are needed", path.display())]
    Space {
        /// The folder.
        path: PathBuf,
        /// Megabytes free.
        free: u64,
        /// Megabytes needed.
        needed: u64,
    },
    /// A program of this project is not there, or no guest can run it.
    #[error("{}: {why}", path.display())]
    Program {
        /// Its path.
        path: PathBuf,
        /// Description of the error.
        why: String,
    },
    /// A source cannot be built, or is none.
    #[error("the source in {}: {why}", folder.display())]
    Source {
        /// Its folder.
        folder: PathBuf,
        /// Description of the error.
        why: String,
    },
    /// An image was never built, or is not as it was built.
    #[error("the image of Linux {kernel}: {why}")]
    Image {
        /// The testbed.
        testbed: &'static str,
        /// The kernel.
        kernel: Kernel,
        /// Description of the error.
        why: String,
    },
    /// There is no folder for the cache or the sockets.
    #[error("{0}")]
    Folder(String),
    /// The switch could not be started or reached.
    #[error("the switch between the guests: {0}")]
    Switch(String),
    /// A guest ended, does not answer, or could not be started.
    #[error("guest {host}: {why}{}", tail(said))]
    Guest {
        /// Number of its host.
        host: u8,
        /// Description of the error.
        why: String,
        /// The end of the output of QEMU or of the guest's console; may be empty.
        said: String,
    },
}

/// Output of a program, on lines of its own.
fn tail(said: &str) -> String {
    let said = said.trim_end();
    if said.is_empty() { String::new() } else { format!("; it said last:\n{said}") }
}

impl GuestError {
    /// Remedy, if one is known.
    #[must_use]
    pub fn mend(&self) -> Option<String> {
        Some(match self {
            Self::Missing { package, .. } => format!("apt-get install {package}"),
            Self::Io { .. } => "look at its permissions, or have XDG_CACHE_HOME name another folder".into(),
            Self::Tool { said, .. }
                if ["resolv", "onnect", "etwork", "imed out"].iter().any(|w| said.contains(w)) =>
            {
                "is there a network? apt's own proxy settings apply; --mirror URI names another archive"
                    .into()
            }
            Self::Tool { said, .. }
                if said.contains("404") || said.contains("does not have a Release file") =>
            {
                "that archive lacks the suite; --mirror URI names another Debian archive".into()
            }
            Self::Tool { .. } => return None,
            Self::NoArchive => "name a Debian archive with --mirror URI".into(),
            Self::NoKeys(_) => "apt-get install debian-archive-keyring".into(),
            Self::Package { .. } => "name another archive with --mirror URI, or update this program".into(),
            Self::Space { .. } => "make room, or have XDG_CACHE_HOME name a folder on another disk".into(),
            Self::Program { path, .. } if path.ends_with(AGENT) => {
                "build all programs (cargo build --release --workspace); --agent PATH names another agent"
                    .into()
            }
            Self::Program { .. } => "build all programs (cargo build --release --workspace)".into(),
            Self::Source { .. } => {
                "guests need a tree from Linux 6.1 on, with arch/um and drivers/infiniband/sw/rxe".into()
            }
            Self::Image { testbed, kernel, .. } => {
                let (name, options) = kernel.without_options();
                let options = options.flags();
                match kernel.of_debian().or_else(|| name.of_debian()) {
                    Some(_) => format!("lumina-fuzz testbed {testbed} build --kernel {name}{options}"),
                    None => format!("lumina-fuzz testbed uml build --tree DIR --name {name}{options}"),
                }
            }
            Self::Switch(_) => "build all programs anew (cargo build --release --workspace)".into(),
            Self::Folder(_) => return None,
            Self::Guest { .. } => {
                "lumina-fuzz testbed vm check, or testbed uml check, tells which step fails".into()
            }
        })
    }
}

/// Adds the operation and the path to an error of input or output.
pub(crate) trait At<T> {
    /// Names the deed and the path.
    fn at(self, doing: &'static str, path: &Path) -> Result<T, GuestError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, doing: &'static str, path: &Path) -> Result<T, GuestError> {
        self.map_err(|source| GuestError::Io { doing, path: path.to_owned(), source })
    }
}
