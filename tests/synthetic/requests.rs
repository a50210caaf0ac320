//! Packets of a requester after a NAK, and the form of its requests.

use scoring::thresholds::{ACK_IN_FLIGHT, ANSWER_PATIENCE, RNR_WAIT_PERCENT};

use crate::judge::Judge;

/// A loss whose NAK is delivered, and what the requester does then.
fn naked(and_then: &str) -> String {
    format!(
        "0    > WRITE_ONLY 1 ackreq drop
         +300 > WRITE_ONLY 2 ackreq
         5000 < NAK 1
         {and_then}"
    )
}

const REPAIR: &str = "+300 > WRITE_ONLY 2 ackreq
                      +5000 < ACK 2 msn=2";

#[test]
fn a_nak_that_is_ignored() {
    let judge = Judge::new();
    let by_timer = naked(&format!("80000000 > WRITE_ONLY 1 ackreq\n {REPAIR}"));
    let remark = "gbn-violation/requester/nak-ignored/nak-heard c1 @4";
    judge.gives(&by_timer, &[remark]);
    judge.silent(&naked(&format!("9000 > WRITE_ONLY 1 ackreq\n {REPAIR}")));
    // It did not arrive: at the switch, or behind it.
    judge.silent(&by_timer.replace("NAK 1", "NAK 1 drop"));
    Judge { discards: [Some(1), Some(0)], ..Judge::new() }.silent(&by_timer);
    Judge { discards: [None; 2], ..Judge::new() }.silent(&by_timer);
    // Not even what the NAK acknowledges is taken note of.
    judge.gives(
        "0    > WRITE_FIRST 1
         +300 > WRITE_MIDDLE 2 drop
         +300 > WRITE_LAST 3 ackreq
         5000 < NAK 2
         80000000 > WRITE_FIRST 1
         +300 > WRITE_MIDDLE 2
         +300 > WRITE_LAST 3 ackreq
         +5000 < ACK 3 msn=1",
        &["gbn-violation/requester/nak-ignored/nak-heard c1 @5"],
    );
}

/// Requests of another connection, from 10 µs to 140 ms, without a break or with one that begins then.
fn flow(pause_at: Option<u64>) -> String {
    let is_paused = |time| pause_at.is_some_and(|pause| (pause..pause + 200_000).contains(&time));
    let times = (50_000..140_000_000).step_by(40_000).filter(|time| !is_paused(*time));
    let mut lines = "10000 c2 > WRITE_FIRST 1\n".to_owned();
    let mut psn = 1;
    for time in times {
        psn += 1;
        lines += &format!("{time} c2 > WRITE_MIDDLE {psn}\n");
    }
    psn += 1;
    lines + &format!("+300 c2 > WRITE_LAST {psn} ackreq\n +5000 c2 < ACK {psn} msn=1\n")
}

/// A strict traffic class leaves the other one nothing of the link: what is to be retransmitted waits in the NIC, longer than the ACK timer.
#[test]
fn a_retransmission_that_waits_for_packets_of_another_connection() {
    let judge = Judge::new();
    let write = |pause| naked(&format!("{} +1000 > WRITE_ONLY 1 ackreq\n {REPAIR}", flow(pause)));
    judge.gives(&write(None), &[]);
    // A break in which it could have been sent: nothing was to be sent for the NAK.
    let packet = |text: &str| text.lines().count() - 2;
    let paused = write(Some(90_000_000));
    judge
        .gives(&paused, &[&format!("gbn-violation/requester/nak-ignored/nak-heard c1 @{}", packet(&paused))]);
    // A NIC may be as slow as that.
    judge.gives(&write(Some(30_000_000)), &[]);

    let read = |pause| {
        format!(
            "0    > READ 1 bytes=3072
             3000 < READ_RESPONSE_FIRST 1 msn=1
             +300 < READ_RESPONSE_MIDDLE 2 drop
             +300 < READ_RESPONSE_LAST 3 msn=1
             {} +1000 > READ 2 bytes=2048
             +6000 < READ_RESPONSE_FIRST 2 msn=1
             +300  < READ_RESPONSE_LAST 3 msn=1",
            flow(pause)
        )
    };
    judge.gives(&read(None), &[]);
    let paused = read(Some(120_000_000));
    judge.gives(
        &paused,
        &[&format!("gbn-violation/requester/implied-nak-missing/gap-heard c1 @{}", packet(&paused))],
    );
}

