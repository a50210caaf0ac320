//! Lists of which the first lines are printed.

use std::fmt::Write as _;

/// Lines of one kind that are printed; the rest is counted. JSON has them all.
pub(super) const MAX_LINES: usize = 20;

/// Prints the first lines, and how many more there are.
pub(super) fn limited<T>(text: &mut String, items: &[T], what: &str, mut line: impl FnMut(&mut String, &T)) {
    for item in items.iter().take(MAX_LINES) {
        line(text, item);
    }
    if items.len() > MAX_LINES {
        let _ =
            writeln!(text, "  ... and {} more {what} (all are in --format json)", items.len() - MAX_LINES);
    }
}
