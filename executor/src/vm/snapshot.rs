//! The state of a guest as it was when it was ready: going on from there takes a fraction of a second.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::Image;
use super::image::{digest_of, digest_of_bytes};
use super::qemu::Qemu;

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
        // Several pairs may come to it at once: each writes its own, and the last one stays.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let new = self.state.with_extension(format!("new-{}-{number}", std::process::id()));
        let kept = write(&new).and_then(|()| {
            let digest = digest_of(&new).map_err(io::Error::other)?;
            fs::rename(&new, &self.state)?;
            fs::write(&self.digest, digest)
        });
        if kept.is_err() {
            // The error is what counts; the state may not even have been begun.
            let _ = fs::remove_file(&new);
        }
        kept
    }

    /// Takes it away, so that the next one is made anew.
    pub(super) fn discard(&self) {
        // Without its checksum it is not used.
        let _ = fs::remove_file(&self.digest);
    }
}
