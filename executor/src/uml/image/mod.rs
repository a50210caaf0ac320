//! Images of guests in virtual time: a user-mode kernel, built from Debian's source package, and an initramfs.
//!
//! The cache has, for each kernel, `kernel/` (the program) and `image/` (what boots), and for all of them `userland/` (files
//! from Debian's packages). Each has checksums of its files, and of what it was made from. The image of a kernel that counts
//! what runs of rdma_rxe has the compiler's notes on it and its source too, in `rxe/`.

mod kernel;
mod source;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use super::coverage::Code;
use crate::guests::agent::Agent;
use crate::guests::apt::{Apt, Archives, check_space};
use crate::guests::error::At as _;
use crate::guests::initramfs::Packing;
use crate::guests::manifest::Manifest;
use crate::guests::pack::pack;
use crate::guests::store::{self, lock, replace};
use crate::guests::{Event, GuestError, Kernel, Options, userland};

pub use self::source::Source;

/// The program and the initramfs in an image's folder.
const LINUX: &str = "linux";
const INITRAMFS: &str = "initramfs";

/// The folder of rdma_rxe's source, and that of its copy and the compiler's notes in an image.
const RXE_SOURCE: &str = "drivers/infiniband/sw/rxe";
const RXE: &str = "rxe";

/// The agent's protocol, among the inputs of an image.
const PROTOCOL: &str = "protocol";

/// An image that is to be built.
#[derive(Debug, Clone)]
pub struct Build<'a> {
    /// The kernel's source.
    pub source: Source,
    /// What the kernel has beside.
    pub options: Options,
    /// The agent's program.
    pub agent: &'a Path,
    /// The Debian archive, if not those that this machine's apt has.
    pub mirror: Option<&'a str>,
    /// True if the archive is asked for a newer version than the one that is there.
    pub update: bool,
}

impl Build<'_> {
    /// The name of the image.
    #[must_use]
    pub fn kernel(&self) -> Kernel {
        let (Source::Debian(name) | Source::Tree { name, .. }) = &self.source;
        name.with(self.options)
    }
}

/// A kernel with its initramfs, ready to boot.
#[derive(Debug, Clone)]
pub struct Image {
    /// Contents of the image.
    pub manifest: Manifest,
    folder: PathBuf,
    code: Option<Arc<Code>>,
}

impl Image {
    /// The code of rdma_rxe, if the kernel counts what runs of it.
    #[must_use]
    pub const fn code(&self) -> Option<&Arc<Code>> {
        self.code.as_ref()
    }

    /// The folder of rdma_rxe's source, if the kernel counts what runs of it.
    #[must_use]
    pub fn sources(&self) -> PathBuf {
        self.folder.join(RXE)
    }

