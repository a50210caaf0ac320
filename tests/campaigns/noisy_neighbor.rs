//! The noisy neighbour of Lumina §6.2.2, found by the search and brought down to its threshold.

use std::fs;
use std::path::Path;

use corpus::{TestConfig, Verb};
use serde_json::Value;

use crate::campaign::{campaign, findings};
use crate::run::{folder, in_folder};

/// Runs the campaign; the noisy-neighbor finding that lost packets, and its minimised test.
fn noisy_neighbor(folder: &Path, nic: &str) -> (Value, TestConfig) {
    let args = ["noisy-neighbor", "--nic", nic, "--seed", "1", "--executions", "2000", "--out", "c"];
    let summary = campaign(folder, &args);
    assert_eq!(summary["executions"], 2000);
    let finding = findings(&summary)
        .iter()
        .find(|finding| finding["signature"].as_str().unwrap().starts_with("noisy-neighbor/requester/"))
        .or_else(|| findings(&summary).iter().find(|finding| finding["kind"] == "noisy-neighbor"))
        .unwrap_or_else(|| panic!("no noisy neighbour in {summary:#}"))
        .clone();
    assert_eq!(finding["minimized"], "full");
    let path = folder.join("c").join(finding["path"].as_str().unwrap());
    let config = corpus::load(path.join("reproducer.toml")).unwrap().config;
    let document = fs::read_to_string(path.join("finding.json")).unwrap();
    (serde_json::from_str(&document).unwrap(), config)
}

/// Connections that an event of the test names.
fn with_events(config: &TestConfig) -> usize {
    let connections = config.traffic.load.connections();
    (1..=connections).filter(|qpn| config.events.iter().any(|event| event.connections.contains(*qpn))).count()
}

fn profile(fields: &str) -> String {
    format!("base = \"cx4-lx\"\n[slow-path]\n{fields}\n")
}

#[test]
fn is_found_minimised_and_reproduced() {
    let folder = folder(&[]);
    let (document, config) = noisy_neighbor(folder.path(), "cx4-lx");
    assert_eq!(with_events(&config), 11, "one more than cx4-lx has contexts:\n{config}");
    let evidence = document["anomaly"]["evidence"].to_string();
    assert!(evidence.contains("rx_discards_phy"), "{evidence}");
    assert!(evidence.contains("innocent"), "{evidence}");

    let ran = in_folder(folder.path(), &["replay", "c"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.lines().all(|line| line.starts_with("reproduced ")), "{}", ran.stdout);
    let ran = in_folder(folder.path(), &["replay", "c", "--nic", "reference", "--format", "json"]);
    assert_eq!(ran.code, 4, "{}", ran.stdout);
    for finding in ran.json()["findings"].as_array().unwrap() {
        assert_eq!(finding["reproduced"], false, "{finding}");
    }
}

#[test]
fn shows_the_threshold_of_each_profile() {
    for (fields, threshold, verb) in [
        ("contexts = 5", 5, Verb::Read),
        ("contexts = 20", 20, Verb::Read),
        // Writes of different connections are in recovery at once where they are sent at once, and not one burst after
        // the other.
        (
            "contexts = 10\nverbs = [\"write\"]\n[transmit]\nburst = 1\n\
             [retransmission.nack-generation-ns]\nwrite = 150_000",
            10,
            Verb::Write,
        ),
    ] {
        let folder = folder(&[("nic.toml", &profile(fields))]);
        let (_, config) = noisy_neighbor(folder.path(), "./nic.toml");
        assert_eq!(with_events(&config), threshold + 1, "{fields}:\n{config}");
        let load = config.traffic.load;
        let qpns = 1..=load.connections();
        assert!(
            qpns.filter(|qpn| config.events.iter().any(|event| event.connections.contains(*qpn)))
                .all(|qpn| load.carries(qpn, config.traffic.num_msgs_per_qp, verb)),
            "{fields}:\n{config}"
        );
    }
}
