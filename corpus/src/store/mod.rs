//! The persistent corpus of a campaign, on sled: evaluations, which of them are kept, findings, and how far
//! the search is.
//!
//! Everything of one campaign is in one folder, which one process may have open.

mod archive;
mod database;
mod error;
mod folder;
mod record;
mod scan;
mod seal;
mod writer;

use std::borrow::Cow;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use self::archive::summary;
use self::database::Database;
use self::folder::{Folder, Lock, Unlock, wait_for_readers};
use self::record::{
    COUNTED_PREFIX, FINDING_PREFIX, Framed, KEPT_PREFIX, REFERENCE_PREFIX, Record, RecordKey,
    SITUATION_PREFIX, State, answers_prefix,
};
use self::seal::{Seal, digest};
use self::writer::Writer;

pub use self::archive::{Archive, Condition, Lost};
pub use self::database::free_space;
pub use self::error::StoreError;
pub use self::record::Distilled;
use crate::TestConfig;
use crate::evaluation::{Answer, Evaluation, FindingRecord, Key, Minimising, Minimized, SituationSeen};

/// Progress of a campaign. Written together with the records that it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Executions whose retention is decided: 1 to this number. Later ones may be recorded, and are not run again.
    pub executions: u64,
    /// Distinct reference runs that these needed.
    pub reference_executions: u64,
    /// Executions that minimisers took.
    pub minimizer_executions: u64,
    /// Executions among `executions` that were invalid.
    pub invalid: u64,
    /// Time spent, in milliseconds, over all resumptions.
    pub elapsed_ms: u64,
    /// Tests that ran in that time, whatever for: executions, references, repetitions, those of minimisers.
    pub runs: u64,
}

impl Progress {
    /// So many of whatever it counts, a second; 0 before any time has passed.
    #[must_use]
    pub fn per_second(&self, count: u64) -> f64 {
        if self.elapsed_ms == 0 { 0.0 } else { count as f64 / self.elapsed_s() }
    }

    /// Time spent, in seconds.
    #[must_use]
    pub fn elapsed_s(&self) -> f64 {
        self.elapsed_ms as f64 / 1e3
    }
}

/// Executions for which [`Store::remember`] remembers a test: testbeds ask for no older one.
pub const REMEMBERED: u64 = 128;

/// Decision on one execution, written whole or not at all.
#[derive(Debug)]
pub struct Decision<'a> {
    /// Number of the execution; its evaluation is recorded already.
    pub number: u64,
    /// The score that it enters the pool with, if it is kept. The evaluation of one that is not is dropped.
    pub kept: Option<f64>,
    /// References that were needed for the first time in the campaign.
    pub new_references: &'a [Key],
    /// Findings that are new or whose counts changed.
    pub findings: &'a [FindingRecord],
    /// Situations that it is the first or the second one to go through.
    pub situations: &'a [SituationSeen],
    /// What came of the losses of all executions up to this one, if this one had any.
    pub losses: Option<&'a [u8]>,
    /// Progress of the campaign with this decision.
    pub progress: Progress,
}

/// An open corpus. Shared between threads; closing it (dropping) releases the lock.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    folder: Folder,
    /// Locked while the database's files change.
    read: File,
    writer: Mutex<Writer>,
    _lock: Option<Lock>,
}

/// A writer whose files are not being copied.
struct Changing<'a> {
    /// Released first: another thread must not meet it.
    _files: Unlock<'a>,
    writer: MutexGuard<'a, Writer>,
}

impl std::ops::Deref for Changing<'_> {
    type Target = Writer;

    fn deref(&self) -> &Writer {
        &self.writer
    }
}

impl std::ops::DerefMut for Changing<'_> {
    fn deref_mut(&mut self) -> &mut Writer {
        &mut self.writer
    }
}

