//! Pairing of the flows of a bare capture into connections.

use dumper::FlowId;
use dumper::wire::Opcode::WriteOnly;
use scoring::{Analysis, Certainty};

use crate::hand::{Hand, rules};

/// A Write with PSN `psn` on `there`, acknowledged on `back`.
fn write(hand: &mut Hand, time: u64, there: FlowId, back: FlowId, psn: u32) {
    hand.last(time, there, WriteOnly, psn);
    hand.ack(time + 2_000, back, psn, 1);
}

/// Requester's QPN, responder's QPN and certainty of every connection, in order.
fn found(analysis: &Analysis) -> Vec<(Option<u32>, Option<u32>, Certainty)> {
    let connections = analysis.connections.iter();
    connections.map(|one| (one.ends.requester.qpn, one.ends.responder.qpn, one.certainty)).collect()
}

#[test]
fn the_only_flow_each_way() {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    write(&mut hand, 1_000, there, back, 5);
    let analysis = hand.analyze();
    assert_eq!(found(&analysis), [(Some(0x11), Some(0x22), Certainty::Addresses)]);
    assert_eq!(analysis.connections[0].first_psn, 5);
    assert!(analysis.connections[0].judged);
}

/// Different initial PSNs tell the QPs apart, whatever the source ports.
#[test]
fn psn_continuity() {
    let mut hand = Hand::new();
    let there: Vec<_> = (0..3).map(|n| hand.flow(1, 2, 0x20 + n, 0xc000)).collect();
    let back: Vec<_> = (0..3).map(|n| hand.flow(2, 1, 0x10 + n, 0xc000)).collect();
    for n in 0..3usize {
        // The n-th QP is answered on the flow to QPN 0x12 - n.
        write(&mut hand, 1_000 + n as u64 * 10_000, there[n], back[2 - n], 1_000 * (n as u32 + 1));
    }
    let analysis = hand.analyze();
    assert_eq!(
        found(&analysis),
        [
            (Some(0x12), Some(0x20), Certainty::Psn),
            (Some(0x11), Some(0x21), Certainty::Psn),
            (Some(0x10), Some(0x22), Certainty::Psn),
        ]
    );
}

/// Equal initial PSNs, different source ports.
#[test]
fn source_ports() {
    let mut hand = Hand::new();
    let there: Vec<_> = (0..2).map(|n| hand.flow(1, 2, 0x20 + n, 0xc000 + n as u16)).collect();
    let back: Vec<_> = (0..2).map(|n| hand.flow(2, 1, 0x10 + n, 0xc001 - n as u16)).collect();
    for (flow, time) in there.into_iter().zip(1_000..) {
        hand.last(time, flow, WriteOnly, 7);
    }
    for (flow, time) in back.into_iter().rev().zip(3_000..) {
        hand.ack(time, flow, 7, 1);
    }
    let analysis = hand.analyze();
    assert_eq!(
        found(&analysis),
        [(Some(0x11), Some(0x20), Certainty::SourcePort), (Some(0x10), Some(0x21), Certainty::SourcePort)]
    );
}

/// Nothing tells them apart: it is said, and nothing is judged, not even an ACK of data that was never sent.
#[test]
fn ambiguous() {
    let mut hand = Hand::new();
    let there: Vec<_> = (0..2).map(|n| hand.flow(1, 2, 0x20 + n, 0xc000)).collect();
    let back: Vec<_> = (0..2).map(|n| hand.flow(2, 1, 0x10 + n, 0xc000)).collect();
    for (flow, time) in there.into_iter().zip(1_000..) {
        hand.last(time, flow, WriteOnly, 7);
        hand.last(time + 100, flow, WriteOnly, 8);
    }
    for (flow, time) in back.into_iter().zip(3_000..) {
        hand.ack(time, flow, 8, 2);
        hand.ack(time + 100, flow, 7, 1);
    }
    let analysis = hand.analyze();
    assert_eq!(
        found(&analysis),
        [(None, Some(0x20), Certainty::Ambiguous), (None, Some(0x21), Certainty::Ambiguous)]
    );
    assert!(analysis.connections.iter().all(|one| one.candidates == Some(2) && !one.judged));
    assert_eq!(rules(&analysis), [""; 0]);
}

#[test]
fn one_way() {
    let mut hand = Hand::new();
    let there = hand.flow(1, 2, 0x22, 0xc000);
    hand.last(1_000, there, WriteOnly, 7);
    let analysis = hand.analyze();
    assert_eq!(found(&analysis), [(None, Some(0x22), Certainty::OneWay)]);
}

/// Both ends send requests: two directions of judging, on the same two flows.
#[test]
fn requests_both_ways() {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    write(&mut hand, 1_000, there, back, 7);
    write(&mut hand, 10_000, back, there, 9_000);
    let analysis = hand.analyze();
    assert_eq!(
        found(&analysis),
        [(Some(0x11), Some(0x22), Certainty::Addresses), (Some(0x22), Some(0x11), Certainty::Addresses)]
    );
    assert_eq!(rules(&analysis), [""; 0]);
}

/// Several addresses of one host (multi-gid) are pairs of their own.
#[test]
fn several_addresses() {
    let mut hand = Hand::new();
    for n in 0..3u8 {
        let there = hand.flow(1 + n, 11, 0x20 + u32::from(n), 0xc000);
        let back = hand.flow(11, 1 + n, 0x10 + u32::from(n), 0xc000);
        write(&mut hand, 1_000 + u64::from(n) * 10_000, there, back, 7);
    }
    let analysis = hand.analyze();
    assert!(found(&analysis).iter().all(|(_, _, certainty)| *certainty == Certainty::Addresses));
    assert_eq!(analysis.connections.len(), 3);
}
