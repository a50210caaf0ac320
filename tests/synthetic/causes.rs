//! Causes of retransmissions: each return to an earlier PSN is put down to the NAK, implied NAK, RNR NAK or expiry that
//! made it, and no cause excuses what another one would have to explain.

use dumper::Nanos;
use dumper::observation::CompletionStatus::RetryExceeded;
use dumper::timers::LATEST_EXPIRY;
use scoring::{Options, Retransmission, Trigger, analyze};
use tests::synthetic::Tape;

use crate::judge::Judge;

/// T of the configured exponent 14.
const T: u64 = 4_096 << 14;

/// A requester with an ACK timeout exponent, and so many transport and RNR retries.
fn judge(exponent: u8, retries: u8, rnr_retries: u8) -> Judge {
    let mut judge = Judge::new();
    judge.config.traffic.min_retransmit_timeout = exponent;
    judge.config.traffic.max_retransmit_retry = retries;
    judge.config.traffic.rnr_retry = rnr_retries;
    judge
}

/// The retransmissions of a tape, whatever it breaks.
fn retransmissions(judge: &Judge, text: &str) -> Vec<Retransmission> {
    analyze(&judge.observed(&Tape::new(text)), Options { config: Some(&judge.config) }).retransmissions
}

/// A Send that is refused, with a sequence NAK right behind the RNR NAK, and sent again after the wait; so many times.
fn refused_and_naked(rounds: usize) -> String {
    "0    > SEND_FIRST 1
     +300 > SEND_LAST 2 ackreq\n"
        .to_owned()
        + &"+3000 < RNR 1
            +300 < NAK 1
            +500000 > SEND_FIRST 1
            +300 > SEND_LAST 2 ackreq\n"
            .repeat(rounds)
}

#[test]
fn a_nak_behind_an_rnr_nak_excuses_no_rnr_retries() {
    judge(14, 7, 2).gives(&refused_and_naked(2), &[]);
    judge(14, 7, 2)
        .gives(&refused_and_naked(3), &["retry-count/requester/rnr-retries-beyond-budget/nak-heard c1 @13"]);
}

/// The wait of the second RNR NAK is counted from the second RNR NAK, though a sequence NAK explains the return before.
#[test]
fn a_later_rnr_nak_renews_the_cause() {
    let again = |wait: u64| {
        refused_and_naked(1)
            + &format!(
                "+3000 < RNR 1
                 +{wait} > SEND_FIRST 1
                 +300 > SEND_LAST 2 ackreq
                 +5000 < ACK 2 msn=1"
            )
    };
    let judge = judge(14, 7, 7);
    judge.gives(&again(500_000), &[]);
    judge.gives(&again(200_000), &["protocol-violation/requester/rnr-wait-short/rnr-heard c1 @8"]);
    let seen = retransmissions(&judge, &again(500_000));
    let reactions: Vec<_> = seen.iter().map(|entry| (entry.trigger, entry.nack, entry.reaction_ns)).collect();
    assert_eq!(
        reactions,
        [(Trigger::Rnr, Some(3), Some(Nanos(500_300))), (Trigger::Rnr, Some(7), Some(Nanos(500_000)))]
    );
}

#[test]
fn an_rnr_nak_excuses_no_transport_retries() {
    let time_outs = |times: usize| {
        "0    > SEND_ONLY 1 ackreq
         3000 < RNR 1
         +2000000 > SEND_ONLY 1 ackreq drop\n"
            .to_owned()
            + &"+70000000 > SEND_ONLY 1 ackreq drop\n".repeat(times)
    };
    judge(14, 2, 7).gives(&time_outs(2), &[]);
    judge(14, 2, 7).gives(&time_outs(3), &["retry-count/requester/retries-beyond-budget/repeating c1 @6"]);
}

