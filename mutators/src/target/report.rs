//! Errors in the text of a target.

use std::collections::BTreeMap;
use std::ops::Range;

use corpus::{ConfigErrors, Finding, MAX_PROBLEMS, clip, nearest};
use toml::Spanned;
use toml::de::DeValue;

/// Places of the keys of a target.
pub(super) type Spans = BTreeMap<&'static str, Range<usize>>;

/// Collects it.
pub(super) struct Report<'t> {
    text: &'t str,
    /// At most [`MAX_PROBLEMS`]: a hostile file can have a quarter of a million.
    findings: Vec<Finding>,
    unkept: usize,
}

impl<'t> Report<'t> {
    pub(super) const fn new(text: &'t str) -> Self {
        Self { text, findings: Vec::new(), unkept: 0 }
    }

    /// Notes a problem; without a span, of the text as a whole.
    pub(super) fn note(
        &mut self,
        span: impl Into<Option<Range<usize>>>,
        field: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        if self.findings.len() < MAX_PROBLEMS {
            let (span, field) = (span.into(), clip(field));
            self.findings.push(Finding { span, field, message: message.into(), help: help.into() });
        } else {
            self.unkept += 1;
        }
    }

    /// Notes a value of the wrong type.
    pub(super) fn wrong(&mut self, value: &Spanned<DeValue<'_>>, field: &str, expected: &str, help: String) {
        let written = self.written(value);
        let found = match value.get_ref() {
            DeValue::Table(_) => "a table".to_owned(),
            DeValue::Array(_) => format!("the list {written}"),
            DeValue::Boolean(_) => written,
            DeValue::Integer(_) | DeValue::Float(_) => format!("the number {written}"),
            DeValue::String(_) => format!("the text {written}"),
            DeValue::Datetime(_) => format!("the date {written}"),
        };
        self.note(value.span(), field, format!("expected {expected}, found {found}"), help);
    }

    /// Notes a word that is not one of those that are known.
    pub(super) fn unknown(&mut self, value: &Spanned<DeValue<'_>>, field: &str, word: &str, known: &[&str]) {
        let message = format!("{} is not known here", self.written(value));
        self.note(value.span(), field, message, instead(word, known));
    }

    /// A value as it stands in the file, on one line and not too long.
    pub(super) fn written(&self, value: &Spanned<DeValue<'_>>) -> String {
        clip(self.text.get(value.span()).unwrap_or_default())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn into_errors(self, file: &str) -> ConfigErrors {
        ConfigErrors::new(file, self.text, self.findings, self.unkept)
    }
}

/// Help for an unknown word: the nearest known one, or the list of all.
pub(super) fn instead(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(word) => format!("did you mean `{word}`?"),
        None => format!("there are {}", known.join(", ")),
    }
}
