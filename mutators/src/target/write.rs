//! Targets as text.

use std::fmt::Write as _;

use super::Target;
use super::fields::{Field, fields};
use crate::axis::AXES;
use crate::{operators, show};

impl Target {
    /// Every field with its meaning, so that the text means the same to a later version.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let mut last = "";
        for (field, value) in self.values() {
            let section = match field.path {
                "objectives" | "operators" => field.path,
                path => path.split_once('.').map_or("", |(section, _)| section),
            };
            if section != last {
                let _ = writeln!(text, "\n[{section}]");
                last = section;
            }
            let _ = writeln!(text, "# {}", field.meaning);
            let key = field.path.strip_prefix(section).unwrap_or_default().trim_start_matches('.');
            if key.is_empty() {
                text.push_str(&value);
            } else {
                let _ = writeln!(text, "{key} = {value}");
            }
        }
        text
    }

    /// Every field with its value as in a file; of objectives and operators, a line for each.
    pub fn values(&self) -> Vec<(Field, String)> {
        let value = |field: &Field| match field.path {
            "name" => quote(&self.name),
            "description" => quote(&self.description),
            "pool" => self.pool.to_string(),
            "packet-cap" => self.space.packet_cap.to_string(),
            "oracles" => {
                let kinds: Vec<String> = self.oracles.iter().map(|kind| quote(kind)).collect();
                format!("[{}]", kinds.join(", "))
            }
            "objectives" => lines(self.weights.iter().map(|(name, weight)| (name.as_str(), *weight))),
            "operators" => {
                let weight = |name: &str| self.operators.get(name).copied().unwrap_or_default();
                lines(operators().map(|operator| (operator.name, weight(operator.name))))
            }
            path => {
                let entry = AXES.iter().find(|entry| entry.path == path);
                entry.map(|entry| show::toml(entry.kind, &self.space[entry.axis])).unwrap_or_default()
            }
        };
        fields()
            .into_iter()
            .map(|field| {
                let value = value(&field);
                (field, value)
            })
            .collect()
    }
}

fn lines<'a>(weights: impl Iterator<Item = (&'a str, f64)>) -> String {
    weights.fold(String::new(), |mut lines, (name, weight)| {
        // `{:?}` keeps the point of a whole number, and every digit that tells it from others.
        let _ = writeln!(lines, "{name} = {weight:?}");
        lines
    })
}

/// A TOML basic string of one line of text.
fn quote(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
