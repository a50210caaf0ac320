//! The engine of a campaign. The [planner](planner) draws the tests of a batch, the [runner](runner) runs them in parallel,
//! and the [decider](decider) decides about them, one after the other. Between batches, findings are confirmed and
//! minimised.

mod decider;
mod distil;
mod findings;
mod outcome;
mod planner;
mod runner;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use corpus::store::{Progress, Store, StoreError};
use corpus::{Evaluation, FindingRecord, Host, Outcome, TestConfig};
use executor::uml::{Codes, KernelShares};
use executor::{History, Testbed};
use mutators::Target;

use self::decider::Decider;
use self::outcome::outcome_of;
use self::planner::{Candidate, Planner};
use self::runner::Runner;
use crate::campaign::baselines::Stored;
use crate::campaign::error::CampaignError;
use crate::campaign::folder::{self, SUMMARY};
use crate::campaign::schedule::Schedule;
use crate::campaign::search::Memory;
use crate::campaign::settings::Settings;
use crate::campaign::stop::{End, Stop};
use crate::campaign::summary::{Rest, Summary};
use crate::finding::is_reproduced;
use crate::judge::{judge, judge_after};
use crate::policy::Policy;
pub(super) use distil::Kept;

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
    pub hosts: &'a [Host; 2],
    /// Tests to start from.
    pub initial: &'a [TestConfig],
    /// Store of the campaign.
    pub store: &'a Store,
    /// The campaign's folder, for findings and the summary.
    pub folder: &'a Path,
    /// The kernels of the hosts that count what runs of their code.
    pub codes: &'a Codes,
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
    /// How much of the hosts' kernels the tests have run, where they count it.
    pub code: Vec<KernelShares>,
}

/// A campaign that runs.
pub struct Engine<'a> {
    setup: Setup<'a>,
    planner: Planner<'a>,
    runner: Runner<'a>,
    decider: Decider<'a>,
    started: Instant,
    elapsed_before: Duration,
    summary_written: Instant,
    checkpoint_made: Instant,
    flushed: Mutex<Instant>,
    is_alarmed: bool,
    /// Policy on the testbeds.
    policy: Policy,
    /// Lanes of the testbeds ([`Capabilities::lanes`]).
    lanes: Option<u8>,
    /// Time that minimising has taken since `started`.
    minimised_for: Duration,
}

/// Share of invalid tests, in percent, above which something is wrong with the testbed.
const INVALID_ALARM_PERCENT: u64 = 5;

/// Tests of a batch by their lanes, each in order; where there are no lanes, each for itself.
fn lanes_of(candidates: Vec<(u64, Candidate)>, lanes: Option<u8>) -> Vec<Vec<(u64, Candidate)>> {
    let Some(lanes) = lanes else { return candidates.into_iter().map(|candidate| vec![candidate]).collect() };
    let mut of_lanes: Vec<Vec<_>> = (0..lanes).map(|_| Vec::new()).collect();
    for (number, candidate) in candidates {
        of_lanes[(number % u64::from(lanes)) as usize].push((number, candidate));
    }
    of_lanes
}

