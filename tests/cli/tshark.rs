//! Wireshark's reading of the captures that `run --out` keeps. Needs `tshark`:
//! `cargo test -p fuzzer --features tshark --test tshark`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

#[allow(dead_code, reason = "shared with the other tests, which use more of it")]
mod run;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use dumper::capture::{self, ReadOptions};
use run::{folder, in_folder};

/// Tests by what they show, with the words that their traces must have.
const TESTS: [(&str, &str, &[&str]); 14] = [
    ("write", "", &["WRITE_FIRST", "ACK"]),
    ("an empty message", "traffic.message-size = 0\ntraffic.mtu = 256\n", &["WRITE_ONLY"]),
    ("odd lengths", "traffic.rdma-verb = \"send\"\ntraffic.message-size = 2049\n", &["SEND_LAST"]),
    (
        "read",
        "traffic.rdma-verb = \"read\"\n[[event]]\nqpn = 1\npsn = 3\ntype = \"drop\"\n",
        &["READ_RESPONSE_MIDDLE"],
    ),
    (
        "send and read",
        "traffic.rdma-verb = \"send_read\"\ntraffic.num-connections = 2\n",
        &["SEND_FIRST", "READ_REQUEST"],
    ),
    ("drop", "[[event]]\nqpn = 1\npsn = 5\ntype = \"drop\"\n", &[" drop "]),
    ("corrupt", "[[event]]\nqpn = 1\npsn = 5\ntype = \"corrupt\"\n", &[" corrupt "]),
    ("ecn", "[[event]]\nqpn = 1\npsn = 5\nevery = 2\ntype = \"ecn\"\n", &[" ecn ", "CNP"]),
    (
        "delay, reorder, duplicate, set-field",
        "traffic.num-connections = 4\n\
         [[event]]\nqpn = 1\npsn = 5\ntype = \"delay\"\ndelay-ns = 9_000\n\
         [[event]]\nqpn = 2\npsn = 5\ntype = \"reorder\"\nby = 2\n\
         [[event]]\nqpn = 3\npsn = 5\ntype = \"duplicate\"\ncopies = 2\n\
         [[event]]\nqpn = 4\npsn = 5\ntype = \"set-field\"\nfield = \"mig-req\"\nvalue = 0\n",
        &[" delay ", " reorder ", " duplicate ", " set-field "],
    ),
    ("rnr", "traffic.rdma-verb = \"send\"\ntraffic.recv-depth = 1\ntraffic.tx-depth = 4\n", &["RnrNak"]),
    (
        "IPv6",
        "requester.ip-list = [\"fd00::1/64\"]\nresponder.ip-list = [\"fd00::2/64\"]\n\
         [[event]]\nqpn = 1\npsn = 5\ntype = \"drop\"\n",
        &["fd00::1"],
    ),
    (
        "PSN wrap",
        "traffic.initial-psn = 0xfffff0\n[[event]]\nqpn = 1\npsn = 17\ntype = \"drop\"\n",
        &[" drop "],
    ),
    ("short-sends", "traffic.rdma-verb = \"send\"\ntraffic.message-size = 3\n", &["SEND_ONLY"]),
    (
        "cx4-lx",
        "requester.nic = \"cx4-lx\"\nresponder.nic = \"cx4-lx\"\ntraffic.rdma-verb = \"read\"\n\
         [[event]]\nqpn = 1\npsn = 3\ntype = \"drop\"\n",
        &["READ_REQUEST"],
    ),
];

/// Severity of Wireshark's remarks from which on a packet is not as it should be (`PI_WARN`).
const WARNING: u64 = 0x60_0000;

