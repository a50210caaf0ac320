//! Retry budgets: what a requester may spend between two moments of progress.

use dumper::observation::CompletionStatus::{self, RetryExceeded, RnrRetryExceeded};

use dumper::trace::Origin;
use scoring::{Options, analyze};
use tests::synthetic::Tape;

use crate::common::part;
use crate::judge::Judge;

/// A requester with so many transport and RNR retries.
fn judge(retries: u8, rnr_retries: u8) -> Judge {
    let mut judge = Judge::new();
    judge.config.traffic.max_retransmit_retry = retries;
    judge.config.traffic.rnr_retry = rnr_retries;
    judge
}

/// The same, whose first message ended so.
fn failing(retries: u8, rnr_retries: u8, status: CompletionStatus) -> Judge {
    judge(retries, rnr_retries).completing(1024, status)
}

/// A packet that never arrives, and `times` time-outs.
fn time_outs(times: usize) -> String {
    "0 > WRITE_ONLY 1 ackreq drop\n".to_owned() + &"+70000000 > WRITE_ONLY 1 ackreq drop\n".repeat(times)
}

/// A lost packet, its NAK, the retry, and `times` time-outs as that is lost again.
fn nak_and_time_outs(times: usize) -> String {
    "0    > WRITE_FIRST 1
     +300 > WRITE_MIDDLE 2 drop
     +300 > WRITE_LAST 3 ackreq
     5000 < NAK 2
     9000 > WRITE_MIDDLE 2 drop
     +300 > WRITE_LAST 3 ackreq\n"
        .to_owned()
        + &"+70000000 > WRITE_MIDDLE 2 drop
            +300 > WRITE_LAST 3 ackreq\n"
            .repeat(times)
}

/// A Send that is refused again and again, and tried again `times` times.
fn refusals(times: usize) -> String {
    "0 > SEND_ONLY 1 ackreq
     3000 < RNR 1\n"
        .to_owned()
        + &"+2000000 > SEND_ONLY 1 ackreq
            +3000 < RNR 1\n"
            .repeat(times)
}

#[test]
fn more_retries_than_configured() {
    judge(2, 7)
        .silent(&time_outs(2))
        .gives(&time_outs(3), &["retry-count/requester/retries-beyond-budget/repeating c1 @4"]);
    // 7 means 7.
    judge(7, 7)
        .silent(&time_outs(7))
        .gives(&time_outs(8), &["retry-count/requester/retries-beyond-budget/repeating c1 @9"]);
    judge(0, 7).gives(&time_outs(1), &["retry-count/requester/retries-beyond-budget/flowing c1 @2"]);
    // A NAK spends the same budget.
    judge(2, 7)
        .silent(&nak_and_time_outs(1))
        .gives(&nak_and_time_outs(2), &["retry-count/requester/retries-beyond-budget/repeating c1 @9"]);
}

#[test]
fn progress_refills_the_budget() {
    let lossy = |psn: u32| {
        format!(
            "+1000 > WRITE_ONLY {psn} ackreq drop
             +70000000 > WRITE_ONLY {psn} ackreq drop
             +70000000 > WRITE_ONLY {psn} ackreq
             +5000 < ACK {psn} msn={psn}\n"
        )
    };
    judge(2, 7).silent(&(lossy(1) + &lossy(2)));
}

/// A NAK and a response that comes late behind it: the implied NAK, and the NAK itself, were both paid for before the
/// response made progress.
#[test]
fn two_reasons_from_before_the_last_progress() {
    let then_time_outs = |times: usize| {
        "0     > READ 1 bytes=1024
         +300  > WRITE_ONLY 2 ackreq drop
         +300  > WRITE_ONLY 3 ackreq
         3000  < READ_RESPONSE_ONLY 1 msn=1 delay=2500
         5000  < NAK 2 msn=1
         9000  > WRITE_ONLY 2 ackreq drop
         +300  > WRITE_ONLY 3 ackreq
         +2000 > WRITE_ONLY 2 ackreq drop
         +300  > WRITE_ONLY 3 ackreq\n"
            .to_owned()
            + &"+70000000 > WRITE_ONLY 2 ackreq drop
                +300 > WRITE_ONLY 3 ackreq\n"
                .repeat(times)
    };
    judge(1, 7)
        .gives(&then_time_outs(1), &[])
        .gives(&then_time_outs(2), &["retry-count/requester/retries-beyond-budget/repeating c1 @12"]);
}

