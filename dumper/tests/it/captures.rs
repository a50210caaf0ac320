//! Captures: a written one reads back, in every format and byte order, and plain captures are distinguished.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

use dumper::capture::{self, CaptureFormat, ReadOptions, WriteError};
use dumper::trace::{Origin, Traced};
use dumper::wire::frame::UdpPorts;
use dumper::wire::{FrameRepr, Mac, Opcode};
use dumper::{Event, Nanos, Trace};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapTsResolution, PcapWriter};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::packet::PacketBlock;
use pcap_file::pcapng::blocks::section_header::SectionHeaderBlock;
use pcap_file::pcapng::blocks::simple_packet::SimplePacketBlock;
use pcap_file::{DataLink, Endianness};
use proptest::prelude::*;

use crate::support::{
    FORMATS, SNAP_LEN, bytes_of, connections, every_opcode, flow, frame, push, read, two_way, v4, v6,
    with_records, written,
};

/// Reads a capture that must have nothing wrong with it.
fn read_clean(bytes: &[u8]) -> Traced {
    let traced = read(bytes).unwrap().traced;
    assert_eq!(traced.damage, []);
    assert_eq!(traced.skipped, Default::default());
    traced
}

#[test]
fn every_opcode_and_event_survives_every_format() {
    let trace = every_opcode();
    let without_exits = with_records(&trace, |_| ());
    for format in FORMATS {
        for snap_len in [None, Some(SNAP_LEN)] {
            let bytes = written(&trace, format, snap_len);
            let traced = read_clean(&bytes);
            assert_eq!(traced.trace.records().len(), trace.records().len());
            for (seen, meant) in traced.trace.records().iter().zip(without_exits.records()) {
                assert_eq!(traced.trace.flow(seen), trace.flow(meant));
                let (seen_extra, meant_extra) = (traced.trace.extra(seen), trace.extra(meant));
                if format == CaptureFormat::PcapNg {
                    assert_eq!(seen_extra, meant_extra, "{seen:?}");
                } else {
                    // Only a packet comment can say how a packet left.
                    assert_eq!(traced.trace.exit(seen), None);
                    assert_eq!(
                        seen_extra.map(|extra| (extra.atomic, extra.atomic_ack, extra.deth)),
                        meant_extra
                            .map(|extra| (extra.atomic, extra.atomic_ack, extra.deth))
                            .filter(|extra| *extra != (None, None, None))
                    );
                }
            }
            if format == CaptureFormat::PcapNg {
                assert_eq!(traced.trace, trace, "{snap_len:?}");
            }
            assert_eq!(traced.icrc.wrong, 0);
            let whole = trace
                .records()
                .iter()
                .filter(|record| snap_len.is_none_or(|snap| record.frame_len <= snap))
                .count();
            assert_eq!(traced.icrc.right, whole as u64, "trimmed packets have no ICRC to check");
        }
    }
}

#[test]
fn mirror_times_are_exact_in_microsecond_files() {
    let trace = two_way(50);
    assert!(trace.records().iter().any(|record| !record.time.0.is_multiple_of(1000)));
    for format in FORMATS {
        assert_eq!(read_clean(&written(&trace, format, Some(SNAP_LEN))).trace, trace, "{format:?}");
    }
}

#[test]
fn connections_are_in_pcapng_and_only_there() {
    let trace = two_way(3);
    for format in FORMATS {
        let captured = read(&written(&trace, format, None)).unwrap();
        let expected = if format == CaptureFormat::PcapNg { connections() } else { vec![] };
        assert_eq!(captured.connections, expected);
    }
    let ng = written(&trace, CaptureFormat::PcapNg, None);
    let captured = crate::support::read_all(&[&ng, &ng]).unwrap();
    assert_eq!(captured.connections, connections(), "each once, though two files name them");
}

#[test]
fn an_empty_trace_reads_back_empty() {
    for format in FORMATS {
        let traced = read_clean(&written(&Trace::new(Origin::Mirror), format, None));
        assert_eq!(traced.trace.records(), []);
    }
}

