//! One trace for each rule that breaks it and nothing else, and beside it the nearest one that is legal.

use corpus::TestConfig;
use dumper::trace::flags;
use dumper::wire::Opcode::{
    Acknowledge, Cnp, ReadResponseFirst, ReadResponseLast, ReadResponseMiddle, ReadResponseOnly, SendOnly,
    WriteFirst, WriteLast, WriteMiddle, WriteOnly,
};
use dumper::wire::Syndrome;
use dumper::{ActionKind, Event, FlowId};
use scoring::{Analysis, Options, Role};

use crate::hand::{Hand, NAK, rules};

/// Milliseconds in nanoseconds.
const MS: u64 = 1_000_000;

/// Asserts that exactly `rule` was broken, once, by `role`, and that `packet` is the one that broke it.
fn broke(analysis: &Analysis, rule: &str, role: Role, packet: u32) {
    assert_eq!(rules(analysis), [rule], "{:#?}", analysis.anomalies);
    let anomaly = &analysis.anomalies.kept()[0];
    assert_eq!((anomaly.who.role, anomaly.evidence.packets[0]), (role, packet), "{anomaly:#?}");
    assert_eq!(anomaly.who.connection, Some(1));
    let role = match role {
        Role::Requester => "requester",
        Role::Responder => "responder",
        Role::NotificationPoint => "notification-point",
        Role::ReactionPoint => "reaction-point",
        Role::Port => "port",
        Role::Eswitch => "eswitch",
    };
    assert!(
        anomaly.signature().starts_with(&format!("{}/{role}/{rule}/", anomaly.kind())),
        "{}",
        anomaly.signature()
    );
}

fn silent(analysis: &Analysis) {
    assert_eq!(rules(analysis), [""; 0], "{:#?}", analysis.anomalies);
}

/// A Write of four packets from PSN 10 whose second packet is lost; then what `go_on` does at 2 µs.
fn lossy_write(go_on: impl FnOnce(&mut Hand, FlowId, FlowId) -> u32) -> (Analysis, u32) {
    let (mut hand, there, back) = Hand::lossy_write();
    let packet = go_on(&mut hand, there, back);
    (hand.analyze(), packet)
}

/// Repeats PSN `from` to 13 at `time`; the number of the first repeated packet.
fn repeat(hand: &mut Hand, time: u64, there: FlowId, from: u32) -> u32 {
    let mut first = 0;
    for psn in from..=13 {
        let packet = match psn {
            10 => hand.packet(time, there, WriteFirst, psn),
            13 => hand.last(time + 30, there, WriteLast, psn),
            _ => hand.packet(time + u64::from(psn) - 10, there, WriteMiddle, psn),
        };
        first = if psn == from { packet } else { first };
    }
    first
}

#[test]
fn nak_twice() {
    let (analysis, packet) = lossy_write(|hand, there, back| {
        hand.answer(2_000, back, 11, NAK, 0);
        let again = hand.answer(2_500, back, 11, NAK, 0);
        repeat(hand, 3_000, there, 11);
        hand.ack(4_000, back, 13, 1);
        again
    });
    broke(&analysis, "nak-again", Role::Responder, packet);
    // Another expected PSN has a NAK of its own.
    let (analysis, _) = lossy_write(|hand, there, back| {
        hand.answer(2_000, back, 11, NAK, 0);
        hand.packet(3_000, there, WriteMiddle, 11);
        hand.lost(3_100, there, WriteMiddle, 12);
        hand.last(3_200, there, WriteLast, 13);
        hand.answer(4_000, back, 12, NAK, 0);
        repeat(hand, 5_000, there, 12);
        hand.ack(6_000, back, 13, 1)
    });
    silent(&analysis);
}

#[test]
fn nak_of_the_wrong_psn() {
    // Beyond the loss: a packet that it cannot expect.
    let (analysis, packet) = lossy_write(|hand, _, back| hand.answer(2_000, back, 12, NAK, 0));
    broke(&analysis, "nak-wrong-psn", Role::Responder, packet);
    // One that it has acknowledged.
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    for (message, psn) in (10..13).enumerate() {
        hand.last(1_000 + message as u64, there, WriteOnly, psn);
    }
    hand.ack(2_000, back, 11, 2);
    let packet = hand.answer(2_100, back, 11, NAK, 2);
    let analysis = hand.analyze();
    broke(&analysis, "nak-wrong-psn", Role::Responder, packet);
}

