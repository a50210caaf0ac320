//! What the readers of both file formats begin and end with.

use crate::{
    check::Violation,
    config::TestConfig,
    error::{ConfigErrors, Location, Problem},
    source::{Format, MAX_FILE_BYTES, Node, Reader},
};

/// Parses a text, or says what is wrong with its size or syntax.
pub(crate) fn parse(file: &str, text: &str, format: Format) -> Result<Node, ConfigErrors> {
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(too_large(file));
    }
    format.parse(text).map_err(|errors| {
        let problems = errors
            .into_iter()
            .map(|error| Problem {
                location: error.span.map(|span| Location::of(text, &span)),
                field: String::new(),
                message: error.message,
                help: error.help,
            })
            .collect();
        ConfigErrors::new(file, text, problems)
    })
}

pub(crate) fn too_large(file: &str) -> ConfigErrors {
    let help = format!("a test configuration has at most {} bytes", MAX_FILE_BYTES);
    ConfigErrors::whole_file(file, "the file is too large", help)
}

/// The configuration, if the reader has nothing against it and it breaks no rule. `file_path`
/// turns a path of ours into the file's.
pub(crate) fn conclude(
    file: &str,
    text: &str,
    mut r: Reader<'_>,
    config: TestConfig,
    file_path: impl Fn(&str) -> String,
) -> Result<TestConfig, ConfigErrors> {
    for Violation { field, message, help, rests_on } in config.violations() {
        // A refused value was replaced by a default, which says nothing about the file.
        let mut judged = std::iter::once(&field).chain(&rests_on);
        if judged.any(|path| r.is_refused(path) || r.is_refused(&file_path(path))) {
            continue;
        }
        let path = file_path(&field);
        r.report(r.place(&path), &path, message, help);
    }
    let problems = r.into_problems();
    if problems.is_empty() { Ok(config) } else { Err(ConfigErrors::new(file, text, problems)) }
}