/// A plain trace keeps file times, to the precision of the format, and file order.
#[test]
fn plain_traces_survive_with_the_precision_of_the_file() {
    let mut plain = Trace::new(Origin::Plain);
    let flow = plain.add_flow(flow("10.0.0.1", "10.0.0.2", 5));
    for sequence in 1..=40 {
        push(&mut plain, flow, sequence, Opcode::WriteMiddle, Event::None);
    }
    for format in FORMATS {
        let traced = read_clean(&written(&plain, format, None));
        let expected = with_records(&plain, |records| {
            for record in records {
                if format == CaptureFormat::PcapMicros {
                    record.time = Nanos(record.time.0 / 1000 * 1000);
                }
            }
        });
        assert_eq!(traced.trace, expected, "{format:?}");
    }
}

proptest! {
    #[test]
    fn any_trace_survives_pcapng(
        packets in proptest::collection::vec((0..Opcode::KNOWN.len(), 0u8..9, any::<bool>()), 1..40),
        first in 1u32..0x7fff_0000,
        whole: bool,
    ) {
        let mut trace = Trace::new(Origin::Mirror);
        let flows = [
            trace.add_flow(flow("10.0.0.1", "10.0.0.2", 5)),
            trace.add_flow(flow("fd00::9", "fd00::8", 6)),
        ];
        // Flows are numbered by first appearance.
        push(&mut trace, flows[0], first, Opcode::SendOnly, Event::None);
        push(&mut trace, flows[1], first + 1, Opcode::SendOnly, Event::None);
        for (sequence, (opcode, event, which)) in (first + 2..).zip(&packets) {
            let flow = flows[usize::from(*which)];
            push(&mut trace, flow, sequence, Opcode::KNOWN[*opcode], Event::from_code(*event));
        }
        let snap_len = (!whole).then_some(SNAP_LEN);
        prop_assert_eq!(read_clean(&written(&trace, CaptureFormat::PcapNg, snap_len)).trace, trace);
    }
}

/// The frames of a mirrored trace of two packets, for files made by hand.
fn two_frames() -> Vec<Vec<u8>> {
    (1..=2)
        .map(|sequence| {
            let mut repr = frame(Opcode::WriteMiddle, v4(), None, 64);
            mirrored(&mut repr, sequence, 1000 * u64::from(sequence));
            bytes_of(&repr)
        })
        .collect()
}

fn mirrored(repr: &mut FrameRepr, sequence: u32, time: u64) {
    dumper::mirror::MirrorMeta { sequence, time: Nanos(time), event: Event::None }.write(repr);
}

fn assert_is_two_frames(bytes: &[u8]) {
    let trace = read_clean(bytes).trace;
    let seen: Vec<_> = trace.records().iter().map(|record| (record.sequence, record.time.0)).collect();
    assert_eq!((seen, trace.origin()), (vec![(1, 1000), (2, 2000)], Origin::Mirror));
}

#[test]
fn both_byte_orders_and_resolutions_of_pcap() {
    for endianness in [Endianness::Big, Endianness::Little] {
        for ts_resolution in [PcapTsResolution::MicroSecond, PcapTsResolution::NanoSecond] {
            let header = PcapHeader { endianness, ts_resolution, ..Default::default() };
            let mut writer = PcapWriter::with_header(Vec::new(), header).unwrap();
            for frame in two_frames() {
                let packet = PcapPacket::new(Duration::from_micros(7), 500, frame).unwrap();
                writer.write_packet(&packet).unwrap();
            }
            let bytes = writer.into_inner();
            assert_is_two_frames(&bytes);
            let options = ReadOptions { origin: Some(Origin::Plain), ..Default::default() };
            let plain =
                capture::read_slices(&[(Path::new("x"), &bytes)], options, &mut |_| ()).unwrap().traced.trace;
            assert!(plain.records().iter().all(|record| record.time == Nanos(7000)));
            assert!(plain.records().iter().all(|record| record.frame_len == 500));
        }
    }
}

