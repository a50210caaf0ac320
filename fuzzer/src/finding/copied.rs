//! Copies of files and profiles that the user named, which campaigns and findings keep.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Something that the user named, and its copy in the folder of a campaign or a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Copied {
    /// Its name or path, as it was given.
    pub given: String,
    /// Path of its file when the campaign began; `None` if it comes with the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The copy, relative to that folder.
    pub file: String,
    /// SHA-256 of the copy.
    pub sha256: String,
}

impl Copied {
    /// A copy with this text.
    pub(crate) fn new(given: &str, path: Option<PathBuf>, file: impl Into<String>, text: &str) -> Self {
        Self { given: given.into(), path, file: file.into(), sha256: sha256(text) }
    }

    /// Name in tests: its name if it comes with the program, or else the copy.
    pub(crate) fn name_in_tests(&self) -> &str {
        if self.path.is_none() { &self.given } else { &self.file }
    }

    /// Returns true if a test calls it so; those of findings call all NICs by their copies.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        name == self.name_in_tests() || name == self.file
    }

    /// Names of the requester's and the responder's NIC in tests, of which `name` has those of copies. Copies with one text are
    /// one NIC, whatever they are called: a pair of different NICs is judged in other ways.
    pub(crate) fn names<'a>(copies: [&'a Self; 2], name: fn(&'a Self) -> &'a str) -> [&'a str; 2] {
        let [requester, responder] = copies;
        let is_one = requester.sha256 == responder.sha256;
        [name(requester), name(if is_one { requester } else { responder })]
    }

    /// Returns true if a text equals the copied one.
    pub(crate) fn is(&self, text: &str) -> bool {
        sha256(text) == self.sha256
    }
}

/// SHA-256 of a text, in hexadecimal digits.
pub(crate) fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}
