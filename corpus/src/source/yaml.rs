//! YAML text to a tree.

use std::{fmt, ops::Range};

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Error, Location, Spanned, UserMessageFormatter, budget::BudgetBreach};

use super::{Entry, MAX_DEPTH, Node, Value, reader::quoted};
use crate::error::Finding;

/// Upper bound on values; 4096 events have a tenth of it.
const MAX_NODES: usize = 200_000;

/// Upper bound on aliases: each may stand for a text as long as the file.
const MAX_ALIASES: usize = 64;

pub(super) fn parse(text: &str) -> Result<Node, Finding> {
    let options = serde_saphyr::options! {
        // `no`, `off`, `012` stay text here, and the reader asks for the meaning: YAML 1.1 tools (the
        // published Lumina among them) and YAML 1.2 tools read them differently.
        strict_booleans: true,
        legacy_octal_numbers: false,
        merge_keys: serde_saphyr::MergeKeyPolicy::Error,
        with_snippet: false,
        // Else a few dozen commented-out events in a row are beyond a limit.
        emit_comments: false,
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            max_documents: 1,
            max_nodes: MAX_NODES,
            max_aliases: MAX_ALIASES,
        },
    };
    let tree: Spanned<Tree> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| finding(text, &error))?;
    Ok(into_node(tree))
}

fn finding(text: &str, error: &Error) -> Finding {
    let place = error.location();
    let mut error = error.without_snippet();
    while let Error::AliasError { error: inner, .. } = error {
        error = inner;
    }
    let (message, help) = match error {
        Error::Budget { breach, .. } => too_much(breach),
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            (format!("the key {} is given twice", quoted(key)), "keep one of them")
        }
        Error::MergeKeyNotAllowed { .. } => {
            ("merge keys (<<) are not read".to_owned(), "write the keys out where they belong")
        }
        other => {
            let message = other.render_with_formatter(&UserMessageFormatter);
            let help = if message.contains("tabs") { "indent with spaces" } else { "" };
            (format!("not YAML: {}", strip_location(&message)), help)
        }
    };
    let span = place.and_then(|at| bytes(&at).or_else(|| line_and_column(text, &at)));
    Finding { span, field: String::new(), message, help: help.to_owned() }
}

/// Description of the limit that a text exceeds, and the remedy.
fn too_much(breach: &BudgetBreach) -> (String, &'static str) {
    match breach {
        BudgetBreach::Documents { .. } => {
            ("there is more than one document".to_owned(), "a file is one test; split it at the --- lines")
        }
        BudgetBreach::Depth { .. } => {
            (format!("nested deeper than {MAX_DEPTH} levels"), "a test has no more than five")
        }
        BudgetBreach::Aliases { .. } => (format!("more than {MAX_ALIASES} aliases"), "write the values out"),
        BudgetBreach::Nodes { .. } => {
            (format!("more than {MAX_NODES} values, aliases counted"), "a test has far fewer")
        }
        _ => ("too large or too complex to be a test".to_owned(), "remove aliases, comments and long texts"),
    }
}

/// The rendered message repeats the place, which every problem has of its own.
fn strip_location(message: &str) -> &str {
    let message = message.lines().next().unwrap_or(message);
    message.split_once(" at line ").map_or(message, |(message, _)| message)
}

fn bytes(location: &Location) -> Option<Range<usize>> {
    let span = location.span();
    let start = usize::try_from(span.byte_offset()?).ok()?;
    let len = usize::try_from(span.byte_len().unwrap_or(0)).ok()?;
    Some(start..start.saturating_add(len))
}

/// Errors of the scanner have a line and a column only.
fn line_and_column(text: &str, location: &Location) -> Option<Range<usize>> {
    let line = usize::try_from(location.line()).ok()?.checked_sub(1)?;
    let column = usize::try_from(location.column()).ok()?.checked_sub(1)?;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let offset = text[start..].char_indices().nth(column).map_or(text.len() - start, |(offset, _)| offset);
    Some(start + offset..start + offset)
}

struct Tree(Value);

fn into_node(tree: Spanned<Tree>) -> Node {
    let span = bytes(&tree.referenced).unwrap_or(0..0);
    Node { span, value: tree.value.0 }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree(Value::Null))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Tree, E> {
        Ok(Tree(Value::Bool(flag)))
    }

    fn visit_i64<E>(self, int: i64) -> Result<Tree, E> {
        Ok(Tree(Value::Int(int.into())))
    }

    fn visit_u64<E>(self, int: u64) -> Result<Tree, E> {
        Ok(Tree(Value::Int(int.into())))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree(Value::Float))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree(Value::Text(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Tree, E> {
        Ok(Tree(Value::Text(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Spanned<Tree>>()? {
            list.push(into_node(item));
        }
        Ok(Tree(Value::List(list)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let key_span = bytes(&key.referenced).ok_or_else(|| A::Error::custom("a key without a place"))?;
            entries.push(Entry { key: key.value, key_span, node: into_node(map.next_value()?) });
        }
        Ok(Tree(Value::Table(entries)))
    }
}
