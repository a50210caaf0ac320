//! First and last steps that the readers of both file formats share.

use crate::{
    check::Violation,
    config::TestConfig,
    error::ConfigErrors,
    source::{Format, MAX_FILE_BYTES, Node, Reader},
};

/// Parses a text, or reports the error in its size or syntax.
pub(crate) fn parse(file: &str, text: &str, format: Format) -> Result<Node, ConfigErrors> {
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(too_large(file));
    }
    format.parse(text).map_err(|findings| ConfigErrors::new(file, text, findings, 0))
}

pub(crate) fn too_large(file: &str) -> ConfigErrors {
    let help = format!("at most {MAX_FILE_BYTES} bytes are read");
    ConfigErrors::whole_file(file, "the file is too large", help)
}

/// The configuration, if the reader has nothing against it and it breaks no rule. `translate` puts
/// a violation into the words of the file.
pub(crate) fn conclude(
    file: &str,
    text: &str,
    mut r: Reader<'_>,
    config: TestConfig,
    translate: impl Fn(Violation) -> Violation,
) -> Result<TestConfig, ConfigErrors> {
    for violation in config.violations() {
        let Violation { field, message, help, rests_on } = translate(violation);
        // A refused value was replaced by a default, which says nothing about the file.
        if std::iter::once(&field).chain(&rests_on).any(|path| r.is_refused(path)) {
            continue;
        }
        r.report(r.place(&field), &field, message, help);
    }
    let (findings, unkept) = r.into_findings();
    if findings.is_empty() { Ok(config) } else { Err(ConfigErrors::new(file, text, findings, unkept)) }
}
