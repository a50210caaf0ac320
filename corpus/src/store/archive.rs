//! A corpus as its files hold it: for reading it without changing it, and for repairing it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::Progress;
use super::database::Database;
use super::error::StoreError;
use super::folder::{Folder, Lock};
use super::record::{Distilled, Framed, Record, RecordKey, State};
use super::scan::{Found, read, scan};
use super::seal::{Seal, digest, files};
use crate::evaluation::{Evaluation, FindingRecord, Minimized, SituationSeen};

/// Readable contents of a corpus, whole or damaged. Reading changes nothing.
#[derive(Debug)]
pub struct Archive {
    files: Vec<PathBuf>,
    places: BTreeMap<RecordKey, Place>,
    kept: BTreeMap<u64, f64>,
    state: State,
    condition: Condition,
    lost: Lost,
    lock: Option<Lock>,
    /// The files, where they are a copy of those that another process has open.
    copy: Option<TempDir>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    step: u64,
    file: usize,
    offset: u64,
    len: usize,
}

/// Condition of a corpus's files when they were opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Closed, and unchanged since.
    Closed,
    /// Its process ended without closing it. All records that it had handed to the system are there.
    Interrupted,
    /// Another process has it open. Records that it had handed to the system are there.
    Running,
    /// Not as it was closed: something else has written to it, or the disk has not kept it.
    Changed,
}

/// Records that must be there and are not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// Kept tests.
    pub kept: u64,
    /// Findings.
    pub findings: u64,
    /// Summaries of reference runs; they are run again when they are needed.
    pub references: u64,
    /// Number of times that the newest state was unreadable and an older one, or none, was used: 0 or 1.
    pub state: u64,
}

impl Lost {
    /// Returns true if anything is lost.
    #[must_use]
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}

