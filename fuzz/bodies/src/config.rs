use std::fmt::Write as _;

use corpus::lumina::{Lab, from_yaml};
use corpus::{ConfigErrors, TestConfig, from_toml};

/// Reads a test configuration in TOML; what is accepted survives both of its forms.
///
/// # Panics
/// When it does not.
pub(crate) fn config_toml(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match from_toml("input.toml", text) {
        Ok(config) => round_trips(&config, &Lab::default()),
        Err(errors) => can_be_shown(errors),
    }
}

/// Reads a test configuration in Lumina's YAML; what is accepted is a valid configuration.
///
/// # Panics
/// When it is not.
pub(crate) fn config_yaml(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match from_yaml("input.yml", text, None) {
        Ok(imported) => round_trips(&imported.config, &imported.lab),
        Err(errors) => can_be_shown(errors),
    }
}

fn round_trips(config: &TestConfig, lab: &Lab) {
    let text = config.to_toml();
    match from_toml("canonical.toml", &text) {
        Ok(again) => assert_eq!(&again, config, "{text}"),
        Err(errors) => panic!("{errors}\n{text}"),
    }
    // Lumina cannot say everything; what it can say is read back without complaint.
    if let Ok(yaml) = config.to_lumina(lab)
        && let Err(errors) = from_yaml("exported.yml", &yaml, None)
    {
        panic!("{errors}\n{yaml}");
    }
}

/// Both forms of an error are made without a panic, and each problem lies in the text.
fn can_be_shown(errors: ConfigErrors) {
    assert!(!errors.problems.is_empty());
    let length = errors.source_text().len();
    assert!(errors.problems.iter().filter_map(|problem| problem.location).all(|at| at.offset <= length));
    let mut shown = errors.to_string();
    let _ = write!(shown, "{:?}", miette::Report::new(errors.into_diagnostic()));
}
