//! Selective repeat: each line of its tables happens in a trace here, and each of its rules is broken in one.

use corpus::TestConfig;
use dumper::wire::Opcode::{
    ReadResponseFirst, ReadResponseLast, ReadResponseMiddle, WriteFirst, WriteLast, WriteMiddle, WriteOnly,
};
use dumper::wire::{AethRepr, Opcode, Syndrome};
use dumper::{Connection, Counters, Delivery, Endpoint, FlowId, HostCounters, Observation, Psn, Record};
use scoring::Options;
use scoring::machines::table::Next;
use scoring::selective_repeat::tables::{receiver, sender};

use crate::hand::{Hand, NAK, analysis, config, host, rules};

const US: u64 = 1_000;
const MS: u64 = 1_000 * US;
/// Longer than T, which is 67 ms, and as long after an acknowledgement that none is on its way.
const LATER: u64 = 200 * MS;
const ACK: Syndrome = Syndrome::Ack(AethRepr::NO_CREDITS);
const RNR: Syndrome = Syndrome::RnrNak(1);

fn selective() -> TestConfig {
    config(
        "[requester]
        roce-parameters = { loss-recovery = \"selective-repeat\" }
        [responder]
        roce-parameters = { loss-recovery = \"selective-repeat\" }
        [traffic]
        min-retransmit-timeout = 14",
    )
}

/// A packet on the cable, or an answer.
#[derive(Clone, Copy)]
enum Step {
    /// Data of a Write, by its place in a message of four packets from PSN 10 on; one that is lost; one that is held until a time.
    Write(u32),
    Lost(u32),
    Held(u32, u64),
    Ack(u32),
    Answer(Syndrome, u32),
    /// Data that leaves twice at a time.
    Double(u32, u64),
    /// An acknowledgement that is held until a time.
    HeldAnswer(Syndrome, u32, u64),
    /// A NAK with copies.
    Copies(u32, u8),
    /// A Read from a PSN on, so many packets.
    Read(u32, u32),
    /// A response, delivered or lost; or held until a time.
    Response(u32),
    LostResponse(u32),
    HeldResponse(u32, u64),
}
use Step::{
    Ack, Answer, Copies, Double, Held, HeldAnswer, HeldResponse, Lost, LostResponse, Read, Response, Write,
};

const fn write(psn: u32) -> Opcode {
    match psn {
        10 => WriteFirst,
        11 | 12 => WriteMiddle,
        13 => WriteLast,
        _ => WriteOnly,
    }
}

const fn response(psn: u32) -> Opcode {
    match psn {
        10 => ReadResponseFirst,
        13 => ReadResponseLast,
        _ => ReadResponseMiddle,
    }
}

/// An observation of packets at these times; the hosts say how many packets they discarded, or not.
fn seen(steps: &[(u64, Step)], discards: Option<u64>) -> Observation {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    for (time, step) in steps {
        take(&mut hand, [there, back], *time, *step);
    }
    let endpoint = |n, qpn| Endpoint { ip: host(n), qpn: Some(qpn), initial_psn: Some(Psn::new(10)) };
    let connection = Connection { requester: endpoint(1, 0x11), responder: endpoint(2, 0x22) };
    let counted = |moved| Counters {
        hw_counters: [("rx_discards_phy".to_owned(), moved)].into(),
        ..Counters::default()
    };
    let host = || discards.map(|moved| HostCounters { start: counted(0), finish: counted(moved) });
    Observation { requester: host(), responder: host(), connections: vec![connection], ..hand.observation() }
}

fn take(hand: &mut Hand, [there, back]: [FlowId; 2], time: u64, step: Step) {
    let _sequence = match step {
        Write(psn) => hand.packet(time, there, write(psn), psn),
        Lost(psn) => hand.lost(time, there, write(psn), psn),
        Ack(psn) => hand.ack(time, back, psn, 0),
        Answer(syndrome, psn) => hand.answer(time, back, psn, syndrome, 0),
        Copies(psn, copies) => hand.copied_nak(time, back, psn, copies),
        Read(psn, packets) => hand.read(time, there, psn, packets),
        Response(psn) => hand.packet(time, back, response(psn), psn),
        LostResponse(psn) => hand.lost(time, back, response(psn), psn),
        Held(psn, left) => hand.late([time, left], there, write(psn), psn, |_| ()),
        HeldResponse(psn, left) => hand.late([time, left], back, response(psn), psn, |_| ()),
        Double(psn, left) => hand.doubled([time, left], there, write(psn), psn),
        HeldAnswer(syndrome, psn, left) => {
            let answers = |record: &mut Record| record.aeth = AethRepr { syndrome, msn: 0 }.into();
            hand.late([time, left], back, Opcode::Acknowledge, psn, answers)
        }
    };
}

/// Rules that are broken by packets at these times, where the hosts discarded nothing.
fn broken(steps: &[(u64, Step)]) -> Vec<&'static str> {
    rules(&analysis(&selective(), &seen(steps, Some(0))))
}

fn without_counters(steps: &[(u64, Step)]) -> Vec<&'static str> {
    rules(&analysis(&selective(), &seen(steps, None)))
}

