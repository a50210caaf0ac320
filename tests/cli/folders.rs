//! `analyze` of result folders in the published tool's layout.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::run::{Ran, data, lumina_fuzz};

/// A folder around `rxe_write_mid`, with the counters that moved in that run.
fn folder(root: &Path) {
    for sub in ["pcap-result", "switch-result", "rdma-result"] {
        fs::create_dir_all(root.join(sub)).unwrap();
    }
    fs::copy(data().join("rxe_write_mid.pcap"), root.join("pcap-result/mirror.pcap")).unwrap();
    let connection = "- {psn_rcv: 4242, psn_snd: 1000, qpn_rcv: 17, qpn_snd: 17, ip_rcv: 10.0.0.2, \
                      ip_snd: 10.0.0.1, snd_sw_port: 1, rcv_sw_port: 2}\n";
    fs::write(root.join("switch-result/switch_message_snapshot.yml"), connection).unwrap();
    switch_counters(root, 196, 196);
    counters(
        root,
        "requester",
        "completer_retry_err: 0, rcvd_seq_err: 0",
        "completer_retry_err: 1, rcvd_seq_err: 1",
    );
    counters(
        root,
        "responder",
        "out_of_seq_request: 7, duplicate_request: 3",
        "out_of_seq_request: 8, duplicate_request: 3",
    );
}

fn switch_counters(root: &Path, received: u64, mirrored: u64) {
    let text = format!(
        "counter:\n  ingress: {{1: {}, 2: 11, 3: 0, 4: 0}}\n  egress: {{1: 11, 2: 185, 3: {}, 4: 100}}\n",
        received - 11,
        mirrored - 100
    );
    fs::write(root.join("switch-result/switch_state_snapshot.yml"), text).unwrap();
}

fn counters(root: &Path, host: &str, start: &str, finish: &str) {
    for (moment, values) in [("start", start), ("finish", finish)] {
        let text = format!(
            "port-counters: {{}}\nhw-counters: {{{values}}}\nethtool-counters: {{rx_discards_phy: 0}}\n"
        );
        fs::write(root.join(format!("rdma-result/{host}_counter_{moment}.yml")), text).unwrap();
    }
}

fn analyze(root: &Path) -> Ran {
    lumina_fuzz(["analyze", root.to_str().unwrap(), "--format", "json"])
}

fn verdicts(document: &Value) -> Vec<&str> {
    document["integrity"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["verdict"].as_str().unwrap())
        .collect()
}

#[test]
fn a_complete_folder_passes_all_conditions_and_its_counters_agree() {
    let root = tempfile::tempdir().unwrap();
    folder(root.path());
    let ran = analyze(root.path());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document = ran.json();
    assert_eq!(verdicts(&document), ["pass"; 4]);
    assert_eq!(document["connections"][0]["certainty"], "metadata");
    assert_eq!(document["connections"][0]["responder"]["initial_psn"], 4242);
    assert_eq!(document["counters"]["requester"]["compared"].as_array().unwrap().len(), 2);
    assert_eq!(document["anomalies"], serde_json::json!([]));
}

#[test]
fn counts_that_differ_make_the_trace_invalid() {
    for (received, mirrored, expected) in
        [(196, 197, ["pass", "pass", "fail", "pass"]), (200, 196, ["pass", "pass", "pass", "fail"])]
    {
        let root = tempfile::tempdir().unwrap();
        folder(root.path());
        switch_counters(root.path(), received, mirrored);
        let ran = analyze(root.path());
        assert_eq!(ran.code, 5);
        assert_eq!(verdicts(&ran.json()), expected);
    }
}

#[test]
fn a_counter_that_stays_is_reported_by_name() {
    let root = tempfile::tempdir().unwrap();
    folder(root.path());
    counters(root.path(), "responder", "out_of_seq_request: 7", "out_of_seq_request: 7");
    let document = analyze(root.path()).json();
    let anomaly = &document["anomalies"][0];
    assert_eq!(anomaly["signature"], "counter-mismatch/responder/counter-differs/out_of_seq_request");
    assert_eq!(
        anomaly["evidence"]["counters"],
        serde_json::json!([{"name": "out_of_seq_request", "moved": 0, "expected": 1}])
    );
}

/// Completions give message completion times and goodput.
#[test]
fn completions_give_times_and_goodput() {
    let root = tempfile::tempdir().unwrap();
    folder(root.path());
    let log = "- {connection: 1, message: 1, posted-ns: 0, completed-ns: 8000, bytes: 10240, status: success}\n\
               - {connection: 1, message: 2, posted-ns: 8000, completed-ns: 20480, bytes: 10240, status: success}\n";
    fs::write(root.path().join("rdma-result/completions.yml"), log).unwrap();
    let document = analyze(root.path()).json();
    let qp = &document["messages"][0];
    assert_eq!(
        (&qp["completed"], &qp["mean_ns"], &qp["slowest_message"]),
        (&2.into(), &10240.into(), &2.into())
    );
    assert_eq!(qp["goodput_bps"], 8e9);
    assert_eq!(
        document["message_times"][1],
        serde_json::json!({"connection": 1, "message": 2, "completion_time_ns": 12480, "status": "success"})
    );
}

#[test]
fn a_broken_file_is_named_with_its_line() {
    let root = tempfile::tempdir().unwrap();
    folder(root.path());
    fs::write(
        root.path().join("switch-result/switch_state_snapshot.yml"),
        "counter:\n  ingress: [1, 2]\n  egress: {}\n",
    )
    .unwrap();
    let ran = analyze(root.path());
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("switch_state_snapshot.yml") && ran.stderr.contains("line 2"),
        "{}",
        ran.stderr
    );
}

/// A folder with one numbered repetition is that repetition; with several, one has to be named.
#[test]
fn repetitions() {
    let root = tempfile::tempdir().unwrap();
    folder(&root.path().join("0"));
    assert_eq!(analyze(root.path()).code, 0);
    folder(&root.path().join("1"));
    let ran = analyze(root.path());
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("2 repetitions; name one of them: 0, 1"), "{}", ran.stderr);
}