/// T is 262 µs, the wait is 480 µs: the timer does not run during it.
#[test]
fn a_timer_that_must_not_run_is_no_excuse() {
    let refusals = |times: usize, wait: u64| {
        "0 > SEND_ONLY 1 ackreq
         3000 < RNR 1\n"
            .to_owned()
            + &format!(
                "+{wait} > SEND_ONLY 1 ackreq
                 +3000 < RNR 1\n"
            )
            .repeat(times)
    };
    judge(6, 7, 2).gives(&refusals(2, 500_000), &[]);
    judge(6, 7, 2)
        .gives(&refusals(3, 500_000), &["retry-count/requester/rnr-retries-beyond-budget/rnr-heard c1 @7"]);
    judge(6, 7, 7)
        .gives(&refusals(1, 300_000), &["protocol-violation/requester/rnr-wait-short/rnr-heard c1 @3"]);
}

#[test]
fn no_retry_is_spent_in_an_rnr_wait() {
    let failing = || judge(14, 1, 7).completing(1024, RetryExceeded);
    let refused = "0 > SEND_ONLY 1 ackreq drop
         70000000 > SEND_ONLY 1 ackreq
         +3000 < RNR 1\n";
    failing().gives(refused, &["retry-count/requester/retries-below-budget/rnr-heard c1 @2"]);
    // After the wait it is sent again, and the timer expires.
    failing().gives(&(refused.to_owned() + "+2000000 > SEND_ONLY 1 ackreq drop"), &[]);
    // The RNR NAK may not have arrived before the expiry.
    failing().gives(
        "0 > SEND_ONLY 1 ackreq drop
         70000000 > SEND_ONLY 1 ackreq delay=70000000
         +70003000 < RNR 1",
        &[],
    );
}

/// A response that is lost twice: each time the requester must notice what comes behind it.
#[test]
fn generation_counts_from_this_loss() {
    let seen = retransmissions(
        &Judge::new(),
        "0     > READ 1 bytes=4096
         3000  < READ_RESPONSE_FIRST 1 msn=1
         +300  < READ_RESPONSE_MIDDLE 2 drop
         +300  < READ_RESPONSE_MIDDLE 3
         +300  < READ_RESPONSE_LAST 4 msn=1
         9000  > READ 2 bytes=3072
         15000 < READ_RESPONSE_FIRST 2 msn=1 drop
         +300  < READ_RESPONSE_MIDDLE 3
         +300  < READ_RESPONSE_LAST 4 msn=1
         21000 > READ 2 bytes=3072
         27000 < READ_RESPONSE_FIRST 2 msn=1
         +300  < READ_RESPONSE_MIDDLE 3
         +300  < READ_RESPONSE_LAST 4 msn=1",
    );
    let generations: Vec<_> = seen.iter().map(|entry| (entry.out_of_order, entry.generation_ns)).collect();
    assert_eq!(generations, [(Some(4), Some(Nanos(9_000 - 3_600))), (Some(8), Some(Nanos(21_000 - 15_300)))]);
}

/// A NAK that was answered before, and one for the same PSN, lost again.
#[test]
fn reaction_counts_from_this_nak() {
    let seen = retransmissions(
        &Judge::new(),
        "0     > SEND_FIRST 1
         +300  > SEND_LAST 2 ackreq
         3000  < RNR 1
         +300  < NAK 1
         +500000 > SEND_FIRST 1 drop
         +300  > SEND_LAST 2 ackreq
         +3000 < NAK 1
         +4000 > SEND_FIRST 1
         +300  > SEND_LAST 2 ackreq
         +5000 < ACK 2 msn=1",
    );
    assert_eq!((seen[1].nack, seen[1].reaction_ns), (Some(7), Some(Nanos(4_000))));
}

