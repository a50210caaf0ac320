//! Sources of kernels: a package of Debian's, or a tree of the user's.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use crate::guests::error::At as _;
use crate::guests::manifest::digest_of_bytes;
use crate::guests::tool::GIT;
use crate::guests::{GuestError, Kernel};

/// Source of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Debian's source package of a series or version.
    Debian(Kernel),
    /// A source tree, which is read and never written.
    Tree {
        /// Its folder.
        folder: PathBuf,
        /// Its name.
        name: Kernel,
    },
}

/// Files of a Linux tree that another folder has not.
const OF_LINUX: [&str; 2] = ["Kbuild", "arch/um/Kconfig"];

/// Folders that builds write to, in trees that git does not know.
const WRITTEN: [&str; 3] = ["include/config", "include/generated", ".git"];

/// Ends of the names of files that builds write.
const WRITTEN_ENDS: [&str; 6] = [".o", ".a", ".cmd", ".d", ".order", ".mod"];

/// The files of a source tree.
pub(super) struct Tree {
    folder: PathBuf,
    files: BTreeSet<PathBuf>,
    /// Checksum of their names, sizes and times of change.
    pub(super) digest: String,
    /// The commit, if git knows it.
    pub(super) commit: Option<String>,
}

impl Tree {
    /// Lists the files of a tree.
    pub(super) fn of(folder: &Path) -> Result<Self, GuestError> {
        let folder = fs::canonicalize(folder).at("open", folder)?;
        for file in OF_LINUX {
            if !folder.join(file).exists() {
                let why = format!("it is no source tree of Linux: it has no {file}");
                return Err(GuestError::Source { folder, why });
            }
        }
        let of_git = if folder.join(".git").exists() { git_files(&folder) } else { None };
        let files = match of_git {
            Some(files) => files,
            None => walk(&folder)?,
        };
        let mut list = String::new();
        for file in &files {
            let path = folder.join(file);
            // One that git has, and the user has removed.
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            list += &format!(
                "{} {} {}.{}\n",
                file.display(),
                metadata.len(),
                metadata.mtime(),
                metadata.mtime_nsec()
            );
        }
        let commit = GIT
            .run("asking for the commit", GIT.command().arg("-C").arg(&folder).args(["rev-parse", "HEAD"]));
        let commit = commit.ok().map(|commit| commit.trim().to_owned());
        Ok(Self { digest: digest_of_bytes(list.as_bytes()), folder, files, commit })
    }

    /// Makes a folder of links to the files, in which a kernel can be built, or brings it up to date: what a build has left
    /// there stays, so that the next one is quick.
    pub(super) fn shadow(&self, shadow: &Path) -> Result<(), GuestError> {
        for link in links(shadow)? {
            let name = link.strip_prefix(shadow).unwrap_or(&link);
            if !self.files.contains(name) || !self.folder.join(name).exists() {
                fs::remove_file(&link).at("remove", &link)?;
            }
        }
        for file in &self.files {
            let (from, to) = (self.folder.join(file), shadow.join(file));
            if !from.exists() || fs::read_link(&to).is_ok_and(|target| target == from) {
                continue;
            }
            // A changed copy is written again if it has to be.
            if to.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
                continue;
            }
            let parent = to.parent().unwrap_or(shadow);
            fs::create_dir_all(parent).at("make", parent)?;
            match fs::remove_file(&to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error).at("remove", &to),
                _ => symlink(&from, &to).at("make", &to)?,
            }
        }
        Ok(())
    }

    /// A file of the tree.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Name of a folder of its own for what is made from it.
    pub(super) fn own(&self) -> String {
        digest_of_bytes(self.folder.as_os_str().as_encoded_bytes())[..16].to_owned()
    }
}

/// Files that git has, or would take.
fn git_files(folder: &Path) -> Option<BTreeSet<PathBuf>> {
    let mut command = GIT.command();
    command.arg("-C").arg(folder).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let said = GIT.run("listing the files", &mut command).ok()?;
    Some(said.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect())
}

/// Files of a folder that no build has written.
fn walk(folder: &Path) -> Result<BTreeSet<PathBuf>, GuestError> {
    let mut files = BTreeSet::new();
    let name_of = |entry: &DirEntry| entry.path().strip_prefix(folder).unwrap_or(entry.path()).to_owned();
    let is_written = |name: &Path| WRITTEN.iter().any(|written| name.ends_with(written));
    let entries = WalkDir::new(folder).into_iter();
    for entry in entries.filter_entry(|entry| !entry.file_type().is_dir() || !is_written(&name_of(entry))) {
        let entry = listed(entry, folder)?;
        let name = name_of(&entry);
        let text = name.to_string_lossy();
        let is_left = text == ".config" || WRITTEN_ENDS.iter().any(|end| text.ends_with(end));
        if !entry.file_type().is_dir() && !is_left {
            files.insert(name);
        }
    }
    Ok(files)
}

/// Symbolic links below a folder, which may not be there yet.
fn links(folder: &Path) -> Result<Vec<PathBuf>, GuestError> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = WalkDir::new(folder).into_iter().map(|entry| listed(entry, folder));
    let links = entries.filter(|entry| entry.as_ref().map_or(true, DirEntry::path_is_symlink));
    links.map(|entry| entry.map(DirEntry::into_path)).collect()
}

fn listed(entry: walkdir::Result<DirEntry>, folder: &Path) -> Result<DirEntry, GuestError> {
    entry.map_err(io::Error::from).at("list", folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("Kbuild", "x"), ("arch/um/Kconfig", "y"), ("a.c", "1"), ("a.o", "object")] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn a_shadow_follows_its_tree_and_keeps_what_builds_have_left() {
        let (tree, shadow) = (tree(), tempfile::tempdir().unwrap());
        let first = Tree::of(tree.path()).unwrap();
        first.shadow(shadow.path()).unwrap();
        let in_shadow = |name: &str| fs::read_to_string(shadow.path().join(name));
        assert_eq!(in_shadow("a.c").unwrap(), "1");
        assert!(in_shadow("a.o").is_err());
        fs::write(shadow.path().join("a.o"), "ours").unwrap();
        fs::remove_file(tree.path().join("a.c")).unwrap();
        fs::write(tree.path().join("b.c"), "2").unwrap();
        let second = Tree::of(tree.path()).unwrap();
        assert_ne!(first.digest, second.digest);
        second.shadow(shadow.path()).unwrap();
        assert!(in_shadow("a.c").is_err());
        assert_eq!((in_shadow("b.c").unwrap(), in_shadow("a.o").unwrap()), ("2".into(), "ours".into()));
    }

    #[test]
    fn another_folder_is_no_tree() {
        let tree = tree();
        fs::remove_file(tree.path().join("arch/um/Kconfig")).unwrap();
        let Err(error) = Tree::of(tree.path()) else { panic!("it is no tree") };
        assert!(error.to_string().contains("no arch/um/Kconfig"), "{error}");
    }
}
