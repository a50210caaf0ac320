//! Every rule: the nearest trace that breaks it, with exactly that remark, and its conforming twin, silent
//! whatever the delays. Tapes cross the PSN wrap: see [`tests::synthetic::tape`].

use scoring::Rule;

use crate::judge::Judge;

fn judge() -> Judge {
    Judge::new()
}

#[test]
fn a_second_nak_for_the_same_psn() {
    judge()
        .gives(
            "0    > WRITE_FIRST 1
             +300 > WRITE_MIDDLE 2 drop
             +300 > WRITE_MIDDLE 3
             +300 > WRITE_LAST 4 ackreq
             5000 < NAK 2
             +300 < NAK 2             # at once for packet 4
             9000 > WRITE_MIDDLE 2
             +300 > WRITE_MIDDLE 3
             +300 > WRITE_LAST 4 ackreq
             15000 < ACK 4 msn=1",
            &["gbn-violation/responder/nak-again/gap-naked c1 @6"],
        )
        .silent(
            "0    > WRITE_FIRST 1
             +300 > WRITE_MIDDLE 2 drop
             +300 > WRITE_MIDDLE 3
             +300 > WRITE_LAST 4 ackreq
             5000 < NAK 2
             9000 > WRITE_MIDDLE 2
             +300 > WRITE_MIDDLE 3 drop
             +300 > WRITE_LAST 4 ackreq
             15000 < NAK 3            # another one
             20000 > WRITE_MIDDLE 3
             +300 > WRITE_LAST 4 ackreq
             25000 < ACK 4 msn=1",
        );
}

#[test]
fn a_nak_for_another_psn() {
    let lossy = |nak: &str| {
        format!(
            "0    > WRITE_FIRST 1
             +300 > WRITE_MIDDLE 2 drop
             +300 > WRITE_MIDDLE 3
             +300 > WRITE_LAST 4 ackreq
             5000 < NAK {nak}
             9000 > WRITE_MIDDLE 2
             +300 > WRITE_MIDDLE 3
             +300 > WRITE_LAST 4 ackreq
             15000 < ACK 4 msn=1"
        )
    };
    judge().silent(&lossy("2"));
    judge().gives(
        "0    > WRITE_FIRST 1
         +300 > WRITE_MIDDLE 2 drop
         +300 > WRITE_MIDDLE 3
         +300 > WRITE_LAST 4 ackreq
         5000 < NAK 3
         9000 > WRITE_MIDDLE 3
         +300 > WRITE_LAST 4 ackreq",
        &["gbn-violation/responder/nak-wrong-psn/gap-open c1 @5"],
    );
    // A PSN that it has acknowledged.
    judge().gives(
        "0    > WRITE_ONLY 1 ackreq
         +300 > WRITE_ONLY 2 ackreq
         3000 < ACK 1 msn=1
         3300 < NAK 1
         3600 < ACK 2 msn=2",
        &["gbn-violation/responder/nak-wrong-psn/in-order c1 @4"],
    );
}

/// A NAK of a PSN that left the switch intact.
#[test]
fn a_nak_of_a_delivered_packet() {
    let naked = "0    > WRITE_FIRST 1
         +300 > WRITE_MIDDLE 2
         +300 > WRITE_LAST 3 ackreq
         5000 < NAK 2\n";
    let repeated = "9000 > WRITE_MIDDLE 2
         +300 > WRITE_LAST 3 ackreq
         15000 < ACK 3 msn=1\n";
    let missing = &["unexplained-discard/responder/delivered-yet-missing/in-order c1 @4"];
    let wrong = &["gbn-violation/responder/nak-without-cause/in-order c1 @4"];
    let all = naked.to_owned() + repeated;
    // A counter of discards that is 0 proves nothing.
    judge().gives(&all, missing);
    // A counter of received packets does.
    let mut proven = judge();
    proven.discards = [None; 2];
    proven.counted = [&[], &[("rcvd_pkts", 5)]];
    proven.gives(&all, wrong);
    proven.counted = [&[], &[("rcvd_pkts", 4)]];
    proven.gives(&all, missing);
    // The responder acknowledges the packet before it gets it again.
    judge().gives(&(naked.to_owned() + "5300 < ACK 3 msn=1\n" + repeated), wrong);
    // It counts as duplicates what it seemed to miss.
    let mut counting = judge();
    counting.counted = [&[], &[("duplicate_request", 2)]];
    counting.gives(
        &all,
        &[
            "gbn-violation/responder/nak-without-cause/in-order c1 @4",
            "counter-mismatch/responder/counter-differs/duplicate_request c0 @0",
        ],
    );
    // Another NAK acknowledges it.
    judge().gives(
        "0    > WRITE_FIRST 1
         +300 > WRITE_MIDDLE 2
         +300 > WRITE_MIDDLE 3
         +300 > WRITE_MIDDLE 4 drop
         +300 > WRITE_LAST 5 ackreq
         5000 < NAK 2
         5400 < NAK 4
         9000 > WRITE_MIDDLE 4
         +300 > WRITE_LAST 5 ackreq
         15000 < ACK 5 msn=1",
        &["gbn-violation/responder/nak-wrong-psn/gap-open c1 @6"],
    );
}

