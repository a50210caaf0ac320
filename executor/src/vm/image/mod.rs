//! Images of guests: a kernel and an initramfs, made from Debian packages and the agent, in a cache folder.
//!
//! The folder has, for each kernel, `parts/` (as fetched), `image/` (as booted: the parts with the agent) and
//! `snapshots/` (guests as they were when they were ready). Each has checksums of its files. A folder is made
//! beside the one that it replaces, so that a kill leaves the old one, the new one, or none.

mod apt;
mod initramfs;
mod libraries;
mod manifest;
mod modules;
mod parts;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::{env, io};

pub use manifest::{Manifest, PackageVersion};
pub(super) use manifest::{digest_of, digest_of_bytes};

use self::initramfs::Tree;
use super::error::At as _;
use super::tool::STRIP;
use super::{Kernel, VmError};

/// First process of a guest.
const INIT: &str = include_str!("init.sh");

/// Folders that exist before anything is mounted on them, or written to.
const MOUNT_POINTS: [&str; 5] = ["dev", "proc", "sys", "tmp", "run"];

/// The initramfs in an image's folder.
const INITRAMFS: &str = "initramfs";

/// Progress of a build, for people who wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// The next step.
    Step(&'a str),
    /// Percentage of a long step that is done.
    Percent(u8),
}

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
    pub(super) folder: PathBuf,
    /// Folder of the snapshots of guests with it.
    pub(super) snapshots: PathBuf,
}

/// The agent's name among the inputs of an image.
const AGENT_INPUT: &str = "lumina-agent";

impl Image {
    /// Returns true if its agent is the program at that path.
    pub(super) fn has_agent(&self, agent: &Path) -> bool {
        digest_of(agent).is_ok_and(|digest| self.manifest.inputs.get(AGENT_INPUT) == Some(&digest))
    }

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
    pub fn open(folder: Option<&Path>) -> Result<Self, VmError> {
        let folder = match folder {
            Some(folder) => std::path::absolute(folder).at("find", folder)?,
            None => default_folder()?,
        };
        fs::create_dir_all(&folder).at("make", &folder)?;
        Ok(Self { folder })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn of(&self, kernel: Kernel) -> PathBuf {
        self.folder.join(kernel.name())
    }

    /// The image of a kernel, if it was built and every checksum is right.
    ///
    /// # Errors
    /// [`VmError::Image`] with a description of the damage.
    pub fn image(&self, kernel: Kernel) -> Result<Image, VmError> {
        let folder = self.of(kernel).join("image");
        let manifest = Manifest::read(&folder, kernel).map_err(|why| VmError::Image { kernel, why })?;
        Ok(Image { manifest, folder, snapshots: self.of(kernel).join("snapshots") })
    }

    /// Builds an image, or finds that the existing one is up to date. Packages are fetched only if they are
    /// missing or damaged: another agent needs no network. Another build in the same cache is waited for.
    ///
    /// # Errors
    /// See [`VmError`]; the former image stays, unless it was damaged.
    pub fn build(&self, build: Build<'_>, tell: &dyn Fn(Event<'_>)) -> Result<Image, VmError> {
        let _lock = self.lock(tell)?;
        let contents = Agent::read(build.agent)?;
        let parts = self.of(build.kernel).join("parts");
        let manifest = match Manifest::read(&parts, build.kernel) {
            Ok(manifest) => manifest,
            Err(why) => {
                tell(Event::Step(&format!("Linux {}, from Debian: {why}", build.kernel)));
                parts::fetch(build.kernel, build.mirror, &parts, tell)?
            }
        };
        let inputs = contents.inputs(&manifest);
        match self.image(build.kernel) {
            Ok(image) if image.manifest.inputs == inputs => Ok(image),
            _ => {
                tell(Event::Step(&format!("packing the image of Linux {}", manifest.release)));
                pack(&parts, manifest, contents, inputs, &self.of(build.kernel).join("image"))?;
                let snapshots = self.of(build.kernel).join("snapshots");
                remove(&snapshots)?;
                self.image(build.kernel)
            }
        }
    }

    /// Waits until no other process builds in this cache. The lock ends with the process, however it ends.
    fn lock(&self, tell: &dyn Fn(Event<'_>)) -> Result<File, VmError> {
        let path = self.folder.join("lock");
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).open(&path).at("open", &path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                tell(Event::Step("waiting for another build in the same cache"));
                file.lock().at("lock", &path)?;
            }
            Err(TryLockError::Error(error)) => return Err(error).at("lock", &path),
        }
        Ok(file)
    }
}

