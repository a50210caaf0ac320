//! Every packet script below this folder, on the simulated testbed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic where they fail")]

use std::fs;
use std::path::{Path, PathBuf};

use dumper::script::Script;
use executor::script::{FoundAnomaly, run};
use executor::sim::Sim;
use scoring::{Anomaly, Options};

/// The scripts, by feature.
fn scripts() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rds") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn found(anomaly: &Anomaly) -> FoundAnomaly {
    FoundAnomaly {
        kind: anomaly.rule.kind().name().to_owned(),
        rule: anomaly.rule.name().to_owned(),
        text: anomaly.what.clone(),
    }
}

/// What is wrong with a script, or not as it says.
fn check(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let name = path.strip_prefix(root).unwrap();
    let script: Script = match dumper::script::parse(&name.display().to_string(), &text) {
        Ok(script) => script,
        Err(errors) => return vec![errors.to_string()],
    };
    // Paths in a script are relative to it, and so to the root with its name.
    let mut testbed = Sim::new(root);
    let outcome = run(&script, &mut testbed, |config, observation| {
        let analysis = scoring::analyze(observation, Options { config: Some(config) });
        analysis.anomalies.kept().iter().map(found).collect()
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
