//! The text of a file as errors show it: lines that no terminal holds are cut around the first error in them.

use std::ops::Range;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

/// Bytes of a line that is shown whole.
const MAX_LINE: usize = 160;
/// Bytes before the error that are shown of a longer one.
const BEFORE: usize = 40;
/// Mark of what was cut.
const CUT: &str = "...";

/// A part of the text, and its place in the excerpt.
#[derive(Debug, Clone)]
struct Piece {
    text: Range<usize>,
    at: usize,
}

/// A text with its long lines cut. Lines and columns that it reports are those of the text.
#[derive(Debug, Clone)]
pub(crate) struct Excerpt {
    name: String,
    cut: String,
    /// In order; between them the text is cut.
    pieces: Vec<Piece>,
    /// Columns of the errors.
    columns: Vec<Column>,
}

/// Column of a place.
#[derive(Debug, Clone)]
struct Column {
    /// Offset in the excerpt.
    at: usize,
    column: usize,
}

impl Excerpt {
    /// An excerpt of a text with errors at these offsets.
    pub(crate) fn new(name: &str, text: &str, offsets: &[usize]) -> Self {
        let mut excerpt =
            Self { name: name.to_owned(), cut: String::new(), pieces: Vec::new(), columns: Vec::new() };
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let end = start + line.len();
            let error = offsets.iter().copied().find(|offset| (start..end).contains(offset));
            excerpt.add(text, start..end, error.unwrap_or(start));
            start = end;
        }
        for offset in offsets {
            let line = text[..*offset].rfind('\n').map_or(0, |newline| newline + 1);
            let at = excerpt.shown(*offset..*offset).start;
            excerpt.columns.push(Column { at, column: text[line..*offset].chars().count() });
        }
        excerpt
    }

    /// Adds a line, cut around the error if it is long.
    fn add(&mut self, text: &str, line: Range<usize>, error: usize) {
        let newline = text[line.clone()].ends_with('\n');
        let content_end = line.end - usize::from(newline);
        let mut shown = line.start..content_end;
        if shown.len() > MAX_LINE {
            shown.start = text.floor_char_boundary(error.saturating_sub(BEFORE).max(line.start));
            shown.end = text.floor_char_boundary((shown.start + MAX_LINE).min(content_end));
        }
        if shown.start > line.start {
            self.cut.push_str(CUT);
        }
        let is_whole = shown.end == content_end;
        let end = if is_whole { line.end } else { shown.end };
        self.pieces.push(Piece { text: shown.start..end, at: self.cut.len() });
        self.cut.extend(text[shown.start..end].chars().map(without_control));
        if !is_whole {
            self.cut.push_str(CUT);
            self.cut.push_str(if newline { "\n" } else { "" });
        }
    }

    /// Place in the excerpt of a range of the text; of what was cut, the place of the cut.
    pub(crate) fn shown(&self, range: Range<usize>) -> Range<usize> {
        let place = |offset: usize| {
            let after = self.pieces.partition_point(|piece| piece.text.start <= offset);
            // Before the first piece there is nothing, or a mark.
            let Some(piece) = after.checked_sub(1).map(|at| &self.pieces[at]) else { return 0 };
            let next = self.pieces.get(after).map_or(self.cut.len(), |next| next.at);
            (piece.at + (offset - piece.text.start).min(piece.text.len())).min(next)
        };
        let start = place(range.start);
        start..place(range.end).max(start)
    }
}

/// A character, or one of the same length in the place of a control character, which would write on the terminal.
fn without_control(c: char) -> char {
    match c {
        '\n' | '\r' | '\t' => c,
        _ if !c.is_control() => c,
        _ if c.len_utf8() == 1 => '.',
        _ => '·',
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let read = self.cut.as_str().read_span(span, before, after)?;
        // The place of an error is asked for without its context.
        let column = self.columns.iter().find(|column| before == 0 && column.at == span.offset());
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            read.data(),
            *read.span(),
            read.line(),
            column.map_or_else(|| read.column(), |column| column.column),
            read.line_count(),
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lines_stay() {
        let text = "a = 1\nb = µ\n\nc";
        let excerpt = Excerpt::new("f", text, &[6]);
        assert_eq!(excerpt.cut, text);
        assert_eq!(
            (excerpt.shown(6..7), excerpt.shown(text.len()..text.len())),
            (6..7, text.len()..text.len())
        );
    }

    #[test]
    fn long_lines_are_cut_around_their_first_error() {
        let text = format!("first\n{}ERROR{}LATER\nlast\n", "µ".repeat(50_000), "x".repeat(50_000));
        let [error, later, last] = ["ERROR", "LATER", "last"].map(|word| text.find(word).unwrap());
        let excerpt = Excerpt::new("f", &text, &[error, later, last]);
        assert!(excerpt.cut.len() < 300, "{}", excerpt.cut);
        assert_eq!(&excerpt.cut[excerpt.shown(error..error + 5)], "ERROR");
        assert_eq!(&excerpt.cut[excerpt.shown(last..last + 4)], "last");
        // An error in what was cut is at the mark.
        assert!(excerpt.cut[excerpt.shown(later..later + 5).start..].starts_with("...\nlast"));
        let place = excerpt.shown(error..error + 5);
        let contents = excerpt.read_span(&(place.start, place.len()).into(), 0, 0).unwrap();
        assert_eq!((contents.line(), contents.column()), (1, 50_000));
    }
}