#[test]
fn a_nak_without_cause() {
    judge()
        .gives(
            "0    > WRITE_ONLY 1 ackreq
             3000 < ACK 1 msn=1
             +300 > WRITE_ONLY 2 ackreq drop
             9000 < NAK 2 msn=1
             12000 > WRITE_ONLY 2 ackreq
             15000 < ACK 2 msn=2",
            &["gbn-violation/responder/nak-without-cause/in-order c1 @4"],
        )
        .silent(
            "0    > WRITE_ONLY 1 ackreq
             3000 < ACK 1 msn=1
             +300 > WRITE_ONLY 2 ackreq drop
             +300 > WRITE_ONLY 3 ackreq
             9000 < NAK 2 msn=1
             12000 > WRITE_ONLY 2 ackreq
             +300 > WRITE_ONLY 3 ackreq
             15000 < ACK 2 msn=2
             16000 < ACK 3 msn=3",
        );
}

/// The requester must wait for its timer, as no NAK names the missing packet.
fn unanswered_gap(wait: &str) -> String {
    format!(
        "0    > WRITE_FIRST 1
         +300 > WRITE_MIDDLE 2 drop
         +300 > WRITE_LAST 3 ackreq
         {wait} > WRITE_FIRST 1
         +300 > WRITE_MIDDLE 2
         +300 > WRITE_LAST 3 ackreq
         +9000 < ACK 3 msn=1"
    )
}

#[test]
fn a_missing_nak() {
    judge().gives(&unanswered_gap("80000000"), &["gbn-violation/responder/nak-missing/in-order c1 @3"]);
    judge().silent(
        "0    > WRITE_FIRST 1
         +300 > WRITE_MIDDLE 2 drop
         +300 > WRITE_LAST 3 ackreq
         5000 < NAK 2 drop            # sent, and lost
         80000000 > WRITE_FIRST 1
         +300 > WRITE_MIDDLE 2
         +300 > WRITE_LAST 3 ackreq
         +9000 < ACK 3 msn=1",
    );
    // One packet that may have been lost behind the switch, and no counter: no proof.
    let uncounted = Judge { discards: [None; 2], ..judge() };
    uncounted.silent(&unanswered_gap("80000000"));
    let counted = Judge { discards: [Some(0), Some(1)], ..judge() };
    counted.silent(&unanswered_gap("80000000"));
}

#[test]
fn an_ack_beyond_the_data() {
    judge()
        .gives(
            "0    > WRITE_FIRST 1
             +300 > WRITE_MIDDLE 2 drop
             +300 > WRITE_LAST 3 ackreq
             5000 < ACK 3 msn=1",
            &["gbn-violation/responder/ack-beyond-data/gap-open c1 @4"],
        )
        .silent(
            "0    > WRITE_FIRST 1
             +300 > WRITE_MIDDLE 2
             +300 > WRITE_LAST 3 ackreq
             5000 < ACK 3 msn=1",
        );
    // Delivered later than acknowledged.
    judge().gives(
        "0    > WRITE_FIRST 1
         +300 > WRITE_LAST 2 ackreq delay=100000
         5000 < ACK 2 msn=1
         +200000 > WRITE_ONLY 3 ackreq
         +5000 < ACK 3 msn=2",
        &["gbn-violation/responder/ack-beyond-data/in-order c1 @3"],
    );
}

