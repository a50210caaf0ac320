//! Causes of expiries: each row of the table, on a tape that shows it.

use scoring::{ExpiryCause, Options, analyze};
use tests::synthetic::Tape;

use crate::judge::Judge;

/// The causes of the expiries of a tape, in order; 67.1 ms is T.
fn causes_with(judge: &Judge, text: &str) -> Vec<&'static str> {
    let options = Options { config: Some(&judge.config) };
    let analysis = analyze(&judge.observed(&Tape::new(text)), options);
    analysis.retransmissions.iter().filter_map(|entry| entry.cause).map(ExpiryCause::name).collect()
}

fn causes(text: &str) -> Vec<&'static str> {
    causes_with(&Judge::new(), text)
}

#[test]
fn a_lost_tail_shows_by_nothing() {
    let text = "0         > WRITE_FIRST 1
                +300      > WRITE_LAST 2 ackreq drop
                80000000  > WRITE_FIRST 1
                +300      > WRITE_LAST 2 ackreq
                +5000     < ACK 2 msn=1";
    assert_eq!(causes(text), ["tail-lost"]);
    // All the same when the whole message is lost, or its last transmission is held until after the expiry.
    assert_eq!(causes(&text.replacen("WRITE_FIRST 1\n", "WRITE_FIRST 1 drop\n", 1)), ["tail-lost"]);
    assert_eq!(causes(&text.replace("ackreq drop", "ackreq delay=90000000")), ["tail-lost"]);
}

#[test]
fn a_packet_that_was_asked_for_is_lost_again() {
    let asked = "0        > WRITE_FIRST 1
                 +300     > WRITE_MIDDLE 2 drop
                 +300     > WRITE_LAST 3 ackreq
                 5000     < NAK 2
                 9000     > WRITE_MIDDLE 2 drop
                 +300     > WRITE_LAST 3 ackreq
                 80000000 > WRITE_MIDDLE 2 drop
                 +300     > WRITE_LAST 3 ackreq
                 230000000 > WRITE_MIDDLE 2
                 +300     > WRITE_LAST 3 ackreq
                 +5000    < ACK 3 msn=1";
    assert_eq!(causes(asked), ["lost-again", "lost-again"]);
    let expired = "0         > WRITE_ONLY 1 ackreq drop
                   80000000  > WRITE_ONLY 1 ackreq drop
                   230000000 > WRITE_ONLY 1 ackreq
                   +5000     < ACK 1 msn=1";
    assert_eq!(causes(expired), ["tail-lost", "lost-again"]);
}

/// The NAK of a packet comes after its last transmission was lost: the requester has not sent it again for that.
#[test]
fn a_nak_of_the_last_round_is_not_acted_on() {
    let text = "0        > WRITE_FIRST 1
                +300     > WRITE_MIDDLE 2 drop
                +300     > WRITE_MIDDLE 3
                +300     > WRITE_LAST 4 ackreq
                5000     < NAK 2
                9000     > WRITE_MIDDLE 2
                +300     > WRITE_MIDDLE 3 drop
                +300     > WRITE_LAST 4 ackreq
                14000    < NAK 3
                80000000 > WRITE_MIDDLE 3
                +300     > WRITE_LAST 4 ackreq
                +5000    < ACK 4 msn=1";
    assert_eq!(causes(text), ["nak-ignored"]);
    // Its NAK is lost as well, so that the requester begins with the packet before it.
    let unheard = text.replace("< NAK 3", "< NAK 3 drop");
    let unheard = unheard.replace("80000000 >", "80000000 > WRITE_MIDDLE 2\n +300 >");
    assert_eq!(causes(&unheard), ["nak-lost"]);
    // Sent again for the NAK, and lost once more.
    let again =
        text.replace("80000000 >", "18000 > WRITE_MIDDLE 3 drop\n +300 > WRITE_LAST 4 ackreq\n 80000000 >");
    assert_eq!(causes(&again), ["lost-again"]);
}

/// Two packets are lost, and the later one once more while only the earlier one is known to be missing: the responder has sent no NAK of
/// the later one yet, and it is the tail.
#[test]
fn a_packet_of_which_nobody_knew_is_not_lost_again() {
    let text = "0        > WRITE_FIRST 1 drop
                +300     > WRITE_MIDDLE 2
                +300     > WRITE_LAST 3 ackreq drop
                5000     < NAK 1
                9000     > WRITE_FIRST 1
                +300     > WRITE_MIDDLE 2
                +300     > WRITE_LAST 3 ackreq drop
                80000000 > WRITE_FIRST 1
                +300     > WRITE_MIDDLE 2
                +300     > WRITE_LAST 3 ackreq
                +5000    < ACK 3 msn=1";
    assert_eq!(causes(text), ["tail-lost"]);
}

