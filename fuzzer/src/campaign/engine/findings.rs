//! What a campaign does with the signatures that it sees.

use std::collections::HashMap;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use corpus::{Evaluation, FindingRecord, Minimized};
use executor::Testbed;
use rayon::prelude::*;

use super::{Engine, Event};
use crate::campaign::error::CampaignError;
use crate::campaign::folder::FINDINGS;
use crate::finding::{self, Answers, WorkError};

/// How long findings are minimised in one go, at least, where tests take their time.
const TURN: Duration = Duration::from_secs(20);

impl Engine<'_> {
    /// Counts a sighting, if its kind is one that the target looks for; whether it is the first.
    pub(super) fn sight(
        &mut self,
        evaluation: &Evaluation,
        signature: &str,
        changed: &mut Vec<String>,
    ) -> bool {
        let kind = signature.split('/').next().unwrap_or_default();
        let is_sought = self.setup.target.oracles.iter().any(|oracle| oracle == kind);
        if !is_sought || self.setup.settings.ignores(signature) {
            return false;
        }
        changed.push(signature.to_owned());
        if let Some(finding) = self.findings.get_mut(signature) {
            finding.sightings += 1;
            return false;
        }
        let finding = FindingRecord {
            id: finding::id_of(signature),
            kind: kind.to_owned(),
            signature: signature.to_owned(),
            // Until its reproducer has been run again.
            title: signature.to_owned(),
            first_seen_execution: evaluation.number,
            sightings: 1,
            config: evaluation.config.clone(),
            reproducer: evaluation.config.clone(),
            minimized: Minimized::Pending,
            minimizer_executions: 0,
            evidence: String::new(),
        };
        self.findings.insert(signature.to_owned(), finding);
        true
    }

    /// Looks again at findings that were seen once, and minimises those that are there: only between batches and with
    /// streams of its own, so that retention does not see it.
    pub(super) fn work_on_findings(&mut self) -> Result<(), CampaignError> {
        self.confirm_findings()?;
        while self.has_turn() && self.minimise_some(&|engine, turn| engine.is_turn_over(turn))? {}
        Ok(())
    }

    /// Minimises all that is left when nothing is searched any more, until the time is over.
    pub(super) fn minimise_the_rest(&mut self) -> Result<(), CampaignError> {
        while !self.is_over() && self.minimise_some(&|engine, _| engine.is_over())? {}
        Ok(())
    }

    /// Whether findings are minimised now. That takes next to no time where a test says all the first time. Elsewhere it may
    /// take minutes, and the search must not wait: it has half of the time.
    fn has_turn(&self) -> bool {
        !self.is_over() && (self.is_deterministic || self.minimised_for * 2 <= self.started.elapsed())
    }

    /// Whether the search has its turn, after minimising has for so long.
    fn is_turn_over(&self, turn: Duration) -> bool {
        let used = (self.minimised_for + turn).saturating_sub(TURN);
        self.is_over() || (!self.is_deterministic && used * 2 > self.started.elapsed())
    }

    /// Runs the tests of new findings again and writes them out, so that none is lost whatever happens to the campaign.
    /// What is not there each time cannot be minimised.
    fn confirm_findings(&mut self) -> Result<(), CampaignError> {
        let new = self.pending().filter(|finding| finding.evidence.is_empty()).cloned().collect();
        let confirmed = self.with_testbeds(new, |engine, testbed, mut finding| {
            let setup = &engine.setup;
            match finding::reproduce(&finding, testbed)? {
                Some(reproduced) => {
                    if !reproduced.frequency.is_confirmed() {
                        finding.minimized = Minimized::Flaky;
                    }
                    finding::describe(&mut finding, &reproduced);
                    finding::write(setup.folder, setup.settings, &finding, &reproduced)?;
                }
                // One that does the same each time shows it when the test is minimised, or else is at fault itself.
                None if engine.is_deterministic => {}
                None => {
                    finding.minimized = Minimized::Flaky;
                    finding.title = format!("{}; seen once, and not again", finding.signature);
                }
            }
            Ok(finding)
        })?;
        for finding in confirmed {
            self.setup.store.put_finding(&finding, self.progress)?;
            if finding.minimized == Minimized::Flaky {
                (self.setup.watch)(Event::Flaky(&finding));
            }
            self.findings.insert(finding.signature.clone(), finding);
        }
        Ok(())
    }

    /// Minimises as many findings as there are jobs, until it is over after so long; whether any was minimised to the end.
    fn minimise_some(
        &mut self,
        is_over: &(dyn Fn(&Self, Duration) -> bool + Sync),
    ) -> Result<bool, CampaignError> {
        let began = Instant::now();
        let before: Vec<FindingRecord> = self.pending().take(rayon::current_num_threads()).cloned().collect();
        if before.is_empty() {
            return Ok(false);
        }
        let worked = self.with_testbeds(before.clone(), |engine, testbed, finding| {
            engine.minimise(testbed, finding, &|| is_over(engine, began.elapsed()))
        })?;
        self.minimised_for += began.elapsed();
        self.clock();
        let mut is_any_done = false;
        for (before, finding) in before.iter().zip(worked) {
            self.progress.minimizer_executions += finding.minimizer_executions - before.minimizer_executions;
            self.setup.store.put_finding(&finding, self.progress)?;
            if finding.minimized != Minimized::Pending {
                is_any_done = true;
                (self.setup.watch)(Event::Minimised(&finding));
            }
            self.findings.insert(finding.signature.clone(), finding);
        }
        (self.setup.watch)(Event::Status(&self.status()));
        Ok(is_any_done)
    }

    fn minimise(
        &self,
        testbed: &mut dyn Testbed,
        found: FindingRecord,
        is_over: &dyn Fn() -> bool,
    ) -> Result<FindingRecord, CampaignError> {
        let setup = &self.setup;
        let is_swapped = setup.settings.is_swapped(&found.reproducer);
        let budget = Some(setup.settings.minimizer_budget);
        let mut finding = found.clone();
        let mut answers = self.answers().remove(&found.signature).unwrap_or_default();
        match finding::minimise(&mut finding, is_swapped, testbed, budget, is_over, &mut answers) {
            // It begins anew with the next start, and ends as if nobody had interrupted it.
            Err(WorkError::Interrupted) if self.is_deterministic || self.is_over() => return Ok(found),
            Err(WorkError::Interrupted) => {
                self.answers().insert(found.signature.clone(), answers);
                if finding.reproducer == found.reproducer {
                    return Ok(finding);
                }
            }
            Ok(()) => {}
            Err(error) => return Err(error.into()),
        }
        match finding::reproduce(&finding, testbed)? {
            Some(reproduced) => {
                finding::describe(&mut finding, &reproduced);
                finding::write(setup.folder, setup.settings, &finding, &reproduced)?;
            }
            // The smallest test does not show it any more: the one that did is still in the finding's folder.
            None => {
                finding.reproducer = found.reproducer;
                finding.minimized = Minimized::Flaky;
            }
        }
        Ok(finding)
    }

    /// What interrupted minimisers have learnt, by signature.
    fn answers(&self) -> MutexGuard<'_, HashMap<String, Answers>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with findings, each on a testbed of its own.
    fn with_testbeds(
        &self,
        findings: Vec<FindingRecord>,
        work: impl Fn(&Self, &mut dyn Testbed, FindingRecord) -> Result<FindingRecord, CampaignError> + Sync,
    ) -> Result<Vec<FindingRecord>, CampaignError> {
        findings
            .into_par_iter()
            .with_max_len(1)
            .map_init(|| self.testbed(), |testbed, finding| work(self, testbed, finding))
            .collect()
    }

    /// Says in the folders of findings how often they were seen by now. A folder that somebody took away or damaged is
    /// written anew.
    pub(super) fn count_sightings(&self) -> Result<(), CampaignError> {
        let folders = self.setup.folder.join(FINDINGS);
        let mut lost = Vec::new();
        for finding in self.findings.values().filter(|finding| !finding.evidence.is_empty()) {
            match finding::read(&folders.join(&finding.id)) {
                Ok(kept) => finding::count(kept, finding.sightings)?,
                Err(_) => lost.push(finding.clone()),
            }
        }
        self.with_testbeds(lost, Self::write_out)?;
        Ok(())
    }

    /// Runs a finding's test again and writes its folder; as it was if the test does not show it.
    fn write_out(
        &self,
        testbed: &mut dyn Testbed,
        mut finding: FindingRecord,
    ) -> Result<FindingRecord, CampaignError> {
        if let Some(reproduced) = finding::reproduce(&finding, testbed)? {
            finding::describe(&mut finding, &reproduced);
            finding::write(self.setup.folder, self.setup.settings, &finding, &reproduced)?;
        }
        Ok(finding)
    }
}