#[test]
fn an_ack_that_goes_back() {
    judge()
        .gives(
            "0    > WRITE_ONLY 1 ackreq
             +300 > WRITE_ONLY 2 ackreq
             +300 > WRITE_ONLY 3 ackreq
             5000 < ACK 3 msn=3
             5300 < ACK 1 msn=1",
            &["gbn-violation/responder/ack-regresses/in-order c1 @5"],
        )
        .silent(
            "0    > WRITE_ONLY 1 ackreq
             +300 > WRITE_ONLY 2 ackreq
             +300 > WRITE_ONLY 3 ackreq
             5000 < ACK 1 msn=1
             5300 < ACK 3 msn=3
             5600 < ACK 3 msn=3       # the latest again",
        );
}

#[test]
fn an_ack_that_passes_a_read() {
    judge()
        .gives(
            "0    > READ 1 bytes=2048
             +300 > WRITE_ONLY 3 ackreq
             5000 < READ_RESPONSE_FIRST 1 msn=1
             5300 < ACK 3 msn=2
             5600 < READ_RESPONSE_LAST 2 msn=1",
            &["gbn-violation/responder/ack-passes-read/in-order c1 @4"],
        )
        .silent(
            "0    > READ 1 bytes=2048
             +300 > WRITE_ONLY 3 ackreq
             5000 < READ_RESPONSE_FIRST 1 msn=1
             5300 < READ_RESPONSE_LAST 2 msn=1
             5600 < ACK 3 msn=2",
        );
}

/// A duplicate that asks for an ACK, answered by `answer`, with something else long after it.
fn duplicate(answer: &str) -> String {
    format!(
        "0    > WRITE_ONLY 1 ackreq
         5000 < ACK 1 msn=1 drop
         +100000000 > WRITE_ONLY 1 ackreq
         {answer}
         +120000000 > WRITE_ONLY 1 ackreq
         +5000 < ACK 1 msn=1"
    )
}

#[test]
fn a_lost_repeated_ack() {
    judge().gives(&duplicate(""), &["gbn-violation/responder/reack-missing/in-order c1 @3"]);
    judge().silent(&duplicate("+5000 < ACK 1 msn=1 drop"));
    // Not due to a duplicate that does not ask.
    judge().silent(
        "0    > WRITE_FIRST 1
         +300 > WRITE_LAST 2 ackreq
         5000 < ACK 2 msn=1 drop
         +100000000 > WRITE_FIRST 1
         +300 > WRITE_LAST 2 ackreq
         +5000 < ACK 2 msn=1",
    );
    // At the end of the trace, too.
    let at_end = "0    > WRITE_ONLY 1 ackreq
         5000 < ACK 1 msn=1 drop
         +100000000 > WRITE_ONLY 1 ackreq
         +60000000 c2 > WRITE_ONLY 1 ackreq
         +5000 c2 < ACK 1 msn=1";
    judge().gives(at_end, &["gbn-violation/responder/reack-missing/in-order c1 @3"]);
    Judge { discards: [None; 2], ..judge() }.silent(at_end);
    Judge { discards: [Some(0), Some(3)], ..judge() }.silent(&duplicate(""));
}

/// A Read whose response is lost, and asked for again twice.
#[test]
fn a_repeated_read_that_is_not_answered() {
    let repeated = |answer: &str| {
        format!(
            "0    > READ 1 bytes=1000
             5000 < READ_RESPONSE_ONLY 1 msn=1 drop
             +100000000 > READ 1 bytes=1000
             {answer}
             +120000000 > READ 1 bytes=1000
             +5000 < READ_RESPONSE_ONLY 1 msn=1"
        )
    };
    judge().gives(&repeated(""), &["gbn-violation/responder/reread-missing/in-order c1 @3"]);
    judge().silent(&repeated("+5000 < READ_RESPONSE_ONLY 1 msn=1 drop"));
    Judge { discards: [Some(0), Some(3)], ..judge() }.silent(&repeated(""));
    // The only repetition that is not answered may have been lost behind the switch, where no host counts.
    let uncounted = || Judge { discards: [None; 2], ..judge() };
    uncounted().silent(&repeated(""));
    let again = "+120000000 > READ 1 bytes=1000";
    uncounted().gives(&repeated(again), &["gbn-violation/responder/reread-missing/in-order c1 @4"]);
}

