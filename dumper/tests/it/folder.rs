//! Result folders in the layout of the published tool.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use dumper::capture::{CaptureFormat, ReadOptions};
use dumper::integrity::{self, Verdict};
use dumper::observation::folder::{self, Folder, FolderError};
use dumper::observation::{Completion, CompletionStatus};
use dumper::trace::Origin;
use dumper::wire::Opcode;
use dumper::{Connection, Endpoint, Event, Nanos, Psn, Trace};
use tempfile::TempDir;

use crate::support::{flow, push, written};

const REQUESTER: (&str, u32, u32) = ("10.0.0.1", 0x11, 1000);
const RESPONDER: (&str, u32, u32) = ("10.0.0.2", 0x12, 77);

/// Six packets of a Write, or of a Read.
fn trace_of(verb: &str) -> Trace {
    let mut trace = Trace::new(Origin::Mirror);
    let there = trace.add_flow(flow(REQUESTER.0, RESPONDER.0, RESPONDER.1));
    let back = trace.add_flow(flow(RESPONDER.0, REQUESTER.0, REQUESTER.1));
    let packets = match verb {
        "write" => [
            (there, Opcode::WriteFirst),
            (there, Opcode::WriteMiddle),
            (there, Opcode::WriteLast),
            (back, Opcode::Acknowledge),
            (there, Opcode::WriteOnly),
            (back, Opcode::Acknowledge),
        ],
        _ => [
            (there, Opcode::ReadRequest),
            (back, Opcode::ReadResponseFirst),
            (back, Opcode::ReadResponseMiddle),
            (back, Opcode::ReadResponseLast),
            (there, Opcode::ReadRequest),
            (back, Opcode::ReadResponseOnly),
        ],
    };
    for (sequence, (flow, opcode)) in (1..).zip(packets) {
        push(&mut trace, flow, sequence, opcode, Event::None);
    }
    trace
}

