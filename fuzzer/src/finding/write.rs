//! The folder of a finding.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use corpus::{FindingRecord, TestConfig};
use dumper::Observation;
use dumper::capture::{self, CaptureFormat};
use dumper::observation::folder::{WriteFolderError, write as write_result};
use dumper::observation::write_whole;
use executor::{Nic, TestbedName};
use scoring::Anomaly;

use super::{
    Copied, DOCUMENT, Document, FINDINGS, Instead, Kept, MARKDOWN, PAGE, PATHS, REPORT, REPRODUCER, RESULT,
    Reproduced, TRACE,
};
use crate::judge::Judged;
use crate::page::{self, Page};
use crate::policy::Policy;
use crate::report::{self, Subject};
use crate::strategy::Strategy;
use crate::version::{revision, with_revision};

/// A finding that could not be written out.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A file or folder cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The trace has no capture.
    #[error("{}: {source}", path.display())]
    Capture {
        /// The file.
        path: PathBuf,
        /// Reason.
        source: capture::WriteError,
    },
    /// The result folder.
    #[error(transparent)]
    Folder(#[from] WriteFolderError),
}

impl WriteError {
    /// Returns true if there is no room left on the disk.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Io { source, .. }
            | Self::Capture { source: capture::WriteError::Io(source), .. }
            | Self::Folder(
                WriteFolderError::Io { source, .. }
                | WriteFolderError::Capture { source: capture::WriteError::Io(source), .. },
            ) => is_full(source),
            Self::Capture { .. } | Self::Folder(_) => false,
        }
    }
}

/// Returns true if an error says that the disk, or the user's share of it, is full.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Part of a campaign's settings that the documents of its findings keep.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The target, by the name or path that the user gave.
    pub target: String,
    /// Strategy that chose tests.
    pub strategy: Strategy,
    /// Seed of the campaign.
    pub seed: u64,
    /// Testbed of its tests.
    pub testbed: TestbedName,
    /// Version of the program.
    pub version: String,
    /// NICs of the reproducer's hosts, the requester's first; their copies are in the campaign's folder.
    pub nics: [Copied; 2],
}

/// Writes a finding into its folder of the campaign, `findings/<id>`: each file whole or not at all, the document last.
///
/// # Errors
/// A file cannot be written.
pub fn write(
    campaign: &Path,
    origin: Origin,
    finding: &FindingRecord,
    reproduced: &Reproduced,
) -> Result<(), WriteError> {
    let folder = campaign.join(FINDINGS).join(&finding.id);
    let Origin { target, strategy, seed, testbed, version, nics: [requester_nic, responder_nic] } = origin;
    let document = Document {
        id: finding.id.clone(),
        kind: finding.kind.clone(),
        signature: finding.signature.clone(),
        title: finding.title.clone(),
        first_seen_execution: finding.first_seen_execution,
        sightings: finding.sightings,
        minimized: finding.minimized,
        minimizer_executions: finding.minimizer_executions,
        target,
        strategy,
        campaign_seed: seed,
        testbed,
        version,
        revision: revision().map(str::to_owned),
        requester_nic,
        responder_nic,
        anomaly: serde_json::from_str(&finding.evidence).unwrap_or_default(),
        measured: reproduced.measurements.measured.clone(),
        measuring_executions: reproduced.measurements.executions,
        frequency: reproduced.told_frequency(),
    };
    fs::create_dir_all(&folder).map_err(|source| WriteError::Io { path: folder.clone(), source })?;
    for nic in [&document.requester_nic, &document.responder_nic] {
        let (from, to) = (campaign.join(&nic.file), folder.join(&nic.file));
        let text = fs::read(&from).map_err(|source| WriteError::Io { path: from, source })?;
        put(&to, &text)?;
    }
    write_into(&folder, &document, finding, reproduced)
}

/// Tries if a finding's folder can be written again, before a search that takes long: there is room for its largest file once more.
///
/// # Errors
/// The folder cannot be written, or the disk is full.
pub fn can_be_rewritten(kept: &Kept) -> Result<(), WriteError> {
    let files = walkdir::WalkDir::new(&kept.folder).into_iter().filter_map(Result::ok);
    let largest = files.filter_map(|file| Some(file.metadata().ok()?.len())).max().unwrap_or_default();
    let tried = tempfile::tempfile_in(&kept.folder).and_then(|mut file| {
        io::copy(&mut io::repeat(0).take(largest), &mut file)?;
        file.flush()
    });
    tried.map_err(|source| WriteError::Io { path: kept.folder.clone(), source })
}

