//! What a campaign does with the signatures that it sees.

use corpus::{Evaluation, FindingRecord, Minimized};
use rayon::prelude::*;

use super::{Engine, Event};
use crate::campaign::error::CampaignError;
use crate::finding::{self, WorkError};

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

    /// Minimises the findings that are not minimised yet and writes them out. Only between batches and with streams of
    /// its own, so that retention does not see it.
    pub(super) fn work_on_findings(&mut self) -> Result<(), CampaignError> {
        let setup = &self.setup;
        let budget = Some(setup.settings.minimizer_budget);
        let pending: Vec<FindingRecord> = self.pending().cloned().collect();
        let worked: Vec<Result<FindingRecord, CampaignError>> = pending
            .into_par_iter()
            .with_max_len(1)
            .map_init(setup.testbed, |testbed, mut finding| {
                let is_swapped = setup.settings.is_swapped(&finding.reproducer);
                finding::minimise(&mut finding, is_swapped, testbed.as_mut(), budget, setup.stop)?;
                match finding::reproduce(&finding, testbed.as_mut())? {
                    Some(judged) => {
                        finding::describe(&mut finding, &judged);
                        finding::write(setup.folder, setup.settings, &finding, &judged)?;
                    }
                    // Seen once, by a testbed that does not do the same thing twice: it stays on the list, with that said.
                    None if testbed.capabilities().deterministic => {}
                    None => finding.title = format!("{}; seen once, and not again", finding.signature),
                }
                Ok(finding)
            })
            .collect();
        for finding in worked {
            let finding = match finding {
                Ok(finding) => finding,
                // It stays to be minimised.
                Err(CampaignError::Work(WorkError::Interrupted)) => continue,
                Err(error) => return Err(error),
            };
            self.progress.minimizer_executions += finding.minimizer_executions;
            self.setup.store.put_finding(&finding, self.progress)?;
            (self.setup.watch)(Event::Minimised(&finding));
            self.findings.insert(finding.signature.clone(), finding);
        }
        Ok(())
    }

    /// Writes the findings out again: how often they were seen has changed, and those that are not minimised yet have no
    /// folder.
    pub(super) fn write_findings(&self) -> Result<(), CampaignError> {
        let setup = &self.setup;
        let findings: Vec<FindingRecord> = self.findings.values().cloned().collect();
        findings
            .into_par_iter()
            .with_max_len(1)
            .map_init(setup.testbed, |testbed, mut finding| {
                let Some(judged) = finding::reproduce(&finding, testbed.as_mut())? else { return Ok(()) };
                finding::describe(&mut finding, &judged);
                finding::write(setup.folder, setup.settings, &finding, &judged).map_err(Into::into)
            })
            .collect()
    }
}
