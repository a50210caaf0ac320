//! The folder of a corpus: its files, its lock, and the replacement of one database by another.
//!
//! ```text
//! LOCK            locked while a process has the corpus open
//! READ            locked for a moment while the database's files change, or are copied by another process
//! db/             the database
//! db.new/         one that is being made to take its place
//! db.old/         the one whose place was taken, on its way out
//! db.damaged-1/   damaged ones, set aside
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;

use super::error::{Context as _, StoreError};
use super::seal::{Seal, files, sync_folder};

/// A corpus that no other process can open as long as this lives.
#[derive(Debug)]
pub(super) struct Lock(File);

impl Drop for Lock {
    /// Closing the file would not do: a process that is being started holds a copy of it for a moment.
    fn drop(&mut self) {
        // A lock that cannot be released is released when the file is closed.
        let _ = self.0.unlock();
    }
}

/// Name of the file that is locked while the database's files change, or are copied.
const READ: &str = "READ";
/// Longest time that a change of the files waits for a copy of them.
const LONGEST_COPY: Duration = Duration::from_secs(10);
/// Locks the file [`READ`] for a change of the database's files. A reader that does not end its copy in time (it may be stopped) is
/// passed over: it will see that the files have changed.
pub(super) fn wait_for_readers(read: &File) -> Unlock<'_> {
    let since = Instant::now();
    while read.try_lock().is_err() && since.elapsed() < LONGEST_COPY {
        std::thread::sleep(Duration::from_millis(1));
    }
    Unlock(read)
}

/// A lock of a file that stays open.
#[derive(Debug)]
pub(super) struct Unlock<'a>(&'a File);

impl Drop for Unlock<'_> {
    fn drop(&mut self) {
        // A lock that cannot be released is released when the file is closed.
        let _ = self.0.unlock();
    }
}

/// Attempts to copy files that change meanwhile: sled's threads may still be writing.
const COPIES: u32 = 100;

/// Copies the files of a database; none if they have changed meanwhile.
fn copy_files(database: &Path) -> Result<Option<TempDir>, StoreError> {
    let copy = TempDir::new().context(&std::env::temp_dir(), "cannot be written")?;
    let before = stamps(database)?;
    for (path, ..) in &before {
        let to = copy.path().join(path.strip_prefix(database).unwrap_or(path));
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).context(folder, "cannot be made")?;
        }
        fs::copy(path, &to).context(path, "cannot be copied")?;
    }
    // Not one of the database's files.
    Seal::copy(database, copy.path())?;
    Ok((stamps(database)? == before).then_some(copy))
}

/// Path, length and time of the last change of each file of a database.
fn stamps(database: &Path) -> Result<Vec<(PathBuf, u64, SystemTime)>, StoreError> {
    let stamp = |path: PathBuf| {
        let metadata = path.metadata().context(&path, "cannot be read")?;
        let modified = metadata.modified().context(&path, "cannot be read")?;
        Ok((path, metadata.len(), modified))
    };
    files(database)?.into_iter().map(stamp).collect()
}

/// Paths of a corpus.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    path: PathBuf,
    /// The path is that of a database itself: one that was set aside.
    bare: bool,
}

