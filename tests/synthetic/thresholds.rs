//! Every threshold: just beyond it a rule fires, just within it stays silent.

use dumper::observation::CompletionStatus;
use dumper::timers::LATEST_EXPIRY;
use scoring::thresholds::{ACK_IN_FLIGHT, ANSWER_PATIENCE, SHORTEST_TIMEOUT, STALL_EXPIRIES, TIMER_SLACK};

use crate::judge::Judge;

/// Time on the slowest link of a packet of these tests, which has no bytes but the 24 between frames: 19.2 ns.
const ON_THE_LINK: u64 = 20;
/// Patience with an answer, behind one such packet.
const PATIENCE: u64 = ANSWER_PATIENCE.0 + ON_THE_LINK;

/// T of the configured exponent 14.
const T: u64 = 4_096 << 14;

fn tail_loss(wait: u64) -> String {
    format!(
        "0    > WRITE_ONLY 1 ackreq drop
         {wait} > WRITE_ONLY 1 ackreq
         +5000 < ACK 1 msn=1"
    )
}

#[test]
fn an_expiry_before_t() {
    let earliest = T - TIMER_SLACK.0;
    let remark = "unexpected-timeout/requester/rto-below-minimum/flowing c1 @2";
    Judge::new().gives(&tail_loss(earliest - 1), &[remark]);
    Judge::new().gives(&tail_loss(earliest), &[]);
    Judge::new().gives(&tail_loss(T), &[]);
}

#[test]
fn an_expiry_after_4t() {
    let latest = u64::from(LATEST_EXPIRY) * T + TIMER_SLACK.0;
    let remark = "unexpected-timeout/requester/rto-above-maximum/flowing c1 @2";
    Judge::new().gives(&tail_loss(latest + 1), &[remark]);
    Judge::new().gives(&tail_loss(latest), &[]);
    // The timer may have been started again by the retransmission before, or by progress.
    let twice = |wait: u64| {
        format!(
            "0    > WRITE_ONLY 1 ackreq drop
             {T} > WRITE_ONLY 1 ackreq drop
             +{wait} > WRITE_ONLY 1 ackreq
             +5000 < ACK 1 msn=1"
        )
    };
    Judge::new()
        .gives(&twice(latest + 1), &["unexpected-timeout/requester/rto-above-maximum/repeating c1 @3"]);
    Judge::new().gives(&twice(latest), &[]);
}

/// One percent beyond a limit is beyond it, however short the timer is.
#[test]
fn one_percent_beyond_a_limit() {
    for exponent in [1, 14] {
        let mut judge = Judge::new();
        judge.config.traffic.min_retransmit_timeout = exponent;
        let latest = u64::from(LATEST_EXPIRY) * (4_096 << exponent) + TIMER_SLACK.0;
        let late = "unexpected-timeout/requester/rto-above-maximum/flowing c1 @2";
        judge.gives(&tail_loss(latest), &[]).gives(&tail_loss(latest * 101 / 100), &[late]);
    }
    let early = "unexpected-timeout/requester/rto-below-minimum/flowing c1 @2";
    Judge::new().gives(&tail_loss((T - TIMER_SLACK.0) * 99 / 100), &[early]);
}

/// Without a configuration a timer may be as short as exponent 1.
#[test]
fn the_shortest_timer() {
    let remark = "gbn-violation/requester/retransmission-without-cause/flowing c1 @2";
    Judge::new().gives(&tail_loss(SHORTEST_TIMEOUT.0 - 1), &[remark]);
    let early = "unexpected-timeout/requester/rto-below-minimum/flowing c1 @2";
    Judge::new().gives(&tail_loss(SHORTEST_TIMEOUT.0), &[early]);
}

/// A repetition of a packet acknowledged a moment ago crosses the ACK; later on the ACK did not arrive.
#[test]
fn an_ack_in_flight() {
    let repeats = |after: u64| {
        format!(
            "0    > WRITE_ONLY 1 ackreq delay={T}
             {T}  c2 > WRITE_ONLY 1 ackreq
             +5000 c2 < ACK 1 msn=1
             +5000 < ACK 1 msn=1
             +{after} > WRITE_ONLY 1 ackreq
             +5000 < ACK 1 msn=1"
        )
    };
    Judge::new().gives(&repeats(ACK_IN_FLIGHT.0), &[]);
    let unexplained = "unexpected-timeout/requester/timeout-unexplained/flowing c1 @5";
    Judge::new().gives(&repeats(ACK_IN_FLIGHT.0 + 1), &[unexplained]);
}

