//! Profiles as text, and the differences between two of them.

use std::fmt::Write as _;

use toml::{Table, Value};

use super::{FIELDS, Field, Kind, NicProfile};

/// A field in which two profiles differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The field.
    pub field: &'static Field,
    /// Its value in the profile that is the base, as in a file.
    pub from: String,
    /// Its value in the other, as in a file.
    pub to: String,
}

impl NicProfile {
    /// The profile as TOML, every field written out, in a fixed order: reading the text gives the same profile,
    /// whatever the defaults of a later version are.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let mut last = "";
        for (field, value) in self.values() {
            let (section, key) = field.section_and_key();
            if section != last {
                let _ = writeln!(text, "\n[{section}]");
                last = section;
            }
            let _ = writeln!(text, "{key} = {value}");
        }
        text
    }

    /// The fields in which the profile differs from `base`, but for its name, description and source.
    #[must_use]
    pub fn changes_from(&self, base: &Self) -> Vec<Change> {
        base.values()
            .into_iter()
            .zip(self.values())
            .filter(|((field, from), (_, to))| {
                from != to && !matches!(field.kind, Kind::Line(_) | Kind::Text)
            })
            .map(|((field, from), (_, to))| Change { field, from: from.to_string(), to: to.to_string() })
            .collect()
    }

    /// The fields whose values no conforming NIC has.
    #[must_use]
    pub fn not_conforming(&self) -> Vec<&'static Field> {
        self.values()
            .into_iter()
            .filter(|(field, value)| !field.conforms(value))
            .map(|(field, _)| field)
            .collect()
    }

    /// Every field with its value, in the order of [`FIELDS`].
    #[must_use]
    pub fn values(&self) -> Vec<(&'static Field, Value)> {
        let table = Value::Table(Table::try_from(self).expect("numbers of a profile are far below 2^63"));
        FIELDS
            .iter()
            .map(|field| {
                let value = field.path.split('.').try_fold(&table, |section, key| section.get(key));
                (field, value.expect("FIELDS has the fields of a profile, as a test sees to").clone())
            })
            .collect()
    }
}