#[test]
fn retries_of_reads() {
    // The last response is lost each time: the first time its successor shows it, then only the timer.
    let reads = |times: usize| {
        "0     > READ 1 bytes=2048
         +300  > READ 3 bytes=1024
         3000  < READ_RESPONSE_FIRST 1 msn=1
         +300  < READ_RESPONSE_LAST 2 msn=1 drop
         +300  < READ_RESPONSE_ONLY 3 msn=2
         9000  > READ 2 bytes=1024
         +300  > READ 3 bytes=1024
         +3000 < READ_RESPONSE_ONLY 2 msn=2 drop
         +300  < READ_RESPONSE_ONLY 3 msn=2 drop\n"
            .to_owned()
            + &"+70000000 > READ 2 bytes=1024
                +300  > READ 3 bytes=1024
                +3000 < READ_RESPONSE_ONLY 2 msn=2 drop
                +300  < READ_RESPONSE_ONLY 3 msn=2 drop\n"
                .repeat(times)
    };
    let beyond = ["retry-count/requester/retries-beyond-budget/repeating c1 @14"];
    judge(2, 7).silent(&reads(1));
    judge(1, 7).gives(&reads(1), &["retry-count/requester/retries-beyond-budget/repeating c1 @10"]);
    judge(2, 7).gives(&reads(2), &beyond);
}

#[test]
fn giving_up_too_early() {
    let below = |packet| format!("retry-count/requester/retries-below-budget/repeating c1 @{packet}");
    failing(7, 7, RetryExceeded).silent(&time_outs(7)).gives(&time_outs(6), &[&below(7)]);
    failing(3, 7, RetryExceeded).silent(&nak_and_time_outs(2)).gives(&nak_and_time_outs(1), &[&below(8)]);
    // Where something may have been lost behind the switch, there may have been more.
    for discards in [[None; 2], [Some(1), Some(0)]] {
        Judge { discards, ..failing(7, 7, RetryExceeded) }.silent(&time_outs(6));
    }
    // What failed for another reason says nothing.
    let without = "protocol-violation/requester/failure-without-cause c1 @0";
    failing(7, 7, CompletionStatus::RemoteError).gives(&time_outs(1), &[without]);
    failing(7, 7, CompletionStatus::Flushed).silent(&time_outs(1));
    // Progress that may not have arrived any more: retries spent before count.
    failing(3, 7, RetryExceeded)
        .silent(&(time_outs(2) + "+70000000 > WRITE_ONLY 1 ackreq\n +70000000 < ACK 1 msn=1"));
}

#[test]
fn rnr_retries() {
    let beyond = "retry-count/requester/rnr-retries-beyond-budget/rnr-heard c1 @";
    judge(7, 2).silent(&refusals(2)).gives(&refusals(3), &[&format!("{beyond}7")]);
    judge(7, 0).silent(&refusals(0)).gives(&refusals(1), &[&format!("{beyond}3")]);
    // 7 is unlimited.
    judge(7, 7).silent(&refusals(20));
}

#[test]
fn giving_up_too_early_after_rnr_naks() {
    let below = |packet| format!("retry-count/requester/rnr-retries-below-budget/rnr-heard c1 @{packet}");
    failing(7, 2, RnrRetryExceeded).silent(&refusals(2)).gives(&refusals(1), &[&below(3)]);
    failing(7, 7, RnrRetryExceeded).gives(&refusals(9), &[&below(19)]);
}

/// The requester's packets alone, as a capture of one direction has them.
fn one_way(text: &str) -> String {
    text.lines().filter(|line| !line.contains('<')).collect::<Vec<_>>().join("\n")
}

/// Verdict on a plain capture, of which only the packets are known.
fn captured(judge: &Judge, text: &str) -> Vec<String> {
    let observed = judge.observed(&Tape::new(text));
    let seen = part(&observed, 0..observed.trace.records().len(), Origin::Plain, true);
    let options = Options { config: Some(&judge.config) };
    let anomalies = analyze(&seen, options).anomalies;
    anomalies.kept().iter().map(|anomaly| format!("{}: {}", anomaly.signature(), anomaly.what)).collect()
}

