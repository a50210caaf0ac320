//! The values of axes in the text of a target.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::read::{Reader, integer};
use crate::axis::{Entry, Kind};
use crate::show;
use crate::values::Values;

/// Most values of a list: drawing and repairing iterate over it.
const LONGEST_LIST: usize = 256;

impl Reader<'_, '_> {
    /// The values of an axis.
    pub(super) fn axis(&mut self, entry: &'static Entry, value: &Spanned<DeValue<'_>>) {
        self.spans.insert(entry.path, value.span());
        let values = match value.get_ref() {
            DeValue::Table(table) => self.range(entry, table, value),
            DeValue::Array(items) if !matches!(entry.kind, Kind::Limit(_) | Kind::Switch) => {
                self.list(entry, items, value)
            }
            _ => self.value(entry, value).map(Values::only),
        };
        if let Some(values) = values {
            self.target.space.set(entry.axis, values);
        }
    }

    fn range(&mut self, entry: &Entry, table: &DeTable<'_>, value: &Spanned<DeValue<'_>>) -> Option<Values> {
        if !matches!(entry.kind, Kind::Number(_) | Kind::NumberOrRandom(_)) {
            self.report.wrong(value, entry.path, expected(entry.kind), allowed(entry));
            return None;
        }
        for (key, _) in table {
            if !["min", "max"].contains(&&**key.get_ref()) {
                let path = format!("{}.{}", entry.path, key.get_ref());
                self.report.note(key.span(), &path, "unknown key", "a range has `min` and `max`");
            }
        }
        let mut end = |key: &str| match table.get(key) {
            Some(end) => self.value(entry, end),
            None => {
                let path = format!("{}.{key}", entry.path);
                self.report.note(value.span(), &path, "is missing", "a range has `min` and `max`");
                None
            }
        };
        let (min, max) = (end("min"), end("max"));
        match (min?, max?) {
            (min, max) if min < max => Some(Values::Range { min, max }),
            (min, max) if min == max => Some(Values::only(min)),
            (min, max) => {
                let message = format!("the range from {min} to {max} ends before it begins");
                self.report.note(value.span(), entry.path, message, "`min` is the smaller number");
                None
            }
        }
    }

    fn list(
        &mut self,
        entry: &Entry,
        items: &[Spanned<DeValue<'_>>],
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Values> {
        if items.is_empty() {
            self.report.note(value.span(), entry.path, "the list is empty", allowed(entry));
            return None;
        }
        if items.len() > LONGEST_LIST {
            let message = format!("lists {} values", items.len());
            self.report.note(
                value.span(),
                entry.path,
                message,
                format!("at most {LONGEST_LIST}; or write a range"),
            );
            return None;
        }
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            let one = self.value(entry, item)?;
            if values.contains(&one) {
                let message = format!("{} is listed twice", self.report.written(item));
                self.report.note(item.span(), entry.path, message, "list each value once");
                return None;
            }
            values.push(one);
        }
        values.sort_unstable();
        Some(Values::List(values))
    }

    /// One value of an axis, as the number that stands for it.
    fn value(&mut self, entry: &Entry, value: &Spanned<DeValue<'_>>) -> Option<u64> {
        match (entry.kind, value.get_ref()) {
            (Kind::Number(field) | Kind::Limit(field) | Kind::NumberOrRandom(field), DeValue::Integer(_)) => {
                self.whole(field, entry.path, value)
            }
            (Kind::NumberOrRandom(field), DeValue::String(word)) if word == "random" => Some(field.max + 1),
            (Kind::OneOf(numbers), DeValue::Integer(_)) => {
                let number = integer(value.get_ref()).and_then(|number| u64::try_from(number).ok());
                let known = number.filter(|number| numbers.contains(number));
                if known.is_none() {
                    let message = format!("{} is not one of them", self.report.written(value));
                    self.report.note(value.span(), entry.path, message, allowed(entry));
                }
                known
            }
            (Kind::Words(words), DeValue::String(word)) => {
                let index = words.iter().position(|known| *known == &**word);
                if index.is_none() {
                    self.report.unknown(value, entry.path, word, words);
                }
                index.map(|index| index as u64)
            }
            (Kind::Flags | Kind::Switch, DeValue::Boolean(flag)) => Some((*flag).into()),
            _ => {
                self.report.wrong(value, entry.path, expected(entry.kind), allowed(entry));
                None
            }
        }
    }
}

fn allowed(entry: &Entry) -> String {
    format!("allowed: {}", show::allowed_by(entry.kind))
}

const fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Number(_) => "a whole number, a list of them or a range",
        Kind::NumberOrRandom(_) => "a whole number, \"random\", a list of them or a range",
        Kind::OneOf(_) => "a number, or a list of them",
        Kind::Words(_) => "a word, or a list of them",
        Kind::Flags => "true, false or [false, true]",
        Kind::Limit(_) => "a whole number",
        Kind::Switch => "true or false",
    }
}
