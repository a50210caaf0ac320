//! TOML text to a tree.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{Entry, Node, Value};
use crate::error::Finding;

pub(super) fn parse(text: &str) -> Result<Node, Vec<Finding>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return Err(errors
            .into_iter()
            .map(|error| Finding {
                span: error.span(),
                field: String::new(),
                message: format!("not TOML: {}", error.message()),
                help: String::new(),
            })
            .collect());
    }
    Ok(Node { span: 0..0, value: Value::Table(entries(table.into_inner())) })
}

/// The parser bounds nesting, so recursion here is bounded too.
fn entries(table: DeTable<'_>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = table
        .into_iter()
        .map(|(key, value)| Entry {
            key_span: key.span(),
            key: key.into_inner().into_owned(),
            node: node(value),
        })
        .collect();
    // The parser's tables are sorted by key; people read files from the top.
    entries.sort_by_key(|entry| entry.key_span.start);
    entries
}

fn node(value: Spanned<DeValue<'_>>) -> Node {
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(int) => match i128::from_str_radix(int.as_str(), int.radix()) {
            Ok(int) => Value::Int(int),
            // Out of every bound that we have, as it should be.
            Err(_) if int.as_str().starts_with('-') => Value::Int(i128::MIN),
            Err(_) => Value::Int(i128::MAX),
        },
        DeValue::Float(_) => Value::Float,
        DeValue::Boolean(flag) => Value::Bool(flag),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(items) => Value::List(items.into_iter().map(node).collect()),
        DeValue::Table(table) => Value::Table(entries(table)),
    };
    Node { span, value }
}
