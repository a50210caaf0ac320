//! The root file system of an image, packed from the parts of an image and the agent.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use super::GuestError;
use super::agent::Agent;
use super::error::At as _;
use super::initramfs::{Packing, Tree};

/// Folders that exist before anything is mounted on them, or written to.
const MOUNT_POINTS: [&str; 5] = ["dev", "proc", "sys", "tmp", "run"];

/// Packs an image's files (by their paths in the guest), its first process, if that is not the agent, and the agent into an
/// archive of that name in a folder.
pub(crate) fn pack<'a>(
    files: impl Iterator<Item = (&'a str, PathBuf)>,
    init: Option<&str>,
    agent: Agent,
    packing: Packing,
    folder: &Path,
    name: &str,
) -> Result<(), GuestError> {
    let mut tree = Tree::default();
    for mount_point in MOUNT_POINTS {
        tree.folder(mount_point);
    }
    if let Some(init) = init {
        tree.file("init", init.into());
    }
    for (path, from) in files {
        tree.file(path, fs::read(&from).at("read", &from)?);
    }
    agent.put(&mut tree, folder)?;
    let path = folder.join(name);
    File::create(&path).and_then(|file| tree.write(BufWriter::new(file), packing)).at("write", &path)
}