#[test]
fn a_nak_is_lost_and_then_an_ack() {
    let text = "0         > WRITE_FIRST 1
                +300      > WRITE_MIDDLE 2 drop
                +300      > WRITE_LAST 3 ackreq
                5000      < NAK 2 drop
                80000000  > WRITE_FIRST 1
                +300      > WRITE_MIDDLE 2
                +300      > WRITE_LAST 3 ackreq
                +5000     < ACK 3 msn=1 drop
                230000000 > WRITE_FIRST 1
                +300      > WRITE_MIDDLE 2
                +300      > WRITE_LAST 3 ackreq drop
                380000000 > WRITE_FIRST 1
                +300      > WRITE_MIDDLE 2
                +300      > WRITE_LAST 3 ackreq
                +5000     < ACK 3 msn=1";
    assert_eq!(causes(text), ["nak-lost", "ack-lost", "lost-again"]);
    assert_eq!(causes(&text.replace("NAK 2 drop", "NAK 2 corrupt"))[0], "nak-lost");
}

#[test]
fn a_nak_of_a_receiver_that_is_not_ready_is_lost() {
    let text = "0        > SEND_ONLY 1 ackreq
                3000     < RNR 1 drop
                80000000 > SEND_ONLY 1 ackreq drop
                230000000 > SEND_ONLY 1 ackreq
                +5000    < ACK 1 msn=1";
    assert_eq!(causes(text), ["ack-lost", "lost-again"]);
}

#[test]
fn a_nak_is_ignored_or_missing() {
    let text = "0        > WRITE_FIRST 1
                +300     > WRITE_MIDDLE 2 drop
                +300     > WRITE_LAST 3 ackreq
                5000     < NAK 2
                80000000 > WRITE_MIDDLE 2
                +300     > WRITE_LAST 3 ackreq
                +5000    < ACK 3 msn=1";
    assert_eq!(causes(text), ["nak-ignored"]);
    let missing = text.replace("5000     < NAK 2\n", "\n");
    let missing =
        missing.replace("80000000 > WRITE_MIDDLE 2\n", "80000000 > WRITE_FIRST 1\n +300 > WRITE_MIDDLE 2\n");
    assert_eq!(causes(&missing), ["nak-missing"]);
    let discarding = Judge { discards: [Some(0), Some(1)], ..Judge::new() };
    assert_eq!(causes_with(&discarding, &missing), ["discarded"]);
}

#[test]
fn an_answer_is_missing_or_was_there() {
    let text = "0        > WRITE_ONLY 1 ackreq
                5000     < ACK 1 msn=1
                80000000 > WRITE_ONLY 1 ackreq
                +5000    < ACK 1 msn=1";
    assert_eq!(causes(text), ["unexplained"]);
    let silent = Judge { discards: [None, Some(0)], ..Judge::new() };
    assert_eq!(causes_with(&silent, text), ["unexplained"]);
    let missing = text.replace("5000     < ACK 1 msn=1\n", "\n");
    assert_eq!(causes(&missing), ["ack-missing"]);
    for (side, text) in [(0, text), (1, &missing)] {
        let mut discards = [Some(0); 2];
        discards[side] = Some(2);
        assert_eq!(causes_with(&Judge { discards, ..Judge::new() }, text), ["discarded"]);
    }
}

#[test]
fn a_read_request_is_lost() {
    let text = "0         > READ 1 bytes=2048 drop
                80000000  > READ 1 bytes=2048 drop
                230000000 > READ 1 bytes=2048
                +3000     < READ_RESPONSE_FIRST 1 msn=1
                +300      < READ_RESPONSE_LAST 2 msn=1";
    assert_eq!(causes(text), ["request-lost", "request-lost-again"]);
    // Issued again for a response, and lost.
    let reissued = "0         > READ 1 bytes=3072
                    3000      < READ_RESPONSE_FIRST 1 msn=1 drop
                    +300      < READ_RESPONSE_MIDDLE 2 msn=1
                    +300      < READ_RESPONSE_LAST 3 msn=1
                    9000      > READ 1 bytes=3072 drop
                    80000000  > READ 1 bytes=3072
                    +3000     < READ_RESPONSE_FIRST 1 msn=1
                    +300      < READ_RESPONSE_MIDDLE 2 msn=1
                    +300      < READ_RESPONSE_LAST 3 msn=1";
    assert_eq!(causes(reissued), ["request-lost-again"]);
}

#[test]
fn a_read_response_is_lost() {
    let tail = "0         > READ 1 bytes=2048
                3000      < READ_RESPONSE_FIRST 1 msn=1
                +300      < READ_RESPONSE_LAST 2 msn=1 drop
                80000000  > READ 2 bytes=1024
                +3000     < READ_RESPONSE_ONLY 2 msn=1 drop
                230000000 > READ 2 bytes=1024
                +3000     < READ_RESPONSE_ONLY 2 msn=1";
    assert_eq!(causes(tail), ["tail-lost", "lost-again"]);
    let gap = "0         > READ 1 bytes=3072
               3000      < READ_RESPONSE_FIRST 1 msn=1
               +300      < READ_RESPONSE_MIDDLE 2 msn=1 drop
               +300      < READ_RESPONSE_LAST 3 msn=1
               68000000  > READ 2 bytes=2048
               +3000     < READ_RESPONSE_FIRST 2 msn=1
               +300      < READ_RESPONSE_LAST 3 msn=1";
    assert_eq!(causes(gap), ["implied-nak-missing"]);
    let unanswered = "0         > READ 1 bytes=1024
                      80000000  > READ 1 bytes=1024
                      +3000     < READ_RESPONSE_ONLY 1 msn=1";
    assert_eq!(causes(unanswered), ["ack-missing"]);
}
