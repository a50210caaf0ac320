//! sled, with the care that it needs: one caller at a time, room on the disk before it writes, and a close that is
//! known to be complete.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, fallocate, statvfs};
use rustix::io::Errno;

use super::error::{Context as _, StoreError};
use super::seal::{Seal, digest, files, sync_folder};

/// sled writes its log in pieces of 512 KiB, and may rewrite pages whenever a record is added. So much room is
/// reserved beyond the end of its file: it has no sound way out of a full disk.
const ROOM: u64 = 4 << 20;
/// Records may wait in memory up to this many bytes, so that [`ROOM`] is enough for whatever they make sled write.
const MAX_UNFLUSHED: usize = 256 << 10;
/// Bytes that sled writes for a removal, besides the key.
const REMOVAL: usize = 64;
/// Bytes of pages that sled holds in memory. A campaign with eight times as much is no faster.
const CACHE: u64 = 1 << 20;
/// Longest wait, at closing, for sled's threads to release the files. They do within milliseconds.
const CLOSING: Duration = Duration::from_secs(30);

/// An open database.
pub(super) struct Database {
    /// None only while it is being closed.
    tree: Option<sled::Db>,
    folder: PathBuf,
    /// sled's log.
    log: File,
    log_path: PathBuf,
    /// End of the room that is known to be there.
    room_to: u64,
    /// Length of the log when this was found out; if it shrinks, the room is gone.
    len: u64,
    unflushed: usize,
}