#[test]
fn nak_without_cause() {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    hand.last(1_000, there, WriteOnly, 10);
    let packet = hand.answer(2_000, back, 11, NAK, 1);
    broke(&hand.analyze(), "nak-without-cause", Role::Responder, packet);
}

/// A NAK may pass the switch after the repeated packet: it was sent before that arrived.
#[test]
fn a_nak_that_crosses_the_repeated_packet_is_legal() {
    let (analysis, _) = lossy_write(|hand, there, back| {
        repeat(hand, 70 * MS, there, 10);
        hand.answer(70 * MS + 500, back, 11, NAK, 0);
        repeat(hand, 70 * MS + 2_000, there, 11);
        hand.ack(70 * MS + 5_000, back, 13, 1)
    });
    assert_eq!(
        rules(&analysis).iter().filter(|rule| **rule != "nak-missing").count(),
        0,
        "{:#?}",
        analysis.anomalies
    );
}

#[test]
fn nak_missing() {
    let silence = |wait: u64| {
        lossy_write(move |hand, there, back| {
            repeat(hand, 1_200 + wait, there, 10);
            hand.ack(1_200 + wait + 2_000, back, 13, 1)
        })
        .0
    };
    // The out-of-order packet was the third; patience is 50 ms.
    broke(&silence(51 * MS), "nak-missing", Role::Responder, 3);
    silent(&silence(49 * MS));
}

#[test]
fn resume_at_the_wrong_psn() {
    let resume = |from| {
        lossy_write(move |hand, there, back| {
            hand.answer(2_000, back, 11, NAK, 0);
            repeat(hand, 3_000, there, from)
        })
    };
    let (late, packet) = resume(12);
    broke(&late, "resume-late", Role::Requester, packet);
    silent(&resume(11).0);
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    for psn in [10, 11] {
        hand.packet(u64::from(psn), there, if psn == 10 { WriteFirst } else { WriteMiddle }, psn);
    }
    hand.lost(1_200, there, WriteMiddle, 12);
    hand.last(1_300, there, WriteLast, 13);
    hand.answer(2_000, back, 12, NAK, 0);
    // PSN 11 was never the oldest unacknowledged one: the NAK acknowledges it together with 10.
    let packet = hand.packet(3_000, there, WriteMiddle, 11);
    broke(&hand.analyze(), "resume-early", Role::Requester, packet);
}

#[test]
fn ack_beyond_data() {
    let (analysis, packet) = lossy_write(|hand, _, back| hand.ack(2_000, back, 11, 0));
    broke(&analysis, "ack-beyond-data", Role::Responder, packet);
    silent(&lossy_write(|hand, _, back| hand.ack(2_000, back, 10, 0)).0);
}

#[test]
fn ack_goes_back() {
    let answer = |second| {
        let mut hand = Hand::new();
        let (there, back) = hand.connection();
        for psn in 10..13 {
            hand.last(1_000 + u64::from(psn), there, WriteOnly, psn);
        }
        hand.ack(2_000, back, 12, 3);
        let packet = hand.ack(2_100, back, second, 3);
        (hand.analyze(), packet)
    };
    let (analysis, packet) = answer(11);
    broke(&analysis, "ack-regresses", Role::Responder, packet);
    silent(&answer(12).0);
}

#[test]
fn ack_passes_a_read() {
    let order = |read_first: bool| {
        let mut hand = Hand::new();
        let (there, back) = hand.connection();
        hand.read(1_000, there, 10, 1);
        hand.last(1_100, there, SendOnly, 11);
        let mut packet = 0;
        for step in [read_first, !read_first] {
            if step {
                hand.with(2_000, back, ReadResponseOnly, 10, |record| record.aeth = 0x1f00_0001);
            } else {
                packet = hand.ack(2_000, back, 11, 2);
            }
        }
        (hand.analyze(), packet)
    };
    let (analysis, packet) = order(false);
    broke(&analysis, "ack-passes-read", Role::Responder, packet);
    silent(&order(true).0);
}

