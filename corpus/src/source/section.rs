//! A table of a tree, read key by key.

use std::ops::Range;

use super::{
    Entry, Node,
    reader::{Names, Reader, clip},
};
use crate::{config::fields::IntField, suggest::nearest};

/// A table that is being read. Every key that is asked for is known; [`Section::finish`] reports
/// the others.
pub(crate) struct Section<'n> {
    path: String,
    header: Range<usize>,
    entries: &'n [Entry],
    known: Vec<&'static str>,
}

impl<'n> Section<'n> {
    pub(super) fn new(path: &str, header: &Range<usize>, entries: &'n [Entry]) -> Self {
        Self { path: path.to_owned(), header: header.clone(), entries, known: Vec::new() }
    }

    pub(crate) fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) const fn header(&self) -> &Range<usize> {
        &self.header
    }

    /// The entry of a key, if the table has it.
    pub(crate) fn entry(&mut self, r: &mut Reader<'_>, key: &'static str) -> Option<&'n Entry> {
        self.known.push(key);
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        r.note_place(&self.path_of(key), &entry.node.span);
        Some(entry)
    }

    pub(crate) fn node(&mut self, r: &mut Reader<'_>, key: &'static str) -> Option<&'n Node> {
        self.entry(r, key).map(|entry| &entry.node)
    }

    /// Returns true if some key of the table, none of `keys`, looks like a slip for `key`.
    pub(crate) fn has_slip_for(&self, key: &str, keys: &[&str]) -> bool {
        self.entries
            .iter()
            .any(|entry| !keys.contains(&entry.key.as_str()) && nearest(&entry.key, [key]).is_some())
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    /// The field's value; its default if it is absent or refused.
    pub(crate) fn int<T: TryFrom<u64> + Default>(&mut self, r: &mut Reader<'_>, field: &IntField) -> T {
        // A default is inside its field's bounds, and those inside the type of the caller.
        self.opt_int(r, field).unwrap_or_else(|| T::try_from(field.default).unwrap_or_default())
    }

    pub(crate) fn opt_int<T: TryFrom<u64>>(&mut self, r: &mut Reader<'_>, field: &IntField) -> Option<T> {
        let node = self.node(r, field.key)?;
        r.int(node, &self.path_of(field.key), field)
    }

    pub(crate) fn bool(&mut self, r: &mut Reader<'_>, key: &'static str, default: bool) -> bool {
        let Some(node) = self.node(r, key) else { return default };
        r.bool(node, &self.path_of(key)).unwrap_or(default)
    }

    pub(crate) fn opt_text(&mut self, r: &mut Reader<'_>, key: &'static str) -> Option<String> {
        let node = self.node(r, key)?;
        r.text(node, &self.path_of(key)).map(str::to_owned)
    }

    pub(crate) fn opt_choice<T: Copy>(
        &mut self,
        r: &mut Reader<'_>,
        key: &'static str,
        names: &Names<T>,
    ) -> Option<T> {
        let node = self.node(r, key)?;
        r.choice(node, &self.path_of(key), names)
    }

    /// One of some words: its index.
    pub(crate) fn opt_word(
        &mut self,
        r: &mut Reader<'_>,
        key: &'static str,
        words: &[&'static str],
    ) -> Option<u64> {
        let names: Vec<(&str, u64)> = words.iter().copied().zip(0..).collect();
        self.opt_choice(r, key, &names)
    }

    pub(crate) fn opt_section(&mut self, r: &mut Reader<'_>, key: &'static str) -> Option<Section<'n>> {
        let path = self.path_of(key);
        let entry = self.entry(r, key)?;
        r.section(&entry.node, &path, &entry.key_span)
    }

    /// Entries whose key no reader has requested.
    pub(crate) fn unread(&self) -> impl Iterator<Item = &'n Entry> {
        self.entries.iter().filter(|entry| !self.known.contains(&entry.key.as_str()))
    }

    /// Reports the keys that no reader has requested. `elsewhere` knows keys of other tables: (key, where it
    /// belongs).
    pub(crate) fn finish(self, r: &mut Reader<'_>, elsewhere: &[(&str, &str)]) {
        for entry in self.unread() {
            let path = self.path_of(&clip(&entry.key));
            let help = if let Some((key, home)) = elsewhere.iter().find(|(key, _)| *key == entry.key) {
                format!("`{key}` belongs in {home}")
            } else if let Some(key) = nearest(&entry.key, self.known.iter().copied()) {
                // The field that was meant has no value then.
                r.mark_refused(&self.path_of(key));
                format!("did you mean `{key}`?")
            } else {
                format!("known keys here: {}", self.known.join(", "))
            };
            r.refuse(&entry.key_span, &path, "unknown key", help);
        }
    }
}
