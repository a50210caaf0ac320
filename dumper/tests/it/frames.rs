//! Whole frames: what is emitted parses to the same, agrees with another library, and is refused by name
//! wherever it is cut.

use dumper::Psn;
use dumper::wire::frame::{IpRepr, NotRoce, Parsed, UdpPorts};
use dumper::wire::{
    BthRepr, EtherType, Frame, FrameRepr, Ipv4Repr, Ipv6Repr, Layer, Mac, Opcode, Reason, WireError,
};
use etherparse::{NetHeaders, PacketHeaders, TransportHeader};
use proptest::prelude::*;

use crate::support::{bytes_of, extensions_of, frame, headers_of, usual_payload, v4, v6};

const VLANS: [Option<u16>; 2] = [None, Some(0x6fff)];

fn parse(bytes: &[u8]) -> Frame<'_> {
    match Frame::parse(bytes, UdpPorts::Roce) {
        Ok(Parsed::Roce(frame)) => frame,
        other => panic!("not a RoCEv2 packet: {other:?}"),
    }
}

/// Emits a frame and asserts that it parses to the same, lengths and pad made up.
fn assert_round_trip(repr: &FrameRepr) {
    let bytes = bytes_of(repr);
    assert_eq!(bytes.len(), repr.len());
    let parsed = parse(&bytes);
    assert_eq!((parsed.ethernet.destination, parsed.ethernet.source), (repr.destination, repr.source));
    assert_eq!(parsed.vlan, repr.vlan);
    let ip = match (repr.ip, parsed.ip) {
        (IpRepr::V4(ip), IpRepr::V4(seen)) => {
            IpRepr::V4(Ipv4Repr { total_length: seen.total_length, protocol: 17, ..ip })
        }
        (IpRepr::V6(ip), IpRepr::V6(seen)) => {
            IpRepr::V6(Ipv6Repr { payload_length: seen.payload_length, next_header: 17, ..ip })
        }
        versions => panic!("{versions:?}"),
    };
    assert_eq!(parsed.ip, ip);
    let pad_count = ((4 - repr.payload_len % 4) % 4) as u8;
    assert_eq!(parsed.bth, BthRepr { pad_count, ..repr.bth });
    assert_eq!(parsed.extensions, repr.extensions);
    assert_eq!(parsed.payload_len, usize::from(repr.payload_len));
    assert_eq!((parsed.udp.src_port, parsed.udp.dst_port), (repr.src_port, 4791));
    assert_eq!(parsed.icrc_ok(), Some(true));
}

fn ip() -> impl Strategy<Value = IpRepr> {
    let v4 = (any::<u8>(), any::<u16>(), any::<bool>(), any::<u8>(), any::<[u32; 2]>()).prop_map(
        |(traffic_class, identification, dont_fragment, ttl, [source, destination])| {
            IpRepr::V4(Ipv4Repr {
                traffic_class,
                total_length: 0,
                identification,
                dont_fragment,
                ttl,
                protocol: 0,
                source: source.into(),
                destination: destination.into(),
            })
        },
    );
    let v6 = (any::<u8>(), 0u32..1 << 20, any::<u8>(), any::<[u128; 2]>()).prop_map(
        |(traffic_class, flow_label, hop_limit, [source, destination])| {
            IpRepr::V6(Ipv6Repr {
                traffic_class,
                flow_label,
                payload_length: 0,
                next_header: 0,
                hop_limit,
                source: source.into(),
                destination: destination.into(),
            })
        },
    );
    prop_oneof![v4, v6]
}

proptest! {
    #[test]
    fn any_frame_round_trips(
        code: u8,
        macs in any::<[u64; 2]>(),
        vlan: Option<u16>,
        ip in ip(),
        src_port: u16,
        bits in any::<[bool; 5]>(),
        numbers in any::<[u32; 2]>(),
        partition_key: u16,
        payload_len in 0u16..=4096,
    ) {
        let opcode = Opcode::from(code);
        let [solicited, mig_req, fecn, becn, ack_req] = bits;
        let mut bth = BthRepr::new(opcode, numbers[0] & 0xff_ffff, Psn::new(numbers[1]));
        bth = BthRepr { solicited, mig_req, fecn, becn, ack_req, partition_key, ..bth };
        assert_round_trip(&FrameRepr {
            destination: Mac(macs[0] >> 16),
            source: Mac(macs[1] >> 16),
            vlan,
            ip,
            src_port,
            bth,
            extensions: extensions_of(opcode),
            payload_len,
        });
    }
}

#[test]
fn every_opcode_round_trips_with_every_pad() {
    for opcode in Opcode::KNOWN {
        for ip in [v4(), v6()] {
            for vlan in VLANS {
                for payload_len in (0..=8).chain([255, 256, 1023, 1024, 2047, 4093, 4094, 4095, 4096]) {
                    assert_round_trip(&frame(*opcode, ip, vlan, payload_len));
                }
            }
        }
    }
}

