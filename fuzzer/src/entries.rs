//! Entries of a corpus, for people and for programs: the output of `corpus list`, `show` and `export`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use corpus::store::{Archive, StoreError};
use corpus::{Evaluation, Lineage, Outcome, Scores};
use dumper::observation::Coverage;
use dumper::observation::write_whole;
use serde::Serialize;

/// An execution whose test the corpus holds.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// Number of the execution.
    pub number: u64,
    /// The score that it was kept with, none if its retention is not decided yet.
    pub score: Option<f64>,
    /// The execution that it was mutated from.
    pub parent: Option<u64>,
    /// Operators that made it.
    pub operators: Vec<String>,
    /// Seed of the random stream that made it.
    pub seed: u64,
    /// The objectives, by name; none of a test that was invalid.
    pub objectives: BTreeMap<String, f64>,
    /// Signatures of its anomalies.
    pub signatures: Vec<String>,
    /// Blocks that it ran of the code of the requester's and the responder's kernel; none where the kernels do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<[usize; 2]>,
    /// Reason why it was invalid.
    pub invalid: Option<String>,
}

impl Entry {
    fn new(evaluation: Evaluation, score: Option<f64>) -> Self {
        let Evaluation { number, lineage: Lineage { parent, operators, seed }, outcome, .. } = evaluation;
        let (scores, invalid) = match outcome {
            Outcome::Scored(scores) => (scores, None),
            Outcome::Invalid { reason } => (Scores::default(), Some(reason)),
        };
        let signatures = scores.sightings.into_iter().map(|sighting| sighting.signature).collect();
        let blocks = scores.coverage.each_ref().map(Coverage::len);
        let blocks = blocks.iter().any(|blocks| *blocks > 0).then_some(blocks);
        Self {
            number,
            score,
            parent,
            operators,
            seed,
            objectives: scores.objectives,
            signatures,
            blocks,
            invalid,
        }
    }

    /// An entry and its test, as TOML.
    ///
    /// # Errors
    /// The corpus cannot be read any more.
    pub fn read(archive: &Archive, number: u64) -> Result<Option<(Self, String)>, StoreError> {
        let evaluation = archive.evaluation(number)?;
        Ok(evaluation.map(|evaluation| {
            let test = evaluation.config.to_toml();
            (Self::new(evaluation, archive.kept().get(&number).copied()), test)
        }))
    }

    /// The objective that is highest, the first of several by name.
    #[must_use]
    pub fn best(&self) -> Option<(&str, f64)> {
        let best = self.objectives.iter().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)));
        best.map(|(name, value)| (name.as_str(), *value))
    }

    /// Origin, in a phrase.
    #[must_use]
    pub fn origin(&self) -> String {
        let operators = self.operators.join(", ");
        match self.parent {
            Some(parent) => format!("from execution {parent} by {operators}; seed {}", self.seed),
            None => format!("{operators}; seed {}", self.seed),
        }
    }
}

/// Order of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The highest score; of equal ones the lowest number.
    Score,
    /// The lowest number.
    Number,
}

/// The kept executions in an order, at most so many.
///
/// # Errors
/// The corpus cannot be read any more.
pub fn list(archive: &Archive, order: Order, limit: usize) -> Result<Vec<Entry>, StoreError> {
    let mut kept: Vec<_> = archive.kept().iter().map(|(number, score)| (*number, *score)).collect();
    if order == Order::Score {
        kept.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    }
    kept.truncate(limit);
    let entries =
        kept.into_iter().map(|(number, _)| Ok(Entry::read(archive, number)?.map(|(entry, _)| entry)));
    entries.filter_map(Result::transpose).collect()
}

/// The executions that an entry descends from, the nearest first, as far as their tests are kept.
///
/// # Errors
/// The corpus cannot be read any more.
pub fn ancestors(archive: &Archive, entry: &Entry) -> Result<Vec<Entry>, StoreError> {
    let mut ancestors = Vec::new();
    // A parent is older than its child: this ends, whatever the corpus says.
    let mut next = entry.parent.filter(|parent| *parent < entry.number);
    while let Some(number) = next {
        let Some((ancestor, _)) = Entry::read(archive, number)? else { break };
        next = ancestor.parent.filter(|parent| *parent < number);
        ancestors.push(ancestor);
    }
    Ok(ancestors)
}

/// A test that was exported.
#[derive(Debug, Serialize)]
pub struct Exported {
    /// Name of its file.
    pub file: String,
    /// The entry.
    #[serde(flatten)]
    pub entry: Entry,
}

/// A corpus that cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The corpus cannot be read any more.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

/// Writes the test of every kept execution into a folder, with its score and origin as a comment.
///
/// # Errors
/// The corpus cannot be read any more, or a file cannot be written.
pub fn export(archive: &Archive, folder: &Path) -> Result<Vec<Exported>, ExportError> {
    let mut exported = Vec::new();
    for (number, score) in archive.kept() {
        let Some((entry, test)) = Entry::read(archive, *number)? else { continue };
        let mut text = format!("# Execution {number}, kept with score {score:.6}\n");
        let _ = writeln!(text, "# {}", entry.origin().escape_debug());
        if let Some((objective, value)) = entry.best() {
            let _ = writeln!(text, "# {} {value:.6}", objective.escape_debug());
        }
        let _ = write!(text, "\n{test}");
        // In this order for `ls` too.
        let file = format!("{number:08}.toml");
        let path = folder.join(&file);
        write_whole(&path, |out| out.write_all(text.as_bytes()))
            .map_err(|source| ExportError::Io { path, source })?;
        exported.push(Exported { file, entry });
    }
    Ok(exported)
}