/// An ACK that is asked for, `answer`, and long after it the repetition.
fn asked(answer: &str) -> String {
    format!(
        "0    > WRITE_FIRST 1
         +300 > WRITE_LAST 2 ackreq
         {answer}
         90000000 > WRITE_FIRST 1
         +300 > WRITE_LAST 2 ackreq
         +5000 < ACK 2 msn=1"
    )
}

#[test]
fn an_ack_that_never_comes() {
    judge().gives(&asked(""), &["gbn-violation/responder/ack-missing/in-order c1 @2"]);
    // Sent and lost; never asked for; refused; not arrived in order.
    judge().silent(&asked("5000 < ACK 2 msn=1 drop"));
    judge().silent(&asked("").replace("WRITE_LAST 2 ackreq\n         \n", "WRITE_LAST 2\n"));
    judge().silent(&asked("5000 < RNR 1 drop").replace("WRITE", "SEND"));
    judge().silent(&asked("5000 < NAK 1 drop").replacen("WRITE_FIRST 1", "WRITE_FIRST 1 drop", 1));
    // The host discarded something, or does not count.
    Judge { discards: [Some(0), Some(1)], ..judge() }.silent(&asked(""));
    Judge { discards: [None; 2], ..judge() }.silent(&asked(""));
    // One ACK for several, and ACKs that were not requested.
    judge().silent(
        "0    > WRITE_ONLY 1 ackreq
         +300 > WRITE_ONLY 2 ackreq
         +300 > WRITE_FIRST 3
         +300 > WRITE_LAST 4 ackreq
         5000 < ACK 3 msn=2
         +300 < ACK 4 msn=3",
    );
}

/// A Read that is not answered until it is repeated, with a Write behind it whose ACK waits for the response.
fn unanswered(response: &str) -> String {
    format!(
        "0    > READ 1 bytes=2048
         +300 > WRITE_ONLY 3 ackreq
         {response}
         80000000 > READ 1 bytes=2048
         +300 > WRITE_ONLY 3 ackreq
         +5000 < READ_RESPONSE_FIRST 1 msn=1
         +300 < READ_RESPONSE_LAST 2 msn=1
         +300 < ACK 3 msn=2"
    )
}

#[test]
fn a_read_that_is_never_answered() {
    judge().gives(&unanswered(""), &["protocol-violation/responder/response-gap/in-order c1 @1"]);
    // The response was lost, or the request.
    judge().silent(&unanswered("5000 < READ_RESPONSE_FIRST 1 msn=1 drop"));
    let lost = unanswered("").replacen("bytes=2048", "bytes=2048 drop", 1);
    judge().silent(&lost.replacen("ackreq", "ackreq drop", 1));
    // The host discarded something, or does not count.
    Judge { discards: [Some(0), Some(1)], ..judge() }.silent(&unanswered(""));
    Judge { discards: [None; 2], ..judge() }.silent(&unanswered(""));
}

/// Reads are answered in order: one behind a response that takes 74 ms, as its sender is slowed down, needs
/// no answer before.
#[test]
fn a_read_behind_one_that_is_answered_slowly() {
    let repeated_after = |ms: u64| {
        format!(
            "0        > READ 1 bytes=3072
             5000     < READ_RESPONSE_FIRST 1 msn=1
             +300     > READ 4 bytes=1024
             40000000 < READ_RESPONSE_MIDDLE 2
             74000000 < READ_RESPONSE_LAST 3 msn=1
             +{ms}000000 > READ 4 bytes=1024
             +5000    < READ_RESPONSE_ONLY 4 msn=2"
        )
    };
    let judge = |timeout: u8| {
        let mut judge = judge();
        judge.config.traffic.min_retransmit_timeout = timeout;
        judge
    };
    judge(10).silent(&repeated_after(6));
    judge(14).gives(&repeated_after(80), &["protocol-violation/responder/response-gap/in-order c1 @3"]);
}

