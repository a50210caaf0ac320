//! Errors of a file: all problems of it at once, each with its place.

use std::{fmt, ops::Range};

use miette::{Diagnostic, LabeledSpan, Severity, SourceCode};
use serde::Serialize;

use crate::excerpt::Excerpt;

/// Upper bound on the problems that are reported for one file; the others are counted.
pub const MAX_PROBLEMS: usize = 100;

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Location {
    /// Byte offset of the first byte.
    pub offset: usize,
    /// Bytes.
    pub len: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Location {
    pub(crate) fn of(text: &str, span: &Range<usize>) -> Self {
        let start = text.floor_char_boundary(span.start.min(text.len()));
        let end = text.ceil_char_boundary(span.end.clamp(start, text.len()));
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            offset: start,
            len: end - start,
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// One thing that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct Problem {
    /// Place; `None` if the file as a whole is meant (it cannot be read, it is too large).
    pub location: Option<Location>,
    /// Path of the field (`traffic.mtu`, `event[2].psn`; entries count from 1), empty if the file
    /// as a whole or its syntax is meant.
    pub field: String,
    /// Description of the error.
    pub message: String,
    /// Allowed values or remedy.
    pub help: String,
}

impl fmt::Display for Problem {
    /// `traffic.mtu: 1000 is not an RDMA MTU; allowed: 256, 512, 1024, 2048 or 4096`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.message)?;
        if self.help.is_empty() { Ok(()) } else { write!(f, "; {}", self.help) }
    }
}

/// A problem before its place has a line and a column, which are worked out only for those that are
/// reported: a hostile file can have half a million.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Bytes of the text, none if the file as a whole is meant.
    pub span: Option<Range<usize>>,
    /// See [`Problem::field`].
    pub field: String,
    /// See [`Problem::message`].
    pub message: String,
    /// See [`Problem::help`].
    pub help: String,
}

/// A text with its control characters escaped, but for some: a name from another user must not write on the terminal.
#[must_use]
pub fn without_controls(text: &str, kept: &[char]) -> String {
    let escaped = |c: char| match c {
        _ if c.is_control() && !kept.contains(&c) => c.escape_debug().to_string(),
        _ => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// Everything that is wrong with a file, ordered by position.
///
/// `Display` is one line per problem, `file:line:column: field: error; allowed values`.
/// [`into_diagnostic`](Self::into_diagnostic) shows them in the source text; [`Serialize`] gives
/// them to programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct ConfigErrors {
    /// Name of the file, as the caller gave it.
    pub file: String,
    /// Problems: at least one, at most [`MAX_PROBLEMS`].
    pub problems: Vec<Problem>,
    /// Number of further problems.
    pub omitted: usize,
    #[serde(skip)]
    text: String,
}

impl ConfigErrors {
    /// Errors found in the text of a file, at least one finding; `unkept` counts further ones that were not
    /// kept.
    #[must_use]
    pub fn new(file: &str, source: &str, mut findings: Vec<Finding>, unkept: usize) -> Self {
        // Problems of the whole file come first; the order of discovery breaks ties.
        findings.sort_by_key(|finding| finding.span.as_ref().map(|span| span.start));
        // A rule on both hosts can fail for one field of a Lumina file.
        findings.dedup_by(|a, b| (&a.span, &a.field, &a.message) == (&b.span, &b.field, &b.message));
        let omitted = findings.len().saturating_sub(MAX_PROBLEMS) + unkept;
        let problems = findings
            .into_iter()
            .take(MAX_PROBLEMS)
            .map(|Finding { span, field, message, help }| {
                let location = span.map(|span| Location::of(source, &span));
                Problem { location, field, message, help }
            })
            .collect();
        Self { file: without_controls(file, &[]), problems, omitted, text: source.to_owned() }
    }

    /// The first problem alone, with another remedy.
    #[must_use]
    pub(crate) fn with_only_first(mut self, help: &str) -> Self {
        self.problems.truncate(1);
        self.omitted = 0;
        self.problems.iter_mut().for_each(|problem| help.clone_into(&mut problem.help));
        self
    }

    /// A problem of the whole file.
    #[must_use]
    pub fn whole_file(file: &str, message: impl Into<String>, help: impl Into<String>) -> Self {
        let finding =
            Finding { span: None, field: String::new(), message: message.into(), help: help.into() };
        Self::new(file, "", vec![finding], 0)
    }

    /// The text of the file, empty if it could not be read.
    #[must_use]
    pub fn source_text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            match problem.location {
                Some(at) => write!(f, "{}:{}:{}: {problem}", self.file, at.line, at.column)?,
                None => write!(f, "{}: {problem}", self.file)?,
            }
        }
        if self.omitted > 0 {
            write!(f, "\n{}: and {} more problems", self.file, self.omitted)
        } else {
            Ok(())
        }
    }
}

