//! CNPs and ECN marks.

use scoring::thresholds::{CNP_BEHIND_DATA, CNP_INTERVAL_PERCENT, CNP_PATIENCE};

use crate::violations::Judge;

const TOO_EARLY: &str = "cnp-generation/notification-point/cnp-too-early";

#[test]
fn a_cnp_without_a_mark() {
    let text = |event: &str| {
        format!(
            "0    > WRITE_FIRST 1 {event}
             +300 > WRITE_LAST 2 ackreq
             5000 < CNP
             +300 < ACK 2 msn=1"
        )
    };
    Judge::new()
        .gives(&text(""), &["cnp-generation/notification-point/cnp-without-ecn/no-reason c1 @3"])
        .silent(&text("ecn"));
    // As many as were marked, and one more.
    Judge::new().gives(
        "0    > WRITE_FIRST 1 ecn
         +300 > WRITE_LAST 2 ackreq
         5000 < CNP
         60000 < CNP
         +300 < ACK 2 msn=1",
        &["cnp-generation/notification-point/cnp-without-ecn/no-reason c1 @4"],
    );
    // Marked, and lost: the receiver never saw it. But a loss may be a reason of its own.
    Judge::new().silent(
        "0    > WRITE_FIRST 1 drop
         +300 > WRITE_LAST 2 ackreq
         5000 < CNP
         +300 < NAK 1
         9000 > WRITE_FIRST 1
         +300 > WRITE_LAST 2 ackreq
         15000 < ACK 2 msn=1",
    );
    // A Read's data is marked on its way to the requester, which notifies.
    Judge::new().silent(
        "0    > READ 1 bytes=2048
         3000 < READ_RESPONSE_FIRST 1 msn=1 ecn
         +300 < READ_RESPONSE_LAST 2 msn=1
         9000 > CNP",
    );
    // The other connection's mark is no reason.
    Judge::new().gives(
        "0    > WRITE_ONLY 1 ackreq ecn
         +300 c2 > WRITE_ONLY 1 ackreq
         5000 c2 < CNP
         +300 < ACK 1 msn=1
         +300 c2 < ACK 1 msn=1",
        &["cnp-generation/notification-point/cnp-without-ecn/no-reason c2 @3"],
    );
}

#[test]
fn marks_and_no_cnp() {
    let text = |answered: u64, cnp: &str| {
        format!(
            "0    > WRITE_ONLY 1 ackreq ecn
             {cnp}
             {answered} < ACK 1 msn=1"
        )
    };
    let patience = CNP_PATIENCE.0;
    let remark = "cnp-generation/notification-point/ecn-without-cnp/no-cnp c1 @1";
    Judge::new().gives(&text(patience, ""), &[remark]);
    Judge::new().gives(&text(patience - 1, ""), &[]);
    Judge::new().silent(&text(patience, "3000 < CNP"));
    // Switched off.
    let mut off = Judge::new();
    off.config.responder.roce.dcqcn_np_enable = false;
    off.silent(&text(patience, ""));
    // Marked, and repeated since: it may have been lost behind the switch.
    Judge { discards: [None; 2], ..Judge::new() }.silent(
        "0    > WRITE_ONLY 1 ackreq ecn
         80000000 > WRITE_ONLY 1 ackreq
         +90000 < ACK 1 msn=1",
    );
}

/// Two connections, each with a CNP, so many nanoseconds apart.
fn two_connections(apart: u64) -> String {
    format!(
        "0    > WRITE_ONLY 1 ackreq ecn
         +300 c2 > WRITE_ONLY 1 ackreq ecn
         5000 < CNP
         +{apart} c2 < CNP
         +300 < ACK 1 msn=1
         +300 c2 < ACK 1 msn=1"
    )
}

/// One connection with two CNPs.
fn one_connection(apart: u64) -> String {
    format!(
        "0    > WRITE_FIRST 1 ecn
         +300 > WRITE_LAST 2 ackreq ecn
         5000 < CNP
         +{apart} < CNP
         +300 < ACK 2 msn=1"
    )
}

#[test]
fn the_tolerance_of_the_interval() {
    // 50 µs: the share decides. 4 µs: a packet in front of the first one does.
    let earliest = 50_000 * CNP_INTERVAL_PERCENT / 100;
    let judge = Judge::new();
    judge.gives(&one_connection(earliest - 1), &[&format!("{TOO_EARLY}/per-qp c1 @4")]);
    judge.gives(&one_connection(earliest), &[]);
    let mut fast = Judge::new();
    fast.config.responder.roce.min_time_between_cnps = 4;
    let earliest = 4_000 - CNP_BEHIND_DATA.0;
    fast.gives(&one_connection(earliest - 1), &[&format!("{TOO_EARLY}/per-qp c1 @4")]);
    fast.gives(&one_connection(earliest), &[]);
}

/// Each QP has an interval of its own, and so has each direction of a connection, which different hosts notify.
#[test]
fn cnps_of_two_connections() {
    Judge::new().silent(&two_connections(10)).silent(
        "0    > WRITE_ONLY 1 ackreq ecn
         +300 c2 > READ 1 bytes=1024
         5000 < CNP
         +300 < ACK 1 msn=1
         +300 c2 < READ_RESPONSE_ONLY 1 msn=1 ecn
         +300 c2 > CNP",
    );
}

#[test]
fn a_cnp_that_is_none() {
    let text = |how: &str| {
        format!(
            "0    > WRITE_ONLY 1 ackreq ecn
             3000 < CNP {how}
             +300 < ACK 1 msn=1"
        )
    };
    let remark = |state: &str| format!("cnp-generation/notification-point/cnp-form/{state} c1 @2");
    Judge::new()
        .silent(&text(""))
        .gives(&text("psn=1"), &[&remark("psn")])
        .gives(&text("no-becn"), &[&remark("becn")])
        .gives(&text("ackreq"), &[&remark("ack-req")]);
}

/// Marks count on whatever carries them: ACKs and Read requests, too.
#[test]
fn marked_control_packets() {
    Judge::new()
        .silent(
            "0    > WRITE_ONLY 1 ackreq
             3000 < ACK 1 msn=1 ecn
             6000 > CNP
             +300 > WRITE_ONLY 2 ackreq
             +3000 < ACK 2 msn=2",
        )
        .silent(
            "0    > READ 1 bytes=1024 ecn
             3000 < CNP
             +300 < READ_RESPONSE_ONLY 1 msn=1",
        );
}