#[test]
fn both_byte_orders_and_every_packet_block_of_pcapng() {
    for endianness in [Endianness::Big, Endianness::Little] {
        for form in 0..3 {
            let section = SectionHeaderBlock { endianness, ..Default::default() };
            let mut writer = PcapNgWriter::with_section_header(Vec::new(), section).unwrap();
            writer.write_pcapng_block(InterfaceDescriptionBlock::new(DataLink::ETHERNET, 0)).unwrap();
            for frame in two_frames() {
                let original_len = frame.len() as u32;
                let data = Cow::Owned(frame);
                let timestamp = Duration::from_micros(7);
                match form {
                    0 => writer.write_pcapng_block(EnhancedPacketBlock {
                        interface_id: 0,
                        timestamp,
                        original_len,
                        data,
                        options: vec![],
                    }),
                    1 => writer.write_pcapng_block(SimplePacketBlock { original_len, data }),
                    _ => writer.write_pcapng_block(PacketBlock {
                        interface_id: 0,
                        drop_count: 0,
                        timestamp,
                        original_len,
                        data,
                        options: vec![],
                    }),
                }
                .unwrap();
            }
            assert_is_two_frames(&writer.into_inner());
        }
    }
}

/// Two sections, of different byte order and time resolution, one after the other in a file.
#[test]
fn sections_of_pcapng_may_differ() {
    let mut bytes = Vec::new();
    for (endianness, (at, data)) in
        [Endianness::Big, Endianness::Little].into_iter().zip((1..).zip(two_frames()))
    {
        let section = SectionHeaderBlock { endianness, ..Default::default() };
        let mut writer = PcapNgWriter::with_section_header(&mut bytes, section).unwrap();
        let mut interface = InterfaceDescriptionBlock::new(DataLink::ETHERNET, 0);
        let resolution = if at == 1 { InterfaceTsResolution::SEC } else { InterfaceTsResolution::NANO };
        interface.options.push(InterfaceDescriptionOption::IfTsResol(resolution));
        writer.write_pcapng_block(interface).unwrap();
        let packet = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_secs(at),
            original_len: data.len() as u32,
            data: Cow::Owned(data),
            options: vec![],
        };
        writer.write_pcapng_block(packet).unwrap();
    }
    assert_is_two_frames(&bytes);
    let options = ReadOptions { origin: Some(Origin::Plain), ..Default::default() };
    let plain = capture::read_slices(&[(Path::new("x"), &bytes)], options, &mut |_| ()).unwrap().traced.trace;
    let times: Vec<_> = plain.records().iter().map(|record| record.time.0).collect();
    assert_eq!(times, [1_000_000_000, 2_000_000_000]);
}

/// A link type field that also says that frames end in a check sequence of 4 bytes.
#[test]
fn a_frame_check_sequence_is_no_other_link_type() {
    let mut bytes = written(&two_way(3), CaptureFormat::PcapNanos, None);
    bytes[20..24].copy_from_slice(&0x4400_0001u32.to_le_bytes());
    assert_eq!(read_clean(&bytes).trace, two_way(3));
}

#[test]
fn an_original_length_of_zero_is_the_captured_length() {
    let mut bytes = written(&two_way(3), CaptureFormat::PcapNanos, None);
    bytes[24 + 12..][..4].fill(0);
    assert_eq!(read_clean(&bytes).trace, two_way(3));
}

#[test]
fn any_address_is_an_address() {
    let mut trace = Trace::new(Origin::Mirror);
    let ones = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
    let there = trace.add_flow(flow(ones, "::", 0xff_ffff));
    let back = trace.add_flow(flow("::", ones, 0));
    for (sequence, flow) in [(1, there), (2, back), (3, there)] {
        push(&mut trace, flow, sequence, Opcode::Acknowledge, Event::None);
    }
    assert_eq!(read_clean(&written(&trace, CaptureFormat::PcapNg, None)).trace, trace);
}