/// A requester that returns to a PSN has made no progress since: no acknowledgement that the capture lacks can excuse it.
#[test]
fn captures_of_one_direction_show_retries_beyond_the_budget() {
    let beyond = |psn: u32, times: u32, of: u32| {
        vec![format!(
            "retry-count/requester/retries-beyond-budget/repeating: retransmits PSN {psn} without progress {times} times, \
             where retry_cnt is {of}"
        )]
    };
    let none = Vec::<String>::new();
    // Of the first return nobody can tell: it may have been to an earlier PSN, whose packet is missing.
    assert_eq!(captured(&judge(2, 7), &time_outs(3)), none);
    assert_eq!(captured(&judge(2, 7), &time_outs(4)), beyond(1, 4, 2));
    assert_eq!(captured(&judge(7, 7), &time_outs(8)), none);
    assert_eq!(captured(&judge(7, 7), &time_outs(9)), beyond(1, 9, 7));
    // Without the NAK, and its retry, which comes too soon to be told from a copy.
    assert_eq!(captured(&judge(2, 7), &one_way(&nak_and_time_outs(3))), none);
    assert_eq!(captured(&judge(2, 7), &one_way(&nak_and_time_outs(4))), beyond(2, 4, 2));
    // The NAK was seen, and says that nothing before is missing.
    assert_eq!(captured(&judge(2, 7), &nak_and_time_outs(2)), none);
    assert_eq!(captured(&judge(2, 7), &nak_and_time_outs(3)), beyond(2, 3, 2));

    // Unseen ACKs made progress between the returns.
    let lossy = |psn: u32| format!("+70000000 > WRITE_ONLY {psn} ackreq drop\n").repeat(3);
    assert_eq!(captured(&judge(2, 7), &(1..=9).map(lossy).collect::<String>()), none);
    // Copies that the capture made.
    let copied = "+300 > WRITE_ONLY 1 ackreq\n".repeat(9);
    assert_eq!(captured(&judge(2, 7), &copied), none);

    // Each return of a Send may be for an RNR NAK.
    let sends = |times: usize| "+70000000 > SEND_ONLY 1 ackreq drop\n".repeat(times + 1);
    assert_eq!(captured(&judge(2, 7), &sends(30)), none);
    assert_eq!(captured(&judge(2, 3), &sends(6)), none);
    assert_eq!(captured(&judge(2, 3), &sends(7)), beyond(1, 7, 2));
    // Parts of a Read's responses make progress.
    let reads = |times: usize| "+70000000 > READ 1 bytes=4096\n".repeat(times + 1);
    assert_eq!(captured(&judge(2, 7), &reads(9)), none);
}

/// Two losses, one behind the other; the requester gives up at the second NAK, which acknowledges more than the first.
const TWO_NAKS: &str = "0    > WRITE_FIRST 1
     +300 > WRITE_MIDDLE 2 drop
     +300 > WRITE_MIDDLE 3
     +300 > WRITE_LAST 4 ackreq
     5000 < NAK 2
     9000 > WRITE_MIDDLE 2
     +300 > WRITE_MIDDLE 3 drop
     +300 > WRITE_LAST 4 ackreq
     15000 < NAK 3\n";

#[test]
fn a_nak_that_acknowledges_more_refills_the_budget() {
    let below = &["retry-count/requester/retries-below-budget/nak-heard c1 @8"];
    failing(1, 7, RetryExceeded).gives(TWO_NAKS, below);
    failing(7, 7, RetryExceeded).gives(TWO_NAKS, below);
    // Without retries the first NAK ends the QP.
    failing(0, 7, RetryExceeded).silent(
        "0    > WRITE_FIRST 1
         +300 > WRITE_MIDDLE 2 drop
         +300 > WRITE_LAST 3 ackreq
         5000 < NAK 2",
    );
    // The retry is lost too, and the timer, which sends nothing any more, ends it.
    let then_expires = TWO_NAKS.to_owned()
        + "19000 > WRITE_MIDDLE 3 drop
           +300 > WRITE_LAST 4 ackreq";
    failing(1, 7, RetryExceeded).silent(&then_expires);
    // The NAK may have been lost behind the switch, and the timer may have ended the QP.
    let mut unsure = failing(1, 7, RetryExceeded);
    unsure.discards[0] = None;
    unsure.silent(TWO_NAKS);
}