/// The first message's time-out is legal; the second message's comes after 5.6 ms.
#[test]
fn an_early_expiry_after_a_legal_one() {
    let after = |wait: u64| {
        format!(
            "0    > WRITE_ONLY 1 ackreq drop
             {T}  > WRITE_ONLY 1 ackreq
             +5000 < ACK 1 msn=1
             +1000 > WRITE_ONLY 2 ackreq drop
             +{wait} > WRITE_ONLY 2 ackreq
             +5000 < ACK 2 msn=2"
        )
    };
    let early = "unexpected-timeout/requester/rto-below-minimum/flowing c1 @5";
    Judge::new().gives(&after(5_600_000), &[early]).gives(&after(T), &[]);
    // The second message was outstanding with the first one.
    let together = |wait: u64| {
        format!(
            "0    > WRITE_ONLY 1 ackreq drop
             +300 > WRITE_ONLY 2 ackreq drop
             {T}  > WRITE_ONLY 1 ackreq
             +300 > WRITE_ONLY 2 ackreq drop
             +5000 < ACK 1 msn=1
             +{wait} > WRITE_ONLY 2 ackreq
             +5000 < ACK 2 msn=2"
        )
    };
    let early = "unexpected-timeout/requester/rto-below-minimum/repeating c1 @6";
    Judge::new().gives(&together(5_600_000), &[early]).gives(&together(T), &[]);
}

/// No timer is due, no NAK was sent, and the host counts a discarded packet: nothing says why the request is repeated.
#[test]
fn a_repetition_without_a_timer_is_unexplained() {
    let judge = Judge { discards: [Some(1), Some(0)], ..Judge::new() };
    let repeated = |after: u64| {
        let text = format!(
            "0    > WRITE_ONLY 1 ackreq
             5000 < ACK 1 msn=1
             {after} > WRITE_ONLY 1 ackreq
             +5000 < ACK 1 msn=1"
        );
        let seen = retransmissions(&judge, &text);
        (seen[0].trigger, seen[0].timeout_ns.is_some())
    };
    assert_eq!(repeated(30_000_000), (Trigger::None, false));
    assert_eq!(repeated(T + 6_000), (Trigger::Timeout, true));
}

/// The last response was discarded behind the switch: the timer that notices it may not be late either.
#[test]
fn a_late_expiry_for_a_discarded_answer() {
    let judge = Judge { discards: [Some(1), Some(0)], ..Judge::new() };
    let repeated = |after: u64| {
        format!(
            "0    > READ 1 bytes=2048
             3000 < READ_RESPONSE_FIRST 1 msn=1
             +300 < READ_RESPONSE_LAST 2 msn=1
             {after} > READ 2 bytes=1024
             +5000 < READ_RESPONSE_ONLY 2 msn=1"
        )
    };
    judge.gives(&repeated(u64::from(LATEST_EXPIRY) * T), &[]);
    judge.gives(&repeated(8 * T), &["unexpected-timeout/requester/rto-above-maximum/flowing c1 @4"]);
}

/// A response is missing, and the requester waits for its timer.
#[test]
fn an_implied_nak_that_is_missing() {
    let reissued = |after: u64| {
        format!(
            "0     > READ 1 bytes=3072
             3000  < READ_RESPONSE_FIRST 1 msn=1
             +300  < READ_RESPONSE_MIDDLE 2 drop
             +300  < READ_RESPONSE_LAST 3 msn=1
             {after} > READ 2 bytes=2048
             +6000 < READ_RESPONSE_FIRST 2 msn=1
             +300  < READ_RESPONSE_LAST 3 msn=1"
        )
    };
    let missing = "gbn-violation/requester/implied-nak-missing/gap-heard c1 @5";
    let judge = Judge::new();
    judge.gives(&reissued(T + 3_000), &[missing]).gives(&reissued(3 * T), &[missing]);
    let seen = retransmissions(&judge, &reissued(T + 3_000));
    assert_eq!((seen[0].trigger, seen[0].generation_ns), (Trigger::Timeout, None));
    // 83 ms is slow, and neither T nor beyond what the slowest NIC takes.
    judge.gives(&reissued(83_000_000), &[]);
    assert_eq!(retransmissions(&judge, &reissued(83_000_000))[0].trigger, Trigger::Fast);
    // Whatever came behind the gap may have been discarded.
    Judge { discards: [Some(1), Some(0)], ..Judge::new() }.gives(&reissued(T + 3_000), &[]);
}
