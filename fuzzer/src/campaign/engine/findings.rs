//! Confirmation and minimising of the signatures that a campaign sees.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use corpus::store::StoreError;
use corpus::{FindingRecord, Minimized, TestConfig};
use executor::Testbed;

use super::decider::Worked;
use super::{Engine, Event};
use crate::campaign::error::CampaignError;
use crate::finding::{self, Answers, Budget, Course, FINDINGS, Kept, MinimiseError, Reproduced, Start, Step};
use crate::judge::InMemory;
use crate::repeat::{Frequency, Runs};

/// Longest turn of minimising findings, where tests take their time. The progress of a turn is kept.
const TURN: Duration = Duration::from_secs(20);

impl Engine<'_> {
    /// Stores a finding that was worked on, and announces it and the other anomalies of its stored run: not
    /// before they are safe.
    fn put(&mut self, worked: Worked) -> Result<(), CampaignError> {
        let (finding, beside) = self.decider.keep(worked)?;
        beside.iter().for_each(|beside| (self.setup.watch)(Event::Found(beside)));
        match finding.minimized {
            Minimized::Flaky => (self.setup.watch)(Event::Flaky(&finding)),
            Minimized::Partial | Minimized::Full => (self.setup.watch)(Event::Minimised(&finding)),
            Minimized::Pending => {}
        }
        Ok(())
    }

    /// Looks again at findings that were seen once, and minimises those that are there: only between batches and with
    /// streams of its own, so that retention does not see it.
    pub(super) fn work_on_findings(&mut self) -> Result<(), CampaignError> {
        self.confirm_findings()?;
        let turn = Instant::now();
        while self.has_turn() && !self.is_turn_over(turn) && self.minimise_some(turn)? {}
        Ok(())
    }

    /// Minimises all that is left when nothing is searched any more, until the time is over: by turns, so
    /// that most of it is kept whenever that is.
    pub(super) fn minimise_the_rest(&mut self) -> Result<(), CampaignError> {
        while !self.is_over() && self.decider.pending().next().is_some() {
            self.minimise_some(Instant::now())?;
            self.write_summary(None)?;
        }
        Ok(())
    }

    /// Returns true if findings are minimised now. That takes next to no time where one run of a test is
    /// enough. Elsewhere it may take minutes, and the search must not wait: it has half of the time.
    fn has_turn(&self) -> bool {
        !self.is_over()
            && (!self.policy.minimises_by_turns() || self.minimised_for * 2 <= self.started.elapsed())
    }

    /// Returns true if a turn of minimising that began at `began` is over.
    fn is_turn_over(&self, began: Instant) -> bool {
        self.is_over() || (self.policy.minimises_by_turns() && began.elapsed() >= TURN)
    }

    /// Runs the tests of new findings again and writes them out, so that none is lost whatever happens to the
    /// campaign. A finding that not every run shows cannot be minimised.
    fn confirm_findings(&mut self) -> Result<(), CampaignError> {
        loop {
            let is_new = |finding: &&FindingRecord| finding.evidence.is_empty();
            let new: Vec<FindingRecord> = self.decider.pending().filter(is_new).cloned().collect();
            if new.is_empty() {
                return Ok(());
            }
            // A few at a time, so that a kill loses no more.
            for some in by_test(new).chunks(self.runner.jobs()) {
                let confirm = |testbed: &mut dyn Testbed, findings| self.confirm(testbed, findings);
                let confirmed = self.runner.each(some.to_vec(), confirm)?;
                self.clock();
                for worked in confirmed.into_iter().flatten() {
                    self.put(worked)?;
                }
            }
            // One that does the same each time shows it when the test is minimised, or else is at fault itself.
            if !self.policy.may_show_more() {
                return Ok(());
            }
        }
    }

    /// Confirms findings of one test.
    fn confirm(
        &self,
        testbed: &mut dyn Testbed,
        findings: Vec<FindingRecord>,
    ) -> Result<Vec<Worked>, CampaignError> {
        let Some(first) = findings.first() else { return Ok(Vec::new()) };
        let baselines = InMemory::on(testbed);
        let runs = Runs::of(testbed, &first.reproducer, &baselines)?;
        findings.into_iter().map(|finding| self.confirm_one(testbed, finding, &runs)).collect()
    }

    fn confirm_one(
        &self,
        testbed: &mut dyn Testbed,
        mut finding: FindingRecord,
        runs: &Runs,
    ) -> Result<Worked, CampaignError> {
        let seen = match finding::reproduced(&finding, testbed, runs)? {
            Some(reproduced) => {
                if !reproduced.is_confirmed() {
                    finding.minimized = Minimized::Flaky;
                }
                self.write(&mut finding, &reproduced)?
            }
            None if !self.policy.may_miss() => Vec::new(),
            None => {
                self.give_up(&mut finding);
                Vec::new()
            }
        };
        Ok(Worked { finding, seen })
    }

    /// Marks a finding as not shown again by its test. If an earlier run has left a folder of it, that
    /// folder's record holds.
    fn give_up(&self, finding: &mut FindingRecord) {
        if let Ok(kept) = finding::read(&self.folder_of(finding)) {
            let FindingRecord { title, reproducer, minimized, evidence, .. } = kept.record();
            *finding = FindingRecord { title, reproducer, minimized, evidence, ..finding.clone() };
            return;
        }
        let often = match finding.sightings {
            1 => "once".to_owned(),
            times => format!("in {times} tests"),
        };
        finding.minimized = Minimized::Flaky;
        finding.title = format!("{}; seen {often}, and not again", finding.signature);
    }

    fn folder_of(&self, finding: &FindingRecord) -> PathBuf {
        self.setup.folder.join(FINDINGS).join(&finding.id)
    }

    /// Writes a finding's folder; returns the other anomalies of its run.
    fn write(
        &self,
        finding: &mut FindingRecord,
        reproduced: &Reproduced,
    ) -> Result<Vec<String>, CampaignError> {
        finding::describe(finding, reproduced);
        let origin = self.setup.settings.origin_of(&finding.reproducer);
        finding::write(self.setup.folder, origin, finding, reproduced)?;
        Ok(reproduced.judged.signatures())
    }

    /// Minimises as many findings as there are jobs, until a turn is over that began then; whether any was
    /// minimised to the end.
    fn minimise_some(&mut self, turn: Instant) -> Result<bool, CampaignError> {
        let began = Instant::now();
        let before: Vec<FindingRecord> = self.decider.pending().take(self.runner.jobs()).cloned().collect();
        if before.is_empty() {
            return Ok(false);
        }
        let worked = self.runner.each(before.clone(), |testbed, finding| {
            self.minimise(testbed, finding, &|| self.is_turn_over(turn))
        })?;
        self.minimised_for += began.elapsed();
        self.clock();
        let mut is_any_done = false;
        for (before, worked) in before.iter().zip(worked) {
            self.decider.progress.minimizer_executions +=
                worked.finding.minimizer_executions - before.minimizer_executions;
            is_any_done |= worked.finding.minimized != Minimized::Pending;
            self.put(worked)?;
        }
        // Further anomalies of their runs.
        self.confirm_findings()?;
        (self.setup.watch)(Event::Status(&self.status()));
        Ok(is_any_done)
    }

    fn minimise(
        &self,
        testbed: &mut dyn Testbed,
        found: FindingRecord,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Worked, CampaignError> {
        let setup = &self.setup;
        let is_swapped = setup.settings.is_swapped(&found.reproducer);
        let start = if is_swapped { Start::SwappedNics } else { Start::Reproducer };
        let mut finding = found.clone();
        // A folder that was lost is written again in the end.
        let kept = finding::read(&self.folder_of(&found)).ok();
        let often = kept.as_ref().and_then(|kept| kept.document.frequency);
        let often = often.unwrap_or_else(|| Frequency::always(self.policy));
        let mut answers = Answers::of(setup.store.minimising(&found.signature)?);
        let keep = |step: Step<'_>| self.keep_step(&found.signature, step);
        let budget = Some(Budget::of(setup.settings.minimizer_budget, self.policy));
        let course = Course { budget, is_over, keep: &keep, watch: &|_| () };
        let is_done = match finding::minimise(&mut finding, often, start, testbed, &course, &mut answers) {
            // It goes on with the next start, and ends as if it had not been interrupted.
            Err(MinimiseError::Interrupted) if !self.policy.minimises_by_turns() || self.is_over() => {
                return Ok(Worked { finding: found, seen: Vec::new() });
            }
            Err(MinimiseError::Interrupted) => false,
            Ok(()) => true,
            Err(error) => return Err(error.into()),
        };
        let seen = if is_done || finding.reproducer != found.reproducer {
            self.settle(testbed, &mut finding, (found.reproducer, often), kept, &mut answers)?
        } else {
            Vec::new()
        };
        Ok(Worked { finding, seen })
    }

    /// Keeps a step of the minimiser of a finding, so that a kill loses no more than it.
    fn keep_step(&self, signature: &str, step: Step<'_>) -> Result<(), StoreError> {
        let store = self.setup.store;
        match step {
            Step::Begun(minimising) => store.begin_minimising(signature, minimising)?,
            Step::Answered(answer) => store.put_answer(signature, answer)?,
        }
        self.flush_now_and_then()
    }

    /// Writes a finding out with its smaller test, if that shows it as often as the one before; returns the
    /// other anomalies of its run. Else the confirmed one stays, and so does its folder, which is `kept`;
    /// another turn looks for another smaller one.
    fn settle(
        &self,
        testbed: &mut dyn Testbed,
        finding: &mut FindingRecord,
        (before, often): (TestConfig, Frequency),
        kept: Option<Kept>,
        answers: &mut Answers,
    ) -> Result<Vec<String>, CampaignError> {
        let is_smaller = finding.reproducer != before;
        if let Some(reproduced) = finding::reproduce(finding, testbed)?
            && reproduced.may_be_kept(is_smaller.then_some(often))
        {
            return self.write(finding, &reproduced);
        }
        if let Some(rejected) = answers.reject(&finding.reproducer) {
            self.keep_step(&finding.signature, Step::Answered(rejected))?;
        }
        finding.reproducer = before;
        if !self.policy.may_miss() {
            finding.minimized = Minimized::Flaky;
        } else if is_smaller {
            finding.minimized = Minimized::Pending;
        } else {
            finding.minimized = Minimized::Partial;
            if let Some(kept) = kept {
                finding::reached(kept, finding)?;
            }
        }
        Ok(Vec::new())
    }

    /// Updates the number of sightings in the folders of findings. A folder that was removed or damaged is
    /// written again.
    pub(super) fn count_sightings(&mut self) -> Result<(), CampaignError> {
        let mut lost = Vec::new();
        for finding in self.decider.findings.values().filter(|finding| finding::is_reproduced(finding)) {
            match finding::read(&self.folder_of(finding)) {
                Ok(kept) => finding::count(kept, finding.sightings)?,
                Err(_) => lost.push(finding.clone()),
            }
        }
        if lost.is_empty() {
            return Ok(());
        }
        let written = self.runner.each(lost, |testbed, finding| self.write_out(testbed, finding))?;
        self.clock();
        for worked in written {
            self.decider.keep(worked)?;
        }
        // Further anomalies of their runs.
        self.confirm_findings()
    }

    /// Runs a finding's test again and writes its folder, if the test shows it.
    fn write_out(
        &self,
        testbed: &mut dyn Testbed,
        mut finding: FindingRecord,
    ) -> Result<Worked, CampaignError> {
        let seen = match finding::reproduce(&finding, testbed)? {
            Some(reproduced) => self.write(&mut finding, &reproduced)?,
            None => Vec::new(),
        };
        Ok(Worked { finding, seen })
    }
}

/// Findings by the tests that have shown them: those of one test are looked for in the same runs.
fn by_test(findings: Vec<FindingRecord>) -> Vec<Vec<FindingRecord>> {
    let mut groups: Vec<Vec<FindingRecord>> = Vec::new();
    for finding in findings {
        match groups.iter_mut().find(|group| group[0].reproducer == finding.reproducer) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups
}