/// One repetition as the published tool leaves it. `snd` is the sender of data: the responder of a Read.
fn repetition(root: &Path, verb: &str) {
    for folder in ["pcap-result", "switch-result", "rdma-result"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    let capture = written(&trace_of(verb), CaptureFormat::PcapMicros, Some(128));
    fs::write(root.join("pcap-result/aggregate.pcap"), capture).unwrap();
    let (snd, rcv) = if verb == "write" { (REQUESTER, RESPONDER) } else { (RESPONDER, REQUESTER) };
    let messages = format!(
        "- {{psn_rcv: {}, psn_snd: {}, qpn_rcv: {}, qpn_snd: {}, ip_rcv: {}, ip_snd: {},\n   snd_sw_port: 188, \
         rcv_sw_port: 180}}\n",
        rcv.2, snd.2, rcv.1, snd.1, rcv.0, snd.0
    );
    fs::write(root.join("switch-result/switch_message_snapshot.yml"), messages).unwrap();
    let state = "counter:\n  egress: {180: 3, 188: 3, 60: 4, 61: 2}\n  ingress: {180: 2, 188: 4, 60: 0, 61: 0}\n\
                 event-table: []\n";
    fs::write(root.join("switch-result/switch_state_snapshot.yml"), state).unwrap();
    for (role, moved) in [("requester", 5), ("responder", 6)] {
        for (when, add) in [("start", 0), ("finish", moved)] {
            let counters = format!(
                "port-counters:\n  port_rcv_packets: {}\n  port_xmit_packets: {}\nhw-counters:\n  \
                 packet_seq_err: {}\n  out_of_sequence: 3\nethtool-counters:\n  rx_discards_phy: 0\n",
                100 + add,
                200 + 2 * add,
                7 + add,
            );
            fs::write(root.join(format!("rdma-result/{role}_counter_{when}.yml")), counters).unwrap();
        }
    }
}

fn with(verb: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    repetition(folder.path(), verb);
    folder
}

fn read(path: &Path) -> Result<Folder, FolderError> {
    folder::read(path, ReadOptions::default(), &mut |_| ())
}

fn change(folder: &TempDir, file: &str, contents: &str) -> PathBuf {
    let path = folder.path().join(file);
    fs::write(&path, contents).unwrap();
    path
}

#[test]
fn both_verbs_have_the_same_requester() {
    let end = |(ip, qpn, psn): (&str, u32, u32)| Endpoint {
        ip: ip.parse().unwrap(),
        qpn: Some(qpn),
        initial_psn: Some(Psn::new(psn)),
    };
    for verb in ["write", "read"] {
        let folder = read(with(verb).path()).unwrap();
        let expected = [Connection { requester: end(REQUESTER), responder: end(RESPONDER) }];
        assert_eq!(folder.observation.connections, expected, "{verb}");
        assert_eq!(folder.observation.trace, trace_of(verb), "{verb}");
    }
}

#[test]
fn counters_of_switch_and_hosts() {
    let repetition = with("write");
    let folder = read(repetition.path()).unwrap();
    let observation = &folder.observation;
    let switch = observation.switch.as_ref().unwrap();
    assert_eq!((switch.received(), switch.mirrored()), (6, 6));
    let verdicts = integrity::check(&observation.trace, Some(switch)).conditions.map(|c| c.verdict);
    assert_eq!(verdicts, [Verdict::Pass; 4]);
    let requester = observation.requester.as_ref().unwrap();
    assert_eq!(requester.moved("packet_seq_err"), Some(5));
    assert_eq!(requester.moved("port_xmit_packets"), Some(10));
    assert_eq!(requester.moved("rx_discards_phy"), Some(0));
    assert_eq!(requester.moved("np_cnp_sent"), None);
    assert_eq!(observation.responder.as_ref().unwrap().moved("packet_seq_err"), Some(6));
    assert_eq!(
        requester.names().collect::<Vec<_>>(),
        ["out_of_sequence", "packet_seq_err", "port_rcv_packets", "port_xmit_packets", "rx_discards_phy"]
    );
    let ours =
        ["completions", "deliveries"].map(|name| repetition.path().join(format!("rdma-result/{name}.yml")));
    assert_eq!(folder.missing, ours, "ours, and optional");
    assert_eq!(folder.captures, [repetition.path().join("pcap-result/aggregate.pcap")]);
}

/// Intel's files have no port counters.
#[test]
fn a_group_of_counters_may_be_missing() {
    let folder = with("write");
    for when in ["start", "finish"] {
        let text =
            format!("hw-counters: {{cnpSent: {}, RxECNMrkd: 4}}\n", if when == "start" { 1 } else { 9 });
        change(&folder, &format!("rdma-result/requester_counter_{when}.yml"), &text);
    }
    let requester = read(folder.path()).unwrap().observation.requester.unwrap();
    assert_eq!((requester.moved("cnpSent"), requester.moved("RxECNMrkd")), (Some(8), Some(0)));
}

#[test]
fn a_counter_that_went_back_moved_by_an_unknown_amount() {
    let folder = with("write");
    change(&folder, "rdma-result/requester_counter_finish.yml", "hw-counters: {packet_seq_err: 6}\n");
    let requester = read(folder.path()).unwrap().observation.requester.unwrap();
    assert_eq!(requester.moved("packet_seq_err"), None);
}

#[test]
fn all_but_the_capture_may_be_missing() {
    let folder = with("write");
    for gone in ["switch-result", "rdma-result"] {
        fs::remove_dir_all(folder.path().join(gone)).unwrap();
    }
    let read = read(folder.path()).unwrap();
    let observation = &read.observation;
    assert_eq!(observation.trace, trace_of("write"));
    assert_eq!((&observation.requester, &observation.responder, &observation.switch), (&None, &None, &None));
    assert_eq!(observation.connections, []);
    assert_eq!(read.missing.len(), 8);
}

#[test]
fn one_missing_file_makes_only_its_own_facts_unknown() {
    for (gone, left) in [
        // Without the connections the hosts' ports are unknown.
        ("switch-result/switch_message_snapshot.yml", [false, false, true, true]),
        ("switch-result/switch_state_snapshot.yml", [true, false, true, true]),
        ("rdma-result/requester_counter_start.yml", [true, true, false, true]),
        ("rdma-result/responder_counter_finish.yml", [true, true, true, false]),
    ] {
        let folder = with("read");
        fs::remove_file(folder.path().join(gone)).unwrap();
        let read = read(folder.path()).unwrap();
        let observation = &read.observation;
        let seen = [
            !observation.connections.is_empty(),
            observation.switch.is_some(),
            observation.requester.is_some(),
            observation.responder.is_some(),
        ];
        assert_eq!(seen, left, "{gone}");
        assert!(read.missing.contains(&folder.path().join(gone)));
    }
}

#[test]
fn a_single_repetition_is_found_and_several_are_listed() {
    let result = tempfile::tempdir().unwrap();
    repetition(&result.path().join("0"), "write");
    assert_eq!(read(result.path()).unwrap().observation.trace, trace_of("write"));
    for number in [10, 2, 1] {
        repetition(&result.path().join(number.to_string()), "write");
    }
    let Err(FolderError::SeveralRepetitions { repetitions, .. }) = read(result.path()) else {
        panic!("several")
    };
    assert_eq!(repetitions, ["0", "1", "2", "10"]);
    assert!(read(&result.path().join("2")).is_ok());
}

#[test]
fn several_dumpers_captures_make_one_trace() {
    let folder = with("write");
    let trace = trace_of("write");
    let captures = folder.path().join("pcap-result");
    fs::remove_file(captures.join("aggregate.pcap")).unwrap();
    for dumper in 0..2 {
        let part = crate::support::with_records(&trace, |records| {
            records.retain(|record| record.sequence % 2 == dumper);
        });
        let bytes = written(&part, CaptureFormat::PcapNanos, Some(128));
        fs::write(captures.join(format!("dumper{dumper}.pcap")), bytes).unwrap();
    }
    fs::write(captures.join("notes.txt"), "not a capture").unwrap();
    let read = read(folder.path()).unwrap();
    let sequences: Vec<_> = read.observation.trace.records().iter().map(|record| record.sequence).collect();
    assert_eq!((sequences, read.captures.len()), ((1..=6).collect::<Vec<_>>(), 2));
}

#[test]
fn connections_of_a_pcapng_stand_in_for_the_missing_file() {
    let folder = with("write");
    fs::remove_dir_all(folder.path().join("switch-result")).unwrap();
    let capture = written(&trace_of("write"), CaptureFormat::PcapNg, None);
    fs::remove_file(folder.path().join("pcap-result/aggregate.pcap")).unwrap();
    fs::write(folder.path().join("pcap-result/trace.pcapng"), capture).unwrap();
    assert_eq!(read(folder.path()).unwrap().observation.connections, crate::support::connections());
}

#[test]
fn no_capture_no_result_folder() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(read(folder.path()), Err(FolderError::NoCapture { .. })));
    fs::create_dir(folder.path().join("pcap-result")).unwrap();
    assert!(matches!(read(folder.path()), Err(FolderError::NoCapture { .. })));
    assert!(matches!(read(&folder.path().join("none")), Err(FolderError::Io { .. })));
    let file = change(&folder, "pcap-result/broken.pcap", "no capture");
    assert!(matches!(read(folder.path()), Err(FolderError::Capture(_))));
    assert!(matches!(read(&file), Err(FolderError::Io { .. })), "a file is no folder");
}