/// Writes a finding's folder again, as its record has changed. The copies of NICs stay, but for those that
/// were replaced.
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
        frequency: reproduced.told_frequency(),
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

/// Writes what a finding's folder has lost of what is made from a run of its test: the report, and, where each run is the
/// same, the trace. The names of what was written.
///
/// # Errors
/// A file cannot be written.
pub fn restore(kept: &Kept, judged: &Judged) -> Result<Vec<&'static str>, WriteError> {
    let document = &kept.document;
    let mut restored = Vec::from_iter(restore_trace(kept, judged)?);
    let is_lost = |name: &&str| !kept.folder.join(name).exists();
    let lost = [REPORT, PAGE, MARKDOWN].into_iter().filter(is_lost);
    let lost: Vec<_> = lost.filter(|_| judged.anomaly(&document.signature).is_some()).collect();
    if !lost.is_empty() {
        put_report(&kept.folder, document, &kept.record(), judged)?;
    }
    restored.extend(lost);
    Ok(restored)
}

/// Writes the trace of a finding if it is lost, where each run is the same. Its name, if it was written.
fn restore_trace(kept: &Kept, judged: &Judged) -> Result<Option<&'static str>, WriteError> {
    let is_lost = policy_of(&kept.document).replays_exactly() && !kept.folder.join(TRACE).exists();
    if is_lost {
        put_trace(&kept.folder, &kept.document.signature, judged)?;
    }
    Ok(is_lost.then_some(TRACE))
}

/// Writes the reports of a finding anew, in the place of those that are there, from a run of its test; and a lost trace.
///
/// # Errors
/// A file cannot be written.
pub fn report_anew(kept: &Kept, judged: &Judged) -> Result<(), WriteError> {
    restore_trace(kept, judged)?;
    put_report(&kept.folder, &kept.document, &kept.record(), judged)
}

fn write_into(
    folder: &Path,
    document: &Document,
    finding: &FindingRecord,
    reproduced: &Reproduced,
) -> Result<(), WriteError> {
    let judged = &reproduced.judged;
    put(&folder.join(REPRODUCER), test_of(document, &finding.reproducer).as_bytes())?;
    if let Some(config) = finding.over_paths().filter(|config| **config != finding.reproducer) {
        put(&folder.join(PATHS), test_of(document, config).as_bytes())?;
    }
    put_trace(folder, &document.signature, judged)?;
    if !policy_of(document).replays_exactly() {
        put_result(folder, &judged.observation)?;
    }
    put_report(folder, document, finding, judged)?;
    put_document(folder, document)
}

/// Policy on the testbed of a finding.
fn policy_of(document: &Document) -> Policy {
    Policy::of(&document.testbed.capabilities())
}

/// Bytes of frames that a capture holds whole; of more it has the headers.
const MAX_WHOLE: u64 = 64 << 20;
/// Bytes of a frame whose headers are kept, as the published tool's dumpers keep them.
const HEADERS: u32 = 128;

/// Writes the packets of a run, of which those of the finding's evidence say so. A run may have millions.
fn put_trace(folder: &Path, signature: &str, judged: &Judged) -> Result<(), WriteError> {
    let path = folder.join(TRACE);
    let Observation { trace, connections, .. } = &judged.observation;
    let note = |anomaly: &Anomaly| format!("evidence of {signature}: {}", report::seen(anomaly));
    let noted = judged.anomaly(signature).map(|anomaly| {
        anomaly.evidence.packets.iter().map(|packet| (*packet, note(anomaly))).collect::<BTreeMap<_, _>>()
    });
    let notes = noted.unwrap_or_default();
    let bytes: u64 = trace.records().iter().map(|record| u64::from(record.frame_len)).sum();
    let snap_len = (bytes > MAX_WHOLE).then_some(HEADERS);
    write_whole(&path, |out| {
        capture::write_with_notes(trace, connections, CaptureFormat::PcapNg, snap_len, &notes, out)
    })
    .map_err(|source| WriteError::Capture { path, source })
}

/// Writes the reports of a finding which a run shows.
fn put_report(
    folder: &Path,
    document: &Document,
    finding: &FindingRecord,
    judged: &Judged,
) -> Result<(), WriteError> {
    let Some(page) = page_of(folder, document, finding, judged) else { return Ok(()) };
    put(&folder.join(REPORT), report::text(&page.subject).as_bytes())?;
    let failed = |error| WriteError::Io { path: folder.join(PAGE), source: io::Error::other(error) };
    for (name, text) in [PAGE, MARKDOWN].into_iter().zip(page::pages(&page).map_err(failed)?) {
        put(&folder.join(name), text.as_bytes())?;
    }
    Ok(())
}

