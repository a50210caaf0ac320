//! YAML text to a tree.

use std::{fmt, ops::Range};

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned, UserMessageFormatter};

use super::{Entry, MAX_DEPTH, Node, Value};
use crate::error::Finding;

pub(super) fn parse(text: &str) -> Result<Node, Finding> {
    let options = serde_saphyr::options! {
        // `no`, `off`, `012` stay text here, and the reader asks what was meant: YAML 1.1 tools
        // (the published Lumina among them) and YAML 1.2 tools read them differently.
        strict_booleans: true,
        legacy_octal_numbers: false,
        merge_keys: serde_saphyr::MergeKeyPolicy::Error,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            max_documents: 1,
            max_nodes: 200_000,
        },
    };
    let tree: Spanned<Tree> = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let message = error.without_snippet().render_with_formatter(&UserMessageFormatter);
        Finding {
            span: error.location().and_then(|at| bytes(&at)),
            field: String::new(),
            message: format!("not YAML: {}", strip_location(&message)),
            help: String::new(),
        }
    })?;
    Ok(into_node(tree))
}

/// The rendered message repeats the place, which every problem has of its own.
fn strip_location(message: &str) -> &str {
    let message = message.lines().next().unwrap_or(message);
    message.rsplit_once(" at line ").map_or(message, |(message, _)| message)
}

fn bytes(location: &Location) -> Option<Range<usize>> {
    let span = location.span();
    let start = usize::try_from(span.byte_offset()?).ok()?;
    let len = usize::try_from(span.byte_len().unwrap_or(0)).ok()?;
    Some(start..start.saturating_add(len))
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