#[test]
fn broken_yaml_names_file_and_line() {
    for (file, text, line) in [
        ("switch-result/switch_message_snapshot.yml", "- psn_rcv: 1\n  psn_snd: [2\n", "line"),
        ("switch-result/switch_message_snapshot.yml", "- psn_rcv: 1\n  psn_snd: many\n", "line 2"),
        (
            "switch-result/switch_state_snapshot.yml",
            "counter:\n  ingress: {one: 1}\n  egress: {}\n",
            "line 2",
        ),
        ("rdma-result/requester_counter_start.yml", "hw-counters:\n  packet_seq_err: -1\n", "line 2"),
        ("rdma-result/completions.yml", "- {connection: 1, mesage: 1}\n", "line 1"),
    ] {
        let folder = with("write");
        let path = change(&folder, file, text);
        let error = read(folder.path()).unwrap_err();
        assert!(matches!(error, FolderError::Content { .. }), "{error}");
        let text = error.to_string();
        assert!(text.starts_with(&path.display().to_string()) && text.contains(line), "{text}");
    }
}

#[test]
fn an_address_that_is_none_is_quoted() {
    let folder = with("write");
    let text =
        "- {psn_rcv: 1, psn_snd: 2, qpn_rcv: 3, qpn_snd: 4, ip_rcv: 10.0.0.1/24, ip_snd: 10.0.0.256}\n";
    let path = change(&folder, "switch-result/switch_message_snapshot.yml", text);
    assert_eq!(
        read(folder.path()).unwrap_err().to_string(),
        format!("{}: entry 1: `10.0.0.256` is not an IP address", path.display())
    );
}

