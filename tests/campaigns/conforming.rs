//! No findings on NICs that conform.

use std::fs;
use std::path::Path;

use crate::campaign::{campaign, findings};
use crate::profiles;
use crate::run::folder;

/// `reference` and three random conforming profiles, as files of a folder.
fn nics(folder: &Path) -> [String; 4] {
    let drawn = [1, 2, 3].map(|seed| {
        let name = format!("./conforming-{seed}.toml");
        let profile = profiles::draw(seed, "both");
        fs::write(folder.join(&name), profile.to_toml()).unwrap();
        name
    });
    let [first, second, third] = drawn;
    ["reference".to_owned(), first, second, third]
}

const TARGETS: [&str; 3] = ["general", "noisy-neighbor", "flow-table"];

/// Campaigns of so many executions with one seed; what they found where nothing is to be found.
fn false_alarms(targets: &[&str], seed: &str, executions: u64, strategies: &[&str]) -> Vec<String> {
    let folder = folder(&[]);
    let nics = nics(folder.path());
    let limit = executions.to_string();
    let mut alarms = Vec::new();
    for strategy in strategies {
        for nic in &nics {
            for target in targets {
                let out = format!("{target}-{strategy}-{}", nic.trim_matches(['.', '/']));
                let args = [*target, "--nic", nic, "--strategy", strategy, "--seed", seed];
                let args = [&args[..], &["--executions", &limit, "--out", &out]].concat();
                let summary = campaign(folder.path(), &args);
                assert_eq!((&summary["executions"], &summary["invalid"]), (&executions.into(), &0.into()));
                println!("{target} on {nic}, {strategy}, seed {seed}: {} findings", findings(&summary).len());
                for finding in findings(&summary) {
                    let path = folder.path().join(&out).join(finding["path"].as_str().unwrap());
                    let test = fs::read_to_string(path.join("reproducer.toml")).unwrap();
                    alarms.push(format!("{target} on {nic}, {strategy}, seed {seed}: {finding:#}\n{test}"));
                }
            }
        }
    }
    alarms
}

#[test]
fn nothing_is_found() {
    let alarms = false_alarms(&TARGETS, "1", 100, &["adaptive", "genetic"]);
    assert!(alarms.is_empty(), "{}", alarms.join("\n\n"));
}

fn long_campaigns(target: &str) {
    let alarms = false_alarms(&[target], "2", 20_000, &["adaptive", "genetic", "random", "annealing"]);
    assert!(alarms.is_empty(), "{}", alarms.join("\n\n"));
}

#[test]
#[ignore = "takes minutes: ci/long"]
fn nothing_is_found_in_long_campaigns() {
    long_campaigns("general");
}

#[test]
#[ignore = "takes minutes: ci/long"]
fn nothing_is_found_in_long_campaigns_with_neighbors() {
    long_campaigns("noisy-neighbor");
}

#[test]
#[ignore = "takes minutes: ci/long"]
fn nothing_is_found_in_long_campaigns_with_flow_tables() {
    long_campaigns("flow-table");
}
