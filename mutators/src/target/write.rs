//! Targets as text, and the differences between two of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Target;
use super::fields::{Field, OBJECTIVES, OPERATORS, fields};
use crate::axis::{AXES, Axis};
use crate::{architectures, operators, show};

/// A field of a target with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Section, if any, and key.
    pub path: String,
    /// Value, as in a file.
    pub value: String,
    /// Meaning of the field.
    pub meaning: &'static str,
}

/// A field in which two targets differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Section, if any, and key.
    pub path: String,
    /// Value in the target that is the base, as in a file; `None` if it is absent there.
    pub from: Option<String>,
    /// Value in the other.
    pub to: String,
}

impl Target {
    /// Every field with its meaning, so that the text means the same to a later version.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let mut last = "";
        let lines = self.lines();
        for Line { path, value, meaning } in &lines {
            let (section, key) = path.split_once('.').unwrap_or(("", path));
            if section != last {
                let _ = writeln!(text, "\n[{section}]");
                last = section;
            }
            if let Some(remark) = self.remark(path) {
                let _ = writeln!(text, "# {remark}");
            }
            let _ = writeln!(text, "# {meaning}\n{key} = {value}");
        }
        text
    }

    /// The part of a space that a field leaves out, if that is worth a line.
    fn remark(&self, path: &str) -> Option<String> {
        let tables = self.space[Axis::Tables].largest();
        (path == Axis::Tables.entry().path && tables > 1).then(|| architectures::remark(tables))
    }

    /// Every field with its value, in the order of a file.
    pub fn lines(&self) -> Vec<Line> {
        fields().iter().flat_map(|field| self.lines_of(field)).collect()
    }

    fn lines_of(&self, field: &Field) -> Vec<Line> {
        let weight = |section: &str, name: &str, weight: f64, meaning| {
            // `{:?}` keeps the point of a whole number, and every digit that tells it from others.
            Line { path: format!("{section}.{name}"), value: format!("{weight:?}"), meaning }
        };
        let value = match field.path {
            OBJECTIVES => {
                let weights = self.weights.iter();
                return weights.map(|(name, one)| weight(OBJECTIVES, name, *one, field.meaning)).collect();
            }
            OPERATORS => {
                let of = |name: &str| self.operators.get(name).copied().unwrap_or_default();
                return operators().map(|one| weight(OPERATORS, one.name, of(one.name), one.what)).collect();
            }
            "name" => quote(&self.name),
            "description" => quote(&self.description),
            "pool" => self.pool.to_string(),
            "fresh" => self.fresh.to_string(),
            "packet-cap" => self.space.packet_cap.to_string(),
            "oracles" => {
                let kinds: Vec<String> = self.oracles.iter().map(|kind| quote(kind)).collect();
                format!("[{}]", kinds.join(", "))
            }
            path => {
                let entry = AXES.iter().find(|entry| entry.path == path);
                let entry = entry.expect("every other field is an axis, as a test sees to");
                show::toml(entry.kind, &self.space[entry.axis])
            }
        };
        vec![Line { path: field.path.to_owned(), value, meaning: field.meaning }]
    }

    /// The fields in which the target differs from `base`, but for name and description.
    pub fn changes_from(&self, base: &Self) -> Vec<Change> {
        let of_base: BTreeMap<String, String> =
            base.lines().into_iter().map(|line| (line.path, line.value)).collect();
        let named = |path: &str| matches!(path, "name" | "description");
        self.lines()
            .into_iter()
            .filter(|line| !named(&line.path) && of_base.get(&line.path) != Some(&line.value))
            .map(|line| Change { from: of_base.get(&line.path).cloned(), path: line.path, to: line.value })
            .collect()
    }
}

/// A TOML basic string of one line of text.
fn quote(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