#[test]
fn a_fraction_of_more_than_a_second_stays_below_one() {
    let mut bytes = plain_capture(1, 64);
    bytes[24..32].fill(0xff);
    assert_eq!(read_clean(&bytes).trace.records()[0].time, Nanos((1_000_000_000 << 32) - 1));
}

/// A plain capture of `count` packets that go to and fro between the MACs 00:00:00:00:00:01 and :02.
fn plain_capture(count: usize, ttl: u8) -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new()).unwrap();
    for at in 0..count {
        let mut repr = frame(Opcode::SendOnly, v4(), None, 64);
        let there = at.is_multiple_of(2);
        (repr.source, repr.destination) = if there { (Mac(1), Mac(2)) } else { (Mac(2), Mac(1)) };
        if let dumper::wire::frame::IpRepr::V4(ip) = &mut repr.ip {
            ip.ttl = ttl;
        }
        let bytes = bytes_of(&repr);
        let stamp = Duration::from_micros(10 + at as u64);
        writer.write_packet(&PcapPacket::new(stamp, bytes.len() as u32, bytes).unwrap()).unwrap();
    }
    writer.into_inner()
}

#[test]
fn small_hardware_addresses_are_no_sequence_numbers() {
    for (count, ttl) in [(1, 64), (2, 64), (3, 255), (4, 1), (100, 1), (100, 64)] {
        let traced = read_clean(&plain_capture(count, ttl));
        assert_eq!(traced.trace.origin(), Origin::Plain, "{count} packets, TTL {ttl}");
        let sequences: Vec<_> = traced.trace.records().iter().map(|record| record.sequence).collect();
        assert_eq!(sequences, (1..=count as u32).collect::<Vec<_>>());
        assert_eq!(traced.trace.records()[0].time, Nanos(10_000));
    }
}

#[test]
fn a_single_mirrored_packet_and_a_repeated_file_are_mirrored() {
    let one = written(&two_way(1), CaptureFormat::PcapNanos, None);
    assert_eq!(read_clean(&one).trace.origin(), Origin::Mirror);
    let many = written(&two_way(100), CaptureFormat::PcapNanos, None);
    let captured = crate::support::read_all(&[&many, &many, &many]).unwrap();
    assert_eq!(captured.traced.trace.origin(), Origin::Mirror);
}

#[test]
fn a_plain_packet_in_a_mirrored_capture_is_counted_as_malformed() {
    let mut bytes = written(&two_way(100), CaptureFormat::PcapNanos, None);
    let stray = plain_capture(1, 64);
    let mut mac = bytes_of(&frame(Opcode::SendOnly, v4(), None, 64));
    mac.truncate(12);
    let at = bytes.len() + 16;
    bytes.extend(&stray[24..]);
    bytes[at..at + 12].copy_from_slice(&mac);
    let traced = read(&bytes).unwrap().traced;
    assert_eq!(traced.trace.records().len(), 100);
    assert_eq!(traced.skipped.malformed, 1);
    let error = &traced.skipped.errors[0];
    assert_eq!((error.file, error.packet), (0, 101));
    assert_eq!(
        error.error.to_string(),
        "no mirror sequence number in the Ethernet source address 02:00:00:00:00:01"
    );
}

