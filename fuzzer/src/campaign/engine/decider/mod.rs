//! The decider: decides about executions, one after the other, in their order: which tests are kept, and which anomalies are
//! findings. It runs nothing.

mod sightings;
mod steady;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use corpus::store::{Decision, Progress, Store};
use corpus::{Evaluation, FindingRecord, Key, Outcome, Scores, Sighting, SituationSeen};
use dumper::observation::Coverage;
use mutators::Target;
use scoring::losses::Losses;

use super::distil::Kept;
use crate::campaign::error::CampaignError;
use crate::campaign::pool::Pool;
use crate::campaign::retention::{add, keeps, score};
use crate::campaign::schedule::Schedule;
use crate::campaign::settings::Settings;
use crate::losses;
use crate::policy::Policy;

pub(super) use sightings::Worked;

/// Decides about executions.
pub(super) struct Decider<'a> {
    settings: &'a Settings,
    target: &'a Target,
    store: &'a Store,
    schedule: Schedule,
    policy: Policy,
    /// The kept tests.
    pub(super) pool: Pool,
    /// The findings, by signature.
    pub(super) findings: BTreeMap<String, FindingRecord>,
    /// Counts of the campaign.
    pub(super) progress: Progress,
    /// Code that the tests so far have run in the kernels of both hosts, where they count it. Each test that runs more is kept.
    pub(super) reached: [Coverage; 2],
    /// Situations that the tests so far have gone through.
    situations: BTreeMap<u16, SituationSeen>,
    /// What came of the losses of the tests so far.
    losses: Losses,
}

impl<'a> Decider<'a> {
    /// The decisions so far are those in the store, which has `kept` this of distilled tests.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) fn new(
        settings: &'a Settings,
        target: &'a Target,
        store: &'a Store,
        schedule: Schedule,
        policy: Policy,
        kept: Kept,
        counts_code: bool,
    ) -> Result<Self, CampaignError> {
        let mut pool = Pool::after(kept.dropped);
        let mut reached = kept.reached;
        for kept in store.kept() {
            let (number, score) = kept?;
            pool.keep(number, score);
            if counts_code
                && let Some(Evaluation { outcome: Outcome::Scored(scores), .. }) = store.evaluation(number)?
            {
                add(&mut reached, &scores.coverage);
            }
        }
        let findings = store.findings()?;
        let findings = findings.into_iter().map(|finding| (finding.signature.clone(), finding)).collect();
        let situations = store.situations()?.into_iter().map(|seen| (seen.situation, seen)).collect();
        let losses = losses::decode(&store.losses()?.unwrap_or_default());
        let progress = store.progress()?;
        Ok(Self {
            settings,
            target,
            store,
            schedule,
            policy,
            pool,
            findings,
            progress,
            reached,
            situations,
            losses,
        })
    }

    /// Decides about an execution, the next one in order, of a batch that began with a median score; the
    /// signatures that it shows for the first time.
    pub(super) fn decide(
        &mut self,
        evaluation: &Evaluation,
        median: Option<f64>,
    ) -> Result<Vec<String>, CampaignError> {
        let Evaluation { number, outcome, .. } = evaluation;
        let settings = self.settings;
        let (mut kept, mut changed, mut new_references) = (None, Vec::new(), Vec::new());
        let (mut new, mut situations, mut losses) = (Vec::new(), Vec::new(), None);
        match outcome {
            Outcome::Invalid { .. } => self.progress.invalid += 1,
            Outcome::Scored(scores) => {
                let score = self.value(scores);
                // A test that was not above that median was not repeated. It is not kept for its only score,
                // should the median have fallen since.
                let least = median.filter(|_| self.policy.repeats_candidates());
                let keeps = add(&mut self.reached, &scores.coverage)
                    || settings.strategy.keeps_every_test()
                    || self.schedule.is_initial(*number)
                    || keeps(score, &self.pool, least, settings.keep_probability, settings.seed, *number);
                kept = keeps.then_some(score);
                new_references = self.new_references(scores)?;
                situations = self.go_through(*number, &scores.situations);
                losses = self.lose(&scores.losses);
                for Sighting { signature, .. } in &scores.sightings {
                    if self.sight(evaluation, signature, &mut changed) {
                        new.push(signature.clone());
                    }
                }
            }
        }
        self.progress.executions = *number;
        self.progress.reference_executions += new_references.len() as u64;
        let findings: Vec<FindingRecord> =
            changed.iter().filter_map(|signature| self.findings.get(signature)).cloned().collect();
        self.store.decide(&Decision {
            number: *number,
            kept,
            new_references: &new_references,
            findings: &findings,
            situations: &situations,
            losses: losses.as_deref(),
            progress: self.progress,
        })?;
        if let Some(score) = kept {
            self.pool.keep(*number, score);
        }
        Ok(new)
    }

    /// Notes the situations that an execution goes through; returns those that it is the first or the second one to do.
    fn go_through(&mut self, number: u64, situations: &[u16]) -> Vec<SituationSeen> {
        let mut changed = Vec::new();
        for situation in situations {
            let first = SituationSeen { situation: *situation, first: number, again: false };
            match self.situations.entry(*situation) {
                Entry::Vacant(place) => changed.push(*place.insert(first)),
                Entry::Occupied(mut place) if !place.get().again => {
                    place.get_mut().again = true;
                    changed.push(*place.get());
                }
                Entry::Occupied(_) => {}
            }
        }
        changed
    }

    /// Adds what came of an execution's losses; returns all of it, if there were any.
    fn lose(&mut self, losses: &[u8]) -> Option<Vec<u8>> {
        if losses.is_empty() {
            return None;
        }
        self.losses.add(&losses::decode(losses));
        Some(losses::encode(&self.losses))
    }

    /// Value of scores to the search, which knows the findings so far.
    fn value(&self, scores: &Scores) -> f64 {
        let settings = self.settings;
        let is_known = |signature: &str| self.findings.contains_key(signature) || settings.ignores(signature);
        score(scores, &self.target.weights, is_known)
    }

    /// References of a test that no execution before it needed.
    fn new_references(&self, scores: &Scores) -> Result<Vec<Key>, CampaignError> {
        let mut new = Vec::new();
        for key in &scores.references {
            if !new.contains(key) && !self.store.counts_reference(*key)? {
                new.push(*key);
            }
        }
        Ok(new)
    }
}