/// Output of tshark for a capture.
fn tshark(capture: &Path, arguments: &[&str]) -> String {
    let mut tshark = Command::new("tshark");
    // Checksums are not verified unless one asks for it. That of UDP is 0 in RoCEv2 (IBA annex A17.9.2), over IPv6 too.
    for preference in ["ip.check_checksum", "udp.check_checksum", "udp.ignore_ipv6_zero_checksum"] {
        tshark.args(["-o", &format!("{preference}:TRUE")]);
    }
    // It would try every Send as RPC over RDMA, and reads beyond the end of one that is shorter than that header.
    tshark.args(["--disable-heuristic", "rpcrdma_infiniband"]);
    let output = tshark.arg("-n").args(arguments).arg("-r").arg(capture).output();
    let output = output.unwrap_or_else(|error| panic!("tshark cannot be started: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// One row for each frame with these fields; a field that is there several times is separated by commas.
fn fields(capture: &Path, names: &[&str]) -> Vec<Vec<String>> {
    let mut arguments = vec!["-T", "fields"];
    arguments.extend(names.iter().flat_map(|name| ["-e", name]));
    let rows = tshark(capture, &arguments);
    rows.lines().map(|row| row.split('\t').map(str::to_owned).collect()).collect()
}

/// Frames that are malformed. The dissector of RoCEv2 says so in the summary alone, and not in `_ws.malformed`.
fn malformed(capture: &Path) -> Vec<String> {
    let summary = tshark(capture, &[]);
    summary.lines().filter(|line| line.contains("Malformed")).map(str::to_owned).collect()
}

fn number(text: &str) -> u64 {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.unwrap_or_else(|error| panic!("`{text}`: {error}"))
}

#[test]
fn wireshark_has_nothing_to_complain_of() {
    let names = [
        "frame.protocols",
        "_ws.malformed",
        "_ws.expert.severity",
        "_ws.expert.message",
        "infiniband.bth.opcode",
        "infiniband.bth.psn",
        "infiniband.bth.destqp",
        "frame.len",
        "frame.cap_len",
    ];
    for (name, test, shows) in TESTS {
        let folder = folder(&[("test.toml", test)]);
        let ran = in_folder(folder.path(), &["run", "test.toml", "--out", "kept"]);
        assert_eq!((ran.code, &ran.stderr[..]), (0, ""), "{name}");
        let capture = folder.path().join("kept/pcap-result/trace.pcapng");
        let traced = capture::read(&[&capture], ReadOptions::default(), &mut |_| ()).unwrap().traced;
        let trace = &traced.trace;
        let seen: BTreeSet<String> = trace
            .records()
            .iter()
            .map(|record| {
                let (opcode, event, aeth) = (record.opcode(), record.event(), record.aeth());
                format!("{} {opcode} {event} {:?}", trace.flow(record).source, aeth.syndrome)
            })
            .collect();
        for word in shows {
            assert!(seen.iter().any(|packet| packet.contains(word)), "{name}: no `{word}` in {seen:#?}");
        }
        let packets = trace.records().len();
        assert_eq!((traced.icrc.right, traced.icrc.wrong), (packets as u64, 0), "{name}");
        assert_eq!(traced.skipped, Default::default(), "{name}");

        assert_eq!(malformed(&capture), [""; 0], "{name}");
        let rows = fields(&capture, &names);
        assert_eq!(rows.len(), packets, "{name}");
        for (row, record) in rows.iter().zip(trace.records()) {
            let what = format!("{name}: packet {}: {row:?}", record.sequence);
            assert!(row[0].split(':').any(|protocol| protocol == "infiniband"), "{what}");
            assert_eq!(row[1], "", "{what}");
            let mut severities = row[2].split(',').filter(|severity| !severity.is_empty());
            assert!(severities.all(|severity| number(severity) < WARNING), "{what}");
            assert_eq!(number(&row[4]), u64::from(record.opcode().code()), "{what}");
            assert_eq!(number(&row[5]), u64::from(record.psn.value()), "{what}");
            assert_eq!(number(&row[6]), u64::from(trace.flow(record).dest_qpn), "{what}");
            assert_eq!((number(&row[7]), &row[8]), (record.frame_len.into(), &row[7]), "{what}");
        }
    }
}

/// Frames are whole by default: the published tool's are cut, and Wireshark reports that.
#[test]
fn frames_that_are_cut_are_malformed_to_wireshark() {
    let folder = folder(&[("test.toml", "")]);
    in_folder(folder.path(), &["run", "test.toml", "--out", "kept", "--snap-len", "128"]);
    let capture = folder.path().join("kept/pcap-result/trace.pcapng");
    assert!(fields(&capture, &["frame.cap_len"]).iter().all(|row| number(&row[0]) <= 128));
    // Ten messages of ten packets; acknowledgements are shorter.
    assert_eq!(malformed(&capture).len(), 100);
}
