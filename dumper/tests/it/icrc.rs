//! The ICRC: against a real stack, against vectors computed elsewhere, and field by field.

use dumper::trace::IcrcTally;
use dumper::wire::frame::{IpRepr, Parsed, UdpPorts};
use dumper::wire::{Frame, Opcode, cnp_bth, icrc};
use pcap_file::pcap::PcapParser;

use crate::support::{bytes_of, data_file, frame, v4, v6};

/// Frames of a classic pcap file.
fn frames_of(file: &[u8]) -> Vec<Vec<u8>> {
    let (mut rest, parser) = PcapParser::new(file).unwrap();
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let (tail, raw) = parser.next_raw_packet(rest).unwrap();
        frames.push(raw.data.into_owned());
        rest = tail;
    }
    frames
}

/// Byte ranges of a packet, from its IP header, that the ICRC does not cover (annex A17.3.3).
fn masked(ip: &IpRepr) -> Vec<(usize, u8)> {
    match ip {
        // TOS, TTL, header checksum, UDP checksum, BTH byte 4.
        IpRepr::V4(_) => [1, 8, 10, 11, 26, 27, 32].into_iter().map(|at| (at, 0xff)).collect(),
        // Traffic class and flow label begin in the low half of the version byte; hop limit; UDP; BTH.
        IpRepr::V6(_) => {
            [(0, 0x0f), (1, 0xff), (2, 0xff), (3, 0xff), (7, 0xff), (46, 0xff), (47, 0xff), (52, 0xff)].into()
        }
    }
}

/// Flips every bit of a packet: the ICRC must fail exactly where it covers.
fn flip_every_bit(packet: &[u8], ip: &IpRepr) {
    assert_eq!(icrc::verify(packet), Some(true));
    let masked = masked(ip);
    for at in 0..packet.len() {
        for bit in 0..8 {
            let mut damaged = packet.to_vec();
            damaged[at] ^= 1 << bit;
            let is_masked = masked.iter().any(|(byte, bits)| *byte == at && bits & (1 << bit) != 0);
            // An invalid version or header length has no defined ICRC: `None` is a refusal too.
            let accepted = icrc::verify(&damaged) == Some(true);
            assert_eq!(accepted, is_masked, "byte {at} bit {bit}");
        }
    }
}

#[test]
fn every_whole_packet_of_a_real_stack_verifies() {
    let file = std::fs::read(data_file("rxe_write_last_full.pcap")).unwrap();
    let captured = crate::support::read(&file).unwrap();
    let packets = captured.traced.trace.records().len() as u64;
    assert!(packets > 100, "the file has {packets} packets");
    assert_eq!(captured.traced.icrc, IcrcTally { right: packets, wrong: 0, first_wrong: None });
}

#[test]
fn real_packets_are_covered_where_the_annex_says() {
    let file = std::fs::read(data_file("rxe_write_last_full.pcap")).unwrap();
    let frames = frames_of(&file);
    let ack = frames.iter().find(|frame| frame.len() < 100).unwrap();
    let data = frames.iter().find(|frame| frame.len() > 1000).unwrap();
    for bytes in [ack, data] {
        let Ok(Parsed::Roce(frame)) = Frame::parse(bytes, UdpPorts::Roce) else { panic!("RoCE") };
        flip_every_bit(frame.whole_packet.unwrap(), &frame.ip);
    }
}

#[test]
fn emitted_packets_are_covered_where_the_annex_says() {
    for ip in [v4(), v6()] {
        for (opcode, payload) in [(Opcode::WriteOnlyImm, 3), (Opcode::AtomicAcknowledge, 0)] {
            let bytes = bytes_of(&frame(opcode, ip, None, payload));
            flip_every_bit(&bytes[14..], &ip);
        }
    }
}

/// CRC-32 (zlib's) over 8 x 0xff and the masked packet, computed outside this crate for the two packets
/// `45 1a 003c 7654 4000 40 11 .. | c123 12b7 0028 0000 | 81 40 ffff 40 123456 00 000000 | 16 x 00` and the
/// same over IPv6 (flow label 0x54321).
#[test]
fn vectors_computed_elsewhere() {
    for (ip, crc) in [(v4(), GOLDEN_V4), (v6(), GOLDEN_V6)] {
        let mut cnp = frame(Opcode::Cnp, ip, None, 16);
        cnp.bth = cnp_bth(0x12_3456);
        let bytes = bytes_of(&cnp);
        let packet = &bytes[14..];
        assert_eq!(icrc::stored(packet), Some(crc));
        assert_eq!(icrc::compute(&packet[..packet.len() - icrc::LEN]), Some(crc));
        assert_eq!(packet[packet.len() - icrc::LEN..], crc.to_le_bytes());
    }
}

const GOLDEN_V4: u32 = 0xad9a_2545;
const GOLDEN_V6: u32 = 0x26cd_f6b1;

#[test]
fn what_has_no_icrc_gets_no_verdict() {
    assert_eq!(icrc::verify(&[]), None);
    assert_eq!(icrc::verify(&[0x45; 8]), None);
    assert_eq!(icrc::compute(&[0x46; 64]), None, "IPv4 options");
    let whole = bytes_of(&frame(Opcode::SendOnly, v4(), None, 64));
    let Ok(Parsed::Roce(trimmed)) = Frame::parse(&whole[..whole.len() - 1], UdpPorts::Roce) else {
        panic!("RoCE")
    };
    assert_eq!(trimmed.icrc_ok(), None, "a trimmed packet");
}

/// The ICRC covers the ports, so it cannot be right while the mirror wire's port is in the packet.
#[test]
fn a_packet_with_the_mirror_wires_port_gets_no_verdict() {
    let mut bytes = bytes_of(&frame(Opcode::Acknowledge, v4(), None, 0));
    bytes[14 + 20 + 2..][..2].copy_from_slice(&12_345u16.to_be_bytes());
    let Ok(Parsed::Roce(rewritten)) = Frame::parse(&bytes, UdpPorts::Any) else { panic!("RoCE") };
    assert_eq!(rewritten.icrc_ok(), None);
}