#[test]
fn a_wrong_msn_in_a_response() {
    let responses = |first: u32, last: u32, then: u32| {
        format!(
            "0    > WRITE_ONLY 1 ackreq
             3000 < ACK 1 msn=1
             +300 > READ 2 bytes=3072
             8000 < READ_RESPONSE_FIRST 2 msn={first}
             +300 < READ_RESPONSE_MIDDLE 3
             +300 < READ_RESPONSE_LAST 4 msn={last}
             +300 > READ 5 bytes=1024
             +3000 < READ_RESPONSE_ONLY 5 msn={then}"
        )
    };
    let wrong = |packet: u32| format!("protocol-violation/responder/response-msn/in-order c1 @{packet}");
    // The Read may count from its first response on, or with its last.
    judge().silent(&responses(2, 2, 3)).silent(&responses(1, 2, 3));
    judge().gives(&responses(1, 1, 3), &[&wrong(6)]);
    judge().gives(&responses(3, 2, 3), &[&wrong(4)]);
    judge().gives(&responses(2, 3, 3), &[&wrong(6)]);
    // A mistake that is kept is one mistake.
    judge().gives(&responses(3, 3, 4), &[&wrong(4)]);
    // A repeated Read may say the MSN of the first response, or of what was taken since.
    for msn in [1, 3] {
        judge().silent(&format!(
            "0    > READ 1 bytes=1024
             +300 > WRITE_ONLY 2 ackreq
             +300 > WRITE_ONLY 3 ackreq
             3000 < READ_RESPONSE_ONLY 1 msn=1 drop
             +300 < ACK 3 msn=3
             9000 > READ 1 bytes=1024
             +300 > WRITE_ONLY 2 ackreq
             +300 > WRITE_ONLY 3 ackreq
             15000 < READ_RESPONSE_ONLY 1 msn={msn}
             +300 < ACK 3 msn=3
             +300 < ACK 3 msn=3"
        ));
    }
}

#[test]
fn a_retransmission_without_cause() {
    judge()
        .gives(
            "0    > WRITE_FIRST 1
             +300 > WRITE_LAST 2 ackreq
             +300 > WRITE_FIRST 1
             +300 > WRITE_LAST 2 ackreq
             8000 < ACK 2 msn=1
             +300 < ACK 2 msn=1",
            &["gbn-violation/requester/retransmission-without-cause/flowing c1 @3"],
        )
        .silent(
            "0    > WRITE_FIRST 1 drop
             +300 > WRITE_LAST 2 ackreq
             4000 < NAK 1
             5000 > WRITE_FIRST 1
             +300 > WRITE_LAST 2 ackreq
             9000 < ACK 2 msn=1",
        );
    // With the timer switched off no wait is long enough.
    let mut never = judge();
    never.config.traffic.min_retransmit_timeout = 0;
    never.gives(
        "0    > WRITE_ONLY 1 ackreq drop
         900000000 > WRITE_ONLY 1 ackreq
         +5000 < ACK 1 msn=1",
        &["gbn-violation/requester/retransmission-without-cause/flowing c1 @2"],
    );
}

#[test]
fn resuming_too_late() {
    let resume = |from: &str| {
        format!(
            "0    > WRITE_FIRST 1
             +300 > WRITE_MIDDLE 2 drop
             +300 > WRITE_MIDDLE 3
             +300 > WRITE_LAST 4 ackreq
             5000 < NAK 2
             {from}
             +300 > WRITE_LAST 4 ackreq"
        )
    };
    judge().gives(&resume("9000 > WRITE_MIDDLE 3"), &["gbn-violation/requester/resume-late/nak-heard c1 @6"]);
    judge().silent(&(resume("9000 > WRITE_MIDDLE 2\n +300 > WRITE_MIDDLE 3") + "\n +9000 < ACK 4 msn=1"));
    // Leaving something out while it repeats.
    judge().gives(&resume("9000 > WRITE_MIDDLE 2"), &["gbn-violation/requester/resume-late/repeating c1 @7"]);
}

#[test]
fn resuming_too_early() {
    let resume = |repeated: &str| {
        format!(
            "0    > WRITE_FIRST 1 ackreq
             +300 > WRITE_MIDDLE 2
             +300 > WRITE_MIDDLE 3 drop
             +300 > WRITE_LAST 4 ackreq
             5000 < ACK 1
             5300 < NAK 3
             {repeated}
             +300 > WRITE_LAST 4 ackreq
             19000 < ACK 4 msn=1"
        )
    };
    // It may retransmit from PSN 2, as that was the oldest one until the NAK came, which may be on its way.
    judge().silent(&resume("9000 > WRITE_MIDDLE 3"));
    judge().gives(
        "0    > WRITE_FIRST 1
         +300 > WRITE_MIDDLE 2
         +300 > WRITE_MIDDLE 3 drop
         +300 > WRITE_LAST 4 ackreq
         5000 < NAK 3
         9000 > WRITE_MIDDLE 2
         +300 > WRITE_MIDDLE 3
         +300 > WRITE_LAST 4 ackreq
         19000 < ACK 4 msn=1",
        &["gbn-violation/requester/resume-early/nak-heard c1 @6"],
    );
}

