//! Campaigns whose network loses packets at random, and whose tests have no other events.

use std::fs;

use crate::campaign::{campaign, findings};
use crate::run::{folder, in_folder};

/// A target's traffic, oracles and objectives, with losses at random and no events.
fn with_losses(base: &str) -> String {
    format!(
        "base = {base:?}\n[network]\nloss-ppb = [1_000_000, 10_000_000, 50_000_000]\nlinks = {{ min = 1, max = 4 }}\n\
         loss-model = [\"per-bit\", \"per-packet\"]\nloss-packets = [\"all\", \"data\", \"nak\"]\n\
         loss-effect = [\"drop\", \"corrupt\"]\n[events]\nmax-entries = 0\n"
    )
}

const TARGETS: [&str; 5] = ["general", "retransmission", "timeouts", "counters", "noisy-neighbor"];

#[test]
fn findings_leave_with_explicit_events_and_replay() {
    let mut found = 0;
    for base in TARGETS {
        let folder = folder(&[("lossy.toml", &with_losses(base))]);
        let args = ["./lossy.toml", "--nic", "cx4-lx", "--seed", "1", "--executions", "150", "--out", "c"];
        let summary = campaign(folder.path(), &args);
        for finding in findings(&summary) {
            let path = folder.path().join("c").join(finding["path"].as_str().unwrap());
            let test = fs::read_to_string(path.join("reproducer.toml")).unwrap();
            assert!(!test.contains("[network]") && test.contains("[[event]]"), "{base}: {finding:#}\n{test}");
            found += 1;
        }
        if findings(&summary).is_empty() {
            continue;
        }
        let replayed = in_folder(folder.path(), &["replay", "c"]);
        assert_eq!(replayed.code, 0, "{base}: {}{}", replayed.stdout, replayed.stderr);
    }
    assert!(found >= 10, "{found}");
}

#[test]
fn nothing_is_found_on_a_nic_that_conforms() {
    for base in TARGETS {
        let folder = folder(&[("lossy.toml", &with_losses(base))]);
        let args = ["./lossy.toml", "--nic", "reference", "--seed", "1", "--executions", "400", "--out", "c"];
        let summary = campaign(folder.path(), &args);
        assert!(findings(&summary).is_empty(), "{base}: {summary:#}");
    }
}