#[test]
fn lengths_of_the_extension_headers() {
    for opcode in Opcode::KNOWN {
        let len: usize = headers_of(*opcode)
            .iter()
            .map(|name| match *name {
                "deth" | "atomic_ack" => 8,
                "reth" => 16,
                "atomic" => 28,
                _ => 4,
            })
            .sum();
        assert_eq!(opcode.extensions_len(), len, "{opcode}");
    }
}

/// `etherparse` reads Ethernet, VLAN, IP and UDP on its own: it must see what was meant, down to the checksum.
#[test]
fn etherparse_sees_the_same() {
    for opcode in Opcode::KNOWN {
        for (ip, vlan) in [(v4(), None), (v4(), VLANS[1]), (v6(), None), (v6(), VLANS[1])] {
            let repr = frame(*opcode, ip, vlan, 1023);
            let bytes = bytes_of(&repr);
            let headers = PacketHeaders::from_ethernet_slice(&bytes).unwrap();
            let Some(etherparse::LinkHeader::Ethernet2(ethernet)) = &headers.link else { panic!("Ethernet") };
            assert_eq!(ethernet.source, [2, 0, 0, 0, 0, 1]);
            assert_eq!(ethernet.destination, [2, 0, 0, 0, 0, 2]);
            let tags = headers.vlan().map(|vlan| match vlan {
                etherparse::VlanHeader::Single(tag) => {
                    u16::from(tag.pcp.value()) << 13
                        | u16::from(tag.drop_eligible_indicator) << 12
                        | tag.vlan_id.value()
                }
                double @ etherparse::VlanHeader::Double(_) => panic!("{double:?}"),
            });
            assert_eq!(tags, vlan);
            match (headers.net.unwrap(), ip) {
                (NetHeaders::Ipv4(seen, _), IpRepr::V4(ip)) => {
                    assert_eq!(seen.header_checksum, seen.calc_header_checksum());
                    assert_eq!(
                        (seen.source, seen.destination),
                        (ip.source.octets(), ip.destination.octets())
                    );
                    assert_eq!((seen.dscp.value(), seen.ecn.value()), (0x1a >> 2, 0x1a & 3));
                    assert_eq!((seen.time_to_live, seen.identification), (ip.ttl, ip.identification));
                    assert!(seen.dont_fragment && !seen.more_fragments && seen.options.is_empty());
                }
                (NetHeaders::Ipv6(seen, _), IpRepr::V6(ip)) => {
                    assert_eq!(
                        (seen.source, seen.destination),
                        (ip.source.octets(), ip.destination.octets())
                    );
                    assert_eq!((seen.traffic_class, seen.flow_label.value()), (0x1a, ip.flow_label));
                    assert_eq!(seen.hop_limit, ip.hop_limit);
                }
                other => panic!("{other:?}"),
            }
            let Some(TransportHeader::Udp(udp)) = headers.transport else { panic!("UDP") };
            assert_eq!((udp.source_port, udp.destination_port, udp.checksum), (0xc123, 4791, 0));
            // The payload is cut by the length fields: all of them agree when nothing is left over.
            let transport_len = 12 + opcode.extensions_len() + 1024 + 4;
            assert_eq!(headers.payload.slice().len(), transport_len, "{opcode}");
            assert_eq!(usize::from(udp.length), 8 + transport_len, "{opcode}");
        }
    }
}

/// Offsets of the headers of a frame, by hand.
fn layers(ip: &IpRepr, vlan: bool, opcode: Opcode) -> Vec<(Layer, usize)> {
    let mut layers = vec![(Layer::Ethernet, 14)];
    if vlan {
        layers.push((Layer::Vlan, 4));
    }
    layers.push(match ip {
        IpRepr::V4(_) => (Layer::Ipv4, 20),
        IpRepr::V6(_) => (Layer::Ipv6, 40),
    });
    layers.extend([(Layer::Udp, 8), (Layer::Bth, 12)]);
    layers.extend(headers_of(opcode).iter().map(|name| match *name {
        "deth" => (Layer::Deth, 8),
        "reth" => (Layer::Reth, 16),
        "atomic" => (Layer::AtomicEth, 28),
        "aeth" => (Layer::Aeth, 4),
        "atomic_ack" => (Layer::AtomicAckEth, 8),
        "imm" => (Layer::ImmDt, 4),
        _ => (Layer::Ieth, 4),
    }));
    layers
}