#[test]
fn a_skipped_psn() {
    judge()
        .gives(
            "0    > WRITE_ONLY 1 ackreq
             3000 < ACK 1 msn=1
             +300 > WRITE_ONLY 3 ackreq",
            &["protocol-violation/requester/psn-skipped/flowing c1 @3"],
        )
        .silent(
            "0    > WRITE_ONLY 1 ackreq
             3000 < ACK 1 msn=1
             +300 > READ 2 bytes=2000
             +300 > WRITE_ONLY 4 ackreq
             +9000 < READ_RESPONSE_FIRST 2 msn=2
             +300 < READ_RESPONSE_LAST 3 msn=2
             +300 < ACK 4 msn=3",
        );
}

#[test]
fn a_retry_after_a_fatal_nak() {
    let text = |after: u64| {
        format!(
            "0    > SEND_ONLY 1 ackreq
             3000 < FATAL 1
             {after} > SEND_ONLY 1 ackreq"
        )
    };
    // At once, as on a sequence NAK; and by the timer, long after it must have received the NAK.
    judge().gives(&text(6_000), &["protocol-violation/requester/retry-after-fatal-nak/failed c1 @3"]);
    judge().gives(&text(90_000_000), &["protocol-violation/requester/retry-after-fatal-nak/failed c1 @3"]);
    // The NAK was lost at the switch, or its host lost something.
    judge().silent(&text(90_000_000).replace("FATAL 1", "FATAL 1 drop"));
    Judge { discards: [Some(1), Some(0)], ..judge() }.silent(&text(90_000_000));
    Judge { discards: [None; 2], ..judge() }
        .gives(&text(90_000_000), &["unexplained-discard/requester/delivered-yet-missing/failed c1 @3"]);
    // The NAK and the repetition cross.
    judge().silent(
        "0    > SEND_ONLY 1 ackreq delay=80000000
         80003000 < FATAL 1
         +5000 > SEND_ONLY 1 ackreq",
    );
}

#[test]
fn a_wrong_msn() {
    let ack = |msn: u32| {
        format!(
            "0    > WRITE_ONLY 1 ackreq
             3000 < ACK 1 msn=1
             +300 > WRITE_FIRST 2 ackreq
             +300 > WRITE_LAST 3 ackreq
             9000 < ACK 2 msn={msn}
             9300 < ACK 3 msn=2"
        )
    };
    judge().gives(&ack(2), &["protocol-violation/responder/msn-wrong/in-order c1 @5"]);
    judge().silent(&ack(1));
}

#[test]
fn a_reserved_syndrome() {
    let answered = |answer: &str| {
        format!(
            "0    > WRITE_ONLY 1 ackreq
             5000 < {answer} 1 msn=1
             9000 < ACK 1 msn=1"
        )
    };
    let remark = "protocol-violation/responder/syndrome-reserved/in-order c1 @2";
    judge().gives(&answered("RESERVED"), &[remark]);
    judge().gives(&answered("RESERVED_NAK"), &[remark]);
    judge().silent(&answered("ACK"));
}

#[test]
fn an_rnr_nak_for_nothing() {
    judge()
        .gives(
            "0    > SEND_ONLY 1 ackreq drop
             3000 < RNR 1",
            &["protocol-violation/responder/rnr-undelivered/in-order c1 @2"],
        )
        .silent(
            "0    > SEND_ONLY 1 ackreq
             +300 > SEND_ONLY 2 ackreq
             3000 < RNR 1
             2000000 > SEND_ONLY 1 ackreq
             +300 > SEND_ONLY 2 ackreq
             +5000 < ACK 1 msn=1
             +300 < ACK 2 msn=2",
        );
}

