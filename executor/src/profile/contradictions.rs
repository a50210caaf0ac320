//! Fields of a reorder engine that contradict one another.

use std::ops::Range;

use corpus::Finding;
use toml::{Table, Value};

const SECTION: &str = "reorder";

/// Fields of `[reorder]` in the text of a profile, by their key, each with its place.
#[derive(Debug, Default)]
pub(super) struct Written(pub(super) Vec<(String, Range<usize>)>);

impl Written {
    /// A field is in the text.
    pub(super) fn note(&mut self, section: &str, key: &str, span: Range<usize>) {
        if section == SECTION {
            self.0.push((key.to_owned(), span));
        }
    }

    fn place(&self, key: &str) -> Option<Range<usize>> {
        self.0.iter().find(|(written, _)| written == key).map(|(_, span)| span.clone())
    }
}

/// Contradictions that a profile brings about: those of its own fields with others, its own or those of its base, which `merged` has.
pub(super) fn contradictions(written: &Written, merged: &Table) -> Vec<Finding> {
    caches(written, merged).into_iter().chain(span_of_losses(written, merged)).collect()
}

/// Caches of an engine that has none.
fn caches(written: &Written, merged: &Table) -> Option<Finding> {
    let (span, caches) = (written.place("caches")?, number(merged, "caches")?);
    (caches > 0 && word(merged, "engine")? == "pool").then(|| Finding {
        span: Some(span),
        field: "reorder.caches".into(),
        message: format!("the engine \"pool\" has no caches, and this is {caches}"),
        help: "set it to 0 or remove it, or set engine to \"left\", which has caches".into(),
    })
}

/// A loss that would never show: packets so far beyond the missing one are not kept.
fn span_of_losses(written: &Written, merged: &Table) -> Option<Finding> {
    const KEYS: [&str; 4] = ["loss-span-packets", "span-packets", "loss-by", "engine"];
    if word(merged, "engine")? == "none" || word(merged, "loss-by")? != "span" {
        return None;
    }
    let (loss, widest) = (number(merged, "loss-span-packets")?, number(merged, "span-packets")?);
    let (key, span) = KEYS.into_iter().find_map(|key| Some((key, written.place(key)?)))?;
    (loss > widest).then(|| Finding {
        span: Some(span),
        field: format!("{SECTION}.{key}"),
        message: format!("packets count as lost at {loss} (loss-span-packets), and none is kept beyond {widest} (span-packets)"),
        help: "set loss-span-packets to at most span-packets, or loss-by to \"psn\" or \"timer\"".into(),
    })
}

fn number(merged: &Table, key: &str) -> Option<i64> {
    merged.get(SECTION)?.get(key)?.as_integer()
}

fn word<'t>(merged: &'t Table, key: &str) -> Option<&'t str> {
    merged.get(SECTION)?.get(key)?.as_str()
}

/// A pool has no caches, whatever its base has: so that a profile that is written out can be read.
pub(super) fn without_unused(mut merged: Table) -> Table {
    if word(&merged, "engine") == Some("pool")
        && let Some(Value::Table(reorder)) = merged.get_mut(SECTION)
    {
        reorder.insert("caches".into(), Value::Integer(0));
    }
    merged
}