/// The ACK is lost, the requester repeats, and the responder is silent. One duplicate may have been lost behind
/// the switch; two in a row are an answer that is missing.
#[test]
fn reack_missing() {
    let second_try = |wait: u64| {
        let mut hand = Hand::new();
        let (there, back) = hand.connection();
        hand.last(1_000, there, WriteOnly, 10);
        hand.with(2_000, back, Acknowledge, 10, |record| {
            record.aeth = 0x1f00_0001;
            record.set_event(Event::Action(ActionKind::Drop));
        });
        hand.last(70 * MS, there, WriteOnly, 10);
        let duplicate = hand.last(70 * MS + wait, there, WriteOnly, 10);
        hand.last(70 * MS + 2 * wait, there, WriteOnly, 10);
        hand.ack(70 * MS + 2 * wait + 2_000, back, 10, 1);
        (hand.analyze(), duplicate)
    };
    let (analysis, packet) = second_try(51 * MS);
    broke(&analysis, "reack-missing", Role::Responder, packet);
    silent(&second_try(49 * MS).0);
}

#[test]
fn retransmission_without_cause() {
    let again = |wait: u64| {
        let mut hand = Hand::new();
        let (there, back) = hand.connection();
        hand.last(1_000, there, WriteOnly, 10);
        let packet = hand.last(1_000 + wait, there, WriteOnly, 10);
        hand.ack(90_000, back, 10, 1);
        (hand.analyze(), packet)
    };
    // The shortest time-out that can be configured is 8.192 µs.
    let (analysis, packet) = again(8_191);
    broke(&analysis, "retransmission-without-cause", Role::Requester, packet);
    silent(&again(8_192).0);
}

#[test]
fn psn_skipped() {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    hand.last(1_000, there, WriteOnly, 10);
    let packet = hand.last(1_100, there, WriteOnly, 12);
    hand.ack(2_000, back, 10, 1);
    broke(&hand.analyze(), "psn-skipped", Role::Requester, packet);
}

#[test]
fn msn_wrong() {
    let second = |msn| {
        let mut hand = Hand::new();
        let (there, back) = hand.connection();
        hand.last(1_000, there, WriteOnly, 10);
        hand.ack(2_000, back, 10, 1);
        hand.last(3_000, there, WriteOnly, 11);
        let packet = hand.ack(4_000, back, 11, msn);
        (hand.analyze(), packet)
    };
    let (analysis, packet) = second(3);
    broke(&analysis, "msn-wrong", Role::Responder, packet);
    silent(&second(2).0);
}

#[test]
fn rnr_nak_of_nothing() {
    let refuse = |psn| {
        let mut hand = Hand::new();
        let (there, back) = hand.connection();
        hand.last(1_000, there, SendOnly, 10);
        let packet = hand.answer(2_000, back, psn, Syndrome::RnrNak(14), psn - 10);
        if psn == 10 {
            hand.last(2 * MS, there, SendOnly, 10);
            hand.ack(2 * MS + 2_000, back, 10, 1);
        }
        (hand.analyze(), packet)
    };
    let (analysis, packet) = refuse(11);
    broke(&analysis, "rnr-undelivered", Role::Responder, packet);
    silent(&refuse(10).0);
}

#[test]
fn read_responses() {
    // PSNs and opcodes of the responses to a Read of four packets from PSN 10.
    let responses = |sent: &[(u32, dumper::wire::Opcode)]| {
        let mut hand = Hand::new();
        let (there, back) = hand.connection();
        hand.read(1_000, there, 10, 4);
        let mut packets = Vec::new();
        for (at, (psn, opcode)) in sent.iter().enumerate() {
            packets.push(hand.with(2_000 + at as u64, back, *opcode, *psn, |record| {
                record.aeth = if *opcode == ReadResponseMiddle { 0 } else { 0x1f00_0001 };
            }));
        }
        (hand.analyze(), packets)
    };
    let whole =
        [(10, ReadResponseFirst), (11, ReadResponseMiddle), (12, ReadResponseMiddle), (13, ReadResponseLast)];
    silent(&responses(&whole).0);
    let (gap, packets) = responses(&[whole[0], whole[2], whole[3]]);
    broke(&gap, "response-gap", Role::Responder, packets[1]);
    let (beyond, packets) = responses(&[whole[0], whole[1], whole[2], whole[3], (14, ReadResponseMiddle)]);
    broke(&beyond, "response-unrequested", Role::Responder, packets[4]);
    let (misplaced, packets) = responses(&[whole[0], whole[1], (12, ReadResponseLast), whole[3]]);
    broke(&misplaced, "response-position", Role::Responder, packets[2]);
}