const NONE: [&str; 0] = [];

/// Conforming ends: nothing is said of them.
fn conforming() {
    // A loss, its NAK, its repetition, and an acknowledgement of everything.
    let lost = [(1, Write(10)), (2, Lost(11)), (3, Write(12)), (4, Write(13)), (5, Answer(NAK, 11))];
    let then = |more: &[(u64, Step)]| [&lost[..], more].concat();
    assert_eq!(broken(&then(&[(6, Write(11)), (7, Ack(13))])), NONE);
    // Copies of the NAK ask again, of a packet that is acknowledged meanwhile too.
    let copied =
        [(1, Write(10)), (2, Lost(11)), (3, Write(12)), (5, Copies(11, 2)), (6, Write(11)), (7, Write(11))];
    assert_eq!(broken(&copied), NONE);
    let late = [(8, Ack(12)), (9, Write(11))];
    assert_eq!(broken(&[&copied[..], &late].concat()), NONE);
    // The timer repeats the oldest one, once more after another T.
    let timer = [(1, Lost(10)), (LATER, Write(10)), (2 * LATER, Write(10)), (2 * LATER + 1, Ack(10))];
    assert_eq!(broken(&timer), NONE);
    // Two gaps: each is asked for; one is repeated before the other.
    let gaps = [
        (1, Lost(10)),
        (2, Write(11)),
        (3, Lost(12)),
        (4, Write(13)),
        (5, Answer(NAK, 10)),
        (6, Answer(NAK, 12)),
    ];
    assert_eq!(broken(&[&gaps[..], &[(7, Write(12)), (8, Write(10)), (9, Ack(13))]].concat()), NONE);
    // Overtaken: the NAK was sent before the packet came, or it never is.
    let overtaken = [(1, Held(10, 4)), (2, Write(11)), (5, Answer(NAK, 10)), (6, Write(10)), (7, Ack(11))];
    assert_eq!(broken(&overtaken), NONE);
    let two_gaps = [(1, Held(10, 9)), (2, Held(11, 5)), (3, Write(12)), (10, Ack(12))];
    assert_eq!(broken(&two_gaps), NONE);
    // No room for what came behind a missing one: it is asked for.
    let full = [
        (1, Held(10, 6)),
        (2, Write(11)),
        (3, Write(12)),
        (7, Answer(NAK, 11)),
        (8, Write(11)),
        (9, Ack(12)),
    ];
    assert_eq!(broken(&full), NONE);
    // Duplicates of what is there, in order and not.
    let again =
        [(1, Write(10)), (2, Ack(10)), (3, Held(11, 9)), (4, Write(12)), (5, Answer(NAK, 11)), (10, Ack(12))];
    assert_eq!(broken(&again), NONE);
    // Not ready: the request is sent again after the wait; what came behind it is dropped, or kept.
    let refused = [
        (1, Write(10)),
        (2, Write(11)),
        (3, Write(12)),
        (4, Answer(RNR, 10)),
        (MS, Write(10)),
        (MS + 1, Answer(NAK, 11)),
    ];
    assert_eq!(broken(&[&refused[..], &[(MS + 2, Write(11)), (MS + 3, Ack(12))]].concat()), NONE);
    let refused_late = [
        (1, Held(10, 3)),
        (2, Write(11)),
        (4, Answer(RNR, 10)),
        (5, Answer(RNR, 10)),
        (MS, Write(10)),
        (MS + 1, Ack(11)),
    ];
    assert_eq!(broken(&refused_late), NONE);
    let refused_beyond =
        [(1, Held(10, 6)), (2, Write(11)), (7, Answer(RNR, 11)), (MS, Write(11)), (MS + 1, Ack(11))];
    assert_eq!(broken(&refused_beyond), NONE);
    // The ACK was on its way, or was lost behind the switch, when the timer expired.
    let crossing =
        [(1, Lost(10)), (2, Write(11)), (LATER, Write(10)), (2 * LATER, Ack(10)), (2 * LATER + 1, Write(10))];
    assert_eq!(broken(&crossing), NONE);
    let unheard = [(1, Lost(10)), (2, Write(11)), (3, Ack(10)), (LATER, Write(10))];
    assert!(without_counters(&unheard).iter().all(|rule| *rule == "ack-beyond-data"));
    let discarded = [(1, Write(10)), (2, Write(11)), (3, Answer(NAK, 10)), (4, Write(10))];
    assert_eq!(without_counters(&discarded), NONE);
    assert_eq!(rules(&analysis(&selective(), &seen(&discarded, Some(1)))), NONE);
    // A repetition that overtakes nothing, and one of two copies of it.
    let twice = [
        (1, Lost(10)),
        (2, Write(11)),
        (3, Answer(NAK, 10)),
        (4, Lost(10)),
        (LATER, Write(10)),
        (2 * LATER, Write(10)),
    ];
    assert_eq!(broken(&twice), NONE);
}

