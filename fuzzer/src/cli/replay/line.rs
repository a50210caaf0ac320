//! A line of the output of `replay`.

use std::path::Path;

use serde::Serialize;

use crate::finding::{Document, Kept};
use crate::repeat::Frequency;

/// One signature, looked for again.
#[derive(Serialize)]
pub(super) struct Line {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Absent where nothing was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    reproduced: Option<bool>,
    /// In how many of how many runs.
    #[serde(flatten)]
    frequency: Option<Frequency>,
    /// Files that the folder had lost, which were written again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    restored: Vec<&'static str>,
    /// Other signatures that were seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    seen: Vec<String>,
    /// Reason why it could not be run or judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Line {
    /// Of a path of which no signature is known.
    pub(super) fn of(path: &Path) -> Self {
        Self {
            path: path.display().to_string(),
            id: None,
            signature: None,
            title: None,
            reproduced: None,
            frequency: None,
            restored: Vec::new(),
            seen: Vec::new(),
            error: None,
        }
    }

    pub(super) fn of_signature(path: &Path, signature: &str, title: &str) -> Self {
        Self { signature: Some(signature.to_owned()), title: Some(title.to_owned()), ..Self::of(path) }
    }

    pub(super) fn of_finding(path: &Path, kept: &Kept) -> Self {
        let Document { id, signature, title, .. } = &kept.document;
        Self { id: Some(id.clone()), ..Self::of_signature(path, signature, title) }
    }

    pub(super) fn reproduced(self, frequency: Frequency, restored: Vec<&'static str>) -> Self {
        Self { reproduced: Some(true), frequency: Some(frequency), restored, ..self }
    }

    /// `frequency` is absent where no run showed it and nobody counted.
    pub(super) fn not_reproduced(self, frequency: Option<Frequency>, seen: Vec<String>) -> Self {
        Self { reproduced: Some(false), frequency, seen, ..self }
    }

    /// Nothing was expected.
    pub(super) fn seen(self, frequency: Frequency) -> Self {
        Self { frequency: Some(frequency), ..self }
    }

    pub(super) fn not_run(self, error: String) -> Self {
        Self { reproduced: Some(false), error: Some(error), ..self }
    }

    /// Returns true if it could be run and judged.
    pub(super) const fn is_judged(&self) -> bool {
        self.error.is_none() && self.reproduced.is_some()
    }

    /// Returns true if the signature was seen again, often enough.
    pub(super) const fn is_reproduced(&self) -> bool {
        matches!(self.reproduced, Some(true))
    }

    #[cfg(test)]
    pub(super) fn judged_as(self, is_there: bool) -> Self {
        Self { reproduced: Some(is_there), ..self }
    }

    pub(super) fn text(&self) -> String {
        let verdict = match (self.reproduced, &self.error, &self.signature) {
            (_, Some(_), _) => "not run",
            (Some(true), ..) => "reproduced",
            (Some(false), ..) => "not reproduced",
            (None, _, Some(_)) => "seen",
            (None, ..) => "no anomalies",
        };
        // A finding from another user must not write control characters on the terminal.
        let title = self.title.as_deref().unwrap_or_default().escape_debug();
        // One run of one goes without saying.
        let often = self.frequency.filter(|frequency| frequency.runs > 1).map(|often| often.to_string());
        let others = (self.reproduced != Some(true) && !self.seen.is_empty())
            .then(|| format!("seen: {}", self.seen.join(", ")));
        let restored =
            (!self.restored.is_empty()).then(|| format!("written again: {}", self.restored.join(", ")));
        let more = self.error.clone().into_iter().chain(often).chain(others).chain(restored);
        let more: Vec<String> = more.collect();
        let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join("; ")) };
        let line = format!("{verdict:<15} {}  {title}{more}", self.path);
        format!("{}\n", line.trim_end())
    }
}