impl Archive {
    /// Reads a corpus: a campaign's folder, the corpus in it, or a damaged database that was set aside.
    ///
    /// # Errors
    /// There is no corpus, it has another schema, or nothing of it can be read.
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        let folder = Folder::find(path)?;
        let lock = match folder.lock() {
            Err(StoreError::Busy { .. }) => return Self::of_running(&folder),
            lock => lock?,
        };
        let mut archive = Self::scan(&folder.database())?;
        archive.lock = lock;
        Ok(archive)
    }

    /// Reads a corpus that another process has open: a copy of its files at one moment, which are what a kill at that moment would
    /// have left.
    fn of_running(folder: &Folder) -> Result<Self, StoreError> {
        let copy = folder.copy()?;
        let mut archive = Self::scan(copy.path())?;
        if archive.condition == Condition::Interrupted {
            archive.condition = Condition::Running;
        }
        archive.copy = Some(copy);
        Ok(archive)
    }

    /// Reads the files of a database folder.
    pub(super) fn scan(folder: &Path) -> Result<Self, StoreError> {
        Self::scan_after(folder, None)
    }

    /// The same of a database without a seal of which it is known that it has handed all steps up to one to the system.
    pub(super) fn scan_after(folder: &Path, flushed: Option<u64>) -> Result<Self, StoreError> {
        let seal = Seal::read(folder)?;
        let condition = match seal {
            Some(Seal::Closed { digest: sealed, .. }) if digest(folder)? == sealed => Condition::Closed,
            Some(Seal::Open) => Condition::Interrupted,
            _ => Condition::Changed,
        };
        let files = files(folder)?;
        let flushed = match seal {
            Some(Seal::Closed { step, .. }) => Some(step),
            _ => flushed,
        };
        let mut steps = Steps { flushed: flushed.unwrap_or_default(), ..Steps::default() };
        let mut foreign = None;
        for path in &files {
            scan(path, &mut |found| match found {
                Found::Frame { framed, .. } => steps.see(&framed),
                Found::Schema(schema) => foreign = Some(schema),
            })?;
        }
        if !steps.any {
            return Err(match foreign {
                Some(schema) => StoreError::Schema { path: folder.to_owned(), found: schema.to_string() },
                None => StoreError::Unreadable {
                    path: folder.to_owned(),
                    reason: "its files hold no record".to_owned(),
                },
            });
        }
        let whole = steps.whole();
        let mut archive = Self {
            files,
            places: BTreeMap::new(),
            kept: BTreeMap::new(),
            state: State::default(),
            condition,
            lost: Lost::default(),
            lock: None,
            copy: None,
        };
        let mut pending = HashSet::new();
        let mut distilled = None;
        for (file, path) in archive.files.iter().enumerate() {
            scan(path, &mut |found| {
                if let Found::Frame { offset, len, framed } = found
                    && framed.step <= whole
                {
                    let place = Place { step: framed.step, file, offset, len };
                    let newest = archive.places.entry(framed.record.key()).or_insert(place);
                    if newest.step <= framed.step {
                        *newest = place;
                        match framed.record {
                            Record::State(state) => archive.state = state,
                            Record::Kept { number, score } => {
                                archive.kept.insert(number, score);
                            }
                            Record::Distilled(newest) => distilled = Some(newest.into_owned()),
                            Record::Finding(finding) => {
                                match finding.minimized {
                                    Minimized::Pending => pending.insert(finding.signature.clone()),
                                    _ => pending.remove(&finding.signature),
                                };
                            }
                            _ => {}
                        }
                    }
                }
            })?;
        }
        archive.leave_out(distilled.as_ref(), &pending);
        archive.settle(flushed);
        Ok(archive)
    }

    /// Leaves out records that later ones have made invalid: the database has removed them, their bytes may be there.
    fn leave_out(&mut self, distilled: Option<&Distilled>, pending: &HashSet<String>) {
        let forgotten = self.places.get(&RecordKey::Forgotten).map_or(0, |place| place.step);
        self.places.retain(|key, place| match key {
            RecordKey::Reference(_) | RecordKey::Counted(_) => place.step > forgotten,
            RecordKey::Answer(signature, _) => pending.contains(signature),
            _ => true,
        });
        if let Some(distilled) = distilled {
            self.kept.retain(|number, _| distilled.has(*number));
        }
    }

    /// Leaves out records that are no longer wanted, and counts missing ones: all steps up to `flushed` must be there.
    fn settle(&mut self, flushed: Option<u64>) {
        let newest = self.places.values().map(|place| place.step).max().unwrap_or(0);
        let stated = self.places.get(&RecordKey::State).map_or(0, |place| place.step);
        let decided = self.kept.last_key_value().map_or(0, |(number, _)| *number);
        let is_short = flushed.is_some_and(|step| newest < step);
        self.lost.state = u64::from(stated == 0 || decided > self.state.progress.executions || is_short);
        self.state.progress.executions = self.state.progress.executions.max(decided);

        self.kept.retain(|number, _| self.places.contains_key(&RecordKey::Evaluation(*number)));
        let (kept, executions) = (&self.kept, self.state.progress.executions);
        self.places.retain(|key, _| match key {
            RecordKey::Evaluation(number) => *number > executions || kept.contains_key(number),
            RecordKey::Kept(number) => kept.contains_key(number),
            _ => true,
        });
        let count = |is: fn(&RecordKey) -> bool| self.places.keys().filter(|key| is(key)).count() as u64;
        let kept = kept.len() as u64;
        let findings = count(|key| matches!(key, RecordKey::Finding(_)));
        let references = count(|key| matches!(key, RecordKey::Reference(_)));
        let counted = count(|key| matches!(key, RecordKey::Counted(_)));
        let is_distilled = self.places.contains_key(&RecordKey::Distilled);
        let progress = self.state.progress;
        let state = State { progress, kept, findings, references, counted, is_distilled };
        let was = std::mem::replace(&mut self.state, state);
        self.lost.state |= u64::from(was.is_distilled && !is_distilled);
        self.lost.kept = was.kept.saturating_sub(kept);
        self.lost.findings = was.findings.saturating_sub(findings);
        self.lost.references =
            was.references.saturating_sub(references) + was.counted.saturating_sub(counted);
    }

    /// Condition of its files when they were opened.
    #[must_use]
    pub fn condition(&self) -> Condition {
        self.condition
    }

    /// Counts of lost records.
    #[must_use]
    pub fn lost(&self) -> Lost {
        self.lost
    }

    /// Returns true if nothing is wrong: a corpus whose process died is whole too.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.condition != Condition::Changed && !self.lost.any()
    }

    /// Progress of the campaign.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.state.progress
    }

    /// Score of every kept execution that can be read, by number.
    #[must_use]
    pub fn kept(&self) -> &BTreeMap<u64, f64> {
        &self.kept
    }

    /// Numbers of the executions that are recorded and not decided yet.
    pub fn undecided(&self) -> impl Iterator<Item = u64> + '_ {
        self.places.keys().filter_map(|key| match key {
            RecordKey::Evaluation(number) if !self.kept.contains_key(number) => Some(*number),
            _ => None,
        })
    }

    /// Number of answers of minimisers that have not ended.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.places.keys().filter(|key| matches!(key, RecordKey::Answer(..))).count() as u64
    }

    /// Number of reference runs with a summary.
    #[must_use]
    pub fn references(&self) -> u64 {
        self.state.references
    }

    /// The newest distillation of the kept tests.
    ///
    /// # Errors
    /// The file cannot be read any more.
    pub fn distilled(&self) -> Result<Option<Distilled>, StoreError> {
        match self.record(&RecordKey::Distilled)? {
            Some(Record::Distilled(distilled)) => Ok(Some(distilled.into_owned())),
            _ => Ok(None),
        }
    }

    /// What came of the losses of all decided executions, as the newest decision that had some has it; none if none had.
    ///
    /// # Errors
    /// The file cannot be read any more.
    pub fn losses(&self) -> Result<Option<Vec<u8>>, StoreError> {
        match self.record(&RecordKey::Losses)? {
            Some(Record::Losses(losses)) => Ok(Some(losses.into_owned())),
            _ => Ok(None),
        }
    }

    /// An execution that was kept, or is recorded and not decided yet.
    ///
    /// # Errors
    /// The file cannot be read any more.
    pub fn evaluation(&self, number: u64) -> Result<Option<Evaluation>, StoreError> {
        match self.record(&RecordKey::Evaluation(number))? {
            Some(Record::Evaluation(evaluation)) => Ok(Some(evaluation.into_owned())),
            _ => Ok(None),
        }
    }

    /// Every finding that can be read, by signature.
    ///
    /// # Errors
    /// The file cannot be read any more.
    pub fn findings(&self) -> Result<Vec<FindingRecord>, StoreError> {
        self.all(
            |record| match record {
                Record::Finding(finding) => Some(finding.into_owned()),
                _ => None,
            },
            |key| matches!(key, RecordKey::Finding(_)),
        )
    }

    /// Situations that decided executions have gone through, by number.
    ///
    /// # Errors
    /// The file cannot be read any more.
    pub fn situations(&self) -> Result<Vec<SituationSeen>, StoreError> {
        self.all(
            |record| match record {
                Record::Situation(seen) => Some(seen),
                _ => None,
            },
            |key| matches!(key, RecordKey::Situation(_)),
        )
    }

    /// What `of` takes from the records whose keys are these, in the order of the keys.
    fn all<T>(
        &self,
        of: fn(Record<'static>) -> Option<T>,
        is: fn(&RecordKey) -> bool,
    ) -> Result<Vec<T>, StoreError> {
        let records = self.places.keys().filter(|key| is(key)).map(|key| self.record(key));
        records.filter_map(|record| record.map(|record| record.and_then(of)).transpose()).collect()
    }

    /// Makes a new corpus of all that can be read, in a folder that does not exist or is empty.
    ///
    /// # Errors
    /// Something is in the folder, or it cannot be written.
    pub fn restore(&self, path: &Path) -> Result<(), StoreError> {
        let folder = Folder::create(path)?;
        let _lock = folder.lock()?;
        self.write(&folder.database()).map(drop)
    }

    /// Writes every record into a new database, and closes it. Returns its last step.
    pub(super) fn write(&self, folder: &Path) -> Result<u64, StoreError> {
        let mut database = Database::open(folder)?;
        let mut step = 0;
        for record in self.records().chain(std::iter::once(Ok(Record::State(self.state)))) {
            let record = record?;
            step += 1;
            database.reserve()?;
            // The database is used only if it is complete: every step counts.
            let key = record.key().bytes();
            database.put(&key, Framed { step, part: 0, parts: 1, flushed: step, record }.encode())?;
            if database.should_flush() {
                database.flush()?;
            }
        }
        database.close(step)?;
        Ok(step)
    }

    fn record(&self, key: &RecordKey) -> Result<Option<Record<'static>>, StoreError> {
        self.places
            .get(key)
            .map(|place| read(&self.files[place.file], place.offset, place.len).map(|framed| framed.record))
            .transpose()
    }

    /// Every valid record but the state.
    fn records(&self) -> impl Iterator<Item = Result<Record<'static>, StoreError>> + '_ {
        // What is there is all that is valid.
        let is_other = |key: &RecordKey| !matches!(key, RecordKey::State | RecordKey::Forgotten);
        let others = self.places.iter().filter(move |(key, _)| is_other(key));
        others.map(|(_, place)| {
            read(&self.files[place.file], place.offset, place.len).map(|framed| framed.record)
        })
    }
}

