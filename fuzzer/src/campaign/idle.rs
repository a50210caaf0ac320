//! A campaign that does not run.

use std::fs::File;
use std::path::{Path, PathBuf};

use corpus::FindingRecord;
use corpus::store::Store;

use super::error::CampaignError;
use super::folder::{self, CORPUS};
use super::settings::Settings;
use super::summary::{Rest, Summary};

/// A campaign that does not run, for work on its findings. Nobody else can run it meanwhile.
#[derive(Debug)]
pub struct Idle {
    folder: PathBuf,
    settings: Settings,
    store: Store,
    _lock: File,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl Idle {
    /// The campaign in a folder.
    ///
    /// # Errors
    /// The folder holds no campaign, the campaign runs, or its corpus cannot be opened.
    pub fn open(folder: &Path) -> Result<Self, CampaignError> {
        let settings = folder::read_settings(folder)?;
        let lock = folder::lock(folder)?;
        let (store, notes) = Store::open(&folder.join(CORPUS))?;
        Ok(Self { folder: folder.into(), settings, store, _lock: lock, notes })
    }

    /// Puts a finding back that was worked on; one that the campaign does not know is left out.
    ///
    /// # Errors
    /// The corpus or the summary cannot be written.
    pub fn replace(&self, finding: &FindingRecord) -> Result<(), CampaignError> {
        let mut findings = self.store.findings()?;
        let Some(known) = findings.iter_mut().find(|known| known.signature == finding.signature) else {
            return Ok(());
        };
        let mut progress = self.store.progress()?;
        progress.minimizer_executions = progress
            .minimizer_executions
            .saturating_add(finding.minimizer_executions.saturating_sub(known.minimizer_executions));
        *known =
            FindingRecord { config: known.config.clone(), sightings: known.sightings, ..finding.clone() };
        self.store.put_finding(known, progress)?;
        self.store.checkpoint()?;
        let rest = Rest::read(&self.folder);
        let corpus_size = self.store.kept().count() as u64;
        let summary = Summary::new(&self.settings, progress, corpus_size, &findings, rest);
        folder::write_json(&self.folder.join(folder::SUMMARY), &summary)
    }
}