impl Database {
    /// Opens a folder that is new, or sealed and unchanged since.
    pub(super) fn open(folder: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(folder).context(folder, "cannot be made")?;
        let log_path = folder.join("db");
        let log = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&log_path);
        let log = log.context(&log_path, "cannot be opened")?;
        let mut database =
            Self { tree: None, folder: folder.to_owned(), log, log_path, room_to: 0, len: 0, unflushed: 0 };
        database.reserve()?;
        Seal::Open.write(folder)?;
        // No thread of sled's own that flushes: it could not say that it failed.
        let tree = sled::Config::new().path(folder).cache_capacity(CACHE).flush_every_ms(None).open();
        database.tree = Some(tree.map_err(|error| StoreError::database(folder, &error))?);
        Ok(database)
    }

    fn tree(&self) -> &sled::Db {
        self.tree.as_ref().expect("it is open until it is closed, which takes it")
    }

    fn error(&self, error: &sled::Error) -> StoreError {
        StoreError::database(&self.folder, error)
    }

    /// The length of the log, which is still the file in the folder: what is written into a deleted one is lost with this process.
    pub(super) fn len(&self) -> Result<u64, StoreError> {
        let own = self.log.metadata().context(&self.log_path, "cannot be read")?;
        let place = |file: &fs::Metadata| (file.dev(), file.ino());
        if !fs::metadata(&self.log_path).is_ok_and(|there| place(&there) == place(&own)) {
            return Err(StoreError::Gone { path: self.folder.clone() });
        }
        Ok(own.len())
    }

    /// Makes sure that sled will not meet a full disk.
    pub(super) fn reserve(&mut self) -> Result<(), StoreError> {
        self.reserve_at_least(ROOM / 2)
    }

    /// The same for a removal, which ends a step whose records have been written: what was reserved for them is enough for it, so
    /// that a disk does not get full between the two.
    pub(super) fn reserve_for_removal(&mut self) -> Result<(), StoreError> {
        self.reserve_at_least(ROOM / 4)
    }

    /// The same for a database that is closed, and may have to be opened again on a disk that has got full.
    pub(super) fn reserve_for_opening(&mut self) -> Result<(), StoreError> {
        self.reserve_at_least(ROOM)
    }

    fn reserve_at_least(&mut self, room: u64) -> Result<(), StoreError> {
        let len = self.len()?;
        if len >= self.len && len + room <= self.room_to {
            return Ok(());
        }
        match fallocate(&self.log, FallocateFlags::KEEP_SIZE, len, ROOM) {
            Ok(()) => {}
            Err(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => return Err(self.full()),
            // A file system that reserves nothing: all that can be done is to look.
            Err(Errno::NOTSUP | Errno::NOSYS | Errno::INVAL) => {
                if free_space(&self.folder)? < ROOM {
                    return Err(self.full());
                }
            }
            Err(error) => return Err(error).context(&self.log_path, "cannot be made larger"),
        }
        (self.len, self.room_to) = (len, len + ROOM);
        Ok(())
    }

    pub(super) fn damaged(&self, reason: String) -> StoreError {
        StoreError::Damaged { path: self.folder.clone(), reason }
    }

    fn full(&self) -> StoreError {
        StoreError::Full { path: self.folder.clone() }
    }

    pub(super) fn get(&self, key: &[u8]) -> Result<Option<sled::IVec>, StoreError> {
        self.tree().get(key).map_err(|error| self.error(&error))
    }

    pub(super) fn contains(&self, key: &[u8]) -> Result<bool, StoreError> {
        self.tree().contains_key(key).map_err(|error| self.error(&error))
    }

    /// The first entry of a prefix, after a key of it if one is given.
    pub(super) fn next(
        &self,
        prefix: &[u8],
        after: Option<&[u8]>,
    ) -> Result<Option<(sled::IVec, sled::IVec)>, StoreError> {
        let found = match after {
            Some(key) => self.tree().get_gt(key),
            None => self.tree().range(prefix..).next().transpose(),
        };
        let found = found.map_err(|error| self.error(&error))?;
        Ok(found.filter(|(key, _)| key.starts_with(prefix)))
    }

    /// The last key of a prefix.
    pub(super) fn last(&self, prefix: &[u8]) -> Result<Option<sled::IVec>, StoreError> {
        let last = self.tree().scan_prefix(prefix).keys().next_back().transpose();
        last.map_err(|error| self.error(&error))
    }

    pub(super) fn put(&mut self, key: &[u8], value: Vec<u8>) -> Result<(), StoreError> {
        self.unflushed += value.len();
        self.tree().insert(key, value).map_err(|error| self.error(&error))?;
        Ok(())
    }

    pub(super) fn remove(&mut self, key: &[u8]) -> Result<(), StoreError> {
        self.unflushed += key.len() + REMOVAL;
        self.tree().remove(key).map_err(|error| self.error(&error))?;
        Ok(())
    }

    /// Returns true if so much waits in memory that it must be flushed.
    pub(super) fn should_flush(&self) -> bool {
        self.unflushed > MAX_UNFLUSHED
    }

    /// Hands everything to the system.
    pub(super) fn flush(&mut self) -> Result<(), StoreError> {
        self.len()?;
        self.tree().flush().map_err(|error| self.error(&error))?;
        self.unflushed = 0;
        Ok(())
    }

    /// fsync of all files and folders; sled itself only asks for the data of its log to be written.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        for path in files(&self.folder)? {
            File::open(&path)
                .and_then(|file| file.sync_all())
                .context(&path, "cannot be written to the disk")?;
        }
        let blobs = self.folder.join("blobs");
        if blobs.is_dir() {
            sync_folder(&blobs)?;
        }
        sync_folder(&self.folder)
    }

    /// Bytes of all files. sled's threads remove files of large records that are no longer there at any moment.
    pub(super) fn size(&self) -> Result<u64, StoreError> {
        let len = |path: &PathBuf| match path.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            metadata => Ok(metadata.context(path, "cannot be read")?.len()),
        };
        files(&self.folder)?.iter().map(len).sum()
    }

    /// Waits until sled's threads have released the files: they hold its lock as long as they have something to do. Returns false
    /// if they do not.
    fn is_released(&self) -> bool {
        let since = Instant::now();
        while self.log.try_lock().is_err() {
            if since.elapsed() > CLOSING {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Lets go of a database that another one replaces. It stays unsealed.
    pub(super) fn discard(mut self) {
        drop(self.tree.take());
        self.is_released();
    }

    /// Closes the database, and seals it if everything of it is on the disk.
    pub(super) fn close(mut self, step: u64) -> Result<(), StoreError> {
        self.flush()?;
        self.sync()?;
        drop(self.tree.take());
        if !self.is_released() {
            return Err(self.damaged("the database is still being written".to_owned()));
        }
        // Space reserved beyond the end is released.
        self.log
            .metadata()
            .and_then(|metadata| self.log.set_len(metadata.len()))
            .and_then(|()| self.log.sync_all())
            .and_then(|()| self.log.unlock())
            .context(&self.log_path, "cannot be written to the disk")?;
        Seal::Closed { step, digest: digest(&self.folder)? }.write(&self.folder)
    }
}

impl Drop for Database {
    /// After an error sled must not be asked for anything more: it would try to write again.
    fn drop(&mut self) {
        if let Some(tree) = self.tree.take() {
            std::mem::forget(tree);
        }
    }
}

/// Bytes that can still be written to the file system of a path.
///
/// # Errors
/// The path is not there.
pub fn free_space(path: &Path) -> Result<u64, StoreError> {
    let stat = statvfs(path).context(path, "has no file system")?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}
