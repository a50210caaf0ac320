//! Campaigns whose network loses packets at random or has several paths, and whose tests have no other events.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::campaign::{campaign, findings};
use crate::run::{folder, in_folder};
use crate::seeds::seeds;

/// A target's traffic, oracles and objectives, with losses at random and no events.
fn with_losses(base: &str) -> String {
    format!(
        "base = {base:?}\n[network]\nloss-ppb = [1_000_000, 10_000_000, 50_000_000]\nlinks = {{ min = 1, max = 4 }}\n\
         loss-model = [\"per-bit\", \"per-packet\"]\nloss-packets = [\"all\", \"data\", \"nak\"]\n\
         loss-effect = [\"drop\", \"corrupt\"]\n[events]\nmax-entries = 0\n"
    )
}

/// The same with several paths between the hosts. Every packet that takes a path becomes an event, and a test has at most 4,096.
fn with_paths(base: &str) -> String {
    format!(
        "base = {base:?}\npacket-cap = 2_000\n[network]\npaths = {{ min = 2, max = 4 }}\npath-delay-ns = [1_000, 20_000]\n\
         path-rate-gbps = [0, 40]\nspray = [\"flow\", \"flowlet\", \"packet\", \"round-robin\"]\n\
         spray-packets = [\"all\", \"data\"]\n[events]\nmax-entries = 0\n"
    )
}

const NETWORKS: [fn(&str) -> String; 2] = [with_losses, with_paths];
const TARGETS: [&str; 5] = ["general", "retransmission", "timeouts", "counters", "noisy-neighbor"];

#[test]
fn findings_leave_with_explicit_events_and_replay() {
    let mut found = 0;
    for base in ["general", "timeouts", "noisy-neighbor"] {
        let (findings, wrong) = explicit_findings(base, with_losses, "60", 1);
        assert_eq!(wrong, [""; 0]);
        found += findings;
    }
    assert!(found >= 6, "{found}");
    let (found, wrong) = explicit_findings("general", with_paths, "40", 1);
    assert!(found >= 1 && wrong.is_empty(), "{found}, {wrong:#?}");
}

#[test]
#[ignore = "takes an hour; run by ci/long losses"]
fn findings_of_thirty_seeds_leave_with_explicit_events_and_replay() {
    let (mut found, mut wrong) = (0, Vec::new());
    for seed in seeds(1..=30) {
        for base in TARGETS {
            for network in NETWORKS {
                let (more, not) = explicit_findings(base, network, "60", seed);
                found += more;
                wrong.extend(not);
            }
        }
        println!("seed {seed}: {found} findings so far, {} not explicit or not replayed", wrong.len());
    }
    assert!(found > 0 && wrong.is_empty(), "{found}, {wrong:#?}");
}

/// The number of findings of a campaign, and those that leave with something random in the network although events can name all packets
/// that it touched, or do not replay.
fn explicit_findings(
    base: &str,
    network: fn(&str) -> String,
    executions: &str,
    seed: u64,
) -> (usize, Vec<String>) {
    let folder = folder(&[("network.toml", &network(base))]);
    let seed = seed.to_string();
    let args =
        ["./network.toml", "--nic", "cx4-lx", "--seed", &seed, "--executions", executions, "--out", "c"];
    let summary = campaign(folder.path(), &args);
    let wrong =
        not_explicit(folder.path(), &summary).into_iter().map(|one| format!("{base}, seed {seed}: {one}"));
    (findings(&summary).len(), wrong.collect())
}

/// Findings of the campaign `c` that leave with something random in the network although events can name all packets that it touched, and
/// what `replay` says if it does not reproduce all.
pub(crate) fn not_explicit(folder: &Path, summary: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for finding in findings(summary) {
        let path = folder.join("c").join(finding["path"].as_str().unwrap());
        let test = fs::read_to_string(path.join("reproducer.toml")).unwrap();
        let is_random = corpus::from_toml("reproducer.toml", &test).unwrap().network.moves_packets();
        if is_random && touched(&path) <= 4_096 {
            wrong.push(format!("{finding:#}\n{test}"));
        }
    }
    if !findings(summary).is_empty() {
        let replayed = in_folder(folder, &["replay", "c"]);
        if replayed.code != 0 {
            wrong.push(format!("{}{}", replayed.stdout, replayed.stderr));
        }
    }
    wrong
}

/// Packets that the network of a finding's reproducer loses or delays.
fn touched(finding: &Path) -> u64 {
    let document = in_folder(finding, &["run", "reproducer.toml", "--format", "json"]).json();
    document["event_count"].as_u64().unwrap()
}

#[test]
fn nothing_is_found_on_a_nic_that_conforms() {
    for network in NETWORKS {
        for base in TARGETS {
            let folder = folder(&[("network.toml", &network(base))]);
            let args = ["./network.toml", "--nic", "reference", "--seed", "1", "--executions", "60"];
            let summary = campaign(folder.path(), &[&args[..], &["--out", "c"]].concat());
            assert!(findings(&summary).is_empty(), "{base}: {summary:#}");
        }
    }
}
