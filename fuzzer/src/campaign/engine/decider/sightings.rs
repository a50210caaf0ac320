//! Findings of a campaign: which anomalies are findings, and what is known of each.

use std::collections::BTreeSet;

use corpus::{Evaluation, FindingRecord, Minimized, TestConfig};

use super::Decider;
use crate::campaign::error::CampaignError;
use crate::finding;
use crate::signature::kind_of;

impl Decider<'_> {
    /// Counts a sighting, if its kind is one that the target looks for; returns true if it is the first. A finding
    /// that was not there each time may be in another test: that is tried as often as its sightings have
    /// doubled.
    pub(super) fn sight(
        &mut self,
        evaluation: &Evaluation,
        signature: &str,
        changed: &mut Vec<String>,
    ) -> bool {
        if !self.settings.seeks(self.target, signature) {
            return false;
        }
        changed.push(signature.to_owned());
        if let Some(finding) = self.findings.get_mut(signature) {
            finding.sightings += 1;
            let is_flaky = self.policy.may_miss() && finding.minimized == Minimized::Flaky;
            if is_flaky && finding.sightings.is_power_of_two() {
                finding.reproducer = evaluation.config.clone();
                finding.minimized = Minimized::Pending;
                // That of another test, whose folder is still there.
                finding.evidence.clear();
            }
            return false;
        }
        let finding = found(signature, evaluation.number, &evaluation.config);
        self.findings.insert(signature.to_owned(), finding);
        true
    }

    /// Keeps a finding that was worked on, and as findings of their own the other anomalies of its stored
    /// run. On a deterministic testbed those are known already.
    pub(in crate::campaign::engine) fn keep(
        &mut self,
        Worked { finding, seen }: Worked,
    ) -> Result<(FindingRecord, Vec<FindingRecord>), CampaignError> {
        let is_new = |signature: &String| {
            self.policy.may_show_more()
                && self.settings.seeks(self.target, signature)
                && !self.findings.contains_key(signature)
        };
        let new: BTreeSet<String> = seen.into_iter().filter(is_new).collect();
        let beside: Vec<FindingRecord> = new
            .into_iter()
            .map(|signature| found(&signature, finding.first_seen_execution, &finding.reproducer))
            .collect();
        for kept in beside.iter().chain([&finding]) {
            self.store.put_finding(kept, self.progress)?;
            self.findings.insert(kept.signature.clone(), kept.clone());
        }
        self.store.flush()?;
        Ok((finding, beside))
    }

    /// Findings that are not minimised yet.
    pub(in crate::campaign::engine) fn pending(&self) -> impl Iterator<Item = &FindingRecord> {
        self.findings.values().filter(|finding| finding.minimized == Minimized::Pending)
    }
}

/// A finding that was worked on.
pub(in crate::campaign::engine) struct Worked {
    /// Its record.
    pub(in crate::campaign::engine) finding: FindingRecord,
    /// Signatures that its stored run shows.
    pub(in crate::campaign::engine) seen: Vec<String>,
}

/// A finding that was seen for the first time.
fn found(signature: &str, execution: u64, config: &TestConfig) -> FindingRecord {
    FindingRecord {
        id: finding::id_of(signature),
        kind: kind_of(signature).to_owned(),
        signature: signature.to_owned(),
        // Until its reproducer has been run again.
        title: signature.to_owned(),
        first_seen_execution: execution,
        sightings: 1,
        config: config.clone(),
        reproducer: config.clone(),
        minimized: Minimized::Pending,
        minimizer_executions: 0,
        evidence: String::new(),
    }
}
