//! Lists of tables.

use crate::source::{Node, Reader, Section, Value};

/// The entries of a list of tables, each read by a function; one that was refused is left out. `most` is the bound on their number, and
/// what can be done beyond it.
pub(super) fn read<T>(
    node: &Node,
    path: &str,
    noun: &str,
    (most, instead): (usize, &str),
    r: &mut Reader<'_>,
    one: fn(Section<'_>, &mut Reader<'_>) -> Option<T>,
) -> Vec<T> {
    if matches!(node.value, Value::Table(_)) {
        let help = format!("write [[{path}]], with two brackets, for each {noun}");
        r.refuse(&node.span, path, "is one table", help);
        return Vec::new();
    }
    let Some(items) = r.list(node, path, &format!("{noun}s")) else { return Vec::new() };
    if let Some(beyond) = items.get(most) {
        let help = format!("at most {most} are allowed{instead}");
        r.refuse(&beyond.span, path, format!("there are {} {noun}s", items.len()), help);
        return Vec::new();
    }
    let mut read = Vec::new();
    for (item, entry) in r.items(items, path) {
        match r.section(item, &entry, &item.span).and_then(|section| one(section, r)) {
            Some(value) => read.push(value),
            // Those that follow have other numbers.
            None => r.mark_refused(path),
        }
    }
    read
}
