//! Effect of actions on the bytes of frames.

use corpus::{HeaderField, SetField};
use dumper::mirror::MirrorMeta;
use dumper::wire::frame::{Frame, IpRepr, UdpPorts};
use dumper::wire::{Ecn, Opcode};
use dumper::{ActionKind, Event, Nanos, Psn};
use p4::Actions;
use p4::rewrite::{mirror, rewrite};
use proptest::prelude::*;

use crate::frames::{Made, captured, ip_checksum, parse};

const ECN: Actions = Actions { ecn: true, ..NONE };
const CORRUPT: Actions = Actions { corrupt: true, ..NONE };
const NONE: Actions = Actions {
    drop: false,
    ecn: false,
    corrupt: false,
    set_field: None,
    extra_copies: 0,
    timing: p4::Timing::AtOnce,
    drop_copies: 0,
};

fn set(field: HeaderField, value: u64) -> Actions {
    Actions { set_field: Some(SetField { field, value }), ..NONE }
}

/// Bytes where two frames of one length differ.
fn changed(before: &[u8], after: &[u8]) -> Vec<usize> {
    assert_eq!(before.len(), after.len());
    (0..before.len()).filter(|at| before[*at] != after[*at]).collect()
}

/// Every kind of frame: real ones, and made ones over both IP versions, tagged and not.
fn frames() -> Vec<Vec<u8>> {
    let mut frames: Vec<_> = ["rxe_write_last_full.pcap", "rxe_read_resp_first.pcap", "rxe_send_mid.pcap"]
        .iter()
        .flat_map(|name| captured(name).into_iter().take(40))
        .collect();
    for opcode in Opcode::KNOWN {
        for (v6, vlan, payload) in
            [(false, None, 0), (true, None, 37), (false, Some(5), 1024), (true, Some(7), 3)]
        {
            frames.push(Made { v6, vlan, payload, opcode: *opcode, ..Made::default() }.frame());
        }
    }
    frames
}

#[test]
fn marks_change_the_ecn_bits_and_the_checksum_alone() {
    for before in frames() {
        let after = rewrite(&before, &ECN).unwrap();
        let (was, is) = (parse(&before), parse(&after));
        assert_eq!(Ecn::of(is.ip.traffic_class()), Ecn::Ce);
        assert_eq!(is.ip.traffic_class() & !3, was.ip.traffic_class() & !3);
        assert_eq!(is.icrc_ok(), Some(true), "the ICRC masks them");
        if let IpRepr::V4(_) = is.ip {
            assert_eq!(ip_checksum(&after), 0);
            assert!(changed(&before, &after).len() <= 3);
        } else {
            assert_eq!(changed(&before, &after).len(), 1);
        }
    }
    let marked = rewrite(&Made::default().frame(), &ECN).unwrap();
    assert_eq!(rewrite(&marked, &ECN), None, "nothing is left to change");
}

#[test]
fn a_wrong_ip_checksum_stays_wrong() {
    let mut frame = Made::default().frame();
    frame[24] ^= 0x10;
    assert_ne!(ip_checksum(&frame), 0);
    assert_ne!(ip_checksum(&rewrite(&frame, &ECN).unwrap()), 0);
}

#[test]
fn corruption_inverts_one_bit_and_leaves_the_icrc() {
    for before in frames() {
        let after = rewrite(&before, &CORRUPT).unwrap();
        let at = changed(&before, &after);
        assert_eq!(at.len(), 1);
        assert_eq!((before[at[0]] ^ after[at[0]]).count_ones(), 1);
        let (was, is) = (parse(&before), parse(&after));
        assert_eq!((was.icrc_ok(), is.icrc_ok()), (Some(true), Some(false)));
        // All that a receiver reads is as it was.
        assert_eq!((is.bth, is.extensions.reth), (was.bth, was.extensions.reth));
    }
}

