//! Every packet script below this folder, on the simulated testbed: a test each, named by its path.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic where they fail")]

mod files;

use std::fs;
use std::path::{Path, PathBuf};

use dumper::script::{Found, Script};
use executor::script::{Outcome, run};
use executor::sim::Sim;
use libtest_mimic::{Arguments, Failed, Trial};
use scoring::Options;

use files::{root, scripts};

/// Runs a script; or its errors.
fn outcome(path: &Path) -> Result<Outcome, String> {
    let text = fs::read_to_string(path).unwrap();
    let root = root();
    let name = Path::new("tests/scripts").join(path.strip_prefix(&root).unwrap());
    let script: Script =
        dumper::script::parse(&name.display().to_string(), &text).map_err(|errors| errors.to_string())?;
    // Paths in a script are relative to it, and so to the project's folder with its name.
    let mut testbed = Sim::new(&root.join("../..")).checked();
    let outcome = run(&script, &mut testbed, |config, observation| {
        Found::from(&scoring::analyze(observation, Options { config: Some(config) }))
    });
    outcome.map_err(|error| error.to_string())
}

/// Fails with the errors of a script, or its differences from what happened.
fn holds(path: &Path) -> Result<(), Failed> {
    let mismatches: Vec<String> = outcome(path)?.mismatches.iter().map(ToString::to_string).collect();
    if mismatches.is_empty() { Ok(()) } else { Err(mismatches.join("\n\n").into()) }
}

/// Name of a script: feature and file, as in `loss/last-packet`.
fn name_of(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().with_extension("").display().to_string()
}

fn main() {
    let of_script = |path: PathBuf| Trial::test(name_of(&path), move || holds(&path));
    let mut trials: Vec<Trial> = scripts().into_iter().map(of_script).collect();
    let of_all: [(&str, fn()); 2] = [
        ("scripts_give_the_packets_that_they_gave", scripts_give_the_packets_that_they_gave),
        ("every_script_cites_its_rule", every_script_cites_its_rule),
    ];
    trials.extend(of_all.map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Digests of the packets of all scripts: a change of structure changes none of them.
fn scripts_give_the_packets_that_they_gave() {
    let line = |path: &PathBuf| {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let digest = outcome(path).map(|outcome| outcome.observation.trace.digest().to_string());
        format!("{name} {:.16}\n", digest.unwrap_or_else(|error| error))
    };
    let mut lines: Vec<String> = scripts().iter().map(line).collect();
    lines.sort_unstable();
    insta::assert_snapshot!(lines.concat());
}

/// A script without its rule says what happens, and not what has to.
fn every_script_cites_its_rule() {
    let scripts = scripts();
    assert!(scripts.len() >= 60, "{} scripts", scripts.len());
    for path in scripts {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.lines().any(|line| line.starts_with("# Rule: ")), "{} cites no rule", path.display());
    }
}
