//! The search: batches of tests, in parallel, and the decisions about them, one after the other.

mod counted;
mod findings;
mod outcome;
mod steady;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use corpus::store::{Decision, Progress, Store};
use corpus::{Evaluation, FindingRecord, Host, Key, Minimized, Outcome, Scores, Sighting, TestConfig};
use executor::Testbed;
use mutators::Target;
use rayon::prelude::*;

use self::counted::Counted;
use self::outcome::outcome_of;
use crate::campaign::baselines::Stored;
use crate::campaign::candidates::Candidates;
use crate::campaign::error::CampaignError;
use crate::campaign::folder::{self, SUMMARY};
use crate::campaign::pool::Pool;
use crate::campaign::retention::{keeps, score};
use crate::campaign::schedule::Schedule;
use crate::campaign::settings::Settings;
use crate::campaign::stop::{End, Stop};
use crate::campaign::summary::Summary;
use crate::finding::{Answers, is_reproduced};
use crate::judge::judge;
use crate::policy::Policy;

/// Shortest time between two writes of `summary.json`.
const SUMMARY_EVERY: Duration = Duration::from_secs(2);

/// Shortest time between two hand-overs of executions to the system: a killed process loses the tests of this
/// time, and runs them again. Those of a testbed that takes longer for a test are handed over one by one.
const FLUSH_EVERY: Duration = Duration::from_millis(20);

/// Shortest time between two checkpoints, which make the store safe against a power failure.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(10);

/// Setup of a campaign: its testbeds, store and limits.
pub struct Setup<'a> {
    /// Settings of the campaign.
    pub settings: &'a Settings,
    /// Target of the campaign.
    pub target: &'a Target,
    /// The hosts of every test.
    pub hosts: [Host; 2],
    /// Tests to start from.
    pub initial: &'a [TestConfig],
    /// Store of the campaign.
    pub store: &'a Store,
    /// The campaign's folder, for findings and the summary.
    pub folder: &'a Path,
    /// Makes a testbed; each job has its own.
    pub testbed: &'a (dyn Fn() -> Box<dyn Testbed> + Sync),
    /// Asked before each test.
    pub stop: &'a Stop,
    /// Receiver of the campaign's events.
    pub watch: &'a (dyn Fn(Event<'_>) + Sync),
}

