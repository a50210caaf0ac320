//! Retransmissions taken apart: which packets, and how long each phase took.

use dumper::Nanos;
use dumper::wire::Opcode::{
    ReadResponseFirst, ReadResponseLast, ReadResponseMiddle, SendFirst, SendLast, SendMiddle, WriteFirst,
    WriteLast, WriteMiddle, WriteOnly,
};
use scoring::{Analysis, ExpiryCause, Retransmission, Trigger};

use crate::hand::{Hand, NAK, rules};

fn only(analysis: &Analysis) -> &Retransmission {
    assert_eq!(rules(analysis), [""; 0], "{:#?}", analysis.anomalies);
    assert_eq!(analysis.retransmissions.len(), 1, "{:#?}", analysis.retransmissions);
    &analysis.retransmissions[0]
}

fn fast(connection: usize, from_psn: u32) -> Retransmission {
    Retransmission {
        connection,
        trigger: Trigger::Fast,
        from_psn,
        lost: Vec::new(),
        out_of_order: None,
        nack: None,
        retransmission: None,
        generation_ns: None,
        generation_net_ns: None,
        reaction_ns: None,
        reaction_net_ns: None,
        timeout_ns: None,
        cause: None,
    }
}

/// Lumina Figure 5: the NACK phases of a Send, PSNs across the wrap.
#[test]
fn a_lost_send_packet() {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    hand.packet(1_000, there, SendFirst, 0xff_fffe);
    let lost = hand.lost(1_100, there, SendMiddle, 0xff_ffff);
    let beyond = hand.packet(1_207, there, SendMiddle, 0);
    hand.last(1_300, there, SendLast, 1);
    let nack = hand.answer(3_210, back, 0xff_ffff, NAK, 0);
    let again = hand.packet(7_777, there, SendMiddle, 0xff_ffff);
    hand.packet(7_800, there, SendMiddle, 0);
    hand.last(7_900, there, SendLast, 1);
    hand.ack(9_000, back, 1, 1);
    let expected = Retransmission {
        lost: vec![lost],
        out_of_order: Some(beyond),
        nack: Some(nack),
        retransmission: Some(again),
        generation_ns: Some(Nanos(2_003)),
        // The way to the responder and back, as its ACK shows, takes 1,100 ns.
        generation_net_ns: Some(Nanos(903)),
        reaction_ns: Some(Nanos(4_567)),
        ..fast(1, 2)
    };
    assert_eq!(only(&hand.analyze()), &expected);
}

/// The next *delivered* packet starts the clock, not a lost one.
#[test]
fn two_packets_lost_in_a_row() {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    hand.packet(1_000, there, WriteFirst, 10);
    let first = hand.lost(1_100, there, WriteMiddle, 11);
    let second = hand.lost(1_200, there, WriteMiddle, 12);
    let beyond = hand.last(1_300, there, WriteLast, 13);
    let nack = hand.answer(2_300, back, 11, NAK, 0);
    let again = hand.packet(3_000, there, WriteMiddle, 11);
    hand.packet(3_100, there, WriteMiddle, 12);
    hand.last(3_200, there, WriteLast, 13);
    hand.ack(4_000, back, 13, 1);
    let expected = Retransmission {
        lost: vec![first, second],
        out_of_order: Some(beyond),
        nack: Some(nack),
        retransmission: Some(again),
        generation_ns: Some(Nanos(1_000)),
        generation_net_ns: Some(Nanos(200)),
        reaction_ns: Some(Nanos(700)),
        ..fast(1, 2)
    };
    assert_eq!(only(&hand.analyze()), &expected);
}

