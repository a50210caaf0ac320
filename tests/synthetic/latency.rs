//! Retransmissions taken apart: known answers, to the nanosecond.

use scoring::{ExpiryCause, Options, Retransmission, Trigger, analyze};
use tests::synthetic::Tape;

use crate::judge::Judge;

/// The retransmissions of a tape that breaks no rule.
#[track_caller]
fn retransmissions(text: &str) -> Vec<Retransmission> {
    let judge = Judge::new();
    judge.gives(text, &[]);
    let options = Options { config: Some(&judge.config) };
    analyze(&judge.observed(&Tape::new(text)), options).retransmissions
}

fn nanos(time: u64) -> Option<dumper::Nanos> {
    Some(dumper::Nanos(time))
}

/// Fields that all have in common.
fn entry(trigger: Trigger, from_psn: u32, lost: &[u32]) -> Retransmission {
    Retransmission {
        connection: 1,
        trigger,
        from_psn,
        lost: lost.to_vec(),
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

/// Generation starts when the out-of-order packet *leaves* the switch, reaction when the NAK does.
#[test]
fn a_lost_packet_with_delays_in_the_switch() {
    let seen = retransmissions(
        "0    > SEND_FIRST 1
         +300 > SEND_MIDDLE 2 drop
         +300 > SEND_LAST 3 ackreq delay=700
         5000 < NAK 2 delay=400
         9000 > SEND_MIDDLE 2
         +300 > SEND_LAST 3 ackreq
         15000 < ACK 3 msn=1",
    );
    let expected = Retransmission {
        out_of_order: Some(3),
        nack: Some(4),
        retransmission: Some(5),
        generation_ns: nanos(5_000 - 1_300),
        reaction_ns: nanos(9_000 - 5_400),
        ..entry(Trigger::Fast, 2, &[2])
    };
    assert_eq!(seen, [expected]);
}

/// The request itself is lost: the next request makes the responder send a NAK.
#[test]
fn a_lost_read_request() {
    let seen = retransmissions(
        "0    > READ 1 bytes=2048 drop
         +300 > READ 3 bytes=1024
         5000 < NAK 1
         9000 > READ 1 bytes=2048
         +300 > READ 3 bytes=1024
         15000 < READ_RESPONSE_FIRST 1 msn=2
         +300 < READ_RESPONSE_LAST 2 msn=2
         +300 < READ_RESPONSE_ONLY 3 msn=2",
    );
    let expected = Retransmission {
        out_of_order: Some(2),
        nack: Some(3),
        retransmission: Some(4),
        generation_ns: nanos(5_000 - 300),
        reaction_ns: nanos(9_000 - 5_000),
        ..entry(Trigger::Fast, 1, &[1])
    };
    assert_eq!(seen, [expected]);
}

/// Two responses are lost one after the other: each is a gap, a re-issued Read and new data.
#[test]
fn two_lost_read_responses() {
    let seen = retransmissions(
        "0     > READ 1 bytes=4096
         3000  < READ_RESPONSE_FIRST 1 msn=1
         +300  < READ_RESPONSE_MIDDLE 2 drop
         +300  < READ_RESPONSE_MIDDLE 3
         +300  < READ_RESPONSE_LAST 4 msn=1
         9000  > READ 2 bytes=3072
         12000 < READ_RESPONSE_FIRST 2 msn=1
         +300  < READ_RESPONSE_MIDDLE 3 drop
         +300  < READ_RESPONSE_LAST 4 msn=1
         19000 > READ 3 bytes=2048
         22000 < READ_RESPONSE_FIRST 3 msn=1
         +300  < READ_RESPONSE_LAST 4 msn=1",
    );
    let first = Retransmission {
        out_of_order: Some(4),
        nack: Some(6),
        retransmission: Some(7),
        generation_ns: nanos(9_000 - 3_600),
        reaction_ns: nanos(12_000 - 9_000),
        reaction_net_ns: nanos(0),
        ..entry(Trigger::Fast, 2, &[3])
    };
    let second = Retransmission {
        out_of_order: Some(9),
        nack: Some(10),
        retransmission: Some(11),
        generation_ns: nanos(19_000 - 12_600),
        reaction_ns: nanos(22_000 - 19_000),
        reaction_net_ns: nanos(0),
        ..entry(Trigger::Fast, 3, &[8])
    };
    assert_eq!(seen, [first, second]);
}

/// Lost, lost again, and then not NAKed: fast first, by the timer after that.
#[test]
fn lost_twice() {
    let seen = retransmissions(
        "0     > WRITE_FIRST 1
         +300  > WRITE_MIDDLE 2 drop
         +300  > WRITE_LAST 3 ackreq
         5000  < NAK 2
         9000  > WRITE_MIDDLE 2 drop
         +300  > WRITE_LAST 3 ackreq
         80000000 > WRITE_MIDDLE 2
         +300  > WRITE_LAST 3 ackreq
         +5000 < ACK 3 msn=1",
    );
    let fast = Retransmission {
        out_of_order: Some(3),
        nack: Some(4),
        retransmission: Some(5),
        generation_ns: nanos(5_000 - 600),
        reaction_ns: nanos(9_000 - 5_000),
        ..entry(Trigger::Fast, 2, &[2])
    };
    let slow = Retransmission {
        retransmission: Some(7),
        timeout_ns: nanos(80_000_000 - 9_000),
        cause: Some(ExpiryCause::LostAgain),
        ..entry(Trigger::Timeout, 2, &[5])
    };
    assert_eq!(seen, [fast, slow]);
}

/// A Read whose last response is lost is re-issued by the timer; its data is the retransmission.
#[test]
fn a_lost_last_response() {
    let seen = retransmissions(
        "0    > READ 1 bytes=2048
         3000 < READ_RESPONSE_FIRST 1 msn=1
         +300 < READ_RESPONSE_LAST 2 msn=1 drop
         80000000 > READ 2 bytes=1024
         +4000 < READ_RESPONSE_ONLY 2 msn=1",
    );
    let expected = Retransmission {
        nack: Some(4),
        retransmission: Some(5),
        reaction_ns: nanos(4_000),
        reaction_net_ns: nanos(1_000),
        timeout_ns: nanos(80_000_000 - 3_000),
        cause: Some(ExpiryCause::TailLost),
        ..entry(Trigger::Timeout, 2, &[3])
    };
    assert_eq!(seen, [expected]);
}

/// A NAK or an ACK that is lost itself is replaced by the retransmission, beside the data.
#[test]
fn a_lost_nak_and_a_lost_ack() {
    let seen = retransmissions(
        "0    > WRITE_FIRST 1
         +300 > WRITE_MIDDLE 2 drop
         +300 > WRITE_LAST 3 ackreq
         5000 < NAK 2 drop
         80000000 > WRITE_FIRST 1
         +300 > WRITE_MIDDLE 2
         +300 > WRITE_LAST 3 ackreq
         +5000 < ACK 3 msn=1 drop
         160000000 > WRITE_FIRST 1
         +300 > WRITE_MIDDLE 2
         +300 > WRITE_LAST 3 ackreq
         +5000 < ACK 3 msn=1",
    );
    let first = Retransmission {
        retransmission: Some(5),
        timeout_ns: nanos(80_000_000),
        cause: Some(ExpiryCause::NakLost),
        ..entry(Trigger::Timeout, 1, &[2, 4])
    };
    let second = Retransmission {
        retransmission: Some(9),
        timeout_ns: nanos(80_000_000),
        cause: Some(ExpiryCause::AckLost),
        ..entry(Trigger::Timeout, 1, &[8])
    };
    assert_eq!(seen, [first, second]);
}

/// After an RNR NAK the wait is the reaction.
#[test]
fn an_rnr_wait() {
    let seen = retransmissions(
        "0    > SEND_ONLY 1 ackreq
         3000 < RNR 1
         500000 > SEND_ONLY 1 ackreq
         +5000 < ACK 1 msn=1",
    );
    let expected = Retransmission {
        nack: Some(2),
        retransmission: Some(3),
        reaction_ns: nanos(500_000 - 3_000),
        ..entry(Trigger::Rnr, 1, &[])
    };
    assert_eq!(seen, [expected]);
}
