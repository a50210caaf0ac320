//! Writing and reading records, in steps that are whole or not there.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::Progress;
use super::archive::Archive;
use super::database::Database;
use super::error::StoreError;
use super::folder::Folder;
use super::record::{EVALUATION_PREFIX, Framed, MAX_FRAME, Record, RecordKey, State};

/// Bytes of a database's log below which it is not worth writing it anew.
const WORTH_COMPACTING: u64 = 16 << 20;
/// It is written anew when its log is so many times as long as after the last time, though nothing has made many records invalid.
const GROWN: u64 = 4;

/// An open database, and the records written to it.
pub(super) struct Writer {
    /// None once it is closed, or where another one could not take its place.
    database: Option<Database>,
    /// Its folder.
    path: PathBuf,
    /// Bytes of the log when the database was opened, or last written anew, or when there was no room for that.
    compact: u64,
    state: State,
    /// The last step that was written.
    step: u64,
    /// The last step that was handed to the system.
    flushed: u64,
    /// The largest number of an execution that was recorded so far: a campaign asks for each one before it runs it.
    last_evaluation: u64,
    /// A step was written in part: nothing more may follow it.
    broken: bool,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("state", &self.state).field("step", &self.step).finish_non_exhaustive()
    }
}

impl Writer {
    /// A database that was closed after a step, or is new.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn new(
        database: Database,
        path: PathBuf,
        state: State,
        step: u64,
    ) -> Result<Self, StoreError> {
        // Where the folder is gone the first write says so.
        let compact = database.len().unwrap_or_default();
        let last = database.last(EVALUATION_PREFIX)?;
        let last_evaluation = last.as_deref().and_then(RecordKey::evaluation).unwrap_or_default();
        let database = Some(database);
        Ok(Self { database, path, compact, state, step, flushed: step, last_evaluation, broken: false })
    }

    /// The largest number of an execution that was recorded so far, kept or not; 0 before the first one.
    pub(super) const fn last_evaluation(&self) -> u64 {
        self.last_evaluation
    }

    /// Progress of the campaign.
    pub(super) fn progress(&self) -> Progress {
        self.state.progress
    }

    /// Closes the database, unless a step was left in part: then its files are to be read again.
    pub(super) fn close(&mut self) {
        if let Some(database) = self.database.take()
            && !self.broken
        {
            // If it fails, the files are read again too.
            let _ = database.close(self.step);
        }
    }

    /// The database.
    ///
    /// # Errors
    /// Another one was to take its place, and could not.
    pub(super) fn database(&self) -> Result<&Database, StoreError> {
        self.database.as_ref().ok_or_else(|| self.unusable())
    }

    fn database_mut(&mut self) -> Result<&mut Database, StoreError> {
        let unusable = self.unusable();
        self.database.as_mut().ok_or(unusable)
    }

    fn unusable(&self) -> StoreError {
        let reason = "an earlier write has failed; open it again".to_owned();
        StoreError::Damaged { path: self.path.clone(), reason }
    }

    pub(super) fn decode(&self, value: &[u8]) -> Result<Record<'static>, StoreError> {
        Framed::decode(value).map(|(framed, _)| framed.record).map_err(|error| StoreError::Damaged {
            path: self.path.clone(),
            reason: format!("a record is not what was written: {error}"),
        })
    }

    pub(super) fn get(&self, key: &RecordKey) -> Result<Option<Record<'static>>, StoreError> {
        self.database()?.get(&key.bytes())?.map(|value| self.decode(&value)).transpose()
    }

    pub(super) fn contains(&self, key: &RecordKey) -> Result<bool, StoreError> {
        self.database()?.contains(&key.bytes())
    }

    /// One step: records, and the state that they lead to.
    pub(super) fn write(&mut self, records: &[Record<'_>], progress: Progress) -> Result<(), StoreError> {
        let mut state = State { progress, ..self.state };
        let keys: BTreeSet<_> = records.iter().map(Record::key).collect();
        for key in &keys {
            let new = u64::from(!self.contains(key)?);
            match key {
                RecordKey::Kept(_) => state.kept += new,
                RecordKey::Finding(_) => state.findings += new,
                RecordKey::Reference(_) => state.references += new,
                RecordKey::Counted(_) => state.counted += new,
                RecordKey::State
                | RecordKey::Evaluation(_)
                | RecordKey::Distilled
                | RecordKey::Forgotten
                | RecordKey::Minimising(_)
                | RecordKey::Answer(..)
                | RecordKey::Situation(_)
                | RecordKey::Losses
                | RecordKey::Test(_) => {}
            }
        }
        let mut all = records.to_vec();
        all.push(Record::State(state));
        self.put(&all)?;
        self.state = state;
        Ok(())
    }

    /// Writes the database anew if it has grown a lot since the last time: sled does not give back all room of what was removed,
    /// neither on the disk nor in memory. Returns true if it was written.
    pub(super) fn compact(&mut self, folder: &Folder, closed: fn()) -> Result<bool, StoreError> {
        self.write_anew(self.compact.saturating_mul(GROWN), folder, closed)
    }

    /// Writes the database anew without what is not valid any more, if its log has at least so many bytes, and is worth it. A kill
    /// leaves the old one or the new one. Returns true if it was written.
    fn write_anew(&mut self, from: u64, folder: &Folder, closed: fn()) -> Result<bool, StoreError> {
        self.usable()?;
        let len = self.database()?.len()?;
        if len < WORTH_COMPACTING.max(from) {
            return Ok(false);
        }
        self.flush()?;
        match self.database_mut()?.reserve_for_opening() {
            Err(error) if error.is_full() => {
                self.compact = len;
                return Ok(false);
            }
            reserved => reserved?,
        }
        // The old one is closed first, and read as it is read after a kill: two that are open take twice the memory.
        if let Some(old) = self.database.take() {
            old.discard();
        }
        closed();
        let archive = Archive::scan_after(&self.path, Some(self.step))?;
        if archive.lost().any() {
            self.broken = true;
            let reason = format!("records that were written are not in it: {:?}", archive.lost());
            return Err(StoreError::Damaged { path: self.path.clone(), reason });
        }
        let mut step = 0;
        let compacted = folder.replace(false, |new| {
            step = archive.write(new)?;
            Ok(())
        });
        match compacted {
            Ok(_) => (self.step, self.flushed) = (step, step),
            // There is no room for two. It is tried again when the log has grown as much once more, and not before each batch.
            Err(error) if error.is_full() && step == 0 => {
                self.database = Some(Database::open(&self.path)?);
                self.compact = len;
                return Ok(false);
            }
            Err(error) => {
                self.broken = true;
                return Err(error);
            }
        }
        let database = Database::open(&self.path)?;
        self.compact = database.len()?;
        self.database = Some(database);
        Ok(true)
    }

    /// One step: either all of it is written, or nothing, or nothing more will ever be.
    pub(super) fn put(&mut self, records: &[Record<'_>]) -> Result<(), StoreError> {
        self.usable()?;
        let (step, flushed, parts) = (self.step + 1, self.flushed, records.len() as u32);
        let frames = records.iter().zip(0..).map(|(record, part)| {
            let frame = Framed { step, part, parts, flushed, record: record.clone() }.encode();
            if frame.len() > MAX_FRAME {
                return Err(StoreError::TooLarge { bytes: frame.len(), max: MAX_FRAME });
            }
            Ok((record.key().bytes(), frame))
        });
        let frames = frames.collect::<Result<Vec<_>, _>>()?;
        let database = self.database_mut()?;
        database.reserve()?;
        for (key, frame) in frames {
            if let Err(error) = self.database_mut()?.put(&key, frame) {
                self.broken = true;
                return Err(error);
            }
        }
        self.step = step;
        for record in records {
            if let Record::Evaluation(evaluation) = record {
                self.last_evaluation = self.last_evaluation.max(evaluation.number);
            }
        }
        if self.database()?.should_flush() { self.flush() } else { Ok(()) }
    }

    /// Number of references that are counted.
    pub(super) fn counted(&self) -> u64 {
        self.state.counted
    }

    /// One step that makes many records of earlier steps invalid. A large database is written anew without them: that takes less
    /// memory than to remove them one by one, as is done with a small one, and where there is no room for two. If the removal fails,
    /// the files are to be read again: that leaves out what is invalid.
    pub(super) fn replace(
        &mut self,
        record: Record<'_>,
        change: impl FnOnce(&mut State),
        gone: &[Vec<u8>],
        folder: &Folder,
        closed: fn(),
    ) -> Result<(), StoreError> {
        let mut state = self.state;
        change(&mut state);
        self.put(&[record, Record::State(state)])?;
        self.state = state;
        if self.write_anew(0, folder, closed)? { Ok(()) } else { self.remove_all(gone) }
    }

    /// Removes records of steps that may be among the newest. Their room is used again, and after a kill they would be missed as
    /// parts of a step that was being written, unless it is written before that the system has them.
    pub(super) fn remove_all(&mut self, gone: &[Vec<u8>]) -> Result<(), StoreError> {
        self.flush()?;
        self.put(&[Record::State(self.state)])?;
        self.flush()?;
        gone.iter().try_for_each(|key| self.remove_bytes(key))
    }

    pub(super) fn remove(&mut self, key: &RecordKey) -> Result<(), StoreError> {
        self.remove_bytes(&key.bytes())
    }

    fn remove_bytes(&mut self, key: &[u8]) -> Result<(), StoreError> {
        let database = self.database_mut()?;
        let removed = database.reserve_for_removal().and_then(|()| database.remove(key));
        self.broken |= removed.is_err();
        removed?;
        if self.database()?.should_flush() { self.flush() } else { Ok(()) }
    }

    /// Keys that begin alike, in order.
    pub(super) fn keys(&self, prefix: &[u8]) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        while let Some((key, _)) = self.database()?.next(prefix, keys.last().map(Vec::as_slice))? {
            keys.push(key.to_vec());
        }
        Ok(keys)
    }

    pub(super) fn flush(&mut self) -> Result<(), StoreError> {
        self.usable()?;
        if let Err(error) = self.database_mut()?.flush() {
            self.broken = true;
            return Err(error);
        }
        self.flushed = self.step;
        Ok(())
    }

    fn usable(&self) -> Result<(), StoreError> {
        if self.broken {
            return Err(self.unusable());
        }
        Ok(())
    }
}
