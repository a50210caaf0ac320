//! The folder of a finding.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use corpus::{FindingRecord, Role, TestConfig};
use dumper::capture::{self, CaptureFormat};
use dumper::observation::folder::{WriteFolderError, write as write_result};
use dumper::observation::write_whole;
use executor::TestbedName;

use super::{DOCUMENT, Document, Instead, Kept, REPORT, REPRODUCER, RESULT, Reproduced, TRACE};
use crate::campaign::{Copied, FINDINGS, Settings};
use crate::report::{self, Subject};

/// A finding that could not be written out.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A file or folder cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The trace has no capture.
    #[error("{}: {source}", path.display())]
    Capture {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: capture::WriteError,
    },
    /// The result folder.
    #[error(transparent)]
    Folder(#[from] WriteFolderError),
}

impl WriteError {
    /// Whether there is no room left on the disk.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Io { source, .. } | Self::Folder(WriteFolderError::Io { source, .. }) => {
                crate::campaign::is_full(source)
            }
            Self::Capture { .. } | Self::Folder(_) => false,
        }
    }
}

/// Writes a finding into its folder of the campaign, `findings/<id>`: each file whole or not at all, the document last.
///
/// # Errors
/// A file cannot be written.
pub fn write(
    campaign: &Path,
    settings: &Settings,
    finding: &FindingRecord,
    reproduced: &Reproduced,
) -> Result<(), WriteError> {
    let folder = campaign.join(FINDINGS).join(&finding.id);
    let [requester_nic, responder_nic] = settings.nics_of(&finding.reproducer).map(Copied::clone);
    let document = Document {
        id: finding.id.clone(),
        kind: finding.kind.clone(),
        signature: finding.signature.clone(),
        title: finding.title.clone(),
        first_seen_execution: finding.first_seen_execution,
        sightings: finding.sightings,
        minimized: finding.minimized,
        minimizer_executions: finding.minimizer_executions,
        target: settings.target.given.clone(),
        strategy: settings.strategy,
        campaign_seed: settings.seed,
        testbed: settings.testbed,
        version: settings.version.clone(),
        requester_nic,
        responder_nic,
        anomaly: serde_json::from_str(&finding.evidence).unwrap_or_default(),
        measured: reproduced.measurements.measured.clone(),
        measuring_executions: reproduced.measurements.executions,
    };
    fs::create_dir_all(&folder).map_err(|source| WriteError::Io { path: folder.clone(), source })?;
    for nic in [&document.requester_nic, &document.responder_nic] {
        let (from, to) = (campaign.join(&nic.file), folder.join(&nic.file));
        let text = fs::read(&from).map_err(|source| WriteError::Io { path: from, source })?;
        put(&to, &text)?;
    }
    write_into(&folder, &document, finding, reproduced)
}

/// Writes a finding's folder anew, as its record has changed. The copies of NICs stay, but for those that were replaced.
///
/// # Errors
/// A file cannot be written.
pub fn rewrite(
    kept: &Kept,
    finding: &FindingRecord,
    reproduced: &Reproduced,
    instead: &Instead,
) -> Result<(), WriteError> {
    let mut document = Document {
        title: finding.title.clone(),
        minimized: finding.minimized,
        minimizer_executions: finding.minimizer_executions,
        anomaly: serde_json::from_str(&finding.evidence).unwrap_or_default(),
        measured: reproduced.measurements.measured.clone(),
        measuring_executions: reproduced.measurements.executions,
        ..kept.document.clone()
    };
    for (copy, other) in
        [&mut document.requester_nic, &mut document.responder_nic].into_iter().zip(&instead.nics)
    {
        if let Some((given, nic)) = other {
            let text = nic.to_toml();
            put(&kept.folder.join(&copy.file), text.as_bytes())?;
            *copy = Copied::new(given, None, copy.file.clone(), &text);
        }
    }
    write_into(&kept.folder, &document, finding, reproduced)
}

fn write_into(
    folder: &Path,
    document: &Document,
    finding: &FindingRecord,
    reproduced: &Reproduced,
) -> Result<(), WriteError> {
    let Reproduced { judged, measurements, .. } = reproduced;
    put(&folder.join(REPRODUCER), reproducer(document, &finding.reproducer).as_bytes())?;
    let observation = &judged.observation;
    let trace = folder.join(TRACE);
    let mut frames = Vec::new();
    capture::write(&observation.trace, &observation.connections, CaptureFormat::PcapNg, None, &mut frames)
        .map_err(|source| WriteError::Capture { path: trace.clone(), source })?;
    put(&trace, &frames)?;
    if document.testbed != TestbedName::Sim {
        let result = folder.join(RESULT);
        // What an earlier run had and this one has not would seem to be of this one.
        match fs::remove_dir_all(&result) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(WriteError::Io { path: result, source });
            }
            _ => write_result(observation, None, &result)?,
        }
    }
    if let Some(anomaly) = judged.anomaly(&finding.signature) {
        let nics = [&*document.requester_nic.given, &document.responder_nic.given];
        let subject = Subject { finding, anomaly, judged, measured: &measurements.measured, nics };
        put(&folder.join(REPORT), report::text(&subject).as_bytes())?;
    }
    put_document(folder, document)
}

/// Says in a finding's folder how often its campaign has seen it.
///
/// # Errors
/// The document cannot be written.
pub fn count(mut kept: Kept, sightings: u64) -> Result<(), WriteError> {
    kept.document.sightings = sightings;
    put_document(&kept.folder, &kept.document)
}

fn put_document(folder: &Path, document: &Document) -> Result<(), WriteError> {
    let path = folder.join(DOCUMENT);
    let json = serde_json::to_string_pretty(document)
        .map_err(|error| WriteError::Io { path: path.clone(), source: error.into() })?;
    put(&path, format!("{json}\n").as_bytes())
}

/// The test, which runs from where it is: its NICs are the copies beside it.
fn reproducer(document: &Document, config: &TestConfig) -> String {
    let mut config = config.clone();
    config.host_mut(Role::Requester).nic = document.requester_nic.file.clone();
    config.host_mut(Role::Responder).nic = document.responder_nic.file.clone();
    format!("# {}\n# {}\n\n{}", document.title.escape_debug(), document.signature, config.to_toml())
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    write_whole(path, |out| out.write_all(bytes))
        .map_err(|source| WriteError::Io { path: path.into(), source })
}
