//! The packet scripts that come with the project.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the scripts.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scripts")
}

/// The scripts, by feature.
pub(crate) fn scripts() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rds") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