#[test]
fn other_protocols_are_counted() {
    let mut writer = PcapWriter::new(Vec::new()).unwrap();
    let mut add = |bytes: Vec<u8>| {
        let packet = PcapPacket::new(Duration::ZERO, bytes.len() as u32, bytes).unwrap();
        writer.write_packet(&packet).unwrap();
    };
    let arp = [[0xff; 6].as_slice(), &[2, 0, 0, 0, 0, 1], &[8, 6], &[0; 28]].concat();
    add(arp.clone());
    add(arp);
    let mut cut = bytes_of(&frame(Opcode::WriteOnly, v6(), None, 64));
    cut.truncate(70);
    add(cut);
    let traced = read(&writer.into_inner()).unwrap().traced;
    assert_eq!(traced.skipped.other.into_values().collect::<Vec<_>>(), [2]);
    assert_eq!(traced.skipped.malformed, 1);
    let error = traced.skipped.errors[0].error.to_string();
    assert_eq!(error, "BTH at byte 62: needs 12 bytes, only 8 are there");
}

/// On the mirror wire the destination port is another one and the checksum field keeps the source port.
#[test]
fn captures_from_the_mirror_wire_are_put_back() {
    let trace = two_way(9);
    let mut bytes = written(&trace, CaptureFormat::PcapNanos, None);
    let mut at = 24;
    for record in trace.records() {
        let udp = at + 16 + 34;
        let source_port = [bytes[udp], bytes[udp + 1]];
        bytes[udp..udp + 2].copy_from_slice(&[0x11, 0x22]);
        bytes[udp + 2..udp + 4].copy_from_slice(&[0x33, 0x44]);
        bytes[udp + 6..udp + 8].copy_from_slice(&source_port);
        at += 16 + record.frame_len as usize;
    }
    assert_eq!(read(&bytes).unwrap().traced.trace.records(), [], "another port is another protocol");
    let options = ReadOptions { ports: UdpPorts::Any, ..Default::default() };
    let traced = capture::read_slices(&[(Path::new("x"), &bytes)], options, &mut |_| ()).unwrap().traced;
    assert_eq!(traced.trace, trace);
    assert_eq!((traced.icrc.right, traced.icrc.wrong), (0, 0));
}

#[test]
fn progress_ends_at_all_bytes() {
    let bytes = written(&two_way(30), CaptureFormat::PcapNanos, Some(SNAP_LEN));
    let named = [(Path::new("a"), &bytes[..]), (Path::new("b"), &bytes[..])];
    let mut seen = Vec::new();
    capture::read_slices(&named, ReadOptions::default(), &mut |progress| seen.push(progress)).unwrap();
    let total = 2 * bytes.len() as u64;
    assert!(seen.windows(2).all(|pair| pair[0].bytes <= pair[1].bytes));
    let last = seen.last().unwrap();
    assert_eq!((last.bytes, last.total_bytes, last.packets), (total, total, 60));
}

#[test]
fn what_cannot_be_written_says_which_packet() {
    let mut trace = Trace::new(Origin::Mirror);
    let mixed = trace.add_flow(flow("10.0.0.1", "fd00::2", 5));
    push(&mut trace, mixed, 77, Opcode::SendOnly, Event::None);
    let error = capture::write(&trace, &[], CaptureFormat::PcapNg, None, Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "packet 77 cannot be written: its source and destination are of different IP versions"
    );
    let full = |format| capture::write(&two_way(9), &[], format, None, &mut [0u8; 100][..]).unwrap_err();
    for format in FORMATS {
        let text = full(format).to_string();
        assert!(text.starts_with("capture cannot be written: "), "{text}");
        assert!(text.ends_with("failed to write whole buffer"), "{text}");
    }
}

/// A disk with room for so many more bytes.
struct Disk(usize);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = bytes.len().min(self.0);
        self.0 -= written;
        if written == 0 { Err(ErrorKind::StorageFull.into()) } else { Ok(written) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_told_as_one() {
    for (format, room) in FORMATS.into_iter().flat_map(|format| [10, 100, 300].map(|room| (format, room))) {
        let error = capture::write(&two_way(9), &[], format, None, Disk(room)).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("capture cannot be written: "), "{text}");
        assert!(text.ends_with("no storage space"), "{text}");
        assert!(
            matches!(&error, WriteError::Io(source) if source.kind() == ErrorKind::StorageFull),
            "{format:?} with {room}: {error:?}"
        );
    }
}
