//! Distillation of the corpus: when it has as many tests as it may have, half of them go. What they taught the search stays: their
//! scores, the combinations of parameters that they had, the code that they ran.

use std::collections::BTreeMap;

use corpus::store::{Distilled, Store};
use corpus::{Evaluation, Outcome};
use dumper::observation::Coverage;
use mutators::{Covered, Levels};
use serde::{Deserialize, Serialize};

use super::Engine;
use crate::campaign::error::CampaignError;
use crate::campaign::pool::{Dear, Dropped, stay};
use crate::campaign::retention::add;
use crate::campaign::search::Saved;
use crate::memory::give_back;

/// Executions after which free memory goes back to the system: it takes a millisecond at most.
const GIVE_BACK_EVERY: u64 = 1_024;

/// What a search keeps of tests that are distilled.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::campaign) struct Kept {
    /// Their scores.
    pub(in crate::campaign) dropped: Dropped,
    /// Code that the tests before the distillation ran in the kernels of both hosts, where they count it.
    pub(in crate::campaign) reached: [Coverage; 2],
    /// Memory of a strategy that learns, after all executions before the distillation.
    pub(in crate::campaign) search: Option<Saved>,
}

impl Kept {
    /// From the newest distillation of a corpus, if it was ever distilled.
    ///
    /// # Errors
    /// It was written by another version.
    pub(in crate::campaign) fn of(distilled: Option<&Distilled>) -> Result<Self, CampaignError> {
        let Some(distilled) = distilled else { return Ok(Self::default()) };
        postcard::from_bytes(&distilled.memory).map_err(|error| {
            CampaignError::Usage(format!(
                "the corpus was distilled by another version of this program: {error}"
            ))
        })
    }
}

impl Engine<'_> {
    /// Bounds the corpus and its files before the execution `next`, if a batch begins with it: then what goes depends on the
    /// executions before it alone.
    pub(super) fn bound_corpus(&mut self, next: u64) -> Result<(), CampaignError> {
        let store = self.setup.store;
        let batch = self.planner.schedule.batch_of(next);
        if *batch.start() != next {
            return Ok(());
        }
        let is_distilled = match self.setup.settings.limits.max_corpus {
            Some(most) => self.distil(next, most)?,
            None => false,
        };
        if store.compact(give_back)?
            || is_distilled
            || (next - 1) / GIVE_BACK_EVERY != batch.end() / GIVE_BACK_EVERY
        {
            give_back();
        }
        Ok(())
    }

    /// Distils the corpus if it has as many tests as it may have; returns true if it did. References are forgotten for themselves.
    fn distil(&mut self, next: u64, most: u64) -> Result<bool, CampaignError> {
        let store = self.setup.store;
        if store.counted_references() >= most {
            store.forget_references(give_back)?;
        }
        if (self.decider.pool.len() as u64) < most {
            return Ok(false);
        }
        self.planner.learn_before(next, &self.decider.pool)?;
        let dear = self.dear()?;
        let half = usize::try_from(most / 2).unwrap_or(usize::MAX);
        let stay = stay(self.decider.pool.kept(), &dear, half);
        self.decider.pool.distil(&stay);
        let kept = Kept {
            dropped: self.decider.pool.dropped().clone(),
            reached: self.decider.reached.clone(),
            search: self.planner.memory.as_ref().map(super::Memory::save),
        };
        let memory = postcard::to_allocvec(&kept).expect("plain data, whose lists know their lengths");
        store.distil(&Distilled { before: next, stay, memory }, give_back)?;
        self.planner.distilled = next;
        Ok(true)
    }

    /// Kept tests that go last.
    fn dear(&self) -> Result<BTreeMap<u64, Dear>, CampaignError> {
        let first = self.decider.findings.values().map(|finding| finding.first_seen_execution);
        let mut dear: BTreeMap<u64, Dear> = first.map(|number| (number, Dear::Finding)).collect();
        let mut covered = Covered::default();
        let mut reached = Default::default();
        for (number, _) in self.decider.pool.kept() {
            let Some(evaluation) = self.setup.store.evaluation(number)? else { continue };
            let has_new = covered.adds_new(&Levels::of(&evaluation.config));
            let ran_more = coverage_of(&evaluation).is_some_and(|ran| add(&mut reached, ran));
            let reason = if ran_more { Some(Dear::Code) } else { has_new.then_some(Dear::Combination) };
            if let Some(reason) = reason {
                dear.entry(number).or_insert(reason);
            }
        }
        Ok(dear)
    }
}

/// Code that a test ran, if it was judged.
fn coverage_of(evaluation: &Evaluation) -> Option<&[Coverage; 2]> {
    match &evaluation.outcome {
        Outcome::Scored(scores) => Some(&scores.coverage),
        Outcome::Invalid { .. } => None,
    }
}

/// The kept tests of a store and what it keeps of those that are distilled, with the first execution after that.
///
/// # Errors
/// The store cannot be read.
pub(super) fn read(store: &Store) -> Result<(Kept, u64), CampaignError> {
    let distilled = store.distilled()?;
    Ok((Kept::of(distilled.as_ref())?, distilled.map_or(0, |distilled| distilled.before)))
}
