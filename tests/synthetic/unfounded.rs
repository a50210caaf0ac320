//! What has no cause in the trace: retransmissions for duplicate ACKs, NAKs that end a QP, failures and successes.

use dumper::observation::CompletionStatus::{self, Error, RemoteError, RnrRetryExceeded, Success};

use crate::judge::Judge;

/// Three Writes that are acknowledged twice, and are sent and acknowledged again so many times, so many nanoseconds
/// apart.
fn storm(times: usize, apart: u64, answer: &str) -> String {
    let writes = |after: u64| {
        format!("+{after} > WRITE_ONLY 1 ackreq\n+300 > WRITE_ONLY 2 ackreq\n+300 > WRITE_ONLY 3 ackreq\n")
    };
    let acks = format!("+3000 < ACK 3 msn=3\n+300 < {answer}\n");
    writes(0) + &acks + &(writes(apart) + &acks).repeat(times)
}

#[test]
fn retransmissions_for_duplicate_acks() {
    let duplicate = "ACK 3 msn=3";
    let storm = |times, apart| storm(times, apart, duplicate);
    let remark = "gbn-violation/requester/retransmission-on-duplicate-ack/repeating c1 @16";
    Judge::new().gives(&storm(2, 2_000), &[]).gives(&storm(3, 2_000), &[remark]);
    Judge::new().gives(&storm(5, 2_000), &[remark]);
    // Not at once.
    Judge::new().gives(&storm(3, 200_000), &[]);
    // The first ACK of each round is news, and nothing follows it.
    Judge::new().silent(&storm(0, 0));
    // Without a timer there is nothing else.
    let mut judge = Judge::new();
    judge.config.traffic.min_retransmit_timeout = 0;
    judge.gives(&storm(3, 2_000), &[remark]);
    // As often as a timer of 8 µs may expire.
    judge.config.traffic.min_retransmit_timeout = 1;
    judge.gives(&storm(3, 9_000), &[]);
}

#[test]
fn a_nak_that_ends_the_qp_for_nothing() {
    let refused = |request: &str, nak: &str| format!("0 > {request}\n3000 < {nak}");
    let remark = "protocol-violation/responder/fatal-nak-without-cause/in-order c1 @2";
    for request in ["WRITE_ONLY 1 ackreq", "READ 1 bytes=1024", "WRITE_FIRST 1"] {
        Judge::new().gives(&refused(request, "FATAL 1"), &[remark]);
    }
    // A request that was never sent.
    Judge::new().gives(&refused("SEND_ONLY 1 ackreq", "FATAL 2 msn=1"), &[remark]);
    // A Receive may be too short, and other requests are malformed.
    for request in ["SEND_ONLY 1 ackreq", "FETCH_ADD 1", "WRITE_ONLY 1 ackreq reth=1000", "WRITE_MIDDLE 1"] {
        let judge = Judge::new();
        let remarks = judge.remarks_of(&refused(request, "FATAL 1"));
        assert!(remarks.iter().all(|remark| !remark.contains("fatal-nak")), "{request}: {remarks:?}");
    }
    // A rewritten request.
    Judge::new().silent(&refused("WRITE_ONLY 1 ackreq rewritten", "FATAL 1"));
}

/// A test of so many messages of 2 KB, of which the first ended so, and the others did not complete.
fn ended(status: CompletionStatus) -> Judge {
    let mut judge = Judge::new().completing(2_048, status);
    judge.config.traffic.num_msgs_per_qp = 1;
    judge
}

fn send(answer: &str) -> String {
    format!("0 > SEND_FIRST 1\n+300 > SEND_LAST 2 ackreq\n5000 < {answer}")
}

#[test]
fn a_failure_that_nobody_caused() {
    let remark = "protocol-violation/requester/failure-without-cause c1 @0";
    ended(RemoteError).silent(&send("FATAL 1")).gives(&send("ACK 1"), &[remark]);
    ended(RemoteError).gives(&send("FATAL 1 drop"), &[remark]);
    ended(Error).gives(&send("ACK 1"), &[remark]);
    let mut refused = ended(RnrRetryExceeded);
    refused.config.traffic.rnr_retry = 0;
    refused.silent(&send("RNR 1"));
    Judge { discards: [None; 2], ..refused }.gives(&send("ACK 1"), &[remark]);
    // The injector rewrote what came.
    ended(RemoteError).silent(&send("ACK 1 rewritten"));
}

#[test]
fn a_success_that_nobody_acknowledged() {
    let remark = "data-corruption/requester/success-unacknowledged c1 @0";
    ended(Success).silent(&send("ACK 2 msn=1")).gives(&send("ACK 1"), &[remark]);
    ended(Success).gives(&send("ACK 2 msn=1 drop"), &[remark]);
    ended(Success).silent(&send("ACK 2 msn=1 delay=500000000"));
    ended(Success).silent(&send("ACK 1 rewritten"));
    let read = |last: &str| {
        format!(
            "0 > READ 1 bytes=2048\n5000 < READ_RESPONSE_FIRST 1 msn=1\n+300 < READ_RESPONSE_LAST 2 msn=1{last}"
        )
    };
    ended(Success).silent(&read("")).gives(&read(" drop"), &[remark]);
}