/// Conforming ends of Reads: the missing response alone is asked for; the next request shows that it came.
fn conforming_reads() {
    let read = [
        (1, Read(10, 4)),
        (2, Response(10)),
        (3, LostResponse(11)),
        (4, Response(12)),
        (5, Response(13)),
        (6, Read(11, 1)),
    ];
    assert_eq!(broken(&[&read[..], &[(7, Response(11)), (8, Read(14, 1))]].concat()), NONE);
    let by_timer = [(1, Read(10, 4)), (2, Response(10)), (3, LostResponse(11)), (LATER, Read(11, 3))];
    assert_eq!(broken(&by_timer), NONE);
    let overtaken = [
        (1, Read(10, 4)),
        (2, HeldResponse(10, 5)),
        (3, Response(11)),
        (4, Response(12)),
        (6, Read(10, 1)),
        (7, Response(10)),
    ];
    assert_eq!(broken(&overtaken), NONE);
    let lost_request = [
        (1, Write(10)),
        (2, Write(11)),
        (3, Write(12)),
        (4, HeldAnswer(ACK, 12, 9)),
        (5, Write(13)),
        (6, Ack(13)),
    ];
    assert_eq!(broken(&lost_request), NONE);
}

/// Packets that come twice, and answers that overtake each other.
fn twice() {
    assert_eq!(broken(&[(1, Double(10, 5)), (2, Write(11)), (6, Ack(11))]), NONE);
    assert_eq!(broken(&[(1, Held(10, 9)), (2, Double(11, 4)), (10, Ack(11))]), NONE);
    assert_eq!(broken(&[(1, Held(10, 9)), (2, Double(11, 5)), (3, Write(12)), (10, Ack(12))]), NONE);
    let asked = [
        (1, Held(10, 20)),
        (2, Lost(11)),
        (3, Write(12)),
        (4, Answer(NAK, 11)),
        (5, Double(11, 6)),
        (21, Ack(12)),
    ];
    assert_eq!(broken(&asked), NONE);
    // A Read that is not answered keeps what is behind it: an acknowledgement overtakes a NAK, or meets an expiry.
    let read = [(1, Read(10, 1)), (2, Lost(11)), (3, Write(12)), (4, HeldAnswer(NAK, 11, 9))];
    let asked = [(5, Write(11)), (6, Ack(12)), (20, Write(11))];
    assert_eq!(broken(&[&read[..], &asked].concat()), ["sr-retransmission-unasked"], "not yet asked for");
    let read = [(1, Read(10, 1)), (2, Lost(11)), (3, Write(12)), (4, Copies(11, 2))];
    assert_eq!(broken(&[&read[..], &asked].concat()), NONE);
    let crossing = [(1, Read(10, 1)), (3, Write(11)), (LATER, Ack(11)), (LATER + 1, Write(11))];
    assert_eq!(broken(&crossing), NONE);
}

