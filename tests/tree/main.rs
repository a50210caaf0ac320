//! The tree of rooms (crates) and modules: imports run in one direction.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic where they fail")]

mod circles;
mod imports;
mod rooms;

use std::path::{Path, PathBuf};

/// The project's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
