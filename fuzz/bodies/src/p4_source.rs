use p4::source::parse;

/// Reads a P4 source.
///
/// # Panics
/// When the line of an error is not one of the source.
pub(crate) fn p4_source(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(error) = parse(text) {
        assert!((1..=text.matches('\n').count() + 1).contains(&error.line), "{error}");
    }
}