/// Ends that break a rule, each in a way of its own.
fn breaking() {
    let lost = [(1, Write(10)), (2, Lost(11)), (3, Write(12)), (4, Write(13)), (5, Answer(NAK, 11))];
    let then = |more: &[(u64, Step)]| broken(&[&lost[..], more].concat());
    assert_eq!(then(&[(6, Answer(NAK, 11))]), ["sr-nak-again"]);
    assert_eq!(then(&[(6, Write(11)), (7, Answer(NAK, 11))]), ["sr-nak-again"]);
    assert_eq!(then(&[(6, Write(11)), (7, Write(12))]), ["sr-retransmission-unasked"], "go-back-N");
    assert_eq!(then(&[(6, Write(11)), (7, Write(11))]), ["sr-retransmission-unasked"]);
    assert_eq!(then(&[(6, Ack(13))]), ["ack-beyond-data"]);
    assert_eq!(broken(&[(1, Lost(10)), (2, Write(11)), (3, Ack(11))]), ["ack-beyond-data"]);
    assert_eq!(broken(&[(1, Lost(10)), (2, Ack(10))]), ["ack-beyond-data"]);
    assert_eq!(broken(&[(1, Write(10)), (2, Answer(NAK, 10))]), ["sr-nak-unprovoked"]);
    assert_eq!(broken(&[(1, Lost(10)), (2, Answer(NAK, 10))]), ["sr-nak-unprovoked"]);
    assert_eq!(
        broken(&[(1, Write(10)), (2, Write(11)), (3, Answer(NAK, 10))]),
        ["sr-nak-unprovoked"],
        "nothing is discarded"
    );
    assert_eq!(
        broken(&[(1, Write(10)), (2, Ack(10)), (3, Write(11)), (4, Answer(NAK, 10))]),
        ["sr-nak-unprovoked"]
    );
    assert_eq!(broken(&[(1, Write(10)), (MS, Write(10))]), ["sr-retransmission-unasked"], "before T");
    let second = [(1, Write(10)), (2, Write(11)), (LATER, Write(11))];
    assert_eq!(broken(&second), ["sr-retransmission-unasked"], "not the oldest");
    let heard =
        [(1, Held(10, 4)), (2, Write(11)), (5, Ack(10)), (2 * LATER, Write(11)), (4 * LATER, Write(10))];
    assert_eq!(broken(&heard), ["sr-retransmission-unasked"], "long acknowledged");
    let waits = [
        (1, Write(10)),
        (2, Read(11, 2)),
        (3, LostResponse(11)),
        (4, Ack(10)),
        (5, Write(13)),
        (2 * LATER, Write(10)),
    ];
    assert_eq!(broken(&waits), ["sr-retransmission-unasked"], "long acknowledged, and not done with");
    for (steps, state) in [
        (&[(1, Lost(10)), (2, Answer(RNR, 10))][..], "awaited"),
        (&[(1, Lost(10)), (2, Write(11)), (3, Answer(RNR, 10))], "missing"),
        (&[(1, Lost(10)), (2, Write(11)), (3, Answer(NAK, 10)), (4, Answer(RNR, 10))], "asked for"),
    ] {
        assert_eq!(broken(steps), ["rnr-undelivered"], "{state}");
    }
    // Responses that are there, or that nothing has overtaken, are not asked for.
    let answered =
        [(1, Read(10, 4)), (2, Response(10)), (3, Response(11)), (4, Response(12)), (LATER, Read(11, 1))];
    assert_eq!(broken(&answered), ["sr-retransmission-unasked"], "long answered");
    let ahead = [(1, Read(10, 4)), (2, LostResponse(10)), (3, LostResponse(11)), (4, Read(11, 1))];
    assert_eq!(broken(&ahead), ["sr-nak-unprovoked"]);
    let twice = [
        (1, Read(10, 4)),
        (2, Response(10)),
        (3, LostResponse(11)),
        (4, Response(12)),
        (6, Read(11, 1)),
        (7, Read(11, 1)),
    ];
    assert_eq!(broken(&twice), ["sr-nak-again"]);
}

