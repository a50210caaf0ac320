//! Packets that wait in a NIC, or are slow there, and break no other rule by it.

use corpus::TestConfig;
use dumper::trace::flags;
use dumper::wire::Opcode::{
    Cnp, ReadRequest, ReadResponseFirst, ReadResponseLast, ReadResponseMiddle, ReadResponseOnly, WriteFirst,
    WriteLast, WriteMiddle, WriteOnly,
};
use dumper::{ActionKind, Connection, Endpoint, Event, Psn};
use scoring::Options;
use scoring::score::{References, score};

use crate::hand::{Hand, NAK, analysis, asks_for, host, rules, signatures};

const MS: u64 = 1_000_000;

/// A Write whose second packet is lost and not NAKed for 60 ms, while its responder answers another
/// connection's Read with a packet every so many nanoseconds.
fn not_naked_beside_a_read(apart: u64) -> Vec<&'static str> {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    let (asks, answers) = (hand.flow(1, 2, 0x44, 0xc001), hand.flow(2, 1, 0x33, 0xc001));
    let packets = (60 * MS / apart) as u32;
    hand.read(900, asks, 500, packets);
    hand.packet(1_000, there, WriteFirst, 10);
    hand.lost(1_100, there, WriteMiddle, 11);
    hand.packet(1_200, there, WriteMiddle, 12);
    hand.last(1_300, there, WriteLast, 13);
    for at in 0..packets {
        let opcode = match at {
            0 => ReadResponseFirst,
            _ if at + 1 == packets => ReadResponseLast,
            _ => ReadResponseMiddle,
        };
        hand.with(2_000 + u64::from(at) * apart, answers, opcode, 500 + at, |record| {
            record.aeth = 0x1f00_0001;
        });
    }
    let again = 70 * MS;
    hand.packet(again, there, WriteFirst, 10);
    hand.packet(again + 100, there, WriteMiddle, 11);
    hand.packet(again + 200, there, WriteMiddle, 12);
    hand.last(again + 300, there, WriteLast, 13);
    hand.ack(again + 2_000, back, 13, 1);
    rules(&hand.analyze())
}

#[test]
fn an_answer_waits_behind_those_that_its_responder_sends_without_a_break() {
    assert_eq!(not_naked_beside_a_read(50_000), [""; 0]);
    assert_eq!(not_naked_beside_a_read(50_001), ["nak-missing"]);
}

/// Of a Read the third response overtakes the second, which comes then, and the last one is lost. So long
/// after, without a time-out, the requester requests the discarded responses again: late for the one that it
/// missed at first.
fn reissued_after(wait: u64) -> Vec<&'static str> {
    let mut config = TestConfig::default();
    config.traffic.min_retransmit_timeout = 16;
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    hand.read(1_000, there, 5, 4);
    hand.with(3_000, back, ReadResponseFirst, 5, |record| record.aeth = 0x1f00_0001);
    hand.late([3_100, 3_210], back, ReadResponseMiddle, 6, |_| ());
    hand.packet(3_200, back, ReadResponseMiddle, 7);
    hand.with(3_300, back, ReadResponseLast, 8, |record| {
        record.aeth = 0x1f00_0001;
        record.set_event(Event::Action(ActionKind::Drop));
    });
    hand.read(3_200 + wait, there, 7, 2);
    hand.with(6_000 + wait, back, ReadResponseFirst, 7, |record| record.aeth = 0x1f00_0001);
    hand.with(6_100 + wait, back, ReadResponseLast, 8, |record| record.aeth = 0x1f00_0001);
    rules(&hand.analyze_with(Options { config: Some(&config) }))
}

#[test]
fn a_slow_nack_is_no_time_out() {
    assert_eq!(reissued_after(83 * MS), [""; 0]);
    assert_eq!(reissued_after(100 * MS), [""; 0]);
    assert_eq!(reissued_after(100 * MS + 1), ["rto-below-minimum"]);
}

/// Of two Reads the second is answered before the first. The requester requests the discarded response again,
/// 83 ms late, and then so often by its timer, with one retry allowed.
fn reissued_late_and_again(times: u64) -> Vec<&'static str> {
    let mut config = TestConfig::default();
    config.traffic.max_retransmit_retry = 1;
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    hand.read(1_000, there, 10, 1);
    hand.read(1_100, there, 11, 1);
    hand.late([3_000, 30 * MS], back, ReadResponseOnly, 10, |record| record.aeth = 0x1f00_0001);
    hand.with(3_100, back, ReadResponseOnly, 11, |record| record.aeth = 0x1f00_0002);
    for at in 0..=times {
        let sent = 83 * MS + at * 160 * MS;
        hand.read(sent, there, 11, 1);
        hand.with(sent + 2_000, back, ReadResponseOnly, 11, |record| {
            record.aeth = 0x1f00_0002;
            record.set_event(Event::Action(ActionKind::Drop));
        });
    }
    rules(&hand.analyze_with(Options { config: Some(&config) }))
}

#[test]
fn a_slow_nack_was_paid_for_when_it_was_due() {
    assert_eq!(reissued_late_and_again(1), [""; 0]);
    assert_eq!(reissued_late_and_again(2), ["retries-beyond-budget"]);
}