/// A prefix length after the address, and no switch ports, are both seen in the wild.
#[test]
fn a_prefix_length_is_no_part_of_the_address() {
    let folder = with("write");
    let text =
        "- {psn_rcv: 1, psn_snd: 2, qpn_rcv: 3, qpn_snd: 4, ip_rcv: fd00::1/64, ip_snd: 10.0.0.2/24}\n";
    change(&folder, "switch-result/switch_message_snapshot.yml", text);
    let observation = read(folder.path()).unwrap().observation;
    assert_eq!(observation.connections[0].responder.ip.to_string(), "fd00::1");
    assert_eq!(observation.switch, None, "no ports: nobody knows which counters are the hosts'");
}

#[test]
fn a_huge_yaml_file_is_refused_unread() {
    let folder = with("write");
    let path = change(&folder, "rdma-result/completions.yml", "");
    fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    let text = read(folder.path()).unwrap_err().to_string();
    assert!(text.ends_with("is too long: 1099511627776 bytes, where at most 67108864 are read"), "{text}");
}

#[test]
fn aliases_that_multiply_are_refused() {
    let folder = with("write");
    let mut text = String::from("a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
    for (at, name) in ('b'..='k').enumerate() {
        let before = (b'a' + at as u8) as char;
        let _ = writeln!(text, "{name}: &{name} [{}]", format!("*{before}, ").repeat(10));
    }
    text.push_str("hw-counters: {}\n");
    change(&folder, "rdma-result/requester_counter_start.yml", &text);
    assert!(matches!(read(folder.path()), Err(FolderError::Content { .. })));
}

#[test]
fn a_folder_in_the_place_of_a_file_is_refused() {
    let folder = with("write");
    fs::create_dir(folder.path().join("rdma-result/completions.yml")).unwrap();
    let text = read(folder.path()).unwrap_err().to_string();
    assert!(text.ends_with("completions.yml: is not a regular file"), "{text}");
}

#[test]
fn a_hundred_thousand_completions_are_read() {
    let folder = with("write");
    let mut text = String::new();
    for message in 1..=100_000u64 {
        let _ = writeln!(
            text,
            "- {{connection: 1, message: {message}, posted-ns: {}, completed-ns: {}, bytes: 10240, status: success}}",
            message * 10,
            message * 10 + 7,
        );
    }
    change(&folder, "rdma-result/completions.yml", &text);
    let completions = read(folder.path()).unwrap().observation.completions.unwrap();
    assert_eq!(completions.len(), 100_000);
    assert_eq!(
        completions[99_999],
        Completion {
            connection: 1,
            message: 100_000,
            posted_ns: Nanos(1_000_000),
            completed_ns: Nanos(1_000_007),
            bytes: 10_240,
            status: CompletionStatus::Success,
        }
    );
}

#[test]
fn ten_thousand_connections_are_read() {
    let folder = with("write");
    let text: String = (0..10_000u32).fold(String::new(), |mut text, at| {
        let _ = writeln!(
            text,
            "- psn_rcv: {at}\n  psn_snd: {at}\n  qpn_rcv: {at}\n  qpn_snd: {at}\n  ip_rcv: 10.0.0.2\n  \
             ip_snd: 10.0.0.1\n  snd_sw_port: 180\n  rcv_sw_port: 188"
        );
        text
    });
    change(&folder, "switch-result/switch_message_snapshot.yml", &text);
    let observation = read(folder.path()).unwrap().observation;
    assert_eq!(observation.connections.len(), 10_000);
    let switch = observation.switch.unwrap();
    assert_eq!((switch.received(), switch.mirrored()), (6, 6));
    assert_eq!(switch.ingress, BTreeMap::from([(60, 0), (61, 0), (180, 2), (188, 4)]));
}
