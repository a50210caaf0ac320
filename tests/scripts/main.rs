//! Every packet script below this folder, on the simulated testbed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic where they fail")]

mod files;

use std::fs;
use std::path::Path;

use dumper::script::{FoundAnomaly, Script};
use executor::script::run;
use executor::sim::Sim;
use scoring::Options;

use files::{root, scripts};

/// Errors of a script, and differences from it.
fn check(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let root = root();
    let name = Path::new("tests/scripts").join(path.strip_prefix(&root).unwrap());
    let script: Script = match dumper::script::parse(&name.display().to_string(), &text) {
        Ok(script) => script,
        Err(errors) => return vec![errors.to_string()],
    };
    // Paths in a script are relative to it, and so to the project's folder with its name.
    let mut testbed = Sim::new(&root.join("../.."));
    let outcome = run(&script, &mut testbed, |config, observation| {
        let analysis = scoring::analyze(observation, Options { config: Some(config) });
        analysis.anomalies.kept().iter().map(FoundAnomaly::from).collect()
    });
    match outcome {
        Ok(outcome) => outcome.mismatches.iter().map(ToString::to_string).collect(),
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn scripts_hold() {
    let wrong: Vec<String> = scripts().iter().flat_map(|path| check(path)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// A script without its rule says what happens, and not what has to.
#[test]
fn every_script_cites_its_rule() {
    let scripts = scripts();
    assert!(scripts.len() >= 60, "{} scripts", scripts.len());
    for path in scripts {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.lines().any(|line| line.starts_with("# Rule: ")), "{} cites no rule", path.display());
    }
}
