//! Images of guests in virtual time: a user-mode kernel, built from Debian's source package, and an initramfs.
//!
//! The cache has, for each kernel, `kernel/` (the program), `userland/` (files from Debian's packages) and `image/` (what
//! boots). Each has checksums of its files, and of what it was made from.

mod kernel;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::guests::agent::{self, Agent};
use crate::guests::apt::{Apt, archive, check_space};
use crate::guests::error::At as _;
use crate::guests::initramfs::Packing;
use crate::guests::manifest::Manifest;
use crate::guests::pack::pack;
use crate::guests::store::{self, lock, replace};
use crate::guests::{Event, GuestError, Kernel, userland};

/// The program and the initramfs in an image's folder.
const LINUX: &str = "linux";
const INITRAMFS: &str = "initramfs";

/// Options of building an image.
#[derive(Debug, Clone, Copy)]
pub struct Build<'a> {
    /// Its kernel.
    pub kernel: Kernel,
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
    folder: PathBuf,
}

impl Image {
    /// Returns true if its agent is the program at that path.
    pub(super) fn has_agent(&self, agent: &Path) -> bool {
        agent::is_in(&self.manifest.inputs, agent)
    }

    pub(super) fn linux(&self) -> PathBuf {
        self.folder.join(LINUX)
    }

    pub(super) fn initramfs(&self) -> PathBuf {
        self.folder.join(INITRAMFS)
    }
}

/// The folder that keeps images.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in `folder`, or else in `$XDG_CACHE_HOME/lumina-fuzz/uml` (`~/.cache/lumina-fuzz/uml`). It is made if
    /// it is not there.
    ///
    /// # Errors
    /// The folder cannot be made, or there is no home to have one in.
    pub fn open(folder: Option<&Path>) -> Result<Self, GuestError> {
        Ok(Self { folder: store::open(folder, "uml")? })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn of(&self, kernel: Kernel, part: &str) -> PathBuf {
        self.folder.join(kernel.name()).join(part)
    }

    /// The image of a kernel, if it was built and every checksum is right.
    ///
    /// # Errors
    /// [`GuestError::Image`] with a description of the damage.
    pub fn image(&self, kernel: Kernel) -> Result<Image, GuestError> {
        let folder = self.of(kernel, "image");
        let wrong = |why| GuestError::Image { testbed: "uml", kernel, why };
        Ok(Image { manifest: Manifest::read(&folder, kernel).map_err(wrong)?, folder })
    }

    /// Builds an image, or finds that the existing one is up to date. A kernel is built again only if its configuration,
    /// the changes to its source or the compiler have changed; userland is fetched again only if it is damaged. Another build in the
    /// same cache is waited for.
    ///
    /// # Errors
    /// See [`GuestError`]; the former image stays, unless it was damaged.
    pub fn build(&self, build: Build<'_>, tell: &dyn Fn(Event<'_>)) -> Result<Image, GuestError> {
        let Build { kernel, agent, mirror } = build;
        let _lock = lock(&self.folder, tell)?;
        let agent = Agent::read(agent)?;
        let of_kernel = kernel::build(kernel, mirror, &self.of(kernel, "kernel"), tell)?;
        let choice = BTreeMap::from([("files".to_owned(), userland::digest(userland::VERBS))]);
        let userland = match Manifest::read(&self.of(kernel, "userland"), kernel) {
            Ok(manifest) if manifest.inputs == choice => manifest,
            Ok(_) => fetch_userland(kernel, mirror, &self.of(kernel, "userland"), choice, tell)?,
            Err(why) => {
                tell(Event::Step(&format!("userland, from Debian: {why}")));
                fetch_userland(kernel, mirror, &self.of(kernel, "userland"), choice, tell)?
            }
        };
        let mut inputs = agent.inputs(None, &userland);
        inputs.insert(LINUX.into(), of_kernel.digest());
        match self.image(kernel) {
            Ok(image) if image.manifest.inputs == inputs => Ok(image),
            _ => {
                tell(Event::Step(&format!("packing the image of Linux {}", of_kernel.release)));
                replace(&self.of(kernel, "image"), |new| {
                    let root = userland.files.keys();
                    let root = root.map(|file| (&**file, self.of(kernel, "userland").join(file)));
                    pack(root, None, agent, Packing::Plain, new, INITRAMFS)?;
                    let from = self.of(kernel, "kernel").join(LINUX);
                    fs::copy(&from, new.join(LINUX)).at("copy", &from)?;
                    let packages = [of_kernel.packages, userland.packages].concat();
                    let files = [LINUX, INITRAMFS].map(String::from);
                    Manifest::of(new, kernel, of_kernel.release, packages, inputs, &files)
                })?;
                self.image(kernel)
            }
        }
    }
}

fn fetch_userland(
    kernel: Kernel,
    mirror: Option<&str>,
    folder: &Path,
    choice: BTreeMap<String, String>,
    tell: &dyn Fn(Event<'_>),
) -> Result<Manifest, GuestError> {
    let archive = mirror.map_or_else(archive, |mirror| Ok(mirror.to_owned()))?;
    replace(folder, |new| {
        let (work, tree) = (new.join("work"), new.join("tree"));
        let apt = Apt::of(userland::SUITE, &archive, &work, tell)?;
        let packages = userland::packages(userland::VERBS, &apt)?;
        check_space(new, packages.iter(), 0)?;
        apt.fetch(&packages, &work.join("userland"), &tree, tell)?;
        let files = userland::choose(userland::VERBS, &tree, new)?;
        for folder in [&work, &tree] {
            fs::remove_dir_all(folder).at("remove", folder)?;
        }
        let packages = packages.into_iter().map(crate::guests::apt::Package::kept).collect();
        Manifest::of(new, kernel, String::new(), packages, choice, &files)
    })
}
