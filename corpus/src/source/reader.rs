//! The typed reader: asks a tree for fields, and collects errors instead of stopping.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use super::{Format, Node, Section, Value};
use crate::{
    config::fields::IntField,
    error::{Finding, Location},
    suggest::nearest,
};

/// Names of an enumeration in files.
pub(crate) type Names<T> = [(&'static str, T)];

/// Problems that are kept until they are sorted by place; many times as many as are reported, and far fewer
/// than a hostile file can have.
const MAX_FINDINGS: usize = 10_000;

/// Fields and problems found in a file so far.
pub(crate) struct Reader<'t> {
    text: &'t str,
    format: Format,
    findings: Vec<Finding>,
    /// Number of problems, those that are not kept included.
    problems: usize,
    /// Place of each field, by path.
    places: BTreeMap<String, Range<usize>>,
    /// Paths of fields whose value is not known because it was refused.
    refused: BTreeSet<String>,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(text: &'t str, format: Format) -> Self {
        Self {
            text,
            format,
            findings: Vec::new(),
            problems: 0,
            places: BTreeMap::new(),
            refused: BTreeSet::new(),
        }
    }

    /// Refuses a field: reports it and remembers that its value is not to be judged.
    pub(crate) fn refuse(
        &mut self,
        span: &Range<usize>,
        path: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.refused.insert(path.to_owned());
        self.report(Some(span.clone()), path, message, help);
    }

    pub(crate) fn report(
        &mut self,
        span: Option<Range<usize>>,
        path: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.problems += 1;
        if self.findings.len() < MAX_FINDINGS {
            let (field, message, help) = (path.to_owned(), message.into(), help.into());
            self.findings.push(Finding { span, field, message, help });
        }
    }

    /// Marks a field whose value is not to be judged, as its error is already reported.
    pub(crate) fn mark_refused(&mut self, path: &str) {
        self.refused.insert(path.to_owned());
    }

    /// Lets a field be found where its other name stands.
    pub(crate) fn note_alias(&mut self, path: &str, alias: &str) {
        if let Some(place) = self.places.get(alias).cloned() {
            self.places.insert(path.to_owned(), place);
        }
    }

    pub(crate) fn problem_count(&self) -> usize {
        self.problems
    }

    /// A value as it stands in the file, shortened for a message.
    pub(crate) fn written(&self, node: &Node) -> String {
        clip(self.text.get(node.span.clone()).unwrap_or_default())
    }

    /// The items of a list with their paths, counted from 1.
    pub(crate) fn items<'n>(&mut self, items: &'n [Node], path: &str) -> Vec<(&'n Node, String)> {
        let numbered = items.iter().enumerate().map(|(index, item)| (item, format!("{path}[{}]", index + 1)));
        let numbered: Vec<_> = numbered.collect();
        for (item, path) in &numbered {
            self.note_place(path, &item.span);
        }
        numbered
    }

    /// Returns true if a field, or one that contains it, was refused.
    pub(crate) fn is_refused(&self, path: &str) -> bool {
        self.refused.contains(path) || ancestors(path).any(|path| self.refused.contains(path))
    }

    /// Place of a field; if it is not in the file, place of the nearest one that contains it.
    pub(crate) fn place(&self, path: &str) -> Option<Range<usize>> {
        self.places.get(path).or_else(|| ancestors(path).find_map(|path| self.places.get(path))).cloned()
    }

    /// Returns true if the file has the field.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.places.contains_key(path)
    }

    pub(crate) fn location(&self, span: &Range<usize>) -> Location {
        Location::of(self.text, span)
    }

    /// The problems that were kept, and how many were not.
    pub(crate) fn into_findings(self) -> (Vec<Finding>, usize) {
        let unkept = self.problems - self.findings.len();
        (self.findings, unkept)
    }

    pub(super) fn note_place(&mut self, path: &str, span: &Range<usize>) {
        self.places.insert(path.to_owned(), span.clone());
    }

    /// A value as a phrase, in the words of the file.
    pub(crate) fn describe(&self, node: &Node) -> String {
        let written = || self.written(node);
        match &node.value {
            Value::Null => "nothing".to_owned(),
            Value::Bool(flag) => flag.to_string(),
            Value::Int(_) => format!("the number {}", written()),
            Value::Float => format!("the fraction {}", written()),
            Value::Text(text) => format!("the text {}", quoted(text)),
            Value::Date => format!("the date or time {}", written()),
            Value::List(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
        }
    }

    fn wrong_type(&mut self, node: &Node, path: &str, expected: &str, help: &str) {
        let message = format!("expected {expected}, found {}", self.describe(node));
        self.refuse(&node.span, path, message, help);
    }

    /// A whole number inside the bounds of its field.
    pub(crate) fn int<T: TryFrom<u64>>(&mut self, node: &Node, path: &str, field: &IntField) -> Option<T> {
        let help = format!("allowed: {} ({})", field.range(), field.why);
        match &node.value {
            Value::Int(int) => {
                let value = u64::try_from(*int).ok().filter(|value| field.allows(*value));
                let converted = value.and_then(|value| T::try_from(value).ok());
                if converted.is_none() {
                    let written = self.written(node);
                    self.refuse(&node.span, path, format!("{written} is out of range"), help);
                }
                converted
            }
            // `012` is a fraction to the parser, as YAML 1.2 has no such whole number.
            Value::Text(_) | Value::Float
                if self.format == Format::Yaml && is_legacy_octal(&self.written(node)) =>
            {
                let text = self.written(node);
                let message =
                    format!("{text} is octal to some YAML readers and decimal to others (leading zero)");
                self.refuse(&node.span, path, message, "write the number without leading zeros");
                None
            }
            Value::Text(text) if text.parse::<i128>().is_ok() => {
                let help = format!("write it without quotation marks; {help}");
                self.wrong_type(node, path, "a whole number", &help);
                None
            }
            _ => {
                self.wrong_type(node, path, "a whole number", &help);
                None
            }
        }
    }

    pub(crate) fn bool(&mut self, node: &Node, path: &str) -> Option<bool> {
        match &node.value {
            Value::Bool(flag) => Some(*flag),
            Value::Text(text) if self.format == Format::Yaml && is_legacy_bool(text) => {
                let message = format!("{text} is a truth value to some YAML readers and text to others");
                self.refuse(&node.span, path, message, "write true or false");
                None
            }
            _ => {
                self.wrong_type(node, path, "true or false", "write true or false, without quotation marks");
                None
            }
        }
    }

    pub(crate) fn text<'n>(&mut self, node: &'n Node, path: &str) -> Option<&'n str> {
        match &node.value {
            Value::Text(text) => Some(text),
            _ => {
                self.wrong_type(node, path, "text", "put it in quotation marks");
                None
            }
        }
    }

    pub(crate) fn list<'n>(&mut self, node: &'n Node, path: &str, of: &str) -> Option<&'n [Node]> {
        match &node.value {
            Value::List(items) => Some(items),
            _ => {
                self.wrong_type(node, path, &format!("a list of {of}"), "write it in square brackets");
                None
            }
        }
    }

    /// One of the names of an enumeration.
    pub(crate) fn choice<T: Copy>(&mut self, node: &Node, path: &str, names: &Names<T>) -> Option<T> {
        let text = match &node.value {
            Value::Text(text) => text,
            _ => {
                self.wrong_type(node, path, "a name", &allowed(names));
                return None;
            }
        };
        if let Some((_, value)) = names.iter().find(|(name, _)| name == text) {
            return Some(*value);
        }
        let help = match nearest(text, names.iter().map(|(name, _)| *name)) {
            Some(name) => format!("did you mean \"{name}\"? {}", allowed(names)),
            None => allowed(names),
        };
        self.refuse(&node.span, path, format!("{} is not known here", quoted(text)), help);
        None
    }

    /// The table at the root.
    pub(crate) fn root<'n>(&mut self, node: &'n Node) -> Option<Section<'n>> {
        self.section(node, "", &node.span)
    }

    /// A table; `header` is where problems that have no better place are shown.
    pub(crate) fn section<'n>(
        &mut self,
        node: &'n Node,
        path: &str,
        header: &Range<usize>,
    ) -> Option<Section<'n>> {
        match &node.value {
            Value::Table(entries) => {
                self.note_place(path, header);
                Some(Section::new(path, header, entries))
            }
            _ => {
                let (expected, help) = match path {
                    "" => (
                        "a table of sections",
                        "a file has sections, such as requester, responder and traffic",
                    ),
                    _ => ("a table of keys", ""),
                };
                self.wrong_type(node, path, expected, help);
                None
            }
        }
    }
}

/// `event[2].psn` is inside `event[2]`, `event` and the root.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| match path.rfind(['.', '[']) {
        Some(end) => Some(&path[..end]),
        None if path.is_empty() => None,
        None => Some(""),
    })
    .skip(1)
}

fn allowed<T>(names: &Names<T>) -> String {
    let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    format!("allowed: {}", list_or(&names))
}

/// `a, b or c`
pub(crate) fn list_or(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}

/// Text of a file inside a message: one line, not too long.
#[must_use]
pub fn clip(text: &str) -> String {
    const LONGEST: usize = 48;
    let mut clipped = String::new();
    for c in text.chars().take(LONGEST) {
        match c.is_control() {
            true => clipped.extend(c.escape_default()),
            false => clipped.push(c),
        }
    }
    if text.chars().nth(LONGEST).is_some() {
        clipped.push_str("...");
    }
    clipped
}

pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", clip(text))
}

fn is_legacy_octal(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_legacy_bool(text: &str) -> bool {
    ["yes", "no", "on", "off", "y", "n"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_ancestors() {
        let all: Vec<&str> = ancestors("event[2].qpn[1]").collect();
        assert_eq!(all, ["event[2].qpn", "event[2]", "event", ""]);
    }
}
