use dumper::Observation;
use dumper::script::{Found, parse};
use executor::script::{compare, to_config};

/// Reads a packet script; what is accepted is written so that it reads back the same. What describes a test can be
/// compared with an observation.
///
/// # Panics
/// When it does not read back the same.
pub(crate) fn script(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let script = match parse("input.rds", text) {
        Ok(script) => script,
        Err(errors) => {
            assert!(!errors.problems.is_empty());
            let _ = errors.to_string();
            return;
        }
    };
    let written = script.to_string();
    match parse("input.rds", &written) {
        Ok(again) => assert_eq!(again, script, "{written}"),
        Err(errors) => panic!("{errors}\n{written}"),
    }
    match to_config(&script) {
        Ok(config) => {
            assert!(config.is_valid(), "{written}");
            let mismatches = compare(&script, &config, &Observation::default(), &Found::default());
            let _ = mismatches.iter().map(ToString::to_string).collect::<String>();
        }
        Err(errors) => assert!(!errors.problems.is_empty()),
    }
}
