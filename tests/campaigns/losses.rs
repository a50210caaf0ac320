//! Campaigns whose network loses packets at random or has several paths, and whose tests have no other events.

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

/// The same with several paths between the hosts.
fn with_paths(base: &str) -> String {
    format!(
        "base = {base:?}\n[network]\npaths = {{ min = 2, max = 4 }}\npath-delay-ns = [1_000, 20_000]\n\
         path-rate-gbps = [0, 40]\nspray = [\"flow\", \"flowlet\", \"packet\", \"round-robin\"]\n\
         spray-packets = [\"all\", \"data\"]\n[events]\nmax-entries = 0\n"
    )
}

const NETWORKS: [fn(&str) -> String; 2] = [with_losses, with_paths];
const TARGETS: [&str; 5] = ["general", "retransmission", "timeouts", "counters", "noisy-neighbor"];

#[test]
fn findings_leave_with_explicit_events_and_replay() {
    let found: usize = TARGETS.map(|base| explicit_findings(base, with_losses, "60")).iter().sum();
    assert!(found >= 10, "{found}");
    // Every packet that takes a path becomes an event.
    assert!(explicit_findings("general", with_paths, "40") >= 1);
}

/// Findings of a campaign; each leaves with events in place of what the network did at random, and replays.
fn explicit_findings(base: &str, network: fn(&str) -> String, executions: &str) -> usize {
    let folder = folder(&[("network.toml", &network(base))]);
    let args = ["./network.toml", "--nic", "cx4-lx", "--seed", "1", "--executions", executions, "--out", "c"];
    let summary = campaign(folder.path(), &args);
    for finding in findings(&summary) {
        let path = folder.path().join("c").join(finding["path"].as_str().unwrap());
        let test = fs::read_to_string(path.join("reproducer.toml")).unwrap();
        assert!(!test.contains("[network]") && test.contains("[[event]]"), "{base}: {finding:#}\n{test}");
    }
    if !findings(&summary).is_empty() {
        let replayed = in_folder(folder.path(), &["replay", "c"]);
        assert_eq!(replayed.code, 0, "{base}: {}{}", replayed.stdout, replayed.stderr);
    }
    findings(&summary).len()
}

#[test]
fn nothing_is_found_on_a_nic_that_conforms() {
    for network in NETWORKS {
        for base in TARGETS {
            let folder = folder(&[("network.toml", &network(base))]);
            let args = ["./network.toml", "--nic", "reference", "--seed", "1", "--executions", "150"];
            let summary = campaign(folder.path(), &[&args[..], &["--out", "c"]].concat());
            assert!(findings(&summary).is_empty(), "{base}: {summary:#}");
        }
    }
}