impl<'a> Engine<'a> {
    /// A campaign as the store has it: from its beginning, or where it was left.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn new(setup: Setup<'a>) -> Result<Self, CampaignError> {
        let now = Instant::now();
        let initial = (setup.initial.len() as u64).max(setup.target.pool.into());
        let schedule = Schedule { initial, batch: setup.settings.batch };
        let capabilities = (setup.testbed)().capabilities();
        let policy = Policy::of(&capabilities);
        let strategy = setup.settings.strategy;
        let (mut kept, distilled) = distil::read(setup.store)?;
        let learned = kept.search.take().and_then(|saved| Memory::restore(strategy, saved));
        let memory = learned.or_else(|| Memory::of(strategy, setup.settings.batch));
        let decider = Decider::new(
            setup.settings,
            setup.target,
            setup.store,
            schedule,
            policy,
            kept,
            !setup.codes.is_empty(),
        )?;
        Ok(Self {
            planner: Planner {
                target: setup.target,
                hosts: setup.hosts,
                strategy,
                seed: setup.settings.seed,
                schedule,
                initial: setup.initial,
                store: setup.store,
                memory,
                recent: BTreeMap::new(),
                distilled,
            },
            runner: Runner::new(setup.testbed, decider.progress.runs),
            started: now,
            elapsed_before: Duration::from_millis(decider.progress.elapsed_ms),
            decider,
            summary_written: now,
            checkpoint_made: now,
            flushed: Mutex::new(now),
            is_alarmed: false,
            policy,
            lanes: capabilities.lanes,
            minimised_for: Duration::ZERO,
            setup,
        })
    }

    /// Runs until a limit is reached or a stop is requested. The findings are in the store, the findings'
    /// folders and the summary.
    ///
    /// # Errors
    /// The testbed fails, or an observation cannot be kept; a full disk is not an error but an end.
    pub fn run(mut self) -> Result<(End, Status), CampaignError> {
        (self.setup.watch)(Event::Status(&self.status()));
        let end = match self.search_and_minimise() {
            // Whatever limit was reached too: findings wait to be minimised.
            Ok(_) if self.setup.stop.is_asked() && self.decider.pending().next().is_some() => {
                End::Interrupted
            }
            Ok(end) => end,
            Err(error) if error.is_disk_full() => {
                // The summary of the last batch that was whole may not fit either.
                let end = End::DiskFull { reason: error.to_string() };
                let _ = self.write_summary(Some(&end));
                return Ok((end, self.status()));
            }
            Err(error) => return Err(error),
        };
        match self.finish(&end) {
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
        self.write_summary(None)?;
        if self.planner.is_exhausted(self.decider.progress.executions, &self.decider.pool)? {
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
        Ok(if limits.executions.is_some_and(|limit| self.decider.progress.executions >= limit) {
            Some(End::Executions)
        } else if self.is_time_over() {
            Some(End::Duration)
        } else if limits.stop_on_first == Some(true) && self.decider.findings.values().any(is_reproduced) {
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
        self.decider.progress.elapsed_ms = u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.decider.progress.runs = self.runner.runs();
    }

    /// Returns true if nothing more is to be begun.
    fn is_over(&self) -> bool {
        self.setup.stop.is_asked() || self.is_time_over()
    }

    fn is_time_over(&self) -> bool {
        let limit = self.setup.settings.limits.duration_s;
        limit.is_some_and(|limit| self.elapsed() >= Duration::from_secs(limit))
    }

    /// Runs the rest of a batch and decides about it.
    fn batch(&mut self) -> Result<Option<End>, CampaignError> {
        let next = self.decider.progress.executions + 1;
        self.bound_corpus(next)?;
        let limit = self.setup.settings.limits.executions;
        let candidates = self.planner.draw_rest_of_batch(next, limit, &self.decider.pool)?;
        let asked = candidates.len();
        let baselines = Stored::new(self.setup.store, self.policy);
        let median = self.decider.pool.median();
        // Those of a lane one after the other.
        let lanes = lanes_of(candidates, self.lanes);
        let execute = |testbed: &mut dyn Testbed, candidates: Vec<(u64, Candidate)>| {
            let execute =
                |(number, candidate)| Ok((number, self.execute(number, candidate, testbed, &baselines)?));
            candidates.into_iter().map(execute).collect::<Result<Vec<_>, CampaignError>>()
        };
        let mut executed = self.runner.each(lanes, execute)?.into_iter().flatten().collect::<Vec<_>>();
        executed.sort_by_key(|(number, _)| *number);
        // An interrupted test leaves a gap; the executions recorded behind it wait for the next start.
        let executed: Vec<Evaluation> = executed.into_iter().map_while(|(_, one)| one).collect();
        let is_whole = executed.len() == asked;
        let is_one_test = self
            .planner
            .is_one_test(executed.iter().map(|evaluation| (evaluation.number, &evaluation.config)));

        let mut last_invalid = None;
        let mut new = BTreeSet::new();
        for evaluation in executed {
            self.clock();
            new.extend(self.decider.decide(&evaluation, median)?);
            if let Outcome::Invalid { reason } = &evaluation.outcome {
                last_invalid = Some(reason.clone());
            }
            self.planner.has_run(evaluation);
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
        let new = new.iter().filter_map(|signature| self.decider.findings.get(signature));
        new.for_each(|finding| (self.setup.watch)(Event::Found(finding)));
        (self.setup.watch)(Event::Status(&self.status()));
        self.alarm(last_invalid.as_deref());
        self.work_on_findings()?;
        if !is_whole {
            return Ok(None);
        }
        let Progress { executions, invalid, .. } = self.decider.progress;
        let is_all_invalid = limit.is_some_and(|limit| executions >= limit) && invalid == executions;
        if self.decider.pool.len() == 0
            && (is_all_invalid || !self.planner.schedule.is_initial(executions + 1))
        {
            let reason = last_invalid.unwrap_or_else(|| "the corpus is empty".into());
            return Ok(Some(End::NothingValid { reason }));
        }
        let was_initial = self.planner.schedule.is_initial(executions);
        Ok((is_one_test && !was_initial).then_some(End::NothingToMutate))
    }

    /// Runs an execution and records it, unless it is recorded already; `None` if a stop was requested
    /// before.
    fn execute(
        &self,
        number: u64,
        candidate: Candidate,
        testbed: &mut dyn Testbed,
        baselines: &Stored<'_>,
    ) -> Result<Option<Evaluation>, CampaignError> {
        let setup = &self.setup;
        let recorded = setup.store.evaluation(number)?;
        if recorded.is_none() && self.is_over() {
            return Ok(None);
        }
        if recorded.is_some() {
            return Ok(recorded);
        }
        // What cannot be read is no test; the execution itself fails on it.
        let test_of = |number| setup.store.remembered(number).ok()?;
        let history = History { number, test_of: &test_of };
        let config = &candidate.config;
        let outcome = outcome_of(config, judge_after(testbed, &history, config, baselines)?);
        let outcome = match outcome {
            Outcome::Scored(scores) if self.policy.repeats_candidates() => {
                let again = || Ok(outcome_of(config, judge(testbed, config, baselines)?));
                Outcome::Scored(self.decider.steady(number, scores, again)?)
            }
            outcome => outcome,
        };
        if self.lanes.is_some() {
            // Whether it is kept or not: a campaign that is resumed runs the tests of its lane again before the next one.
            setup.store.remember(number, &candidate.config)?;
        }
        let evaluation = Evaluation { number, config: candidate.config, lineage: candidate.lineage, outcome };
        setup.store.record(&evaluation)?;
        self.flush_now_and_then()?;
        Ok(Some(evaluation))
    }

    /// Hands recorded executions to the system before too much work would be lost with this process.
    fn flush_now_and_then(&self) -> Result<(), StoreError> {
        let mut flushed = self.flushed.lock().unwrap_or_else(PoisonError::into_inner);
        if flushed.elapsed() >= FLUSH_EVERY {
            self.setup.store.flush()?;
            *flushed = Instant::now();
        }
        Ok(())
    }

    /// Says once that more tests are invalid than a healthy testbed has, and why the last one is.
    fn alarm(&mut self, reason: Option<&str>) {
        let Progress { executions, invalid, .. } = self.decider.progress;
        if !self.is_alarmed
            && executions >= self.planner.schedule.initial
            && invalid * 100 > executions * INVALID_ALARM_PERCENT
        {
            self.is_alarmed = true;
            (self.setup.watch)(Event::Note(&format!(
                "{invalid} of {executions} tests were invalid, more than {INVALID_ALARM_PERCENT} %: something is wrong with the testbed, or \
                 with what the NICs are asked for; the last one: {}",
                reason.unwrap_or("no reason is known")
            )));
        }
    }

    /// Saves the changes of the last batch, as often as it is worth it.
    fn save(&mut self) -> Result<(), CampaignError> {
        if self.summary_written.elapsed() >= SUMMARY_EVERY {
            self.write_summary(None)?;
        }
        if self.checkpoint_made.elapsed() >= CHECKPOINT_EVERY {
            self.setup.store.checkpoint()?;
            self.checkpoint_made = Instant::now();
        }
        Ok(())
    }

    /// Saves everything.
    fn finish(&mut self, end: &End) -> Result<(), CampaignError> {
        self.setup.store.checkpoint()?;
        self.count_sightings()?;
        self.write_summary(Some(end))
    }

    fn write_summary(&mut self, end: Option<&End>) -> Result<(), CampaignError> {
        let corpus_size = self.decider.pool.len() as u64;
        let summary = Summary::new(
            self.setup.settings,
            self.decider.progress,
            corpus_size,
            self.decider.findings.values(),
            Rest {
                ended: end.map(|end| end.name().into()),
                coverage: self.setup.codes.shares(&self.decider.reached),
            },
        );
        folder::write_json(&self.setup.folder.join(SUMMARY), &summary)?;
        self.summary_written = Instant::now();
        Ok(())
    }

    fn status(&self) -> Status {
        Status {
            progress: self.decider.progress,
            corpus_size: self.decider.pool.len() as u64,
            median: self.decider.pool.median(),
            best: self.decider.pool.best(),
            findings: self.decider.findings.len(),
            pending: self.decider.pending().count(),
            code: self.setup.codes.shares(&self.decider.reached),
        }
    }
}
