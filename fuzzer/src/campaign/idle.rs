//! A campaign that does not run.

use std::fs::File;
use std::path::{Path, PathBuf};

use corpus::store::Store;
use corpus::{FindingRecord, TestConfig};
use mutators::swap_nics;

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

    /// The test that showed a finding first, with its NICs on the hosts where the reproducer has them. `None` of a finding that the
    /// campaign does not know.
    ///
    /// # Errors
    /// The corpus cannot be read.
    pub fn first_sighting(&self, signature: &str) -> Result<Option<TestConfig>, CampaignError> {
        let known = self.store.findings()?.into_iter().find(|known| known.signature == signature);
        Ok(known.map(|FindingRecord { mut config, reproducer, .. }| {
            if self.settings.is_swapped(&config) != self.settings.is_swapped(&reproducer) {
                swap_nics(&mut config);
            }
            config
        }))
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