/// Event in a campaign.
#[derive(Debug)]
pub enum Event<'a> {
    /// Status of the campaign; every execution that it counts is recorded.
    Status(&'a Status),
    /// A signature was seen for the first time.
    Found(&'a FindingRecord),
    /// A finding's test is as small as it gets in its budget.
    Minimised(&'a FindingRecord),
    /// A finding is not there each time that its test runs.
    Flaky(&'a FindingRecord),
    /// Something that the user should know.
    Note(&'a str),
}

/// Status of a campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// Counts of the campaign.
    pub progress: Progress,
    /// Kept tests.
    pub corpus_size: u64,
    /// Their median score.
    pub median: Option<f64>,
    /// Their highest score.
    pub best: Option<f64>,
    /// Signatures found.
    pub findings: usize,
    /// Of which are still to be minimised.
    pub pending: usize,
}

/// A campaign that runs.
pub struct Engine<'a> {
    setup: Setup<'a>,
    schedule: Schedule,
    pool: Pool,
    findings: BTreeMap<String, FindingRecord>,
    progress: Progress,
    started: Instant,
    elapsed_before: Duration,
    summary_written: Instant,
    checkpoint_made: Instant,
    flushed: Mutex<Instant>,
    is_alarmed: bool,
    /// Policy on the testbeds.
    policy: Policy,
    /// Time that minimising has taken since `started`.
    minimised_for: Duration,
    /// Tests that ran, in all resumptions.
    runs: AtomicU64,
    /// Answers of interrupted minimisers, by signature.
    answers: Mutex<HashMap<String, Answers>>,
}

/// Share of invalid tests, in percent, above which something is wrong with the testbed.
const INVALID_ALARM_PERCENT: u64 = 5;

/// An execution that is recorded.
struct Executed {
    evaluation: Evaluation,
    is_stuck: bool,
}

impl<'a> Engine<'a> {
    /// A campaign as the store has it: from its beginning, or where it was left.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn new(setup: Setup<'a>) -> Result<Self, CampaignError> {
        let mut pool = Pool::default();
        for kept in setup.store.kept() {
            let (number, score) = kept?;
            pool.keep(number, score);
        }
        let findings = setup.store.findings()?;
        let progress = setup.store.progress()?;
        let now = Instant::now();
        let initial = (setup.initial.len() as u64).max(setup.target.pool.into());
        Ok(Self {
            schedule: Schedule { initial, batch: setup.settings.batch },
            pool,
            findings: findings.into_iter().map(|finding| (finding.signature.clone(), finding)).collect(),
            progress,
            started: now,
            elapsed_before: Duration::from_millis(progress.elapsed_ms),
            summary_written: now,
            checkpoint_made: now,
            flushed: Mutex::new(now),
            is_alarmed: false,
            policy: Policy::on(&*(setup.testbed)()),
            minimised_for: Duration::ZERO,
            runs: AtomicU64::new(progress.runs),
            answers: Mutex::default(),
            setup,
        })
    }

    /// Runs until a limit is reached or a stop is requested. The findings are in the store, the findings'
    /// folders and the summary.
    ///
    /// # Errors
    /// The testbed fails, or an observation cannot be kept; a full disk is not an error but an end.
    pub fn run(mut self) -> Result<(End, Status), CampaignError> {
        let end = match self.search_and_minimise() {
            // Whatever limit was reached too: findings wait to be minimised.
            Ok(_) if self.setup.stop.is_asked() && self.pending().next().is_some() => End::Interrupted,
            Ok(end) => end,
            Err(error) if error.is_disk_full() => {
                // The summary of the last batch that was whole may not fit either.
                let _ = self.write_summary();
                return Ok((End::DiskFull { reason: error.to_string() }, self.status()));
            }
            Err(error) => return Err(error),
        };
        match self.finish() {
            Ok(()) => Ok((end, self.status())),
            Err(error) if error.is_disk_full() => {
                Ok((End::DiskFull { reason: error.to_string() }, self.status()))
            }
            Err(error) => Err(error),
        }
    }

    /// Searches; then minimises the remaining findings, unless it was stopped.
    fn search_and_minimise(&mut self) -> Result<End, CampaignError> {
        let end = self.search()?;
        if end.is_done() {
            self.minimise_the_rest()?;
        }
        Ok(end)
    }

    fn search(&mut self) -> Result<End, CampaignError> {
        self.work_on_findings()?;
        self.write_summary()?;
        if self.is_exhausted()? {
            return Ok(End::NothingToMutate);
        }
        loop {
            if let Some(end) = self.limit()? {
                return Ok(end);
            }
            if let Some(end) = self.batch()? {
                return Ok(end);
            }
            self.save()?;
        }
    }

    /// The limit that is reached, if any.
    fn limit(&self) -> Result<Option<End>, CampaignError> {
        let limits = &self.setup.settings.limits;
        Ok(if limits.executions.is_some_and(|limit| self.progress.executions >= limit) {
            Some(End::Executions)
        } else if self.is_time_over() {
            Some(End::Duration)
        } else if limits.stop_on_first == Some(true) && self.findings.values().any(is_reproduced) {
            Some(End::Found)
        } else if self.setup.stop.is_asked() {
            Some(End::Interrupted)
        } else if let Some(limit) = limits.max_disk_bytes
            && folder::size(self.setup.folder)? >= limit
        {
            Some(End::MaxDisk)
        } else {
            folder::shortage(self.setup.folder)?.map(|reason| End::DiskFull { reason })
        })
    }

    fn elapsed(&self) -> Duration {
        self.elapsed_before + self.started.elapsed()
    }

    /// Notes how long it has run, and how many tests.
    fn clock(&mut self) {
        self.progress.elapsed_ms = u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.progress.runs = self.runs.load(Ordering::Relaxed);
    }

    /// Returns true if nothing more is to be begun.
    fn is_over(&self) -> bool {
        self.setup.stop.is_asked() || self.is_time_over()
    }

    /// A testbed whose tests are counted.
    fn testbed(&self) -> Counted<'_> {
        Counted::new((self.setup.testbed)(), &self.runs)
    }

    fn is_time_over(&self) -> bool {
        let limit = self.setup.settings.limits.duration_s;
        limit.is_some_and(|limit| self.elapsed() >= Duration::from_secs(limit))
    }

    /// Runs the rest of a batch and decides about it.
    fn batch(&mut self) -> Result<Option<End>, CampaignError> {
        let next = self.progress.executions + 1;
        let last = *self.schedule.batch_of(next).end();
        let last = self.setup.settings.limits.executions.map_or(last, |limit| last.min(limit));
        let numbers: Vec<u64> = (next..=last).collect();
        let baselines = Stored::new(self.setup.store, self.policy);
        let median = self.pool.median();
        let executed: Vec<Option<Executed>> = numbers
            .par_iter()
            .with_max_len(1)
            .map_init(|| self.testbed(), |testbed, number| self.execute(*number, testbed, &baselines))
            .collect::<Result<_, _>>()?;
        // An interrupted test leaves a gap; the executions recorded behind it wait for the next start.
        let executed: Vec<Executed> = executed.into_iter().map_while(|one| one).collect();
        let is_whole = executed.len() == numbers.len();
        let all_stuck = executed.iter().all(|one| one.is_stuck);

        let mut last_invalid = None;
        let mut new = BTreeSet::new();
        for Executed { evaluation, .. } in executed {
            new.extend(self.decide(&evaluation, median)?);
            if let Outcome::Invalid { reason } = evaluation.outcome {
                last_invalid = Some(reason);
            }
            if !new.is_empty() && self.setup.settings.limits.stop_on_first == Some(true) {
                break;
            }
        }
        if new.is_empty() {
            self.flush_now_and_then()?;
        } else {
            // A finding is not announced before it is safe.
            self.setup.store.flush()?;
        }
        let new = new.iter().filter_map(|signature| self.findings.get(signature));
        new.for_each(|finding| (self.setup.watch)(Event::Found(finding)));
        (self.setup.watch)(Event::Status(&self.status()));
        self.alarm();
        self.work_on_findings()?;
        if !is_whole {
            return Ok(None);
        }
        if self.pool.len() == 0 && !self.schedule.is_initial(self.progress.executions + 1) {
            let reason = last_invalid.unwrap_or_else(|| "the corpus is empty".into());
            return Ok(Some(End::NothingValid { reason }));
        }
        Ok(all_stuck.then_some(End::NothingToMutate))
    }

    fn candidates(&self) -> Candidates<'_> {
        let setup = &self.setup;
        Candidates {
            target: setup.target,
            hosts: &setup.hosts,
            strategy: setup.settings.strategy,
            seed: setup.settings.seed,
            schedule: self.schedule,
            initial: setup.initial,
        }
    }

    /// Returns true if the batch before showed that there is nothing left to try: a campaign that ended so
    /// ends again.
    fn is_exhausted(&self) -> Result<bool, CampaignError> {
        let last = self.progress.executions;
        if last == 0 || self.schedule.is_initial(last) {
            return Ok(false);
        }
        let batch = self.schedule.batch_of(last);
        if *batch.end() != last {
            return Ok(false);
        }
        for number in batch {
            if !self.candidates().draw(number, &self.pool, self.setup.store)?.is_stuck {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs an execution and records it, unless it is recorded already; `None` if a stop was requested
    /// before.
    fn execute(
        &self,
        number: u64,
        testbed: &mut dyn Testbed,
        baselines: &Stored<'_>,
    ) -> Result<Option<Executed>, CampaignError> {
        let setup = &self.setup;
        let recorded = setup.store.evaluation(number)?;
        if recorded.is_none() && self.is_over() {
            return Ok(None);
        }
        let candidate = self.candidates().draw(number, &self.pool, setup.store)?;
        let is_stuck = candidate.is_stuck;
        if let Some(evaluation) = recorded {
            return Ok(Some(Executed { evaluation, is_stuck }));
        }
        let outcome = outcome_of(judge(testbed, &candidate.config, baselines)?);
        let outcome = match outcome {
            Outcome::Scored(scores) if self.policy.repeats_candidates() => {
                let again = || Ok(outcome_of(judge(testbed, &candidate.config, baselines)?));
                Outcome::Scored(self.steady(number, scores, again)?)
            }
            outcome => outcome,
        };
        let evaluation = Evaluation { number, config: candidate.config, lineage: candidate.lineage, outcome };
        setup.store.record(&evaluation)?;
        self.flush_now_and_then()?;
        Ok(Some(Executed { evaluation, is_stuck }))
    }

    /// Hands recorded executions to the system before too much work would be lost with this process.
    fn flush_now_and_then(&self) -> Result<(), CampaignError> {
        let mut flushed = self.flushed.lock().unwrap_or_else(PoisonError::into_inner);
        if flushed.elapsed() >= FLUSH_EVERY {
            self.setup.store.flush()?;
            *flushed = Instant::now();
        }
        Ok(())
    }

    /// Decides about an execution, the next one in order, of a batch that began with a median score; the
    /// signatures that it shows for the first time.
    fn decide(&mut self, evaluation: &Evaluation, median: Option<f64>) -> Result<Vec<String>, CampaignError> {
        let Evaluation { number, outcome, .. } = evaluation;
        let settings = self.setup.settings;
        let (mut kept, mut changed, mut new_references) = (None, Vec::new(), Vec::new());
        let mut new = Vec::new();
        match outcome {
            Outcome::Invalid { .. } => self.progress.invalid += 1,
            Outcome::Scored(scores) => {
                let score = self.value(scores);
                // A test that was not above that median was not repeated. It is not kept for its only score,
                // should the median have fallen since.
                let least = median.filter(|_| self.policy.repeats_candidates());
                let keeps = self.schedule.is_initial(*number)
                    || keeps(score, &self.pool, least, settings.keep_probability, settings.seed, *number);
                kept = keeps.then_some(score);
                new_references = self.new_references(scores)?;
                for Sighting { signature, .. } in &scores.sightings {
                    if self.sight(evaluation, signature, &mut changed) {
                        new.push(signature.clone());
                    }
                }
            }
        }
        self.progress.executions = *number;
        self.progress.reference_executions += new_references.len() as u64;
        self.clock();
        let findings: Vec<FindingRecord> =
            changed.iter().filter_map(|signature| self.findings.get(signature)).cloned().collect();
        self.setup.store.decide(&Decision {
            number: *number,
            kept,
            new_references: &new_references,
            findings: &findings,
            progress: self.progress,
        })?;
        if let Some(score) = kept {
            self.pool.keep(*number, score);
        }
        Ok(new)
    }

    /// Value of scores to the search, which knows the findings so far.
    fn value(&self, scores: &Scores) -> f64 {
        let settings = self.setup.settings;
        let is_known = |signature: &str| self.findings.contains_key(signature) || settings.ignores(signature);
        score(scores, &self.setup.target.weights, is_known)
    }

    /// References of a test that no execution before it needed.
    fn new_references(&self, scores: &Scores) -> Result<Vec<Key>, CampaignError> {
        let mut new = Vec::new();
        for key in &scores.references {
            if !new.contains(key) && !self.setup.store.counts_reference(*key)? {
                new.push(*key);
            }
        }
        Ok(new)
    }

    /// Says once that more tests are invalid than a healthy testbed has.
    fn alarm(&mut self) {
        let Progress { executions, invalid, .. } = self.progress;
        if !self.is_alarmed
            && executions >= self.schedule.initial
            && invalid * 100 > executions * INVALID_ALARM_PERCENT
        {
            self.is_alarmed = true;
            (self.setup.watch)(Event::Note(&format!(
                "{invalid} of {executions} tests were invalid, more than {INVALID_ALARM_PERCENT} %: something is wrong with the testbed"
            )));
        }
    }

    /// Saves the changes of the last batch, as often as it is worth it.
    fn save(&mut self) -> Result<(), CampaignError> {
        if self.summary_written.elapsed() >= SUMMARY_EVERY {
            self.write_summary()?;
        }
        if self.checkpoint_made.elapsed() >= CHECKPOINT_EVERY {
            self.setup.store.checkpoint()?;
            self.checkpoint_made = Instant::now();
        }
        Ok(())
    }

    /// Saves everything.
    fn finish(&mut self) -> Result<(), CampaignError> {
        self.setup.store.checkpoint()?;
        self.count_sightings()?;
        self.write_summary()
    }

    fn write_summary(&mut self) -> Result<(), CampaignError> {
        let corpus_size = self.pool.len() as u64;
        let summary = Summary::new(self.setup.settings, self.progress, corpus_size, self.findings.values());
        folder::write_json(&self.setup.folder.join(SUMMARY), &summary)?;
        self.summary_written = Instant::now();
        Ok(())
    }

    /// Findings that are not minimised yet.
    fn pending(&self) -> impl Iterator<Item = &FindingRecord> {
        self.findings.values().filter(|finding| finding.minimized == Minimized::Pending)
    }

    fn status(&self) -> Status {
        Status {
            progress: self.progress,
            corpus_size: self.pool.len() as u64,
            median: self.pool.median(),
            best: self.pool.best(),
            findings: self.findings.len(),
            pending: self.pending().count(),
        }
    }
}