#[test]
fn each_line_of_the_tables_happens() {
    conforming();
    conforming_reads();
    twice();
    breaking();
    let mut missing = Vec::new();
    macro_rules! look {
        ($machine:ident) => {
            for state in $machine::State::ALL {
                for event in $machine::Event::ALL {
                    let line =
                        $machine::ROWS.iter().find(|row| row.event == *event && row.from.contains(state));
                    let is_never = matches!(state.on(*event), Next::Never);
                    let stepped = state.stepped(*event);
                    assert!(!(is_never && stepped), "{state:?} {event:?} is said never to happen");
                    if !is_never && !stepped && line.is_some_and(|line| !line.clause.rare) {
                        missing.push(format!("{} {state:?} {event:?}", stringify!($machine)));
                    }
                }
            }
        };
    }
    look!(sender);
    look!(receiver);
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn a_message_that_is_written_twice_is_named_as_selective_repeat_names_it() {
    let mut observation = seen(&[(1, Write(10)), (2, Write(11))], None);
    let delivery = Delivery { connection: 1, message: 1, bytes: 2_048, intact: true };
    observation.deliveries = Some(vec![delivery, delivery]);
    let mut test = selective();
    test.traffic.message_size = 2_048;
    let of_test = analysis(&test, &observation);
    let [anomaly] = of_test.anomalies.kept() else { panic!("{of_test:?}") };
    assert_eq!(anomaly.signature(), "data-corruption/responder/sr-delivered-twice/more");
    let go_back_n = config("traffic = { message-size = 2_048 }");
    assert_eq!(rules(&analysis(&go_back_n, &observation)), ["delivered-not-once"]);
}

/// Without the test nothing says that packets are repeated selectively.
#[test]
fn only_a_test_with_selective_repeat_is_held_to_it() {
    let steps = [(1, Write(10)), (MS, Write(10))];
    let of =
        |config: Option<&TestConfig>| rules(&scoring::analyze(&seen(&steps, Some(0)), Options { config }));
    assert_eq!(of(Some(&selective())), ["sr-retransmission-unasked"]);
    for config in [None, Some(&config("traffic = { min-retransmit-timeout = 14 }"))] {
        assert!(of(config).iter().all(|rule| !rule.starts_with("sr-")));
    }
}

/// Findings are named by the end that breaks the rule.
#[test]
fn the_end_that_breaks_a_rule_is_named() {
    let lost = [(1, Write(10)), (2, Lost(11)), (3, Write(12)), (4, Write(13)), (5, Answer(NAK, 11))];
    let with = |more: (u64, Step)| {
        let observation = seen(&[&lost[..], &[more]].concat(), Some(0));
        let analysis = analysis(&selective(), &observation);
        analysis.anomalies.kept().iter().map(scoring::Anomaly::signature).collect::<Vec<_>>()
    };
    assert_eq!(with((6, Answer(NAK, 11))), ["protocol-violation/responder/sr-nak-again"]);
    assert_eq!(with((6, Answer(NAK, 10))), ["protocol-violation/responder/sr-nak-unprovoked"]);
    assert_eq!(with((6, Write(12))), ["protocol-violation/requester/sr-retransmission-unasked"]);
}

/// A Read request of one packet takes many PSNs: one that comes again and again is not followed for ever.
#[test]
fn a_connection_whose_reads_are_endless_is_not_judged() {
    let of = |times: u64, packets: u32| {
        let steps: Vec<(u64, Step)> = (0..times).map(|time| (time + 1, Read(10, packets))).collect();
        let judged = analysis(&selective(), &seen(&steps, Some(0))).connections;
        judged.iter().map(|one| one.judged).collect::<Vec<_>>()
    };
    assert_eq!(of(20, 100_000), [true]);
    assert_eq!(of(5_000, 100_000), [false]);
    assert_eq!(of(1, 2_090_000), [true]);
    assert_eq!(of(1, 2_097_151), [true]);
}