impl Store {
    /// A new corpus in a folder that does not exist or is empty.
    ///
    /// # Errors
    /// Something is in the folder, or it cannot be written.
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        let folder = Folder::create(path)?;
        let lock = folder.lock()?;
        let store = Self::with(path, lock, Database::open(&folder.database())?, State::default(), 0)?;
        store.change().write(&[], Progress::default())?;
        store.checkpoint()?;
        Ok(store)
    }

    /// Opens an existing corpus; notes list the repairs (after a process that died, damaged files set aside,
    /// ...), for the user.
    ///
    /// # Errors
    /// There is no corpus, another process has it open, it has another schema, nothing of it can be read, or
    /// it cannot be written.
    pub fn open(path: &Path) -> Result<(Self, Vec<String>), StoreError> {
        fs::read_dir(path).map_err(|_| StoreError::Missing { path: path.to_owned() })?;
        let folder = Folder::new(path);
        if !path.join("LOCK").is_file() && !folder.database().is_dir() {
            return Err(StoreError::Missing { path: path.to_owned() });
        }
        let lock = folder.lock()?;
        folder.tidy()?;
        let database = folder.database();
        let mut notes = Vec::new();
        let step = match sealed(&database)? {
            Some(step) => step,
            None => {
                let archive = Archive::scan(&database)?;
                let aside = folder.replace(!archive.is_whole(), |new| archive.write(new).map(drop))?;
                notes.push(summary(path, &archive, aside.as_deref()));
                sealed(&database)?.ok_or_else(|| StoreError::Damaged {
                    path: database.clone(),
                    reason: "it changed as soon as it was mended".to_owned(),
                })?
            }
        };
        let opened = Database::open(&database)?;
        let damaged =
            |reason: &str| StoreError::Damaged { path: database.clone(), reason: reason.to_owned() };
        let state = match opened.get(&RecordKey::State.bytes())?.map(|bytes| Framed::decode(&bytes)) {
            Some(Ok((Framed { record: Record::State(state), .. }, _))) => state,
            _ => return Err(damaged("its state cannot be read")),
        };
        Ok((Self::with(path, lock, opened, state, step)?, notes))
    }

    fn with(
        path: &Path,
        lock: Option<Lock>,
        database: Database,
        state: State,
        step: u64,
    ) -> Result<Self, StoreError> {
        let folder = Folder::new(path);
        let writer = Mutex::new(Writer::new(database, folder.database(), state, step)?);
        let read = folder.open_read()?;
        Ok(Self { folder, read, path: path.to_owned(), writer, _lock: lock })
    }

    /// For a change: besides other callers, readers of the running campaign are waited for.
    fn change(&self) -> Changing<'_> {
        let writer = self.lock();
        Changing { _files: wait_for_readers(&self.read), writer }
    }

    /// One caller at a time. A caller that panicked has left nothing half-done that `broken` does not tell.
    fn lock(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an execution, before its result is shown. Its retention is not decided yet.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn record(&self, evaluation: &Evaluation) -> Result<(), StoreError> {
        self.change().put(&[Record::Evaluation(Cow::Borrowed(evaluation))])
    }

    /// Remembers the test of an execution, whether it will be kept or not, for the tests of [`REMEMBERED`] executions after it. Before the execution is
    /// recorded: of a recorded one it is then there.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn remember(&self, number: u64, config: &TestConfig) -> Result<(), StoreError> {
        self.change().put(&[Record::Test { number, config: Cow::Borrowed(config) }])
    }

    /// Decides an execution: kept or dropped, and everything that it changed, in one atomic step.
    ///
    /// # Errors
    /// It is to be kept and was not recorded, or the decision cannot be written.
    pub fn decide(&self, decision: &Decision<'_>) -> Result<(), StoreError> {
        let number = decision.number;
        let mut writer = self.change();
        let mut records = Vec::with_capacity(2);
        if let Some(score) = decision.kept {
            if !writer.contains(&RecordKey::Evaluation(number))? {
                return Err(StoreError::NotRecorded { number });
            }
            records.push(Record::Kept { number, score });
        }
        records.extend(decision.new_references.iter().map(|key| Record::Counted(*key)));
        records.extend(decision.findings.iter().map(|finding| Record::Finding(Cow::Borrowed(finding))));
        records.extend(decision.situations.iter().map(|seen| Record::Situation(*seen)));
        records.extend(decision.losses.map(|losses| Record::Losses(Cow::Borrowed(losses))));
        writer.write(&records, decision.progress)?;
        if decision.kept.is_none() {
            writer.remove(&RecordKey::Evaluation(number))?;
        }
        Ok(())
    }

    /// Distils the kept tests, in one atomic step: those that do not stay are gone. A database whose log has at least 16 MiB is
    /// written anew without them, as by [`compact`](Self::compact).
    ///
    /// # Errors
    /// It cannot be written.
    pub fn distil(&self, distilled: &Distilled, closed: fn()) -> Result<(), StoreError> {
        let mut writer = self.change();
        let number = |key: &[u8]| {
            let number = key.get(KEPT_PREFIX.len()..)?.try_into().ok()?;
            Some(u64::from_be_bytes(number))
        };
        let mut gone = Vec::new();
        let mut kept = 0;
        for key in writer.keys(KEPT_PREFIX)? {
            match number(&key) {
                Some(number) if !distilled.has(number) => {
                    gone.push(RecordKey::Evaluation(number).bytes());
                    gone.push(key);
                }
                _ => kept += 1,
            }
        }
        let change = |state: &mut State| (state.kept, state.is_distilled) = (kept, true);
        writer.replace(Record::Distilled(Cow::Borrowed(distilled)), change, &gone, &self.folder, closed)
    }

    /// Writes the database anew, without the room of what was removed, if its log has at least 16 MiB and is four times as long
    /// as it was after the last time; returns true if it did. When the old one is `closed`, and its memory is free, the new one is
    /// begun.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn compact(&self, closed: fn()) -> Result<bool, StoreError> {
        self.change().compact(&self.folder, closed)
    }

    /// The newest distillation.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn distilled(&self) -> Result<Option<Distilled>, StoreError> {
        match self.lock().get(&RecordKey::Distilled)? {
            Some(Record::Distilled(distilled)) => Ok(Some(distilled.into_owned())),
            _ => Ok(None),
        }
    }

    /// References that decided executions needed, since they were forgotten.
    #[must_use]
    pub fn counted_references(&self) -> u64 {
        self.lock().counted()
    }

    /// Forgets all references, in one atomic step: they are run, and counted, again where they are needed. A database whose log has
    /// at least 16 MiB is written anew without them, as by [`compact`](Self::compact).
    ///
    /// # Errors
    /// It cannot be written.
    pub fn forget_references(&self, closed: fn()) -> Result<(), StoreError> {
        let mut writer = self.change();
        let mut gone = writer.keys(COUNTED_PREFIX)?;
        gone.extend(writer.keys(REFERENCE_PREFIX)?);
        let none = |state: &mut State| (state.counted, state.references) = (0, 0);
        writer.replace(Record::Forgotten, none, &gone, &self.folder, closed)
    }

    /// Progress of the campaign.
    ///
    /// # Errors
    /// None so far: it is held in memory.
    pub fn progress(&self) -> Result<Progress, StoreError> {
        Ok(self.lock().progress())
    }

    /// An execution that was kept, or is recorded and not decided yet.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn evaluation(&self, number: u64) -> Result<Option<Evaluation>, StoreError> {
        let writer = self.lock();
        if number > writer.last_evaluation() {
            return Ok(None);
        }
        match writer.get(&RecordKey::Evaluation(number))? {
            Some(Record::Evaluation(evaluation)) => Ok(Some(evaluation.into_owned())),
            _ => Ok(None),
        }
    }

    /// The test of an execution that is remembered.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn remembered(&self, number: u64) -> Result<Option<TestConfig>, StoreError> {
        match self.lock().get(&RecordKey::test(number))? {
            Some(Record::Test { number: found, config }) if found == number => Ok(Some(config.into_owned())),
            _ => Ok(None),
        }
    }

    /// Number and retained score of every kept execution, in order, without their tests.
    pub fn kept(&self) -> impl Iterator<Item = Result<(u64, f64), StoreError>> {
        self.each(KEPT_PREFIX, |record| match record {
            Record::Kept { number, score } => Some((number, score)),
            _ => None,
        })
    }

    /// Every finding, by signature.
    ///
    /// # Errors
    /// One cannot be read.
    pub fn findings(&self) -> Result<Vec<FindingRecord>, StoreError> {
        let findings = self.each(FINDING_PREFIX, |record| match record {
            Record::Finding(finding) => Some(finding.into_owned()),
            _ => None,
        });
        findings.collect()
    }

    /// Situations that decided executions have gone through, by number.
    ///
    /// # Errors
    /// One cannot be read.
    pub fn situations(&self) -> Result<Vec<SituationSeen>, StoreError> {
        let situations = self.each(SITUATION_PREFIX, |record| match record {
            Record::Situation(seen) => Some(seen),
            _ => None,
        });
        situations.collect()
    }

    /// What came of the losses of all decided executions, as the newest decision that had some has it; none if none had.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn losses(&self) -> Result<Option<Vec<u8>>, StoreError> {
        match self.lock().get(&RecordKey::Losses)? {
            Some(Record::Losses(losses)) => Ok(Some(losses.into_owned())),
            _ => Ok(None),
        }
    }

    /// What `of` takes from the records whose keys begin alike, in their order, up to the first that cannot be read.
    fn each<T>(
        &self,
        prefix: &'static [u8],
        of: fn(Record<'static>) -> Option<T>,
    ) -> impl Iterator<Item = Result<T, StoreError>> {
        self.records(prefix).filter_map(move |record| record.map(of).transpose())
    }

    /// The records whose keys begin alike, in their order, up to the first that cannot be read.
    fn records(&self, prefix: &'static [u8]) -> impl Iterator<Item = Result<Record<'static>, StoreError>> {
        let mut last: Option<sled::IVec> = None;
        let mut failed = false;
        std::iter::from_fn(move || {
            if failed {
                return None;
            }
            let writer = self.lock();
            let next = writer.database().and_then(|database| database.next(prefix, last.as_deref()));
            let next = next.transpose()?;
            let record = next.and_then(|(key, value)| {
                last = Some(key);
                writer.decode(&value)
            });
            failed = record.is_err();
            Some(record)
        })
    }

    /// Writes a finding and the progress that goes with it (after minimising), in one atomic step. The minimiser of a finding
    /// that is not pending has ended.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn put_finding(&self, finding: &FindingRecord, progress: Progress) -> Result<(), StoreError> {
        let mut writer = self.change();
        let signature = &*finding.signature;
        let mut records = vec![Record::Finding(Cow::Borrowed(finding))];
        let minimising = newest_minimising(&writer, signature)?;
        let ended = minimising
            .filter(|(_, is_going_on)| is_going_on.is_some() && finding.minimized != Minimized::Pending);
        if let Some((number, _)) = ended {
            let signature = Cow::Borrowed(signature);
            records.push(Record::Minimising { signature, number, minimising: None });
        }
        writer.write(&records, progress)?;
        if ended.is_some() {
            let answers = writer.keys(&answers_prefix(signature))?;
            writer.remove_all(&answers)?;
        }
        Ok(())
    }

    /// The minimiser of a finding that has not ended, with its answers.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn minimising(&self, signature: &str) -> Result<Option<(Minimising, Vec<Answer>)>, StoreError> {
        let writer = self.lock();
        let Some((newest, Some(minimising))) = newest_minimising(&writer, signature)? else {
            return Ok(None);
        };
        let prefix = answers_prefix(signature);
        let mut answers = Vec::new();
        let mut last = None;
        while let Some((key, value)) = writer.database()?.next(&prefix, last.as_deref())? {
            // Those of an earlier minimiser may be left.
            if let Record::Answer { number, answer, .. } = writer.decode(&value)?
                && number == newest
            {
                answers.push(answer.into_owned());
            }
            last = Some(key);
        }
        Ok(Some((minimising, answers)))
    }

    /// A minimiser of a finding begins. It has no answers.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin_minimising(&self, signature: &str, minimising: &Minimising) -> Result<(), StoreError> {
        let mut writer = self.change();
        let number = newest_minimising(&writer, signature)?.map_or(1, |(number, _)| number + 1);
        let minimising = Some(Cow::Borrowed(minimising));
        writer.put(&[Record::Minimising { signature: Cow::Borrowed(signature), number, minimising }])
    }

    /// Keeps an answer of the newest minimiser of a finding.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn put_answer(&self, signature: &str, answer: &Answer) -> Result<(), StoreError> {
        let mut writer = self.change();
        let number = newest_minimising(&writer, signature)?.map_or(0, |(number, _)| number);
        let signature = Cow::Borrowed(signature);
        writer.put(&[Record::Answer { signature, number, answer: Cow::Borrowed(answer) }])
    }

    /// Summary of a reference run, if it was run.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn reference(&self, key: Key) -> Result<Option<Vec<u8>>, StoreError> {
        match self.lock().get(&RecordKey::Reference(key))? {
            Some(Record::Reference { summary, .. }) => Ok(Some(summary.into_owned())),
            _ => Ok(None),
        }
    }

    /// Keeps the summary of a reference run.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn put_reference(&self, key: Key, summary: &[u8]) -> Result<(), StoreError> {
        let mut writer = self.change();
        let progress = writer.progress();
        writer.write(&[Record::Reference { key, summary: Cow::Borrowed(summary) }], progress)
    }

    /// Returns true if a decided execution needed the reference, so that it is counted.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn counts_reference(&self, key: Key) -> Result<bool, StoreError> {
        self.lock().contains(&RecordKey::Counted(key))
    }

    /// Hands everything written to the system: it survives the death of this process.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.change().flush()
    }

    /// [`Self::flush`], and fsync: it survives a power failure.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        let mut writer = self.change();
        writer.flush()?;
        writer.database()?.sync()?;
        seal::sync_folder(&self.path)
    }

    /// Bytes on disk.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn size_on_disk(&self) -> Result<u64, StoreError> {
        self.lock().database()?.size()
    }
}

impl Drop for Store {
    /// Closes the database, so that it can be opened as it is. If that fails, the next one to open it reads its records
    /// again: nothing is lost that was flushed.
    fn drop(&mut self) {
        self.writer.get_mut().unwrap_or_else(PoisonError::into_inner).close();
    }
}

/// The newest minimiser of a finding: its number, and itself if it has not ended.
fn newest_minimising(
    writer: &Writer,
    signature: &str,
) -> Result<Option<(u64, Option<Minimising>)>, StoreError> {
    match writer.get(&RecordKey::Minimising(signature.to_owned()))? {
        Some(Record::Minimising { number, minimising, .. }) => {
            Ok(Some((number, minimising.map(Cow::into_owned))))
        }
        _ => Ok(None),
    }
}

/// The step after which a database was closed, if it is as it was then.
fn sealed(database: &Path) -> Result<Option<u64>, StoreError> {
    Ok(match Seal::read(database)? {
        Some(Seal::Closed { step, digest: sealed }) if digest(database)? == sealed => Some(step),
        _ => None,
    })
}
