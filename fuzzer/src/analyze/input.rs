//! Input of an analysis: captures, or a result folder.

use std::path::PathBuf;

use corpus::TestConfig;
use dumper::Observation;
use dumper::capture::{self, Progress, ReadError, ReadOptions};
use dumper::observation::folder::{self, FolderError};
use dumper::trace::{Origin, Traced};
use dumper::wire::frame::NotRoce;

use crate::judge::{Invalid, JudgeError, ReferenceRuns, Verdict, integrity_of, judge_observed};

/// An input that could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A capture.
    #[error(transparent)]
    Capture(#[from] ReadError),
    /// A result folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A folder among several paths.
    #[error("{}: is a folder; name one result folder alone, or capture files", .0.display())]
    FolderAmongFiles(PathBuf),
    /// No RoCEv2 packets at all.
    #[error("{paths}: no RoCEv2 packets{hint}")]
    Empty {
        /// The captures.
        paths: String,
        /// Hint at the files that were found instead.
        hint: String,
    },
}

/// A loaded input.
#[derive(Debug)]
pub struct Input {
    /// The observation.
    pub observation: Observation,
    /// Packets left out of the trace, and damage of files; its own trace is empty.
    pub leftovers: Traced,
    /// Capture files, in the order of [`Traced`]'s numbers.
    pub captures: Vec<PathBuf>,
    /// Files of a result folder that were not there.
    pub missing: Vec<PathBuf>,
    /// Source of the sequence numbers and times.
    pub origin: Origin,
}

impl Input {
    /// Loads captures, or one result folder.
    ///
    /// # Errors
    /// When a path cannot be read, or the captures have no RoCEv2 packet.
    pub fn load(
        paths: &[PathBuf],
        options: ReadOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, LoadError> {
        let input = match paths {
            [path] if path.is_dir() => {
                let folder = folder::read(path, options, progress)?;
                Self {
                    origin: folder.observation.trace.origin(),
                    observation: folder.observation,
                    leftovers: folder.traced,
                    captures: folder.captures,
                    missing: folder.missing,
                }
            }
            _ => {
                if let Some(folder) = paths.iter().find(|path| path.is_dir()) {
                    return Err(LoadError::FolderAmongFiles(folder.clone()));
                }
                let mut captured = capture::read(paths, options, progress)?;
                let trace = std::mem::take(&mut captured.traced.trace);
                Self {
                    origin: trace.origin(),
                    observation: Observation::of_trace(trace, captured.connections),
                    leftovers: captured.traced,
                    captures: paths.to_vec(),
                    missing: Vec::new(),
                }
            }
        };
        if input.observation.trace.records().is_empty() {
            let paths =
                input.captures.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
            let mut hints = input.warnings();
            if input.leftovers.skipped.other.keys().any(|reason| matches!(reason, NotRoce::UdpPort(_))) {
                hints.push("packets straight from the mirror wire need --any-udp-port".into());
            }
            let hint = hints.iter().map(|hint| format!("\n  {hint}")).collect();
            return Err(LoadError::Empty { paths, hint });
        }
        Ok(input)
    }

    /// An input whose capture is not there.
    #[must_use]
    pub fn lost(capture: PathBuf) -> Self {
        Self {
            observation: Observation::default(),
            leftovers: Traced::default(),
            captures: Vec::new(),
            missing: vec![capture],
            origin: Origin::Mirror,
        }
    }

    /// Returns true if the trace carries mirror metadata.
    pub fn is_mirrored(&self) -> bool {
        self.origin == Origin::Mirror
    }

    /// Judges what was observed, which is taken out of here. Damage of a file is a reason to doubt that the trace is whole;
    /// one that is not is judged only `even_if_invalid`.
    ///
    /// # Errors
    /// Those of [`judge_observed`].
    pub fn judge(
        &mut self,
        config: Option<&TestConfig>,
        even_if_invalid: bool,
        references: &mut ReferenceRuns<'_>,
    ) -> Result<Verdict, JudgeError> {
        let observation = std::mem::take(&mut self.observation);
        let mut integrity = integrity_of(&observation);
        if !self.leftovers.damage.is_empty() {
            integrity.doubt("a capture file is damaged: packets may be missing");
        }
        Ok(if integrity.is_invalid() && !even_if_invalid {
            Verdict::Invalid(Invalid::Incomplete(Box::new((observation, integrity))))
        } else {
            Verdict::Judged(Box::new(judge_observed(config, observation, integrity, references)?))
        })
    }

    /// Warnings that a user should read before believing the result, one line each.
    pub fn warnings(&self) -> Vec<String> {
        let file = |number: usize| {
            self.captures.get(number).map_or_else(String::new, |path| path.display().to_string())
        };
        let skipped = &self.leftovers.skipped;
        let mut warnings = Vec::new();
        for damage in &self.leftovers.damage {
            warnings.push(format!(
                "warning: {}: damaged at byte {}: {}; what could be read was read",
                file(damage.file),
                damage.offset,
                damage.reason
            ));
        }
        for error in &skipped.errors {
            warnings.push(format!("warning: {}: packet {}: {}", file(error.file), error.packet, error.error));
        }
        let more = skipped.malformed.saturating_sub(skipped.errors.len() as u64);
        if more > 0 {
            warnings.push(format!("warning: {more} more RoCEv2 packets could not be read"));
        }
        let other: u64 = skipped.other.values().sum();
        if other > 0 && self.is_mirrored() {
            let reasons = skipped.other.iter().map(|(reason, count)| format!("{count} of {reason}"));
            let reasons = reasons.collect::<Vec<_>>().join(", ");
            warnings.push(format!(
                "warning: {other} frames of a mirrored capture are no RoCEv2 packets: {reasons}"
            ));
        }
        let icrc = self.leftovers.icrc;
        if let Some(first) = icrc.first_wrong {
            warnings.push(format!(
                "warning: {} of {} whole packets have a wrong ICRC, packet {first} first",
                icrc.wrong,
                icrc.right + icrc.wrong
            ));
        }
        warnings
    }
}
