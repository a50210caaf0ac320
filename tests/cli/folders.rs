//! `analyze` of result folders in the published tool's layout, and those that `run` writes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use corpus::{Physical, Role};

use crate::run::{self, Ran, data, in_folder, lumina_fuzz};

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

/// A test in the published tool's language: QPNs and PSNs from 0, PSNs of each message.
fn lumina_test(verb: &str, nics: [&str; 2], events: &str) -> String {
    let host = |name: &str, nic: &str, last: u8| {
        format!("{name}:\n  nic: {{type: {nic}, switch-port: {last}, ip-list: [10.0.0.{last}/24]}}\n")
    };
    format!(
        "local-workspace: /home/lab/lumina\nresult-path: /home/lab/results\naggregate-pcap-filename: all.pcap\n\
         {}{}traffic:\n  num-qps: 2\n  rdma-verb: {verb}\n  num-msgs-per-qp: 3\n  mtu: 1024\n  \
         message-size: 10240\n  tx-depth: 1\n  min-retransmit-timeout: 14\n  max-retransmit-retry: 7\n  \
         data-pkt-events: [{events}]\n",
        host("requester", nics[0], 1),
        host("responder", nics[1], 2),
    )
}

/// An entry of `switch_message_snapshot.yml`: its keys, and no others.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    psn_rcv: u32,
    psn_snd: u32,
    qpn_rcv: u32,
    qpn_snd: u32,
    ip_rcv: String,
    ip_snd: String,
    snd_sw_port: u32,
    rcv_sw_port: u32,
}

#[derive(Deserialize)]
struct State {
    counter: Ports,
}

#[derive(Deserialize)]
struct Ports {
    ingress: BTreeMap<u32, u64>,
    egress: BTreeMap<u32, u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct HostFile {
    #[serde(default)]
    port_counters: BTreeMap<String, u64>,
    hw_counters: BTreeMap<String, u64>,
    #[serde(default)]
    ethtool_counters: BTreeMap<String, u64>,
}

fn yaml<T: DeserializeOwned>(path: &Path) -> T {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", path.display()))
}

/// Mirror metadata of a packet, read from its bytes as the format describes.
#[derive(Debug)]
struct Mirrored {
    sequence: u64,
    time: u64,
    event: u8,
    ecn: u8,
    from: [u8; 4],
    opcode: u8,
    dest_qpn: u32,
    psn: u32,
}

impl Mirrored {
    /// Of an Ethernet, IPv4, UDP and BTH frame.
    fn of(frame: &[u8]) -> Self {
        let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        assert_eq!(number(&frame[12..14]), 0x0800, "IPv4");
        assert_eq!(frame[14], 0x45, "no options");
        assert_eq!(number(&frame[16..18]) as usize + 14, frame.len(), "whole frames");
        assert_eq!(frame[23], 17, "UDP");
        assert_eq!(number(&frame[36..38]), 4791, "RoCEv2");
        Self {
            sequence: number(&frame[6..12]),
            time: number(&frame[0..6]),
            event: frame[22],
            ecn: frame[15] & 3,
            from: frame[26..30].try_into().unwrap(),
            opcode: frame[42],
            dest_qpn: number(&frame[47..50]) as u32,
            psn: number(&frame[51..54]) as u32,
        }
    }

