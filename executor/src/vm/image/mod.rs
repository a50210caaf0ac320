//! Images of guests: a kernel and an initramfs, made from Debian packages and the agent, in a cache folder.
//!
//! The folder has, for each kernel, `parts/` (as fetched), `image/` (as booted: the parts with the agent) and
//! `snapshots/` (guests as they were when they were ready). Each has checksums of its files. A folder is made
//! beside the one that it replaces, so that a kill leaves the old one, the new one, or none.

mod modules;
mod parts;

use std::fs;
use std::path::{Path, PathBuf};

use crate::guests::agent::Agent;
use crate::guests::error::At as _;
use crate::guests::initramfs::Packing;
use crate::guests::manifest::Manifest;
use crate::guests::pack::pack;
use crate::guests::store::{self, lock, remove, replace};
use crate::guests::{Event, GuestError, Kernel};

/// First process of a guest.
const INIT: &str = include_str!("init.sh");

/// The initramfs in an image's folder.
const INITRAMFS: &str = "initramfs";

/// Options of building an image.
#[derive(Debug, Clone, Copy)]
pub struct Build<'a> {
    /// Its kernel.
    pub kernel: &'a Kernel,
    /// The agent's program.
    pub agent: &'a Path,
    /// The Debian archive, if not the one that this machine's apt has.
    pub mirror: Option<&'a str>,
}

/// A kernel with its initramfs, ready to boot.
#[derive(Debug, Clone)]
pub struct Image {
    /// Contents of the image.
    pub manifest: Manifest,
    pub(super) folder: PathBuf,
    /// Folder of the snapshots of guests with it.
    pub(super) snapshots: PathBuf,
}

impl Image {
    pub(super) fn vmlinuz(&self) -> PathBuf {
        self.folder.join(parts::VMLINUZ)
    }

    pub(super) fn initramfs(&self) -> PathBuf {
        self.folder.join(INITRAMFS)
    }
}

/// The folder that keeps images and snapshots.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in `folder`, or else in `$XDG_CACHE_HOME/lumina-fuzz/vm` (`~/.cache/lumina-fuzz/vm`). It is made if
    /// it is not there.
    ///
    /// # Errors
    /// The folder cannot be made, or there is no home to have one in.
    pub fn open(folder: Option<&Path>) -> Result<Self, GuestError> {
        let folder = store::open(folder, "vm")?;
        Ok(Self { folder })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn of(&self, kernel: &Kernel) -> PathBuf {
        self.folder.join(kernel.name())
    }

    /// The image of a kernel, if it was built and every checksum is right.
    ///
    /// # Errors
    /// [`GuestError::Image`] with a description of the damage.
    pub fn image(&self, kernel: &Kernel) -> Result<Image, GuestError> {
        let folder = self.of(kernel).join("image");
        let manifest = Manifest::read(&folder, kernel).map_err(|why| GuestError::Image {
            testbed: "vm",
            kernel: kernel.clone(),
            why,
        })?;
        Ok(Image { manifest, folder, snapshots: self.of(kernel).join("snapshots") })
    }

    /// Builds an image, or finds that the existing one is up to date. Packages are fetched only if they are
    /// missing or damaged: another agent needs no network. Another build in the same cache is waited for.
    ///
    /// # Errors
    /// See [`GuestError`]; the former image stays, unless it was damaged.
    pub fn build(&self, build: Build<'_>, tell: &dyn Fn(Event<'_>)) -> Result<Image, GuestError> {
        let _lock = lock(&self.folder, tell)?;
        let contents = Agent::read(build.agent)?;
        let parts = self.of(build.kernel).join("parts");
        let manifest = match Manifest::read(&parts, build.kernel) {
            Ok(manifest) if manifest.inputs == parts::choices() => manifest,
            found => {
                let why = found.err().unwrap_or_else(|| "other files of it are needed now".to_owned());
                tell(Event::Step(&format!("Linux {}, from Debian: {why}", build.kernel)));
                parts::fetch(build.kernel, build.mirror, &parts, tell)?
            }
        };
        let inputs = contents.inputs(Some(INIT), &manifest);
        match self.image(build.kernel) {
            Ok(image) if image.manifest.inputs == inputs => Ok(image),
            _ => {
                tell(Event::Step(&format!("packing the image of Linux {}", manifest.release)));
                replace(&self.of(build.kernel).join("image"), |new| {
                    let root = manifest.files.keys().filter(|file| file.starts_with(parts::ROOT));
                    let root = root.map(|file| (&file[parts::ROOT.len()..], parts.join(file)));
                    pack(root, Some(INIT), contents, Packing::Gzip, new, INITRAMFS)?;
                    let (from, to) = (parts.join(parts::VMLINUZ), new.join(parts::VMLINUZ));
                    fs::copy(&from, &to).at("copy", &from)?;
                    let files = [parts::VMLINUZ, INITRAMFS].map(String::from);
                    let Manifest { kernel, release, packages, .. } = manifest;
                    Manifest::of(new, kernel, release, packages, inputs, &files)
                })?;
                let snapshots = self.of(build.kernel).join("snapshots");
                remove(&snapshots)?;
                self.image(build.kernel)
            }
        }
    }
}
