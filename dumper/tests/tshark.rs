//! Wireshark's reading of the captures that we write. Needs `tshark` and `capinfos`:
//! `cargo test -p dumper --features tshark`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

#[allow(dead_code, reason = "shared with the other tests, which use more of it")]
#[path = "it/support.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use dumper::capture::CaptureFormat;
use dumper::wire::Class;
use dumper::{Event, Trace};
use support::{FORMATS, every_opcode, with_records, written};
use tempfile::TempDir;

/// Runs a program of Wireshark and returns what it prints.
fn run(program: &str, arguments: &[&str], file: &Path) -> String {
    let output = Command::new(program).args(arguments).arg(file).output();
    let output = output.unwrap_or_else(|error| panic!("{program} cannot be started: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// One row per frame with the given fields.
fn fields(file: &Path, names: &[&str]) -> Vec<Vec<String>> {
    let mut arguments = vec!["-n", "-T", "fields"];
    arguments.extend(names.iter().flat_map(|name| ["-e", name]));
    arguments.push("-r");
    let lines = run("tshark", &arguments, file);
    lines.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn file_of(folder: &TempDir, trace: &Trace, format: CaptureFormat) -> PathBuf {
    let extension = if format == CaptureFormat::PcapNg { "pcapng" } else { "pcap" };
    let path = folder.path().join(format!("{format:?}.{extension}"));
    std::fs::write(&path, written(trace, format, None)).unwrap();
    path
}

fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

#[test]
fn every_frame_dissects_as_rocev2_with_nothing_malformed() {
    let trace = every_opcode();
    let folder = tempfile::tempdir().unwrap();
    for format in FORMATS {
        let file = file_of(&folder, &trace, format);
        let names = [
            "frame.protocols",
            "_ws.malformed",
            "infiniband.bth.opcode",
            "infiniband.bth.psn",
            "infiniband.bth.destqp",
            "infiniband.bth.padcnt",
            "frame.len",
            "udp.srcport",
        ];
        // The dissector of RoCEv2 says in the summary alone what it cannot dissect.
        let summary = run("tshark", &["-n", "-r"], &file);
        let malformed: Vec<_> = summary.lines().filter(|line| line.contains("Malformed")).collect();
        assert_eq!(malformed, [""; 0], "{format:?}");
        let rows = fields(&file, &names);
        assert_eq!(rows.len(), trace.records().len(), "{format:?}");
        for (row, record) in rows.iter().zip(trace.records()) {
            let what = format!("{format:?} {} {row:?}", record.opcode());
            assert!(row[0].split(':').any(|protocol| protocol == "infiniband"), "{what}");
            let ip = if trace.flow(record).source.is_ipv4() { "ip" } else { "ipv6" };
            assert!(row[0].split(':').any(|protocol| protocol == ip), "{what}");
            let tagged = row[0].contains("vlan");
            assert_eq!(tagged, trace.flow(record).vlan.is_some(), "{what}");
            assert_eq!(row[1], "", "malformed: {what}");
            assert_eq!(number(&row[2]), u64::from(record.opcode().code()), "{what}");
            assert_eq!(number(&row[3]), u64::from(record.psn.value()), "{what}");
            assert_eq!(number(&row[4]), u64::from(trace.flow(record).dest_qpn), "{what}");
            assert_eq!(number(&row[5]), u64::from((4 - record.payload_len % 4) % 4), "{what}");
            assert_eq!(number(&row[6]), u64::from(record.frame_len), "{what}");
            assert_eq!(number(&row[7]), u64::from(record.src_port), "{what}");
        }
    }
}

#[test]
fn extension_headers_show_their_values() {
    let trace = every_opcode();
    let folder = tempfile::tempdir().unwrap();
    let file = file_of(&folder, &trace, CaptureFormat::PcapNg);
    let names = [
        "infiniband.reth.va",
        "infiniband.reth.r_key",
        "infiniband.reth.dmalen",
        "infiniband.aeth.syndrome",
        "infiniband.aeth.msn",
        "infiniband.immdt",
        "infiniband.ieth",
        "infiniband.deth.srcqp",
        "infiniband.atomiceth.swapdt",
        "infiniband.atomicacketh.origremdt",
    ];
    for (row, record) in fields(&file, &names).iter().zip(trace.records()) {
        let headers = support::headers_of(record.opcode());
        let shows = |at: usize, header: &str, value: u64| {
            if headers.contains(&header) {
                // Some fields are there twice, in the tree and for filters; some are
                // shown as their bytes.
                let shown = row[at].split(',').next().unwrap_or_default();
                let seen = if matches!(header, "imm" | "ieth") {
                    u64::from_str_radix(shown.trim_start_matches("0x"), 16).unwrap()
                } else {
                    number(shown)
                };
                assert_eq!(seen, value, "{} {header}: {shown}", record.opcode());
            } else {
                assert_eq!(row[at], "", "{} has no {header}", record.opcode());
            }
        };
        let extensions = support::extensions_of(record.opcode());
        // Wireshark has the address and key of an AtomicETH under the names of the RETH.
        match extensions.atomic {
            Some(atomic) => {
                assert_eq!(number(&row[0]), atomic.virtual_address);
                assert_eq!(number(&row[1]), u64::from(atomic.remote_key));
            }
            None => {
                shows(0, "reth", record.virtual_address);
                shows(1, "reth", u64::from(record.remote_key));
            }
        }
        shows(2, "reth", u64::from(record.dma_length));
        shows(3, "aeth", u64::from(record.aeth >> 24));
        shows(4, "aeth", u64::from(record.aeth & 0xff_ffff));
        shows(5, "imm", u64::from(record.immediate));
        shows(6, "ieth", u64::from(record.remote_key));
        shows(7, "deth", extensions.deth.map_or(0, |deth| deth.source_qpn.into()));
        shows(8, "atomic", extensions.atomic.map_or(0, |atomic| atomic.swap_or_add));
        shows(9, "atomic_ack", extensions.atomic_ack.map_or(0, |ack| ack.original));
    }
}

#[test]
fn comments_of_packets_and_of_the_interface_are_readable() {
    let trace = every_opcode();
    let folder = tempfile::tempdir().unwrap();
    let file = file_of(&folder, &trace, CaptureFormat::PcapNg);
    for (row, record) in fields(&file, &["frame.number", "frame.comment"]).iter().zip(trace.records()) {
        let comment = row.get(1).map_or("", String::as_str);
        match record.event() {
            Event::None => assert_eq!(comment, ""),
            event => assert!(comment.starts_with(&format!("event={event}")), "{row:?}"),
        }
        if let Some(exit) = trace.exit(record) {
            assert!(comment.contains(&format!("left={} copies={}", exit.time.0, exit.copies)), "{row:?}");
        }
    }
    let summary = run("capinfos", &[], &file);
    for expected in [
        "File encapsulation:  Ethernet",
        "Name = mirror",
        "Time resolution = 0x09",
        "connection requester=10.0.0.1 qpn=0x11 psn=1000 responder=10.0.0.2 qpn=0x12 psn=16777215",
        "connection requester=fd00::1 qpn=0x13 psn=7 responder=fd00::2",
    ] {
        assert!(summary.contains(expected), "no `{expected}` in\n{summary}");
    }
}

#[test]
fn trimmed_captures_say_how_long_the_packets_were() {
    let trace = with_records(&every_opcode(), |records| {
        records.retain(|record| matches!(record.class(), Class::Request(..)));
    });
    let folder = tempfile::tempdir().unwrap();
    for format in FORMATS {
        let path = folder.path().join("trimmed");
        std::fs::write(&path, written(&trace, format, Some(128))).unwrap();
        for (row, record) in fields(&path, &["frame.len", "frame.cap_len"]).iter().zip(trace.records()) {
            let (wire, captured) = (record.frame_len, record.frame_len.min(128));
            assert_eq!(*row, [wire.to_string(), captured.to_string()]);
        }
    }
}