/// A requester issues a Read of four packets again so often, and in between one of its first two packets, that the judge cannot
/// remember all of them: it does not take the response to one for the response to another. Up to then it judges.
#[test]
fn more_unanswered_reads_than_the_judge_remembers() {
    let issued = |times: u64| {
        let mut hand = Hand::new();
        let (there, back) = hand.connection();
        for at in 0..times {
            hand.read(1_000 + at, there, 10, if at < 8 { 4 } else { 2 });
        }
        for (time, psn, opcode) in [(10_000, 10, ReadResponseFirst), (10_001, 11, ReadResponseLast)] {
            hand.with(time, back, opcode, psn, |record| record.aeth = 0x1f00_0001);
        }
        let analysis = hand.analyze();
        (rules(&analysis).contains(&"response-position"), analysis.connections[0].responses_judged)
    };
    assert_eq!(issued(4_096), (true, true));
    assert_eq!(issued(4_097), (false, false));
}

/// A NAK for a packet that left the switch intact: lost behind it, or a wrong NAK; no counter says which.
#[test]
fn a_delivered_packet_is_naked() {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    hand.packet(1_000, there, WriteFirst, 10);
    hand.packet(1_100, there, WriteMiddle, 11);
    hand.last(1_200, there, WriteLast, 12);
    let packet = hand.answer(2_000, back, 11, NAK, 0);
    hand.packet(3_000, there, WriteMiddle, 11);
    hand.last(3_100, there, WriteLast, 12);
    hand.ack(4_000, back, 12, 1);
    broke(&hand.analyze(), "delivered-yet-missing", Role::Responder, packet);
}

/// Time-outs against a configured exponent of 14: T is 67.1 ms.
#[test]
fn time_outs_outside_of_t_to_4t() {
    let expiry = |wait: u64| {
        let mut config = TestConfig::default();
        config.traffic.min_retransmit_timeout = 14;
        let mut hand = Hand::new();
        let (there, back) = hand.connection();
        hand.with(0, there, WriteOnly, 10, |record| {
            record.flags |= flags::ACK_REQ;
            record.set_event(Event::Action(ActionKind::Drop));
        });
        let packet = hand.last(wait, there, WriteOnly, 10);
        hand.ack(wait + 2_000, back, 10, 1);
        (hand.analyze_with(Options { config: Some(&config) }), packet)
    };
    let t = 4_096 << 14;
    // The switch may see a timer run up to 50 µs longer or shorter than the requester did.
    let slack = 50_000;
    let (early, packet) = expiry(t - slack - 1);
    broke(&early, "rto-below-minimum", Role::Requester, packet);
    silent(&expiry(t - slack).0);
    silent(&expiry(4 * t + slack).0);
    let (late, packet) = expiry(4 * t + slack + 1);
    broke(&late, "rto-above-maximum", Role::Requester, packet);
}

#[test]
fn marks_without_cnp_and_cnps_without_marks() {
    let traffic = |marked: bool, cnp: bool| {
        let mut hand = Hand::new();
        let (there, back) = hand.connection();
        let mark = hand.with(1_000, there, WriteOnly, 10, |record| {
            record.flags |= flags::ACK_REQ;
            if marked {
                record.set_event(Event::Action(ActionKind::Ecn));
            }
        });
        let sent = if cnp { hand.packet(2_000, back, Cnp, 0) } else { 0 };
        hand.ack(2_100, back, 10, 1);
        // Long enough afterwards for any CNP to have come.
        hand.last(100_000, there, WriteOnly, 11);
        hand.ack(102_000, back, 11, 2);
        (hand.analyze(), mark, sent)
    };
    silent(&traffic(true, true).0);
    silent(&traffic(false, false).0);
    let (analysis, mark, _) = traffic(true, false);
    broke(&analysis, "ecn-without-cnp", Role::NotificationPoint, mark);
    let (analysis, _, cnp) = traffic(false, true);
    broke(&analysis, "cnp-without-ecn", Role::NotificationPoint, cnp);
}