impl Folder {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), bare: false }
    }

    /// A new folder, or an empty one.
    pub(super) fn create(path: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(path).context(path, "cannot be made")?;
        if fs::read_dir(path).context(path, "cannot be read")?.next().is_some() {
            return Err(StoreError::NotEmpty { path: path.to_owned() });
        }
        Ok(Self::new(path))
    }

    /// The corpus that a user means by a folder: itself, or that of a campaign.
    pub(super) fn find(path: &Path) -> Result<Self, StoreError> {
        let missing = || StoreError::Missing { path: path.to_owned() };
        let inner = path.join("corpus");
        let path = if inner.is_dir() { &inner } else { path };
        fs::read_dir(path).map_err(|_| missing())?;
        let folder = Self::new(path);
        if folder.database().is_dir() || path.join("LOCK").is_file() {
            return Ok(folder);
        }
        // In the folder of a database, `db` is a file.
        if path.join("db").is_file() || Seal::is_in(path) {
            return Ok(Self { path: path.to_owned(), bare: true });
        }
        Err(missing())
    }

    /// The database's folder; while one takes the place of another, the new one.
    pub(super) fn database(&self) -> PathBuf {
        if self.bare {
            return self.path.clone();
        }
        let (database, new) = (self.path.join("db"), self.path.join("db.new"));
        if !database.is_dir() && new.is_dir() { new } else { database }
    }

    /// Keeps other processes out.
    pub(super) fn lock(&self) -> Result<Option<Lock>, StoreError> {
        if self.bare {
            return Ok(None);
        }
        let path = self.path.join("LOCK");
        let file = File::open(&path)
            .or_else(|_| OpenOptions::new().write(true).create(true).truncate(false).open(&path))
            .context(&path, "cannot be opened")?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock(file))),
            Err(TryLockError::WouldBlock) => Err(StoreError::Busy { path: self.path.clone() }),
            Err(TryLockError::Error(source)) => {
                Err(StoreError::Io { path, what: "cannot be locked", source })
            }
        }
    }

    /// Copies the files of a database that another process has open, as they are at one moment.
    ///
    /// # Errors
    /// They cannot be copied.
    pub(super) fn copy(&self) -> Result<TempDir, StoreError> {
        let read = self.open_read()?;
        let path = self.path.join(READ);
        let mut result = Err(StoreError::Busy { path: self.path.clone() });
        for _ in 0..COPIES {
            read.lock_shared().context(&path, "cannot be locked")?;
            let lock = Unlock(&read);
            // A database that takes the place of another is there a moment later.
            result = copy_files(&self.database());
            drop(lock);
            if let Ok(Some(copy)) = result {
                return Ok(copy);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        result?;
        Err(StoreError::Busy { path: self.path.clone() })
    }

    /// The file that is locked while the files of the database change, or are copied.
    pub(super) fn open_read(&self) -> Result<File, StoreError> {
        let path = self.path.join(READ);
        File::open(&path)
            .or_else(|_| OpenOptions::new().write(true).create(true).truncate(false).open(&path))
            .context(&path, "cannot be opened")
    }

    /// Finishes the repair that a process had begun when it died.
    pub(super) fn tidy(&self) -> Result<(), StoreError> {
        let [database, new, old] = ["db", "db.new", "db.old"].map(|name| self.path.join(name));
        if !database.is_dir() && matches!(Seal::read(&new), Ok(Some(Seal::Closed { .. }))) {
            fs::rename(&new, &database).context(&new, "cannot be renamed")?;
        }
        for left in [new, old] {
            if left.is_dir() {
                fs::remove_dir_all(&left).context(&left, "cannot be removed")?;
            }
        }
        if !database.is_dir() {
            let reason = "its folder is gone".to_owned();
            return Err(StoreError::Unreadable { path: database, reason });
        }
        Ok(())
    }

    /// Puts a new database, which `write` makes in a folder, in the place of the old one. The old one is set aside
    /// if its records are `damaged` (the result is its new place), and removed otherwise. Until the very end it stays
    /// where it is.
    pub(super) fn replace(
        &self,
        damaged: bool,
        write: impl FnOnce(&Path) -> Result<(), StoreError>,
    ) -> Result<Option<PathBuf>, StoreError> {
        let [database, new, old] = ["db", "db.new", "db.old"].map(|name| self.path.join(name));
        if let Err(error) = write(&new) {
            // Half a copy would only take up room.
            let _ = fs::remove_dir_all(&new);
            return Err(error);
        }
        let aside = damaged.then(|| self.aside());
        let to = aside.as_ref().unwrap_or(&old);
        fs::rename(&database, to).context(&database, "cannot be renamed")?;
        fs::rename(&new, &database).context(&new, "cannot be renamed")?;
        sync_folder(&self.path)?;
        if aside.is_none() {
            fs::remove_dir_all(&old).context(&old, "cannot be removed")?;
        }
        Ok(aside)
    }

    /// A free name for a damaged database.
    fn aside(&self) -> PathBuf {
        let mut names = (1..).map(|n: u64| self.path.join(format!("db.damaged-{n}")));
        names.find(|path| path.symlink_metadata().is_err()).expect("a folder has fewer than 2^64 entries")
    }
}