/// A Read's NACK is its re-issued request, for the rest of the data.
#[test]
fn a_lost_read_response() {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    hand.read(1_000, there, 5, 4);
    hand.with(3_000, back, ReadResponseFirst, 5, |record| record.aeth = 0x1f00_0001);
    let lost = hand.lost(3_100, back, ReadResponseMiddle, 6);
    let beyond = hand.packet(3_200, back, ReadResponseMiddle, 7);
    hand.with(3_300, back, ReadResponseLast, 8, |record| record.aeth = 0x1f00_0001);
    let nack = hand.read(153_200, there, 6, 3);
    let again = hand.with(155_000, back, ReadResponseFirst, 6, |record| record.aeth = 0x1f00_0001);
    hand.packet(155_100, back, ReadResponseMiddle, 7);
    hand.with(155_200, back, ReadResponseLast, 8, |record| record.aeth = 0x1f00_0001);
    let expected = Retransmission {
        lost: vec![lost],
        out_of_order: Some(beyond),
        nack: Some(nack),
        retransmission: Some(again),
        generation_ns: Some(Nanos(150_000)),
        reaction_ns: Some(Nanos(1_800)),
        // The first response took longer than that.
        reaction_net_ns: Some(Nanos(0)),
        ..fast(1, 2)
    };
    assert_eq!(only(&hand.analyze()), &expected);
}

/// The last packet is lost: nothing comes out of order, and only the timer helps.
#[test]
fn a_lost_tail() {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    hand.last(1_000, there, WriteOnly, 7);
    hand.ack(3_000, back, 7, 1);
    let lost = hand.with(5_000, there, WriteOnly, 8, |record| {
        record.flags |= dumper::trace::flags::ACK_REQ;
        record.set_event(dumper::Event::Action(dumper::ActionKind::Drop));
    });
    let again = hand.last(70_005_000, there, WriteOnly, 8);
    hand.ack(70_007_000, back, 8, 2);
    let expected = Retransmission {
        trigger: Trigger::Timeout,
        lost: vec![lost],
        retransmission: Some(again),
        timeout_ns: Some(Nanos(70_000_000)),
        cause: Some(ExpiryCause::TailLost),
        ..fast(1, 2)
    };
    assert_eq!(only(&hand.analyze()), &expected);
}

/// A lost ACK makes the requester time out; the responder acknowledges the duplicate again.
#[test]
fn a_lost_ack() {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    hand.last(1_000, there, WriteOnly, 7);
    let lost = hand.with(3_000, back, dumper::wire::Opcode::Acknowledge, 7, |record| {
        record.aeth = 0x1f00_0001;
        record.set_event(dumper::Event::Action(dumper::ActionKind::Drop));
    });
    let again = hand.last(70_001_000, there, WriteOnly, 7);
    hand.ack(70_003_000, back, 7, 1);
    let analysis = hand.analyze();
    let one = only(&analysis);
    assert_eq!(
        (one.trigger, &one.lost[..], one.retransmission),
        (Trigger::Timeout, &[lost][..], Some(again))
    );
    assert_eq!(one.timeout_ns, Some(Nanos(70_000_000)));
}

/// A lost NAK is never repeated: a time-out ends the wait (packet corruption paper: losing the NAK always ends in a
/// time-out).
#[test]
fn a_lost_nak() {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    hand.packet(1_000, there, WriteFirst, 7);
    let packet = hand.lost(1_100, there, WriteMiddle, 8);
    hand.last(1_200, there, WriteLast, 9);
    let nak = hand.with(2_200, back, dumper::wire::Opcode::Acknowledge, 8, |record| {
        record.aeth = 0x6000_0000;
        record.set_event(dumper::Event::Action(dumper::ActionKind::Drop));
    });
    let again = hand.packet(70_001_000, there, WriteFirst, 7);
    hand.packet(70_001_100, there, WriteMiddle, 8);
    hand.last(70_001_200, there, WriteLast, 9);
    hand.ack(70_003_000, back, 9, 1);
    let analysis = hand.analyze();
    let one = only(&analysis);
    assert_eq!((one.trigger, one.from_psn, one.retransmission), (Trigger::Timeout, 1, Some(again)));
    assert_eq!(one.lost, [packet, nak]);
    assert_eq!(one.timeout_ns, Some(Nanos(70_000_000)));
}
