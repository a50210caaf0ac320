//! The reader of a Lumina file, and the notes that it takes.

use std::ops::Range;

use super::{ImportNote, NoteKind};
use crate::source::{Reader, Section};

/// A reader and the notes taken on the way.
pub(super) struct Importer<'t> {
    pub(super) r: Reader<'t>,
    pub(super) notes: Vec<ImportNote>,
}

impl Importer<'_> {
    pub(super) fn note(&mut self, kind: NoteKind, span: Option<&Range<usize>>, field: String, text: &str) {
        let location = span.map(|span| self.r.location(span));
        self.notes.push(ImportNote { location, field, kind, text: text.to_owned() });
    }

    /// Reads past keys, with a note on each.
    pub(super) fn ignore(&mut self, section: &mut Section<'_>, keys: &[(&'static str, &str)]) {
        for &(key, why) in keys {
            if let Some(entry) = section.entry(&mut self.r, key) {
                self.note(NoteKind::Ignored, Some(&entry.key_span), section.path_of(key), why);
            }
        }
    }

    /// Notes on the keys that a section does not have.
    pub(super) fn defaults(&mut self, section: &Section<'_>, keys: &[&str]) {
        for key in keys.iter().filter(|key| !section.has(key)) {
            self.note(NoteKind::Defaulted, None, section.path_of(key), "not in the file");
        }
    }
}