#[test]
fn the_rewritten_field_alone_differs_and_the_icrc_is_right() {
    for before in frames() {
        let was = parse(&before);
        for bit in [false, true] {
            let after =
                rewrite(&before, &set(HeaderField::MigReq, bit.into())).unwrap_or_else(|| before.clone());
            let is = parse(&after);
            assert_eq!(is.bth, dumper::wire::BthRepr { mig_req: bit, ..was.bth });
            assert_eq!(is.icrc_ok(), Some(true));
            assert_eq!(is.extensions.reth, was.extensions.reth);
        }
        let psn = rewrite(&before, &set(HeaderField::Psn, 3)).unwrap();
        assert_eq!(parse(&psn).bth, dumper::wire::BthRepr { psn: was.bth.psn.add(3), ..was.bth });
        let qpn = rewrite(&before, &set(HeaderField::DestQpn, 1)).unwrap();
        assert_eq!(parse(&qpn).bth.dest_qpn, was.bth.dest_qpn + 1);
        let key = rewrite(&before, &set(HeaderField::PartitionKey, 0x1234)).unwrap();
        assert_eq!(parse(&key).bth.partition_key, 0x1234);
        let asked = rewrite(&before, &set(HeaderField::AckReq, u64::from(!was.bth.ack_req))).unwrap();
        assert_eq!(parse(&asked).bth.ack_req, !was.bth.ack_req);
        for after in [psn, qpn, key, asked] {
            assert_eq!(parse(&after).icrc_ok(), Some(true));
            assert!(changed(&before, &after).len() <= 7, "a field and the ICRC");
        }
    }
}

#[test]
fn fields_of_extension_headers_are_set_where_they_are() {
    for before in frames() {
        let was = parse(&before);
        for (field, value) in [
            (HeaderField::RethAddress, 16),
            (HeaderField::RethKey, 1),
            (HeaderField::RethLength, 9),
            (HeaderField::AethSyndrome, 0x63),
            (HeaderField::Msn, 1),
        ] {
            let after = rewrite(&before, &set(field, value));
            let is_reth =
                matches!(field, HeaderField::RethAddress | HeaderField::RethKey | HeaderField::RethLength);
            let is_there =
                if is_reth { was.extensions.reth.is_some() } else { was.extensions.aeth.is_some() };
            assert_eq!(after.is_some(), is_there, "{field:?} of {:?}", was.bth.opcode);
            let Some(after) = after else { continue };
            let is = parse(&after);
            assert_eq!((is.icrc_ok(), is.bth), (Some(true), was.bth));
            let (mut reth, mut aeth) = (was.extensions.reth, was.extensions.aeth);
            if let Some(reth) = &mut reth {
                match field {
                    HeaderField::RethAddress => reth.virtual_address += 16,
                    HeaderField::RethKey => reth.remote_key += 1,
                    _ => reth.dma_length = 9,
                }
            }
            if let Some(aeth) = &mut aeth {
                match field {
                    HeaderField::Msn => aeth.msn += 1,
                    _ => aeth.syndrome = 0x63.into(),
                }
            }
            assert_eq!((is.extensions.reth, is.extensions.aeth), (reth, aeth), "{field:?}");
        }
    }
}

#[test]
fn lengths_change_and_bytes_stay() {
    for v6 in [false, true] {
        let before = Made { v6, ..Made::default() }.frame();
        let ip_at = 14;
        let udp = rewrite(&before, &set(HeaderField::UdpLength, 9)).unwrap();
        assert_eq!((udp.len(), parse(&udp).udp.length, parse(&udp).icrc_ok()), (before.len(), 9, Some(true)));
        let ip = rewrite(&before, &set(HeaderField::IpLength, 100)).unwrap();
        assert_eq!(ip.len(), before.len());
        let at = ip_at + if v6 { 4 } else { 2 };
        assert_eq!(ip[at..at + 2], [0, 100]);
        if !v6 {
            assert_eq!(ip_checksum(&ip), 0);
        }
        // The ICRC is where the packet ended before, and covers the new length.
        assert_eq!(dumper::wire::icrc::verify(&ip[ip_at..]), Some(true));
    }
}

#[test]
fn a_payload_is_cut_with_its_lengths() {
    for (v6, vlan) in [(false, None), (true, Some(3))] {
        let before = Made { v6, vlan, payload: 1022, ..Made::default() }.frame();
        for len in [2, 3, 1021] {
            let after = rewrite(&before, &set(HeaderField::Payload, len)).unwrap();
            let is = parse(&after);
            assert_eq!(is.payload_len as u64, len - 2, "two of them are taken for pad");
            assert_eq!((is.icrc_ok(), is.bth), (Some(true), parse(&before).bth));
            assert_eq!(after.len(), before.len() - (1024 - len as usize));
            assert_eq!(usize::from(is.udp.length), is.whole_packet.unwrap().len() - if v6 { 40 } else { 20 });
        }
        let bare = rewrite(&before, &set(HeaderField::Payload, 0)).unwrap();
        assert!(Frame::parse(&bare, UdpPorts::Roce).is_err(), "there is less than the pad count says");
        for len in [1022, 4096] {
            assert_eq!(rewrite(&before, &set(HeaderField::Payload, len)), None, "it is not longer");
        }
    }
}

