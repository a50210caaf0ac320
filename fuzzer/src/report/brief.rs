//! A test as a file, with only the values that are not at their defaults.

use corpus::TestConfig;

/// Lines of a section of a test's canonical text.
pub(super) struct Section {
    /// `[traffic]`
    pub(super) header: String,
    /// `num-connections = 12`
    pub(super) lines: Vec<String>,
}

/// The sections of a test that say something else than a file without them would. Read as a file, they are the test.
pub(super) fn sections(config: &TestConfig) -> Vec<Section> {
    let defaults = parse(&TestConfig::default().to_toml());
    let mut sections = parse(&config.to_toml());
    for section in &mut sections {
        if let Some(default) = defaults.iter().find(|default| default.header == section.header) {
            section.lines.retain(|line| !default.lines.contains(line));
        } else {
            // An event. All of it is written, but for the first round, which nearly all events have.
            section.lines.retain(|line| line != "iter = 1");
        }
    }
    sections.retain(|section| !section.lines.is_empty());
    sections
}

/// The same as a file.
pub(crate) fn toml(config: &TestConfig) -> String {
    let section = |section: Section| format!("{}\n{}\n", section.header, section.lines.join("\n"));
    sections(config).into_iter().map(section).collect::<Vec<_>>().join("\n")
}

/// The canonical text has one field a line and nothing else.
fn parse(toml: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in toml.lines().filter(|line| !line.is_empty()) {
        match sections.last_mut() {
            Some(section) if !line.starts_with('[') => section.lines.push(line.to_owned()),
            _ => sections.push(Section { header: line.to_owned(), lines: Vec::new() }),
        }
    }
    sections
}