/// The page on a finding; none if the run does not show it.
fn page_of<'a>(
    folder: &Path,
    document: &'a Document,
    finding: &'a FindingRecord,
    judged: &'a Judged,
) -> Option<Page<'a>> {
    let subject = Subject {
        finding,
        anomaly: judged.anomaly(&finding.signature)?,
        judged,
        measured: &document.measured,
        nics: [&document.requester_nic.given, &document.responder_nic.given],
        policy: policy_of(document),
    };
    Some(Page { subject, environment: environment(folder, document) })
}

/// What a finding in a folder was found with.
fn environment(folder: &Path, document: &Document) -> Vec<(&'static str, String)> {
    let Document { target, strategy, campaign_seed, testbed, version, first_seen_execution, .. } = document;
    let hosts =
        [("requester's host", &document.requester_nic), ("responder's host", &document.responder_nic)];
    let hosts =
        hosts.into_iter().filter_map(|(what, nic)| Some((what, Nic::told_in(&folder.join(&nic.file))?)));
    let mut rows = vec![
        ("lumina-fuzz", with_revision(version, document.revision.as_deref())),
        ("testbed", testbed.to_string()),
    ];
    rows.extend(hosts);
    rows.extend([
        ("target", target.clone()),
        ("search", format!("strategy {strategy}, seed {campaign_seed}")),
        (
            "seen",
            format!(
                "first by execution {first_seen_execution} of the campaign; finding.json has the number of sightings"
            ),
        ),
    ]);
    rows
}

/// Writes the result folder of a run in the place of an earlier one's, whose files must not seem to be of this run. The
/// earlier one goes only when the new one is whole.
fn put_result(folder: &Path, observation: &Observation) -> Result<(), WriteError> {
    let result = folder.join(RESULT);
    let [new, old] = [".tmp-new", ".tmp-old"].map(|suffix| folder.join(format!("{suffix}-{RESULT}")));
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| WriteError::Io { path, source }
    };
    // A process that was killed here may have left them.
    remove(&new).map_err(failed(&new))?;
    remove(&old).map_err(failed(&old))?;
    write_result(observation, None, &new)?;
    match fs::rename(&result, &old) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(failed(&result)(source)),
        _ => {}
    }
    fs::rename(&new, &result).map_err(failed(&result))?;
    remove(&old).map_err(failed(&old))
}

/// Removes a folder, if it is there.
fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Says in a finding's folder how far minimising came, where the test that it keeps stays.
///
/// # Errors
/// The document cannot be written.
pub fn reached(mut kept: Kept, finding: &FindingRecord) -> Result<(), WriteError> {
    kept.document.minimized = finding.minimized;
    kept.document.minimizer_executions = finding.minimizer_executions;
    put_document(&kept.folder, &kept.document)
}

/// Says in a finding's folder how often its campaign has seen it.
///
/// # Errors
/// The document cannot be written.
pub fn count(mut kept: Kept, sightings: u64) -> Result<(), WriteError> {
    if kept.document.sightings == sightings {
        return Ok(());
    }
    kept.document.sightings = sightings;
    put_document(&kept.folder, &kept.document)
}

fn put_document(folder: &Path, document: &Document) -> Result<(), WriteError> {
    let path = folder.join(DOCUMENT);
    let json = serde_json::to_string_pretty(document)
        .map_err(|error| WriteError::Io { path: path.clone(), source: error.into() })?;
    put(&path, format!("{json}\n").as_bytes())
}

/// A test, which runs from where it is: its NICs are the copies beside it.
fn test_of(document: &Document, config: &TestConfig) -> String {
    let mut config = config.clone();
    document.call_nics(&mut config);
    format!("# {}\n# {}\n\n{}", document.title.escape_debug(), document.signature, config.to_toml())
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    write_whole(path, |out| out.write_all(bytes))
        .map_err(|source| WriteError::Io { path: path.into(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_takes_the_place_of_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".tmp-new-result");
        for _ in 0..2 {
            // Files that a killed process left, and files that only the run before had.
            fs::create_dir_all(&left).unwrap();
            fs::write(left.join("half"), "").unwrap();
            put_result(folder.path(), &Observation::default()).unwrap();
            let result = folder.path().join(RESULT);
            assert!(!result.join("half").exists() && !result.join("earlier").exists());
            fs::write(result.join("earlier"), "").unwrap();
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