#[test]
fn a_gap_in_a_response() {
    judge()
        .gives(
            "0    > READ 1 bytes=4096
             3000 < READ_RESPONSE_FIRST 1 msn=1
             +300 < READ_RESPONSE_MIDDLE 3
             +300 < READ_RESPONSE_LAST 4 msn=1
             9000 > READ 2 bytes=3072
             +3000 < READ_RESPONSE_FIRST 2 msn=1
             +300 < READ_RESPONSE_MIDDLE 3
             +300 < READ_RESPONSE_LAST 4 msn=1",
            &["protocol-violation/responder/response-gap/answering c1 @3"],
        )
        .silent(
            "0    > READ 1 bytes=4096
             3000 < READ_RESPONSE_FIRST 1 msn=1
             +300 < READ_RESPONSE_MIDDLE 2 drop
             +300 < READ_RESPONSE_MIDDLE 3
             +300 < READ_RESPONSE_LAST 4 msn=1
             9000 > READ 2 bytes=3072
             +3000 < READ_RESPONSE_FIRST 2 msn=1
             +300 < READ_RESPONSE_MIDDLE 3
             +300 < READ_RESPONSE_LAST 4 msn=1",
        );
    // A whole Read left out, an atomic answered inside of a response.
    judge().gives(
        "0    > READ 1 bytes=1024
         +300 > READ 2 bytes=1024
         3000 < READ_RESPONSE_ONLY 2 msn=2
         9000 > READ 1 bytes=1024
         +300 > READ 2 bytes=1024
         +3000 < READ_RESPONSE_ONLY 1 msn=2
         +300 < READ_RESPONSE_ONLY 2 msn=2",
        &["protocol-violation/responder/response-gap/idle c1 @3"],
    );
    judge().gives(
        "0    > READ 1 bytes=2048
         +300 > FETCH_ADD 3
         3000 < READ_RESPONSE_FIRST 1 msn=1
         +300 < ATOMIC_ACK 3 msn=2
         9000 > READ 2 bytes=1024
         +300 > FETCH_ADD 3
         +3000 < READ_RESPONSE_ONLY 2 msn=2
         +300 < ATOMIC_ACK 3 msn=2",
        &["protocol-violation/responder/response-gap/answering c1 @4"],
    );
    judge().gives(
        "0    > READ 1 bytes=2048
         +300 > READ 3 bytes=2048
         3000 < READ_RESPONSE_FIRST 1 msn=1
         +300 < READ_RESPONSE_FIRST 3 msn=2
         +300 < READ_RESPONSE_LAST 4 msn=2
         9000 > READ 2 bytes=1024
         +300 > READ 3 bytes=2048
         +3000 < READ_RESPONSE_ONLY 2 msn=2
         +300 < READ_RESPONSE_FIRST 3 msn=2
         +300 < READ_RESPONSE_LAST 4 msn=2",
        &["protocol-violation/responder/response-gap/answering c1 @4"],
    );
}

#[test]
fn a_response_that_nobody_asked_for() {
    judge()
        .gives(
            "0    > READ 1 bytes=1024
             +300 > WRITE_ONLY 2 ackreq
             3000 < READ_RESPONSE_ONLY 1 msn=1
             +300 < ACK 2 msn=2
             +300 < READ_RESPONSE_ONLY 1 msn=2",
            &["protocol-violation/responder/response-unrequested/idle c1 @5"],
        )
        .silent(
            "0    > READ 1 bytes=1024 copies=2
             +300 > WRITE_ONLY 2 ackreq
             3000 < READ_RESPONSE_ONLY 1 msn=1
             +300 < READ_RESPONSE_ONLY 1 msn=1
             +300 < ACK 2 msn=2",
        );
    judge().gives(
        "0    > READ 1 bytes=2048
         3000 < READ_RESPONSE_FIRST 1 msn=1
         +300 < ATOMIC_ACK 5 msn=1
         +300 < READ_RESPONSE_LAST 2 msn=1",
        &["protocol-violation/responder/response-unrequested/answering c1 @3"],
    );
}