/// New requests go on, and the timer never helps.
#[test]
fn a_nak_that_is_ignored_for_ever() {
    let mut judge = Judge::new();
    judge.config.traffic.min_retransmit_timeout = 0;
    let goes_on = |after: u64| naked(&format!("+{after} > WRITE_ONLY 3 ackreq"));
    let remark = "gbn-violation/requester/nak-ignored/nak-heard c1 @4";
    judge.gives(&goes_on(ANSWER_PATIENCE.0), &[]);
    judge.gives(&goes_on(ANSWER_PATIENCE.0 + 1), &[remark]);
}

/// The retransmission that the NAK requests happens for another reason, or was under way already.
#[test]
fn a_nak_that_needs_no_answer() {
    Judge::new()
        // The packet was only late, and is acknowledged before the requester retransmits.
        .gives(
            "0    > WRITE_ONLY 1 ackreq delay=4000
             +300 > WRITE_ONLY 2 ackreq
             5000 < NAK 1
             6000 < ACK 1 msn=1
             80000000 > WRITE_ONLY 2 ackreq
             +5000 < ACK 2 msn=2",
            &[],
        )
        // It has just been repeated, and is lost again.
        .silent(
            "0    > WRITE_ONLY 1 ackreq drop
             +300 > WRITE_ONLY 2 ackreq delay=79999000
             80000000 > WRITE_ONLY 1 ackreq drop
             +300 > WRITE_ONLY 2 ackreq
             +1000 < NAK 1
             +80000000 > WRITE_ONLY 1 ackreq
             +300 > WRITE_ONLY 2 ackreq
             +5000 < ACK 2 msn=2",
        );
}

/// A retransmission is the packet that was sent first.
#[test]
fn a_repeated_packet_of_another_opcode() {
    let repeated = |opcode: &str| {
        format!(
            "0    > WRITE_FIRST 1
             +300 > WRITE_MIDDLE 2 drop
             +300 > WRITE_LAST 3 ackreq
             5000 < NAK 2
             9000 > {opcode} 2
             +300 > WRITE_LAST 3 ackreq
             15000 < NAK 2 drop"
        )
    };
    let named = |opcode: &str| {
        let remarks = Judge::new().remarks_of(&repeated(opcode));
        remarks.iter().any(|remark| {
            remark.starts_with("protocol-violation/requester/retransmission-differs/")
                && remark.ends_with(" c1 @5")
        })
    };
    assert!(!named("WRITE_MIDDLE"));
    for opcode in ["WRITE_LAST", "WRITE_FIRST", "SEND_MIDDLE", "WRITE_ONLY"] {
        assert!(named(opcode), "{opcode}");
    }
    let fetch = |again: &str| format!("0 > FETCH_ADD 1 drop\n80000000 > {again}\n+5000 < ATOMIC_ACK 1 msn=1");
    Judge::new().silent(&fetch("FETCH_ADD 1"));
    let remark = "protocol-violation/requester/retransmission-differs/repeating c1 @2";
    Judge::new().gives(&fetch("COMPARE_SWAP 1"), &[remark]);
}