/// Description of the repairs, for the user.
pub(super) fn summary(path: &Path, archive: &Archive, aside: Option<&Path>) -> String {
    let (path, executions, kept) = (path.display(), archive.progress().executions, archive.kept.len());
    let Some(aside) = aside else {
        return format!(
            "{path}: was not closed when its process ended; all that it had saved is there: {executions} executions, \
             {kept} tests kept"
        );
    };
    let Lost { kept: lost, findings, references, state } = archive.lost;
    let state = if state > 0 { "; the last changes are lost" } else { "" };
    format!(
        "{path}: was damaged; read again as far as possible: {executions} executions, {kept} tests kept; lost: {lost} \
         kept tests, {findings} findings, {references} references{state}; the damaged files are in {}",
        aside.display()
    )
}

/// Steps that were written whole.
#[derive(Debug, Default)]
struct Steps {
    any: bool,
    /// Steps up to this one were handed to the system, and superseded parts of them may be gone.
    flushed: u64,
    /// Parts that were seen of later ones, and how many there must be.
    later: BTreeMap<u64, (u32, BTreeSet<u32>)>,
}

impl Steps {
    fn see(&mut self, framed: &Framed<'_>) {
        self.any = true;
        if framed.flushed > self.flushed {
            self.flushed = framed.flushed;
            self.later = self.later.split_off(&(self.flushed + 1));
        }
        if framed.step > self.flushed {
            let (parts, seen) = self.later.entry(framed.step).or_default();
            *parts = framed.parts;
            seen.insert(framed.part);
        }
    }

    /// The last step that is whole, as all before it are. A step behind it was being written when its process
    /// died: a later one may be on the disk before an earlier one.
    fn whole(&self) -> u64 {
        let mut whole = self.flushed;
        while let Some((parts, seen)) = self.later.get(&(whole + 1)) {
            if seen.len() != *parts as usize {
                break;
            }
            whole += 1;
        }
        whole
    }
}
