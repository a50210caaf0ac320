//! Folders for the sockets of running guests: one for each owner, which is known to be left over once its
//! owner is gone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

use super::GuestError;
use super::error::At as _;

/// Bytes of a unix socket's path, without the zero at its end.
const SOCKET_PATH: usize = 107;

/// Bytes that the longest path in the base folder adds to it: `/4194304-4294967295/` and a name.
const BELOW_BASE: usize = 19 + 20;

/// The file that an owner keeps locked for as long as it lives.
const LOCK: &str = "lock";

/// A folder for sockets; removed when this is dropped.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// The kernel unlocks it when this process ends, however it ends.
    _lock: File,
}

impl RunFolder {
    /// Makes a folder of this process, after removing those whose owners are gone.
    ///
    /// # Errors
    /// Every possible place is another user's, or its path is too long for sockets.
    pub fn make() -> Result<Self, GuestError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        remove_left_over()?;
        let base = base()?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = base.join(format!("{}-{number}", std::process::id()));
        // One of an earlier process that had the same number.
        if path.exists() {
            fs::remove_dir_all(&path).at("remove", &path)?;
        }
        private_folder(&path)?;
        let lock = path.join(LOCK);
        let file = File::create(&lock).at("make", &lock)?;
        file.try_lock().map_err(io::Error::from).at("lock", &lock)?;
        Ok(Self { path, _lock: file })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // Files that cannot be removed now are removed as left over.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A folder of a process, as found.
#[derive(Debug)]
pub struct Found {
    /// Its path.
    pub path: PathBuf,
    /// The process that owns it.
    pub owner: u32,
    /// True if the owner still holds the folder.
    pub alive: bool,
}

impl Found {
    /// Returns true if its owner is gone. A folder that is only just being made is not locked yet, but its
    /// owner lives.
    fn is_left_over(&self) -> bool {
        !self.alive && !Path::new(&format!("/proc/{}", self.owner)).exists()
    }
}

/// Removes folders whose owners are gone; how many.
///
/// # Errors
/// See [`RunFolder::make`].
pub fn remove_left_over() -> Result<usize, GuestError> {
    let mut removed = 0;
    for found in found()?.iter().filter(|found| found.is_left_over()) {
        match fs::remove_dir_all(&found.path) {
            // Another process was faster.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).at("remove", &found.path);
            }
            _ => removed += 1,
        }
    }
    Ok(removed)
}

/// Marks the folder of a pair that a user has started, and may stop from elsewhere.
const STOPPABLE: &str = "up";

/// Longest time for an owner to end its guests.
const STOP: Duration = Duration::from_secs(15);

impl RunFolder {
    /// Lets [`stop_all`] end this process.
    ///
    /// # Errors
    /// The mark cannot be written.
    pub fn make_stoppable(&self) -> Result<(), GuestError> {
        let mark = self.path.join(STOPPABLE);
        File::create(&mark).at("make", &mark).map(drop)
    }
}

/// Ends every process that has made its folder stoppable, and with it its guests; their numbers. One that
/// does not end in time is killed, which its guests do not survive either.
///
/// # Errors
/// See [`RunFolder::make`].
pub fn stop_all() -> Result<Vec<u32>, GuestError> {
    let mut stopped = Vec::new();
    for found in found()?.iter().filter(|found| found.alive && found.path.join(STOPPABLE).exists()) {
        let pid = Pid::from_raw(found.owner.cast_signed());
        for signal in [Signal::SIGTERM, Signal::SIGKILL] {
            if !is_locked(&found.path) {
                break;
            }
            // That it has just ended is as well.
            let _ = kill(pid, signal);
            let asked = Instant::now();
            while is_locked(&found.path) && asked.elapsed() < STOP {
                thread::sleep(Duration::from_millis(20));
            }
        }
        stopped.push(found.owner);
    }
    Ok(stopped)
}

/// Returns true if the owner of a folder holds its lock.
fn is_locked(folder: &Path) -> bool {
    let lock = OpenOptions::new().write(true).open(folder.join(LOCK));
    lock.is_ok_and(|lock| lock.try_lock().is_err())
}

/// Every run folder of this user.
///
/// # Errors
/// See [`RunFolder::make`].
pub fn found() -> Result<Vec<Found>, GuestError> {
    let base = base()?;
    let mut found = Vec::new();
    for entry in fs::read_dir(&base).at("list", &base)? {
        let path = entry.at("list", &base)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(owner) = name.split('-').next().and_then(|pid| pid.parse().ok()) else { continue };
        let alive = is_locked(&path);
        found.push(Found { path, owner, alive });
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

/// The folder that holds all of this user's.
fn base() -> Result<PathBuf, GuestError> {
    let runtime =
        env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute() && path.is_dir());
    let named = runtime.map(|runtime| runtime.join("lumina-fuzz")).filter(|path| fits(path));
    let base = named.unwrap_or_else(|| env::temp_dir().join(format!("lumina-fuzz-{}", geteuid())));
    if !fits(&base) {
        let message =
            format!("the path {} is too long for sockets: set TMPDIR to a shorter one", base.display());
        return Err(GuestError::Folder(message));
    }
    private_folder(&base)?;
    Ok(base)
}

fn fits(base: &Path) -> bool {
    base.as_os_str().len() + BELOW_BASE <= SOCKET_PATH
}

/// Makes a folder that only this user can look into; one that is there already has to be this user's.
fn private_folder(path: &Path) -> Result<(), GuestError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made.at("make", path),
    }
    let metadata = fs::symlink_metadata(path).at("look at", path)?;
    if !metadata.is_dir() || metadata.uid() != geteuid().as_raw() {
        return Err(GuestError::Folder(format!(
            "{} is not a folder of this user: remove it",
            path.display()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_alive_until_it_is_dropped() {
        let folder = RunFolder::make().unwrap();
        let path = folder.path().to_owned();
        let this = |found: &[Found]| {
            found.iter().find(|found| found.path == path).map(|found| (found.owner, found.alive))
        };
        assert_eq!(this(&found().unwrap()), Some((std::process::id(), true)));
        drop(folder);
        assert_eq!(this(&found().unwrap()), None);
    }

    #[test]
    fn what_dead_processes_left_is_removed_and_nothing_else() {
        let folder = RunFolder::make().unwrap();
        // No process has this number: it is above the largest.
        let dead = base().unwrap().join("4194305-0");
        private_folder(&dead).unwrap();
        fs::write(dead.join("1.guest"), b"").unwrap();
        remove_left_over().unwrap();
        assert!(!dead.exists());
        assert!(folder.path().exists());
    }

    #[test]
    fn long_paths_are_refused() {
        assert!(fits(Path::new("/run/user/1000/lumina-fuzz")));
        assert!(!fits(Path::new(&format!("/{}", "x".repeat(80)))));
    }
}