#[test]
fn a_response_packet_in_the_wrong_place() {
    let response = |second: &str| {
        format!(
            "0    > READ 1 bytes=3072
             3000 < READ_RESPONSE_FIRST 1 msn=1
             +300 < READ_RESPONSE_{second} 2 msn=1
             +300 < READ_RESPONSE_LAST 3 msn=1"
        )
    };
    judge()
        .gives(&response("LAST"), &["protocol-violation/responder/response-position/answering c1 @3"])
        .silent(&response("MIDDLE"));
    judge().gives(
        "0    > READ 1 bytes=1024
         3000 < READ_RESPONSE_FIRST 1 msn=1",
        &["protocol-violation/responder/response-position/idle c1 @2"],
    );
}

#[test]
fn a_response_of_another_length() {
    let response = |middle: u32, last: u32| {
        format!(
            "0    > READ 1 bytes=2500
             3000 < READ_RESPONSE_FIRST 1 msn=1
             +300 < READ_RESPONSE_MIDDLE 2 msn=1 bytes={middle}
             +300 < READ_RESPONSE_LAST 3 msn=1 bytes={last}"
        )
    };
    let found = ["protocol-violation/responder/response-length/idle c1 @4"];
    judge()
        .gives(&response(1024, 400), &found)
        .gives(&response(512, 452), &found)
        .gives(&response(1024, 1024), &found)
        .silent(&response(1024, 452));
    let only = |bytes: u32| format!("0 > READ 1 bytes=1000\n3000 < READ_RESPONSE_ONLY 1 msn=1 bytes={bytes}");
    judge().gives(&only(0), &["protocol-violation/responder/response-length/idle c1 @2"]).silent(&only(1000));
}

#[test]
fn a_packet_that_left_the_switch_and_is_missed() {
    let text = "0    > WRITE_FIRST 1
         +300 > WRITE_MIDDLE 2
         +300 > WRITE_LAST 3 ackreq
         5000 < NAK 2
         9000 > WRITE_MIDDLE 2
         +300 > WRITE_LAST 3 ackreq
         15000 < ACK 3 msn=1";
    let uncounted = Judge { discards: [None; 2], ..judge() };
    uncounted.gives(text, &["unexplained-discard/responder/delivered-yet-missing/in-order c1 @4"]);
    uncounted.silent(&text.replacen("MIDDLE 2", "MIDDLE 2 drop", 1));
    Judge { discards: [Some(0), Some(1)], ..judge() }.silent(text);
    // An ACK that did not arrive, as the requester shows long after.
    let unheard = "0    > WRITE_ONLY 1 ackreq
         5000 < ACK 1 msn=1
         +100000000 > WRITE_ONLY 1 ackreq
         +5000 < ACK 1 msn=1";
    uncounted.gives(unheard, &["unexplained-discard/requester/delivered-yet-missing/flowing c1 @3"]);
    uncounted.silent(&unheard.replacen("msn=1", "msn=1 drop", 1));
    Judge { discards: [Some(1), Some(0)], ..judge() }.silent(unheard);
    judge().gives(unheard, &["unexpected-timeout/requester/timeout-unexplained/flowing c1 @3"]);
    // Sooner than the timer can expire it is no time-out.
    let soon = unheard.replace("+100000000", "+50000000");
    judge().gives(&soon, &["gbn-violation/requester/resume-early/flowing c1 @3"]);
}

/// Every rule has a test here, beside this, or, if it is an oracle's, among those of the score.
#[test]
fn every_rule_is_named_in_a_test() {
    let sources = [
        include_str!("violations.rs"),
        include_str!("thresholds.rs"),
        include_str!("notifications.rs"),
        include_str!("counters.rs"),
        include_str!("deliveries.rs"),
        include_str!("requests.rs"),
        include_str!("retries.rs"),
        include_str!("causes.rs"),
        include_str!("refused.rs"),
        include_str!("unfounded.rs"),
        include_str!("../../scoring/tests/by_hand/score.rs"),
        include_str!("../../scoring/tests/by_hand/shares.rs"),
        include_str!("../../scoring/tests/by_hand/mitigation.rs"),
        include_str!("../../scoring/tests/by_hand/reordering.rs"),
        include_str!("../../scoring/tests/by_hand/selective.rs"),
        include_str!("../../scoring/tests/by_hand/flow_table.rs"),
        include_str!("../../executor/tests/oracles/clock.rs"),
    ];
    for rule in Rule::ALL {
        let named = sources.iter().any(|source| source.contains(&format!("/{}", rule.name())));
        assert!(named, "{}", rule.name());
    }
}