/// Of three Reads the second passes the first and is NAKed, and then the third is, behind a response that is
/// late. The requester so often requests again the data of that response.
fn reissued_for_two_naks(times: u32) -> Vec<&'static str> {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    hand.late([1_000, 1_150], there, ReadRequest, 10, asks_for(10, 2));
    hand.read(1_100, there, 12, 1);
    hand.read(1_200, there, 13, 1);
    hand.answer(3_000, back, 10, NAK, 0);
    hand.with(3_100, back, ReadResponseFirst, 10, |record| record.aeth = 0x1f00_0001);
    hand.late([3_200, 50_000], back, ReadResponseLast, 11, |record| record.aeth = 0x1f00_0001);
    hand.answer(3_300, back, 12, NAK, 1);
    for at in 0..u64::from(times) {
        for psn in 11..=13 {
            hand.read(5_000 + at * 300 + u64::from(psn - 11) * 100, there, psn, 1);
        }
    }
    for at in 0..u64::from(times) {
        for psn in 11..=13 {
            let msn = if at == 0 { psn - 10 } else { 3 };
            let time = 10_000 + at * 300 + u64::from(psn - 11) * 100;
            hand.with(time, back, ReadResponseOnly, psn, |record| record.aeth = 0x1f00_0000 | msn);
        }
    }
    rules(&hand.analyze())
}

/// The first NAK is acted on when its own response has come, the second is an implied NAK of the response
/// that has not: what the requester has asked for since, that says nothing of (IBA vol. 1, 9.7.5.1).
#[test]
fn a_nak_behind_a_read_replaces_none_that_is_not_acted_on() {
    assert_eq!(reissued_for_two_naks(2), [""; 0]);
    assert_eq!(reissued_for_two_naks(3), ["retransmission-without-cause"]);
}

/// A Write loses a packet, and 300 µs later its responder NAKs it; what it acknowledges on another connection
/// at the same time it took at `other`.
fn naked_late_beside(other: u64) -> Vec<String> {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    let (beside, beside_back) = (hand.flow(1, 2, 0x44, 0xc001), hand.flow(2, 1, 0x33, 0xc001));
    hand.packet(1_000, there, WriteFirst, 10);
    hand.lost(1_100, there, WriteMiddle, 11);
    hand.last(1_200, there, WriteLast, 12);
    hand.last(other, beside, WriteOnly, 50);
    hand.ack(301_000, beside_back, 50, 1);
    hand.answer(301_200, back, 11, NAK, 0);
    hand.packet(303_000, there, WriteMiddle, 11);
    hand.last(303_100, there, WriteLast, 12);
    hand.ack(305_000, back, 12, 1);
    let config = TestConfig::default();
    let observation = hand.observation();
    let analysis = analysis(&config, &observation);
    signatures(&score(&config, &observation, &analysis, &References::default()))
}

#[test]
fn a_receiver_that_answers_nobody_is_not_slow_to_make_a_nack() {
    assert_eq!(naked_late_beside(1_300), [""; 0]);
    let slow = ["slow-retransmission/responder/slow-nack/generation-write"];
    assert_eq!(naked_late_beside(298_000), slow);
}

/// A notification point sends a CNP 300 µs after the mark, and the ACK of the marked packet as late, or in time.
fn notified_late(acknowledged: u64) -> Vec<&'static str> {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    hand.last(1_000, there, WriteOnly, 10);
    hand.ack(3_000, back, 10, 1);
    hand.with(20_000, there, WriteOnly, 11, |record| {
        record.flags |= flags::ACK_REQ;
        record.set_event(Event::Action(ActionKind::Ecn));
    });
    hand.ack(20_000 + acknowledged, back, 11, 2);
    hand.packet(320_000, back, Cnp, 0);
    hand.last(400_000, there, WriteOnly, 12);
    hand.ack(402_000, back, 12, 3);
    let mut observation = hand.observation();
    let end = |n, qpn| Endpoint { ip: host(n), qpn: Some(qpn), initial_psn: Some(Psn::new(10)) };
    observation.connections = vec![Connection { requester: end(1, 0x11), responder: end(2, 0x22) }];
    let config = TestConfig::default();
    rules(&analysis(&config, &observation))
}

#[test]
fn a_receiver_that_answers_nobody_withholds_no_cnp() {
    assert_eq!(notified_late(299_000), [""; 0]);
    assert_eq!(notified_late(2_000), ["cnp-withheld"]);
}

/// Two CNPs 2,200 ns apart, where the interval is 4 µs: the first one, on a link of 13 Gb/s, behind packets
/// without a break that begin with one of so many bytes.
fn notified_behind(frame_len: u32) -> Vec<&'static str> {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    let (beside, beside_back) = (hand.flow(1, 2, 0x44, 0xc001), hand.flow(2, 1, 0x33, 0xc001));
    let marked = |hand: &mut Hand, time, flow, psn| {
        hand.with(time, flow, WriteOnly, psn, |record| {
            record.flags |= flags::ACK_REQ;
            record.set_event(Event::Action(ActionKind::Ecn));
        });
    };
    marked(&mut hand, 1_000, there, 10);
    marked(&mut hand, 1_100, beside, 50);
    hand.read(1_200, beside, 51, 1);
    marked(&mut hand, 2_900, there, 11);
    hand.with(3_000, beside_back, ReadResponseOnly, 51, |record| {
        (record.aeth, record.frame_len) = (0x1f00_0002, frame_len);
    });
    let cnp = |hand: &mut Hand, time, flow| {
        hand.with(time, flow, Cnp, 0, |record| record.frame_len = 74);
    };
    cnp(&mut hand, 3_060, beside_back);
    cnp(&mut hand, 3_120, back);
    cnp(&mut hand, 5_320, back);
    hand.ack(6_000, back, 11, 2);
    let config = TestConfig::default();
    rules(&hand.analyze_with(Options { config: Some(&config) }))
}

#[test]
fn a_cnp_waits_behind_the_packet_that_is_leaving_and_behind_others() {
    assert_eq!(notified_behind(2_110), [""; 0]);
    assert_eq!(notified_behind(2_000), ["cnp-too-early"]);
}