    /// The kernel's program, with its symbols.
    #[must_use]
    pub fn linux(&self) -> PathBuf {
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

    fn of(&self, kernel: &Kernel, part: &str) -> PathBuf {
        self.folder.join("kernels").join(kernel.name()).join(part)
    }

    /// The image of a kernel, if it was built and every checksum is right.
    ///
    /// # Errors
    /// [`GuestError::Image`] with a description of the damage.
    pub fn image(&self, kernel: &Kernel) -> Result<Image, GuestError> {
        let folder = self.of(kernel, "image");
        let wrong = |why| GuestError::Image { testbed: "uml", kernel: kernel.clone(), why };
        let manifest = Manifest::read(&folder, kernel).map_err(wrong)?;
        if manifest.inputs.get(PROTOCOL).is_none_or(|protocol| *protocol != crate::agent::protocol()) {
            return Err(wrong("its agent is of another version of this program".to_owned()));
        }
        let counts = manifest.files.keys().any(|file| Path::new(file).starts_with(RXE));
        let code = counts.then(|| Code::of(&folder.join(LINUX), &folder.join(RXE)).map(Arc::new));
        let code = code.transpose().map_err(wrong)?;
        Ok(Image { manifest, folder, code })
    }

    /// The images of the requester's and the responder's kernel; of the same kernel, checked once.
    ///
    /// # Errors
    /// See [`Self::image`].
    pub(super) fn images(&self, [requester, responder]: &[Kernel; 2]) -> Result<[Image; 2], GuestError> {
        let first = self.image(requester)?;
        let second = if requester == responder { first.clone() } else { self.image(responder)? };
        Ok([first, second])
    }

    /// Builds an image, or finds that the existing one is up to date. A kernel is built again only if its configuration,
    /// the changes to its source or the compiler have changed; userland is fetched again only if it is damaged. Another build in the
    /// same cache is waited for.
    ///
    /// # Errors
    /// See [`GuestError`]; the former image stays, unless it was damaged.
    pub fn build(&self, build: &Build<'_>, tell: &dyn Fn(Event<'_>)) -> Result<Image, GuestError> {
        let _lock = lock(&self.folder, tell)?;
        let kernel = &build.kernel();
        let agent = Agent::read(build.agent)?;
        let of_kernel = kernel::build(build, &self.of(kernel, "kernel"), &self.folder.join("trees"), tell)?;
        let folder = self.folder.join("userland");
        let name = Kernel::default();
        let choice = BTreeMap::from([("files".to_owned(), userland::digest(userland::VERBS))]);
        let userland = match Manifest::read(&folder, &name) {
            Ok(manifest) if manifest.inputs == choice => manifest,
            read => {
                let why = read.err().unwrap_or_else(|| "it has other files".to_owned());
                tell(Event::Step(&format!("userland, from Debian: {why}")));
                fetch_userland(&name, build.mirror, &folder, choice, tell)?
            }
        };
        let mut inputs = agent.inputs(None, &userland);
        inputs.insert(LINUX.into(), of_kernel.digest());
        inputs.insert(PROTOCOL.into(), protocol_of(build.agent)?);
        match self.image(kernel) {
            Ok(image) if image.manifest.inputs == inputs => Ok(image),
            _ => {
                tell(Event::Step(&format!("packing the image of Linux {}", of_kernel.release)));
                replace(&self.of(kernel, "image"), |new| {
                    let root = userland.files.keys().map(|file| (&**file, folder.join(file)));
                    pack(root, None, agent, Packing::Plain, new, INITRAMFS)?;
                    for file in of_kernel.files.keys() {
                        copy(&self.of(kernel, "kernel").join(file), &new.join(file))?;
                    }
                    let packages = [of_kernel.packages, userland.packages].concat();
                    let files: Vec<_> = of_kernel.files.into_keys().chain([INITRAMFS.to_owned()]).collect();
                    Manifest::of(new, kernel.clone(), of_kernel.release, packages, inputs, &files)
                })?;
                self.image(kernel)
            }
        }
    }
}

/// Copies a file, into a folder that may not be there yet.
fn copy(from: &Path, to: &Path) -> Result<(), GuestError> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).at("make", folder)?;
    }
    fs::copy(from, to).map(drop).at("copy", from)
}

/// The protocol that an agent speaks.
fn protocol_of(agent: &Path) -> Result<String, GuestError> {
    let wrong = |why| GuestError::Program { path: agent.to_owned(), why };
    let said = Command::new(agent).arg("--protocol").output().map_err(|error| wrong(error.to_string()))?;
    if !said.status.success() {
        return Err(wrong("it is an agent of another version of this program".to_owned()));
    }
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

fn fetch_userland(
    name: &Kernel,
    mirror: Option<&str>,
    folder: &Path,
    choice: BTreeMap<String, String>,
    tell: &dyn Fn(Event<'_>),
) -> Result<Manifest, GuestError> {
    let archives = Archives::of(mirror)?;
    replace(folder, |new| {
        let (work, tree) = (new.join("work"), new.join("tree"));
        let apt = Apt::of(userland::SUITE, &archives, &work, tell)?;
        let packages = userland::packages(userland::VERBS, &apt)?;
        check_space(new, packages.iter(), 0)?;
        apt.fetch(&packages, &work.join("userland"), &tree, tell)?;
        let files = userland::choose(userland::VERBS, &tree, new)?;
        for folder in [&work, &tree] {
            fs::remove_dir_all(folder).at("remove", folder)?;
        }
        let packages = packages.into_iter().map(crate::guests::apt::Package::kept).collect();
        Manifest::of(new, name.clone(), String::new(), packages, choice, &files)
    })
}