#[test]
fn a_cut_at_every_byte_names_the_header_and_its_place() {
    for opcode in Opcode::KNOWN {
        for ip in [v4(), v6()] {
            for vlan in VLANS {
                let bytes = bytes_of(&frame(*opcode, ip, vlan, usual_payload(*opcode)));
                let mut begin = 0;
                for (layer, len) in layers(&ip, vlan.is_some(), *opcode) {
                    for have in 0..len {
                        let error = Frame::parse(&bytes[..begin + have], UdpPorts::Roce).unwrap_err();
                        let reason = Reason::Truncated { needed: len, have };
                        assert_eq!(error, WireError { layer, offset: begin, reason }, "{opcode}");
                    }
                    begin += len;
                }
                for end in begin..bytes.len() {
                    let trimmed = parse(&bytes[..end]);
                    assert_eq!(trimmed.payload_len, usize::from(usual_payload(*opcode)));
                    assert_eq!(trimmed.icrc_ok(), None);
                }
            }
        }
    }
}

#[test]
fn a_length_field_too_short_for_the_headers_is_refused() {
    let mut bytes = bytes_of(&frame(Opcode::WriteOnly, v4(), None, 3));
    // IP, UDP, BTH, RETH, one pad byte and ICRC: one byte less than that.
    bytes[16..18].copy_from_slice(&(20u16 + 8 + 12 + 16 + 1 + 4 - 1).to_be_bytes());
    let error = Frame::parse(&bytes, UdpPorts::Roce).unwrap_err();
    assert_eq!((error.layer, error.reason), (Layer::Icrc, Reason::TotalLength(60)));
}

#[test]
fn other_protocols_are_told_apart() {
    let other = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = bytes_of(&frame(Opcode::SendOnly, v4(), None, 4));
        change(&mut bytes);
        match Frame::parse(&bytes, UdpPorts::Roce) {
            Ok(Parsed::Other(reason)) => reason,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(other(&|bytes| bytes[12..14].copy_from_slice(&[8, 6])), NotRoce::EtherType(0x0806));
    assert_eq!(other(&|bytes| bytes[23] = 6), NotRoce::IpProtocol(6));
    assert_eq!(other(&|bytes| bytes[36..38].copy_from_slice(&[0, 53])), NotRoce::UdpPort(53));
}

#[test]
fn two_tags_are_looked_through_and_a_third_is_another_protocol() {
    let plain = bytes_of(&frame(Opcode::SendOnly, v4(), Some(7), 4));
    let with_outer = |bytes: &[u8]| {
        let mut tagged = bytes[..12].to_vec();
        tagged.extend([0x88, 0xa8, 0x00, 0x09]);
        tagged.extend(&bytes[12..]);
        tagged
    };
    let double = with_outer(&plain);
    let parsed = parse(&double);
    assert_eq!((parsed.vlan, parsed.icrc_ok()), (Some(7), Some(true)));
    assert_eq!(parsed.ethernet.ether_type, EtherType::ServiceVlan);
    let triple = with_outer(&double);
    let other = Frame::parse(&triple, UdpPorts::Roce).unwrap();
    assert!(matches!(other, Parsed::Other(NotRoce::EtherType(0x8100))), "{other:?}");
}

#[test]
fn ipv4_options_are_stepped_over() {
    let plain = bytes_of(&frame(Opcode::Acknowledge, v4(), None, 0));
    let mut bytes = plain[..34].to_vec();
    bytes.extend([1; 4]);
    bytes.extend(&plain[34..]);
    bytes[14] = 0x46;
    let total = u16::from_be_bytes([bytes[16], bytes[17]]) + 4;
    bytes[16..18].copy_from_slice(&total.to_be_bytes());
    let parsed = parse(&bytes);
    assert_eq!((parsed.extensions.aeth, parsed.payload_len), (extensions_of(Opcode::Acknowledge).aeth, 0));
    assert_eq!(parsed.icrc_ok(), None, "the annex defines no ICRC for it");
}

#[test]
fn the_longest_packet_of_ip_is_written_and_a_longer_one_refused() {
    let headers = 20 + 8 + 12 + 4;
    assert_round_trip(&frame(Opcode::SendOnly, v4(), None, 65_535 - headers - 3));
    let error = frame(Opcode::SendOnly, v4(), None, 65_535 - headers + 1).emit(&mut Vec::new()).unwrap_err();
    assert_eq!(error.layer, Layer::Ipv4);
    let error = frame(Opcode::SendOnly, v6(), None, 65_535).emit(&mut Vec::new()).unwrap_err();
    assert_eq!(error.layer, Layer::Udp);
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), start in 0..4) {
        // Most random bytes are not IP at all: start three of four off as IP.
        let template = [None, Some(v4()), Some(v6()), Some(v4())][start as usize];
        if let Some(ip) = template {
            let head = bytes_of(&frame(Opcode::CompareSwap, ip, (start == 3).then_some(1), 0));
            let keep = head.len().min(14 + bytes.first().map_or(0, |byte| usize::from(*byte) % 60));
            bytes.splice(0..keep.min(bytes.len()), head[..keep].iter().copied());
        }
        for ports in [UdpPorts::Roce, UdpPorts::Any] {
            if let Ok(Parsed::Roce(frame)) = Frame::parse(&bytes, ports) {
                let _ = frame.icrc_ok();
            }
        }
    }
}
