//! The other programs of this project, which are installed beside this one.

use std::env;
use std::path::{Path, PathBuf};

use super::GuestError;
use super::error::At as _;

/// The software switch.
pub(crate) const SWITCH: &str = "lumina-switch";

/// The dumper.
pub(crate) const DUMPER: &str = "lumina-dumper";

/// Folder in which cargo puts the programs of tests, below those that it builds.
const TESTS: &str = "deps";

/// A program that lies beside the running one.
///
/// # Errors
/// The program is missing, or the running program has no path.
pub fn beside_this(name: &str) -> Result<PathBuf, GuestError> {
    let running = env::current_exe().at("find", Path::new("the running program"))?;
    let mut folder = running.parent().unwrap_or(Path::new("/"));
    if folder.file_name().is_some_and(|folder| folder == TESTS) {
        folder = folder.parent().unwrap_or(folder);
    }
    let path = folder.join(name);
    if path.is_file() { Ok(path) } else { Err(GuestError::Program { path, why: "it is not there".into() }) }
}
