//! Folders of a cache: each is made beside the one that it replaces, so that a kill leaves the old one, the new one, or
//! none.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::{env, io};

use super::error::At as _;
use super::manifest::Manifest;
use super::{Event, GuestError};

/// The cache of a testbed in `folder`, or else in `$XDG_CACHE_HOME/lumina-fuzz` (`~/.cache/lumina-fuzz`). It is made if it
/// is not there.
pub(crate) fn open(folder: Option<&Path>, testbed: &str) -> Result<PathBuf, GuestError> {
    let folder = match folder {
        Some(folder) => std::path::absolute(folder).at("find", folder)?,
        None => default_folder()?.join(testbed),
    };
    fs::create_dir_all(&folder).at("make", &folder)?;
    Ok(folder)
}

fn default_folder() -> Result<PathBuf, GuestError> {
    let set = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    let base = base.ok_or_else(|| {
        GuestError::Folder("neither XDG_CACHE_HOME nor HOME names a folder; set XDG_CACHE_HOME".into())
    })?;
    Ok(base.join("lumina-fuzz"))
}

/// Waits until no other process builds in a cache. The lock ends with the process, however it ends.
pub(crate) fn lock(cache: &Path, tell: &dyn Fn(Event<'_>)) -> Result<File, GuestError> {
    let path = cache.join("lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).at("open", &path)?;
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

/// Makes a new folder with the files that `fill` writes, its manifest last, and only then puts it in the
/// place of the old one.
pub(crate) fn replace(
    folder: &Path,
    fill: impl FnOnce(&Path) -> Result<Manifest, GuestError>,
) -> Result<Manifest, GuestError> {
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
pub(crate) fn remove(folder: &Path) -> Result<(), GuestError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).at("remove", folder),
        _ => Ok(()),
    }
}
