//! A campaign as its folder has it, for reports: read without changing it.

mod page;
mod tolerance;
mod versus;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use corpus::store::{Archive, Progress};
use corpus::{FindingRecord, SituationSeen};
use mutators::{Covered, Levels, Target};
use scoring::losses::Losses;

use crate::campaign::{CampaignError, Rest, Settings, Start, read_settings, read_starts, read_target};
use crate::finding::{self, FINDINGS};
use crate::losses;
use crate::measure::Measured;
use crate::statistics::discoveries_again;

pub use page::page;
pub use versus::versus;

/// A campaign, whole or so far.
#[derive(Debug)]
pub struct Night {
    /// Its folder.
    pub folder: PathBuf,
    /// Its settings.
    pub settings: Settings,
    /// Its target; none that another version had and this one cannot read.
    pub target: Option<Target>,
    /// When it was started and resumed, by which commands.
    pub starts: Vec<Start>,
    /// Reason for its last end, where its summary has one.
    pub ended: Option<String>,
    /// Its counts.
    pub progress: Progress,
    /// Score of every kept test, by the number of its execution.
    pub kept: BTreeMap<u64, f64>,
    /// Findings, the first seen first, with the numbers that were measured behind each.
    pub findings: Vec<(FindingRecord, Vec<Measured>)>,
    /// Kept tests that each operator had a part in.
    pub operators: BTreeMap<String, u64>,
    /// Situations that executions went through.
    pub situations: Vec<SituationSeen>,
    /// What came of the losses of its executions.
    pub losses: Losses,
    /// Combinations of two and of three parameters' levels in kept tests.
    pub combinations: [usize; 2],
}

impl Night {
    /// Reads a campaign.
    ///
    /// # Errors
    /// There is none, another process has it open, or it cannot be read.
    pub fn read(folder: &Path) -> Result<Self, CampaignError> {
        let settings = read_settings(folder)?;
        let archive = Archive::read(folder)?;
        let mut findings = archive.findings()?;
        findings.sort_by(|a, b| {
            (a.first_seen_execution, &a.signature).cmp(&(b.first_seen_execution, &b.signature))
        });
        let measured = |record: FindingRecord| {
            // One whose folder is gone or damaged is listed without its numbers.
            let kept = finding::read(&folder.join(FINDINGS).join(&record.id));
            (record, kept.map(|kept| kept.document.measured).unwrap_or_default())
        };
        let (mut operators, mut covered) = (BTreeMap::new(), Covered::default());
        for number in archive.kept().keys() {
            let Some(evaluation) = archive.evaluation(*number)? else { continue };
            covered.add(&Levels::of(&evaluation.config));
            let mut names = evaluation.lineage.operators;
            names.sort();
            names.dedup();
            for name in names {
                *operators.entry(name).or_default() += 1;
            }
        }
        let target = read_target(folder, &settings).ok().map(|(target, _)| target);
        Ok(Self {
            folder: folder.to_owned(),
            settings,
            target,
            starts: read_starts(folder),
            ended: Rest::read(folder).ended,
            progress: archive.progress(),
            kept: archive.kept().clone(),
            findings: findings.into_iter().map(measured).collect(),
            operators,
            situations: archive.situations()?,
            losses: losses::decode(&archive.losses()?.unwrap_or_default()),
            combinations: covered.tried(),
        })
    }

    /// Returns true if a signature would be a finding of this campaign, as far as that can be told.
    fn seeks(&self, signature: &str) -> bool {
        self.target.as_ref().is_none_or(|target| self.settings.seeks(target, signature))
    }

    /// How many of as many executions of the same search again are expected to go through a situation that none has gone through.
    #[must_use]
    pub fn discoveries_again(&self) -> f64 {
        discoveries_again(self.situations.iter().filter(|seen| !seen.again).map(|seen| seen.first))
    }
}