#[test]
fn patience_with_a_nak() {
    // The gap opens with packet 3 and closes with packet 4, which passes at `patience` after it.
    let repaired = |patience: u64| {
        format!(
            "0    > WRITE_FIRST 1 ackreq
             +300 > WRITE_MIDDLE 2 drop
             +300 > WRITE_LAST 3 ackreq
             +{patience} > WRITE_MIDDLE 2
             +300 > WRITE_LAST 3 ackreq
             +9000 < ACK 3 msn=1"
        )
    };
    // That it resumes there without a NAK is the requester's fault, and another remark.
    let late = "gbn-violation/requester/resume-late/flowing c1 @4";
    Judge::new().gives(&repaired(PATIENCE - 1), &[late]);
    Judge::new().gives(&repaired(PATIENCE), &["gbn-violation/responder/nak-missing/in-order c1 @3", late]);
}

#[test]
fn patience_with_a_repeated_ack() {
    let ends = |patience: u64| {
        format!(
            "0    > WRITE_ONLY 1 ackreq
             5000 < ACK 1 msn=1 drop
             +100000000 > WRITE_ONLY 1 ackreq
             +{patience} c2 > WRITE_ONLY 1"
        )
    };
    Judge::new().gives(&ends(PATIENCE - 1), &[]);
    Judge::new().gives(&ends(PATIENCE), &["gbn-violation/responder/reack-missing/in-order c1 @3"]);
}

#[test]
fn patience_with_the_first_ack() {
    let mut judge = Judge::new();
    judge.config.traffic.min_retransmit_timeout = 13;
    let repeated = |patience: u64| {
        format!(
            "0 > WRITE_ONLY 1 ackreq
             {patience} > WRITE_ONLY 1 ackreq
             +5000 < ACK 1 msn=1"
        )
    };
    judge.gives(&repeated(PATIENCE - 1), &[]);
    judge.gives(&repeated(PATIENCE), &["gbn-violation/responder/ack-missing/in-order c1 @1"]);
}

/// A request is lost, and the requester says and does nothing more.
#[test]
fn a_stall() {
    let limit = STALL_EXPIRIES * u64::from(LATEST_EXPIRY) * T;
    let silence = |time: u64| {
        format!(
            "0 > WRITE_ONLY 1 ackreq drop
             {time} c2 > WRITE_ONLY 1"
        )
    };
    let remark = "stall/requester/request-never-answered/flowing c1 @1";
    let reported = |status| Judge::new().completing(1_024, status);
    // Nothing says what became of the other nine messages, and of those of the second connection.
    let [first, second] = [1, 2].map(|at| format!("stall/requester/completion-missing c{at} @0"));
    let missing = [&*first, &second];
    let unacknowledged = "data-corruption/requester/success-unacknowledged c1 @0";
    reported(CompletionStatus::Success)
        .gives(&silence(limit + 1), &[remark, unacknowledged, &first, &second])
        .gives(&silence(limit), &[unacknowledged, &first, &second]);
    let failed = "protocol-violation/requester/failure-without-cause c1 @0";
    reported(CompletionStatus::RemoteError).gives(&silence(limit + 1), &[failed, &second]);
    // Nobody reports anything; everything is acknowledged; the timer is off, so that waiting for ever is legal.
    Judge::new().gives(&silence(limit + 1), &[]);
    let answered = silence(limit + 5_001).replace("drop", "\n 5000 < ACK 1 msn=1");
    reported(CompletionStatus::Success).gives(&answered, &missing);
    // Or ACKs are made to say that the responder is not ready, to who asks again without end.
    let feigned = "event = [{ qpn = 1, packet = \"ack\", nth = 1, type = \"set-field\", field = \"aeth-syndrome\", value = 44 }]";
    let mut refused = reported(CompletionStatus::Success);
    refused.config.events = corpus::from_toml("feigned.toml", feigned).unwrap().events;
    refused.config.traffic.rnr_retry = 7;
    refused.gives(&answered, &[]);
    refused.config.traffic.rnr_retry = 6;
    refused.gives(&answered, &missing);
    let mut never = reported(CompletionStatus::Success);
    never.config.traffic.min_retransmit_timeout = 0;
    never.gives(&silence(limit + 1), &[unacknowledged]);
    // The first connection has completed its message, and waits for the second one at the barrier.
    let mut waits = reported(CompletionStatus::Success);
    waits.config.traffic.barrier_sync = true;
    waits.gives(&silence(limit), &[unacknowledged, &second]);
}
