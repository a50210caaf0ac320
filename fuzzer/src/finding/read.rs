//! Reading a finding's folder, and finding the findings below a path.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use corpus::{ConfigErrors, FindingRecord, TestConfig};
use executor::{Nic, WrongTestbed};

use super::{Copied, DOCUMENT, Document, FINDINGS, REPRODUCER};

/// Longest document that is read.
const MAX_DOCUMENT_BYTES: u64 = 16 << 20;

/// A finding, as its folder keeps it.
#[derive(Debug, Clone)]
pub struct Kept {
    /// The folder.
    pub folder: PathBuf,
    /// The document.
    pub document: Document,
    /// The smallest test that shows it.
    pub reproducer: TestConfig,
}

impl Kept {
    /// A test of its campaign, with the names of the NICs that the folder keeps.
    #[must_use]
    pub fn named(&self, mut test: TestConfig) -> TestConfig {
        self.document.call_nics(&mut test);
        test
    }

    /// The finding as the corpus has it. Of the campaign's tests it knows the reproducer only.
    pub fn record(&self) -> FindingRecord {
        let document = &self.document;
        FindingRecord {
            id: document.id.clone(),
            kind: document.kind.clone(),
            signature: document.signature.clone(),
            title: document.title.clone(),
            first_seen_execution: document.first_seen_execution,
            sightings: document.sightings,
            config: self.reproducer.clone(),
            reproducer: self.reproducer.clone(),
            minimized: document.minimized,
            minimizer_executions: document.minimizer_executions,
            evidence: document.anomaly.to_string(),
        }
    }
}

/// A finding that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file or folder cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// There is no finding.
    #[error(
        "{}: holds no finding; name the folder of one (it has a {DOCUMENT}), a findings folder, or a campaign",
        .0.display()
    )]
    None(PathBuf),
    /// The document has the wrong contents.
    #[error("{}: is no finding: {reason}", path.display())]
    Document {
        /// The file.
        path: PathBuf,
        /// Description of the error.
        reason: String,
    },
    /// A copy was changed since.
    #[error(
        "{}: was changed since the finding was written; put it back, or name another NIC with --nic",
        .0.display()
    )]
    Changed(PathBuf),
    /// The test, or a NIC's profile.
    #[error(transparent)]
    Input(#[from] ConfigErrors),
    /// A NIC that is named instead, or a testbed, does not fit the other.
    #[error(transparent)]
    Testbed(#[from] WrongTestbed),
}

/// The folder of the finding that a path names: the folder, or its document or test.
#[must_use]
pub fn folder_of(path: &Path) -> Option<&Path> {
    let is_of_it = path.file_name().is_some_and(|name| name == DOCUMENT || name == REPRODUCER);
    let beside = path.parent().filter(|_| is_of_it && path.is_file());
    let beside = beside.map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    beside.or(Some(path)).filter(|folder| folder.join(DOCUMENT).is_file())
}

/// The folders of findings at a path: that of one, those in a folder of findings, whatever it is called, or in a campaign.
///
/// # Errors
/// The path holds no finding, or cannot be read.
pub fn find(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    if let Some(folder) = folder_of(path) {
        return Ok(vec![folder.into()]);
    }
    let below = path.join(FINDINGS);
    let is_called_so = path.file_name().is_some_and(|name| name == FINDINGS);
    let folder = if below.is_dir() { &below } else { path };
    if !folder.is_dir() {
        return Err(ReadError::None(path.into()));
    }
    let error = |source| ReadError::Io { path: folder.into(), source };
    let mut findings = Vec::new();
    for entry in fs::read_dir(folder).map_err(error)? {
        let entry = entry.map_err(error)?.path();
        // One without its document is damaged, which reading it will say.
        if entry.is_dir() {
            findings.push(entry);
        }
    }
    findings.sort();
    let holds_one = findings.iter().any(|finding| finding.join(DOCUMENT).is_file());
    let are_findings = holds_one || below.is_dir() || is_called_so;
    if findings.is_empty() || !are_findings { Err(ReadError::None(path.into())) } else { Ok(findings) }
}

/// Reads the folder of a finding, but for the copies of the NICs.
///
/// # Errors
/// A file is not there, or is wrong.
pub fn read(folder: &Path) -> Result<Kept, ReadError> {
    let path = folder.join(DOCUMENT);
    let io = |source| ReadError::Io { path: path.clone(), source };
    let file = corpus::open_regular(&path).map_err(io)?;
    if file.metadata().map_err(io)?.len() > MAX_DOCUMENT_BYTES {
        let reason = format!("it is longer than {MAX_DOCUMENT_BYTES} bytes");
        return Err(ReadError::Document { path, reason });
    }
    let text = io::read_to_string(file).map_err(io)?;
    let document: Document = serde_json::from_str(&text)
        .map_err(|error| ReadError::Document { path: path.clone(), reason: error.to_string() })?;
    let reproducer = corpus::load(folder.join(REPRODUCER))?.config;
    let mut kept = Kept { folder: folder.into(), document, reproducer };
    // The names are those of the copies, even if the test was edited.
    kept.document.call_nics(&mut kept.reproducer);
    Ok(kept)
}

/// The NIC in a copy, which must equal the copied one.
pub(super) fn nic_of(folder: &Path, copy: &Copied) -> Result<Nic, ReadError> {
    let path = folder.join(&copy.file);
    // A document from another user must not make the program read files elsewhere.
    if Path::new(&copy.file).file_name() != Some(copy.file.as_ref()) {
        let reason = format!("`{}` is not the name of a file beside it", copy.file);
        return Err(ReadError::Document { path: folder.join(DOCUMENT), reason });
    }
    let text = corpus::read_text(&path)?;
    if !copy.is(&text) {
        return Err(ReadError::Changed(path));
    }
    Nic::load(&copy.file, folder).map_err(|error| ReadError::Input(error.0))
}