#[test]
fn an_opcode_changes_and_what_follows_stays() {
    let before = Made { opcode: Opcode::WriteOnly, ..Made::default() }.frame();
    let after = rewrite(&before, &set(HeaderField::Opcode, 4)).unwrap();
    let is = parse(&after);
    assert_eq!((is.bth.opcode, is.icrc_ok(), is.payload_len), (Opcode::SendOnly, Some(true), 1024 + 16));
    assert_eq!(changed(&before, &after).len(), 5);
}

#[test]
fn a_udp_checksum_is_taken_back_where_bytes_under_it_change() {
    let mut frame = Made::default().frame();
    frame[40..42].copy_from_slice(&[0x12, 0x34]);
    for actions in [CORRUPT, set(HeaderField::MigReq, 0)] {
        assert_eq!(rewrite(&frame, &actions).unwrap()[40..42], [0, 0]);
    }
    assert_eq!(rewrite(&frame, &ECN).unwrap()[40..42], [0x12, 0x34], "it does not cover the ECN bits");
}

#[test]
fn padding_of_ethernet_is_no_part_of_the_packet() {
    let mut padded = Made { opcode: Opcode::Acknowledge, payload: 0, ..Made::default() }.frame();
    let len = padded.len();
    padded.extend([0xee; 9]);
    let after = rewrite(&padded, &set(HeaderField::MigReq, 0)).unwrap();
    assert_eq!((parse(&after).icrc_ok(), &after[len..]), (Some(true), &[0xee; 9][..]));
}

#[test]
fn mirrored_copies_carry_their_metadata() {
    for before in frames() {
        for event in [Event::None, Event::Action(ActionKind::Drop), Event::Action(ActionKind::Ecn)] {
            let meta = MirrorMeta { sequence: 0x7fff_fffe, time: Nanos(0xffff_1234_5678), event };
            let mut copy = before.clone();
            mirror(&mut copy, meta);
            let is = parse(&copy);
            let read = MirrorMeta::read(is.ethernet.source, is.ethernet.destination, is.ip.ttl());
            assert_eq!(read, Some(meta));
            assert_eq!((is.bth, is.icrc_ok()), (parse(&before).bth, Some(true)));
            assert_eq!(Ecn::of(is.ip.traffic_class()) == Ecn::Ce, event == Event::Action(ActionKind::Ecn));
            if let IpRepr::V4(_) = is.ip {
                assert_eq!(ip_checksum(&copy), 0);
            }
        }
    }
}

fn any_actions() -> impl Strategy<Value = Actions> {
    let field = proptest::sample::select(HeaderField::NAMES.to_vec());
    let set =
        proptest::option::of((field, any::<u64>()).prop_map(|((_, field), value)| SetField { field, value }));
    (any::<bool>(), any::<bool>(), set).prop_map(|(ecn, corrupt, set_field)| Actions {
        ecn,
        corrupt,
        set_field,
        ..NONE
    })
}

proptest! {
    /// Whatever a host sends is rewritten or passes; a frame never grows.
    #[test]
    fn hostile_frames_are_survived(
        base in 0..6usize,
        cut in any::<prop::sample::Index>(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        actions in any_actions(),
    ) {
        let made = Made { v6: base % 2 == 1, vlan: (base > 3).then_some(1), payload: base as u16 * 7, ..Made::default() };
        let mut frame = made.frame();
        for (at, value) in edits {
            let at = at.index(frame.len());
            frame[at] = value;
        }
        frame.truncate(cut.index(frame.len() + 1));
        if let Some(after) = rewrite(&frame, &actions) {
            prop_assert!(after.len() <= frame.len() && after != frame);
        }
        mirror(&mut frame, MirrorMeta { sequence: 1, time: Nanos(2), event: Event::Action(ActionKind::Drop) });
    }

    #[test]
    fn random_bytes_are_survived(mut frame in proptest::collection::vec(any::<u8>(), 0..200), actions in any_actions()) {
        let _ = rewrite(&frame, &actions);
        mirror(&mut frame, MirrorMeta { sequence: 1, time: Nanos(2), event: Event::Action(ActionKind::Ecn) });
    }
}

#[test]
fn psns_of_the_wire_wrap() {
    let before = Made { psn: 0xff_ffff, ..Made::default() }.frame();
    let after = rewrite(&before, &set(HeaderField::Psn, 1)).unwrap();
    assert_eq!(parse(&after).bth.psn, Psn::new(0));
}