fn default_folder() -> Result<PathBuf, VmError> {
    let set = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    let base = base.ok_or_else(|| {
        VmError::Folder("neither XDG_CACHE_HOME nor HOME names a folder; set XDG_CACHE_HOME".into())
    })?;
    Ok(base.join("lumina-fuzz/vm"))
}

/// The agent with its libraries.
struct Agent {
    path: PathBuf,
    content: Vec<u8>,
    libraries: Vec<PathBuf>,
    /// Checksums of all of them.
    digests: BTreeMap<String, String>,
}

impl Agent {
    fn read(path: &Path) -> Result<Self, VmError> {
        let content =
            fs::read(path).map_err(|error| VmError::Program { path: path.into(), why: error.to_string() })?;
        libraries::check(path, &content)?;
        let libraries = libraries::of(path)?;
        let mut digests = BTreeMap::from([(AGENT_INPUT.to_owned(), digest_of_bytes(&content))]);
        for library in &libraries {
            digests.insert(library.display().to_string(), digest_of(library)?);
        }
        Ok(Self { path: path.to_owned(), content, libraries, digests })
    }

    /// Checksums of everything that an image is made from.
    fn inputs(&self, parts: &Manifest) -> BTreeMap<String, String> {
        let mut inputs = self.digests.clone();
        inputs.insert("init".into(), digest_of_bytes(INIT.as_bytes()));
        inputs.insert("parts".into(), parts.digest());
        inputs
    }

    /// The program without its symbols, which only take memory in a guest; whole if they cannot be taken away.
    fn stripped(self, work: &Path) -> Result<Vec<u8>, VmError> {
        let stripped = work.join("agent");
        let doing = format!("stripping {}", self.path.display());
        let done = STRIP.run(&doing, STRIP.command().arg("-o").arg(&stripped).arg(&self.path));
        match done {
            Ok(_) => {
                let content = fs::read(&stripped).at("read", &stripped)?;
                fs::remove_file(&stripped).at("remove", &stripped)?;
                Ok(content)
            }
            Err(_) => Ok(self.content),
        }
    }
}

/// Packs parts and agent into an image.
fn pack(
    parts: &Path,
    manifest: Manifest,
    agent: Agent,
    inputs: BTreeMap<String, String>,
    folder: &Path,
) -> Result<(), VmError> {
    replace(folder, |new| {
        let mut tree = Tree::default();
        for mount_point in MOUNT_POINTS {
            tree.folder(mount_point);
        }
        tree.file("init", INIT.into());
        for file in manifest.files.keys() {
            if let Some(path) = file.strip_prefix(parts::ROOT) {
                let from = parts.join(file);
                tree.file(path, fs::read(&from).at("read", &from)?);
            }
        }
        // After the parts: of a library that both have, this machine's is the newer.
        for library in &agent.libraries {
            tree.file(&library.display().to_string(), fs::read(library).at("read", library)?);
        }
        tree.file("bin/lumina-agent", agent.stripped(new)?);

        let path = new.join(INITRAMFS);
        File::create(&path).and_then(|file| tree.write(BufWriter::new(file))).at("write", &path)?;
        let (from, to) = (parts.join(parts::VMLINUZ), new.join(parts::VMLINUZ));
        fs::copy(&from, &to).at("copy", &from)?;
        let files = [parts::VMLINUZ, INITRAMFS].map(String::from);
        Manifest::of(new, manifest.kernel, manifest.release, manifest.packages, inputs, &files)
    })?;
    Ok(())
}

/// Makes a new folder with the files that `fill` writes, its manifest last, and only then puts it in the
/// place of the old one.
fn replace(
    folder: &Path,
    fill: impl FnOnce(&Path) -> Result<Manifest, VmError>,
) -> Result<Manifest, VmError> {
    let new = folder.with_extension("new");
    // Files of a build that was killed.
    remove(&new)?;
    fs::create_dir_all(&new).at("make", &new)?;
    let filled = fill(&new).and_then(|manifest| manifest.write(&new).map(|()| manifest));
    let manifest = match filled {
        Ok(manifest) => manifest,
        Err(error) => {
            // The first error is the one to tell.
            let _ = remove(&new);
            return Err(error);
        }
    };
    remove(folder)?;
    fs::rename(&new, folder).at("rename", &new)?;
    Ok(manifest)
}

/// Removes a folder, if it is there.
fn remove(folder: &Path) -> Result<(), VmError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).at("remove", folder),
        _ => Ok(()),
    }
}