impl ConfigErrors {
    /// The problems shown in their source text, for a terminal. A type of its own, as miette prints the text
    /// of `Display` above the source, and there one line is enough.
    #[must_use]
    pub fn into_diagnostic(self) -> ConfigDiagnostic {
        let offsets: Vec<usize> =
            self.problems.iter().filter_map(|problem| problem.location.map(|at| at.offset)).collect();
        let source = Excerpt::new(&self.file, &self.text, &offsets);
        ConfigDiagnostic { errors: self, source }
    }
}

/// [`ConfigErrors`] for miette: a headline, the lines of the file with the error below each place, and the
/// allowed values.
#[derive(Debug, Clone)]
pub struct ConfigDiagnostic {
    errors: ConfigErrors,
    source: Excerpt,
}

impl fmt::Display for ConfigDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConfigErrors { file, problems, omitted, .. } = &self.errors;
        match problems.as_slice() {
            // Without a place it is not shown below.
            [Problem { location: None, .. }] => write!(f, "{}", self.errors),
            [_] => write!(f, "{file}: 1 problem"),
            _ => write!(f, "{file}: {} problems", problems.len() + omitted),
        }
    }
}

impl std::error::Error for ConfigDiagnostic {}

impl Diagnostic for ConfigDiagnostic {
    fn severity(&self) -> Option<Severity> {
        Some(Severity::Error)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        let shown = self.errors.problems.iter().any(|problem| problem.location.is_some());
        shown.then_some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.errors.problems.iter().filter_map(|problem| {
            let at = problem.location?;
            let shown = self.source.shown(at.offset..at.offset + at.len);
            Some(LabeledSpan::new(Some(problem.message.clone()), shown.start, shown.len()))
        })))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let lines: Vec<String> = self
            .errors
            .problems
            .iter()
            .filter(|problem| problem.location.is_some() && !problem.help.is_empty())
            .map(|problem| match problem.field.as_str() {
                "" => problem.help.clone(),
                field => format!("{field}: {}", problem.help),
            })
            .collect();
        (!lines.is_empty()).then(|| Box::new(lines.join("\n")) as Box<dyn fmt::Display>)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = "a = \"µµ\" x\nb";
        let x = text.find('x').unwrap();
        assert_eq!(Location::of(text, &(x..x + 1)).column, 10);
        assert_eq!(Location::of(text, &(text.len()..text.len() + 5)).line, 2);
    }

    #[test]
    fn problems_are_in_order_and_bounded() {
        let findings = (0..150)
            .rev()
            .map(|n| Finding {
                span: Some(n..n + 1),
                field: String::new(),
                message: "bad".into(),
                help: String::new(),
            })
            .collect();
        let errors = ConfigErrors::new("f.toml", &"x".repeat(150), findings, 7);
        assert_eq!((errors.problems.len(), errors.omitted), (MAX_PROBLEMS, 57));
        assert!(errors.to_string().starts_with("f.toml:1:1: bad\nf.toml:1:2: bad\n"));
        assert!(errors.to_string().ends_with("f.toml: and 57 more problems"));
    }
}