    /// Returns true if it carries data: a Send, a Write, or a Read's response (IBA vol. 1, table 38).
    fn is_data(&self) -> bool {
        matches!(self.opcode, 0x00..=0x0b | 0x0d..=0x10)
    }
}

/// The frames of a little-endian pcapng file: block type 6 is an enhanced packet block.
fn frames(path: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(path).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (mut at, mut frames) = (0, Vec::new());
    while at < bytes.len() {
        if word(at) == 6 {
            let (captured, original) = (word(at + 20), word(at + 24));
            assert_eq!(captured, original, "nothing is cut");
            frames.push(bytes[at + 28..at + 28 + captured].to_vec());
        }
        at += word(at + 4);
    }
    frames
}

/// The groups of a host's counters, by vendor.
const NVIDIA: [&[&str]; 3] = [
    &["port_rcv_packets", "port_xmit_packets"],
    &[
        "packet_seq_err",
        "out_of_sequence",
        "duplicate_request",
        "implied_nak_seq_err",
        "np_cnp_sent",
        "np_ecn_marked_roce_packets",
        "rp_cnp_handled",
        "rx_icrc_encapsulated",
        "local_ack_timeout_err",
    ],
    &["rx_discards_phy"],
];
const INTEL: [&[&str]; 3] = [&[], &["cnpSent", "cnpHandled", "RxECNMrkd"], &[]];

fn check_counters(root: &Path, host: &str, [ports, hw, ethtool]: [&[&str]; 3]) -> HostFile {
    let [start, finish] = ["start", "finish"]
        .map(|when| yaml::<HostFile>(&root.join(format!("rdma-result/{host}_counter_{when}.yml"))));
    for file in [&start, &finish] {
        for (names, group) in
            [(ports, &file.port_counters), (hw, &file.hw_counters), (ethtool, &file.ethtool_counters)]
        {
            let missing: Vec<_> = names.iter().filter(|name| !group.contains_key(**name)).collect();
            assert!(missing.is_empty(), "{host}: {missing:?}");
        }
    }
    assert!(start.hw_counters.iter().all(|(name, value)| finish.hw_counters[name] >= *value));
    let moved = |start: &BTreeMap<String, u64>, finish: BTreeMap<String, u64>| {
        finish.into_iter().map(|(name, value)| (name.clone(), value - start[&name])).collect()
    };
    HostFile {
        port_counters: moved(&start.port_counters, finish.port_counters),
        hw_counters: moved(&start.hw_counters, finish.hw_counters),
        ethtool_counters: moved(&start.ethtool_counters, finish.ethtool_counters),
    }
}

/// Runs a test of the published tool and holds the folder that it leaves to the published format, by its bytes.
fn check_folder(verb: &str, nics: [&str; 2], events: &str) -> (Vec<Mirrored>, [HostFile; 2], Value) {
    let folder = run::folder(&[("test.yml", &lumina_test(verb, nics, events))]);
    let ran = in_folder(folder.path(), &["run", "test.yml", "--out", "kept", "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let first = ran.json();
    let root = folder.path().join("kept");

    let packets: Vec<Mirrored> =
        frames(&root.join("pcap-result/trace.pcapng")).iter().map(|frame| Mirrored::of(frame)).collect();
    let sequence: Vec<u64> = packets.iter().map(|packet| packet.sequence).collect();
    assert_eq!(sequence, (1..=packets.len() as u64).collect::<Vec<_>>(), "from 1, one by one");
    assert!(packets.windows(2).all(|two| two[0].time <= two[1].time));
    for packet in &packets {
        assert!(packet.event <= 3, "{packet:?}: none, drop, ECN or bit error");
        assert_eq!(packet.ecn == 3, packet.event == 2, "{packet:?}: marked where the event is ECN");
    }

    let connections: Vec<Snapshot> = yaml(&root.join("switch-result/switch_message_snapshot.yml"));
    assert_eq!(connections.len(), 2);
    for one in &connections {
        // snd is who sends data.
        let (snd, rcv) = if verb == "read" { ("10.0.0.2", "10.0.0.1") } else { ("10.0.0.1", "10.0.0.2") };
        assert_eq!((&*one.ip_snd, &*one.ip_rcv), (snd, rcv));
        let ports = BTreeSet::from([one.snd_sw_port, one.rcv_sw_port]);
        assert_eq!(ports.len(), 2);
        let is_data = |packet: &&Mirrored| packet.is_data() && packet.dest_qpn == one.qpn_rcv;
        let data = packets.iter().find(is_data).unwrap();
        assert_eq!(data.from[3].to_string(), snd.rsplit('.').next().unwrap());
        // A Read's responses carry the PSNs of the requester, who receives the data.
        let initial = if verb == "read" { one.psn_rcv } else { one.psn_snd };
        assert_eq!(data.psn, initial);
        assert!(packets.iter().any(|packet| !packet.is_data() && packet.dest_qpn == one.qpn_snd));
    }

    let State { counter: Ports { ingress, egress } } =
        yaml(&root.join("switch-result/switch_state_snapshot.yml"));
    assert_eq!((ingress.len(), egress.len()), (4, 4));
    let hosts = [connections[0].snd_sw_port, connections[0].rcv_sw_port];
    let received: u64 = hosts.iter().map(|port| ingress[port]).sum();
    let mirrored: u64 = egress.iter().filter(|(port, _)| !hosts.contains(port)).map(|(_, count)| count).sum();
    assert_eq!([received, mirrored], [packets.len() as u64; 2]);

    let of = |nic: &str| if nic == "E810" { INTEL } else { NVIDIA };
    let moved =
        [check_counters(&root, "requester", of(nics[0])), check_counters(&root, "responder", of(nics[1]))];

    // The test comes along, in its own language and in ours.
    // What the test does not say of its hosts has a placeholder there.
    let test = |path: &Path| {
        let mut config = corpus::load(path).unwrap().config;
        for role in Role::ALL {
            config.host_mut(role).physical = Physical::default();
        }
        config
    };
    assert_eq!(test(&root.join("lumina.yml")), test(&folder.path().join("test.yml")));
    assert!(root.join("config.toml").is_file());

    let analysed = in_folder(&root, &["analyze", ".", "--format", "json"]);
    assert_eq!(analysed.code, 0, "{}", analysed.stderr);
    let again = analysed.json();
    assert_eq!(again["input"]["missing_files"], serde_json::json!([]));
    for part in
        ["retransmissions", "anomalies", "counters", "events", "messages", "message_times", "connections"]
    {
        assert!(!first[part].is_null(), "{part}");
        assert_eq!(again[part], first[part], "{part}");
    }
    (packets, moved, first)
}

fn with_event(packets: &[Mirrored], event: u8) -> usize {
    packets.iter().filter(|packet| packet.event == event).count()
}

#[test]
fn a_write_that_run_keeps_is_complete() {
    let (packets, [requester, responder], document) = check_folder("write", ["CX5", "CX5"], "");
    assert_eq!(
        packets.iter().filter(|packet| packet.is_data()).count(),
        60,
        "two QPs, three messages of ten packets"
    );
    assert_eq!(document["retransmissions"], serde_json::json!([]));
    let sent = |host: u8| packets.iter().filter(|packet| packet.from[3] == host).count() as u64;
    assert_eq!(requester.port_counters["port_xmit_packets"], sent(1));
    assert_eq!(responder.port_counters["port_xmit_packets"], sent(2));
    assert_eq!(responder.ethtool_counters["rx_discards_phy"], 0);
}

#[test]
fn a_send_that_run_keeps_is_complete() {
    let (packets, _, _) = check_folder("send", ["CX6", "CX6"], "{qpn: 1, psn: 9, type: bit-error, iter: 1}");
    assert_eq!(with_event(&packets, 3), 3, "the tail of each message");
}

#[test]
fn a_read_with_drops_that_run_keeps_is_complete() {
    let (packets, [requester, _], document) =
        check_folder("read", ["CX4", "CX4"], "{qpn: 0, psn: 4, type: drop, iter: 1}");
    assert_eq!(with_event(&packets, 1), 3, "the fifth packet of each message");
    assert_eq!(document["retransmissions"].as_array().unwrap().len(), 3);
    assert_eq!(requester.hw_counters["implied_nak_seq_err"], 0, "as published");
}

#[test]
fn a_write_with_ecn_that_run_keeps_is_complete() {
    for nics in [["CX5", "CX5"], ["E810", "E810"]] {
        let (packets, [_, responder], _) =
            check_folder("write", nics, "{qpn: 0, psn: 4, type: ecn, iter: 1}");
        assert_eq!(with_event(&packets, 2), 3);
        let marked = ["np_ecn_marked_roce_packets", "RxECNMrkd"];
        assert_eq!(marked.iter().find_map(|name| responder.hw_counters.get(*name)), Some(&3));
        assert!(packets.iter().any(|packet| packet.opcode == 0x81 && packet.psn == 0), "CNPs");
    }
}