/// Requests between the NAK and the retransmission, and a NAK whose retransmission does not restart the
/// timer.
#[test]
fn freedoms_after_a_nak() {
    Judge::new().silent(&naked(
        "+300 > WRITE_ONLY 3 ackreq
         +300 > WRITE_ONLY 4 ackreq
         9000 > WRITE_ONLY 1 ackreq drop
         +300 > WRITE_ONLY 2 ackreq
         +300 > WRITE_ONLY 3 ackreq
         +300 > WRITE_ONLY 4 ackreq
         70000000 > WRITE_ONLY 1 ackreq
         +300 > WRITE_ONLY 2 ackreq
         +300 > WRITE_ONLY 3 ackreq
         +300 > WRITE_ONLY 4 ackreq
         +5000 < ACK 4 msn=4",
    ));
}

#[test]
fn an_rnr_wait_that_is_cut_short() {
    // The NAK asks for 480 µs.
    let refused = |wait: u64| {
        format!(
            "0    > SEND_ONLY 1 ackreq
             3000 < RNR 1
             +{wait} > SEND_ONLY 1 ackreq
             +5000 < ACK 1 msn=1"
        )
    };
    let shortest = 480_000 * RNR_WAIT_PERCENT / 100;
    let short = "protocol-violation/requester/rnr-wait-short/rnr-heard c1 @3";
    Judge::new().gives(&refused(240_000), &[short]).gives(&refused(shortest - 3_000), &[short]);
    Judge::new().gives(&refused(480_000), &[]).silent(&refused(2_000_000));
    // Its timer, which had been running for long when the RNR NAK came.
    Judge::new().silent(
        "0    > SEND_ONLY 1 ackreq delay=70000000
         70001000 < RNR 1
         +5000 > SEND_ONLY 1 ackreq
         +5000 < ACK 1 msn=1",
    );
}

/// The requester waits for the receiver when another RNR NAK arrives, of a later request, and an answer to an earlier one is missing: it goes
/// on from that one when the first wait is over.
#[test]
fn an_rnr_wait_that_goes_on_when_another_rnr_nak_arrives() {
    // T = 262 µs, 4T = 1.05 ms, and the RNR NAKs ask for 1.92 ms.
    let mut judge = Judge::new();
    judge.config.traffic.min_retransmit_timeout = 6;
    let resumes = |time: u64| {
        format!(
            "0       > SEND_ONLY 1 ackreq delay=1000000
             +300    > READ 2 bytes=2048 delay=1000000
             +300    > SEND_ONLY 4 ackreq delay=1000000
             300000  > SEND_ONLY 1 ackreq
             +300    > READ 2 bytes=2048
             +300    > SEND_ONLY 4 ackreq
             303000  < RNR 1 timer=15
             1003000 < ACK 1 msn=1
             1005000 < READ_RESPONSE_FIRST 2 msn=2 delay=10000
             +300    < READ_RESPONSE_LAST 3 msn=2
             +300    < RNR 4 msn=2 timer=15
             {time}  > READ 3 bytes=1024
             +300    > SEND_ONLY 4 ackreq
             +5000   < READ_RESPONSE_ONLY 3 msn=2
             +300    < ACK 4 msn=3"
        )
    };
    judge.gives(&resumes(2_224_000), &[]);
    // Neither wait is over.
    judge.gives(&resumes(2_150_000), &["unexpected-timeout/requester/rto-above-maximum/rnr-heard c1 @12"]);
}

#[test]
fn new_requests_after_a_fatal_nak() {
    let goes_on = |after: u64| {
        format!(
            "0    > SEND_ONLY 1 ackreq
             3000 < FATAL 1
             +{after} > SEND_ONLY 2 ackreq"
        )
    };
    let remark = "protocol-violation/requester/request-after-fatal-nak/failed c1 @3";
    Judge::new().gives(&goes_on(ACK_IN_FLIGHT.0), &[]);
    Judge::new().gives(&goes_on(ACK_IN_FLIGHT.0 + 1), &[remark]);
    Judge::new().silent(&goes_on(5_000));
    // The NAK did not arrive, or may not have.
    Judge::new().silent(&goes_on(30_000_000).replace("FATAL 1", "FATAL 1 drop"));
    Judge { discards: [None; 2], ..Judge::new() }.silent(&goes_on(30_000_000));
    Judge { discards: [Some(1), Some(0)], ..Judge::new() }.silent(&goes_on(30_000_000));
}

