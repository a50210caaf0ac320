//! Campaigns of the target `corruption`: faults of loss recovery are found and named, and their tests say which packets are lost.

use std::ops::RangeInclusive;

use serde_json::Value;

use crate::campaign::{campaign, findings};
use crate::losses::not_explicit;
use crate::run::folder;
use crate::seeds::seeds;

/// Faults of a NIC, and the rule that each breaks.
const FAULTS: [(&str, &str); 4] = [
    ("nak-suppressed = true", "nak-missing"),
    ("ack-missing-every = 3", "ack-missing"),
    ("implied-nak-ignored = true", "implied-nak-missing"),
    ("nak-copy-spends-retry = true", "mitigation-harms"),
];

/// What is wrong with campaigns on NICs with these faults.
fn wrong(seeds: RangeInclusive<u64>, executions: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for seed in seeds {
        for (fault, rule) in FAULTS {
            let folder = folder(&[("nic.toml", &format!("[quirks]\n{fault}\n"))]);
            let seed = seed.to_string();
            let args = ["corruption", "--nic", "./nic.toml", "--seed", &seed, "--executions", executions];
            let summary = campaign(folder.path(), &[&args[..], &["--out", "c"]].concat());
            let signature = |finding: &Value| finding["signature"].as_str().unwrap().to_owned();
            let signatures: Vec<String> = findings(&summary).iter().map(signature).collect();
            if !signatures.iter().any(|one| one.contains(&format!("/{rule}"))) {
                wrong.push(format!("{fault}, seed {seed}: {signatures:?}"));
            }
            let not_explicit = not_explicit(folder.path(), &summary).into_iter();
            wrong.extend(not_explicit.map(|one| format!("{fault}, seed {seed}: {one}")));
        }
    }
    wrong
}

#[test]
fn faults_of_recovery_are_named_by_their_rules_and_leave_with_explicit_losses() {
    let wrong = wrong(1..=1, "80");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "takes minutes; run by ci/long corruption"]
fn faults_of_recovery_are_named_with_thirty_seeds() {
    let wrong = wrong(seeds(1..=30), "160");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_is_found_on_a_nic_that_conforms() {
    let folder = folder(&[]);
    let args = ["corruption", "--nic", "reference", "--seed", "1", "--executions", "500", "--out", "c"];
    let summary = campaign(folder.path(), &args);
    assert!(findings(&summary).is_empty(), "{summary:#}");
}
