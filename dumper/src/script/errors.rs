//! Places in a script, and the errors there.

use std::fmt;

/// Most problems that are reported for one script; the others are counted.
pub const MAX_PROBLEMS: usize = 100;

/// A place in a script. All places are equal: the place is not part of a script's meaning.
#[derive(Clone, Copy, Debug, Default)]
pub struct At {
    /// Line, from 1; 0 in a script that was not read from a text.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl PartialEq for At {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for At {}

/// Something with its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placed<T> {
    /// Its place.
    pub at: At,
    /// The value.
    pub value: T,
}

impl<T> Placed<T> {
    /// Something that comes from no text.
    pub const fn new(value: T) -> Self {
        Self { at: At { line: 0, column: 0 }, value }
    }
}

/// One thing that is wrong with a script.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Place.
    pub at: At,
    /// Description of the error.
    pub message: String,
    /// Allowed values or remedy; may be empty.
    pub help: String,
}

impl Problem {
    /// A problem.
    pub fn new(at: At, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { at, message: message.into(), help: help.into() }
    }
}

/// Everything that is wrong with a script, in the order of its lines. `Display` is one line a problem:
/// `file:line:column: error; allowed values`.
#[derive(Clone, Debug)]
pub struct ScriptErrors {
    /// Name of the file, as the caller gave it.
    pub file: String,
    /// Problems: at least one, at most [`MAX_PROBLEMS`].
    pub problems: Vec<Problem>,
    /// Number of further problems.
    pub omitted: usize,
}

impl ScriptErrors {
    /// The first problems of a list that is not empty; `unkept` counts further ones that were not kept.
    pub fn new(file: &str, mut problems: Vec<Problem>, unkept: usize) -> Self {
        let place = |problem: &Problem| (problem.at.line, problem.at.column);
        problems.sort_by_key(place);
        // An error in a setting of both hosts is found twice.
        problems.dedup_by(|a, b| place(a) == place(b) && a.message == b.message);
        let omitted = problems.len().saturating_sub(MAX_PROBLEMS) + unkept;
        problems.truncate(MAX_PROBLEMS);
        Self { file: file.to_owned(), problems, omitted }
    }
}

impl fmt::Display for ScriptErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Problem { at, message, help }) in self.problems.iter().enumerate() {
            let newline = if index == 0 { "" } else { "\n" };
            write!(f, "{newline}{}:{}:{}: {message}", self.file, at.line, at.column)?;
            if !help.is_empty() {
                write!(f, "; {help}")?;
            }
        }
        match self.omitted {
            0 => Ok(()),
            more => write!(f, "\n{}: and {more} more problems", self.file),
        }
    }
}

impl std::error::Error for ScriptErrors {}
