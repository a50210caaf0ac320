//! The state of a guest as it was when it was ready: going on from there takes a fraction of a second.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::Image;
use super::qemu::Qemu;
use crate::guests::manifest::{digest_of, digest_of_bytes};

/// First part of the extension of a state that is being written; the number of the process follows.
const UNFINISHED: &str = "new-";

/// The snapshot of one host's guest: of one image, one version of QEMU, one command line.
#[derive(Debug)]
pub(super) struct Snapshot {
    state: PathBuf,
    /// Its checksum: a wrong byte in a guest's memory could be taken for a finding.
    digest: PathBuf,
}

impl Snapshot {
    pub(super) fn of(qemu: &Qemu, image: &Image, host: u8) -> Self {
        let made_of = format!(
            "{}\n{}\n{}",
            image.manifest.digest(),
            qemu.version,
            qemu.fixed_arguments(image, host).join("\n")
        );
        let key = digest_of_bytes(made_of.as_bytes());
        let name = format!("{host}-{}", &key[..16]);
        let path = |extension| image.snapshots.join(format!("{name}.{extension}"));
        Self { state: path("state"), digest: path("sha256") }
    }

    /// The file to go on from, if it is there and whole.
    pub(super) fn usable(&self) -> Option<PathBuf> {
        let expected = fs::read_to_string(&self.digest).ok()?;
        (digest_of(&self.state).ok()? == expected).then(|| self.state.clone())
    }

    /// Has the state written, and keeps it if it was written whole.
    pub(super) fn save(&self, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let folder = self.state.parent().unwrap_or(&self.state);
        fs::create_dir_all(folder)?;
        remove_unfinished(folder)?;
        // Several pairs may come to it at once: each writes its own, and the last one stays.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let new = self.state.with_extension(format!("{UNFINISHED}{}-{number}", std::process::id()));
        let kept = write(&new).and_then(|()| {
            let digest = digest_of(&new).map_err(io::Error::other)?;
            fs::rename(&new, &self.state)?;
            fs::write(&self.digest, digest)
        });
        if kept.is_err() {
            // The error counts; the state may not even have been begun.
            let _ = fs::remove_file(&new);
        }
        kept
    }

    /// Removes it, so that the next start makes a new one.
    pub(super) fn discard(&self) {
        // Without its checksum it is not used.
        let _ = fs::remove_file(&self.digest);
    }
}

/// Removes states that processes were writing when they were killed: each is as large as a guest's memory in use.
fn remove_unfinished(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        let writer = extension.strip_prefix(UNFINISHED).and_then(|rest| rest.split('-').next());
        if writer.is_some_and(|writer| !Path::new("/proc").join(writer).exists()) {
            match fs::remove_file(&path) {
                // Another process was faster.
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_killed_processes_were_writing_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let snapshot =
            Snapshot { state: folder.path().join("1-ab.state"), digest: folder.path().join("1-ab.sha256") };
        // No process has this number: it is above the largest.
        let dead = folder.path().join("2-cd.new-4194305-0");
        let ours = folder.path().join(format!("2-cd.new-{}-0", std::process::id()));
        fs::write(&dead, "half").unwrap();
        fs::write(&ours, "half").unwrap();
        snapshot.save(|path| fs::write(path, "whole")).unwrap();
        assert!(!dead.exists());
        assert!(ours.exists());
        assert_eq!(fs::read_to_string(snapshot.usable().unwrap()).unwrap(), "whole");
    }
}