#[test]
fn a_request_packet_in_the_wrong_place() {
    // The MSN counts what a message may have been taken for.
    let message = |third: &str, msn: u32| {
        format!(
            "0     > WRITE_FIRST 1
             +300  > WRITE_MIDDLE 2
             +300  > {third}
             +300  > WRITE_LAST 4 ackreq
             5000  < ACK 4 msn={msn}
             +300  > WRITE_ONLY 5 ackreq
             +5000 < ACK 5 msn={}",
            msn + 1
        )
    };
    let inside = "protocol-violation/requester/request-position/flowing c1 @3";
    for (third, msn) in [
        ("WRITE_FIRST 3", 1),
        ("WRITE_ONLY 3", 2),
        ("WRITE_ONLY 3", 1),
        ("READ 3 bytes=1024", 2),
        ("SEND_MIDDLE 3", 1),
    ] {
        let text = message(third, msn);
        let text = if third.starts_with("READ") {
            text.replace("5000  < ACK 4", "4000 < READ_RESPONSE_ONLY 3 msn=1\n 5000 < ACK 4")
        } else {
            text
        };
        // What follows is judged by it: a LAST of nothing, or of another verb.
        let last = "protocol-violation/requester/request-position/flowing c1 @4";
        let remarks = if third == "WRITE_FIRST 3" { vec![inside] } else { vec![inside, last] };
        Judge::new().gives(&text, &remarks);
    }
    Judge::new().silent(&message("WRITE_MIDDLE 3", 1));
    Judge::new().gives(
        "0     > WRITE_ONLY 1 ackreq
         +300  > WRITE_MIDDLE 2
         +300  > WRITE_LAST 3 ackreq
         +5000 < ACK 3 msn=2",
        &["protocol-violation/requester/request-position/flowing c1 @2"],
    );
    // A repeated packet has its place already.
    Judge::new().silent(
        "0     > WRITE_FIRST 1
         +300  > WRITE_LAST 2 ackreq drop
         80000000 > WRITE_FIRST 1
         +300  > WRITE_LAST 2 ackreq
         +5000 < ACK 2 msn=1",
    );
}

#[test]
fn a_read_that_is_repeated_from_another_address() {
    let rest = |request: &str| {
        format!(
            "0     > READ 1 bytes=4000
             3000  < READ_RESPONSE_FIRST 1 msn=1
             +300  < READ_RESPONSE_MIDDLE 2 drop
             +300  < READ_RESPONSE_MIDDLE 3
             +300  < READ_RESPONSE_LAST 4 msn=1
             9000  > {request}
             12000 < READ_RESPONSE_FIRST 2 msn=1
             +300  < READ_RESPONSE_MIDDLE 3
             +300  < READ_RESPONSE_LAST 4 msn=1"
        )
    };
    let remark = "protocol-violation/requester/reissue-address/repeating c1 @6";
    Judge::new()
        .silent(&rest("READ 2 bytes=2976"))
        .gives(&rest("READ 2 bytes=2976 va=1"), &[remark])
        .gives(&rest("READ 2 bytes=2976 va=3"), &[remark])
        .gives(&rest("READ 2 bytes=3000"), &[remark]);
    // The whole of it again, as nothing came back.
    let whole = |address: u64| {
        format!(
            "0     > READ 1 bytes=2048 drop
             80000000 > READ 1 bytes=2048 va={address}
             +3000 < READ_RESPONSE_FIRST 1 msn=1
             +300  < READ_RESPONSE_LAST 2 msn=1"
        )
    };
    Judge::new()
        .silent(&whole(1))
        .gives(&whole(2), &["protocol-violation/requester/reissue-address/repeating c1 @2"]);
}
