//! The program's version.

/// Version of the package.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Revision that it was built from: the first digits of git's hash; none where it was built without git.
#[must_use]
pub fn revision() -> Option<&'static str> {
    Some(env!("LUMINA_FUZZ_REVISION")).filter(|revision| !revision.is_empty())
}

/// Version and revision: `0.1.0 (1f0c3d2a9b4e)`.
#[must_use]
pub fn with_revision(version: &str, revision: Option<&str>) -> String {
    revision.map_or_else(|| version.to_owned(), |revision| format!("{version} ({revision})"))
}
