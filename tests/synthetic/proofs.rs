//! Counters that prove that nothing was discarded, and those that must move.

use dumper::observation::CompletionStatus::RetryExceeded;

use crate::judge::Judge;

/// A host that counts no discards, and what it counts instead.
fn counting(counted: [&'static [(&'static str, u64)]; 2]) -> Judge {
    Judge { discards: [None; 2], counted, ..Judge::new() }
}

/// A NAK of a packet that left the switch: five packets left towards the responder, two towards the requester.
const NAK_OF_WHAT_LEFT: &str = "0    > WRITE_FIRST 1
     +300 > WRITE_MIDDLE 2
     +300 > WRITE_LAST 3 ackreq
     5000 < NAK 2
     9000 > WRITE_MIDDLE 2
     +300 > WRITE_LAST 3 ackreq
     15000 < ACK 3 msn=1";

#[test]
fn as_many_packets_received_as_left_the_switch() {
    let missing = "unexplained-discard/responder/delivered-yet-missing/in-order c1 @4";
    counting([&[], &[("rcvd_pkts", 5)]])
        .gives(NAK_OF_WHAT_LEFT, &["gbn-violation/responder/nak-without-cause/in-order c1 @4"]);
    // One was lost, or something else was counted besides; and what a port counts may be discarded behind it.
    for counted in [&[("rcvd_pkts", 4)], &[("rcvd_pkts", 6)], &[("port_rcv_packets", 5)]] {
        counting([&[], counted]).gives(NAK_OF_WHAT_LEFT, &[missing]);
    }
    // A rewritten packet may have been counted in place of one that was discarded.
    counting([&[], &[("rcvd_pkts", 5)]])
        .gives(&format!("{NAK_OF_WHAT_LEFT}\n+5000 c2 > WRITE_ONLY 1 ackreq rewritten"), &[missing]);
}

/// Each NAK acknowledges more than the one before, which refills the retries.
#[test]
fn giving_up_after_naks_that_acknowledge_more() {
    let mut naks = "0 > WRITE_FIRST 1
         +300 > WRITE_MIDDLE 2 drop
         +300 > WRITE_MIDDLE 3
         +300 > WRITE_MIDDLE 4
         +300 > WRITE_MIDDLE 5
         +300 > WRITE_LAST 6 ackreq
         +5000 < NAK 2\n"
        .to_owned();
    for psn in 2..5 {
        let lost = psn + 1;
        naks += &format!("+3000 > WRITE_MIDDLE {psn}\n+300 > WRITE_MIDDLE {lost} drop\n");
        for later in lost + 1..6 {
            naks += &format!("+300 > WRITE_MIDDLE {later}\n");
        }
        naks += &format!("+300 > WRITE_LAST 6 ackreq\n+5000 < NAK {lost}\n");
    }
    let failing = |counted| {
        let mut judge = counting([counted, &[]]).completing(6_144, RetryExceeded);
        judge.config.traffic.max_retransmit_retry = 3;
        judge
    };
    failing(&[("rcvd_pkts", 4)])
        .gives(&naks, &["retry-count/requester/retries-below-budget/nak-heard c1 @21"]);
    failing(&[("rcvd_pkts", 5)]).gives(&naks, &[]);
    failing(&[]).gives(&naks, &[]);
}

#[test]
fn sequence_naks_that_rdma_rxe_counts() {
    let stuck = "counter-mismatch/requester/counter-differs/rcvd_seq_err c0 @0";
    let counted = |tape: &str| {
        [0, 1, 2].map(|moved| match moved {
            0 => counting([&[("rcvd_seq_err", 0)], &[]]).remarks_of(tape),
            1 => counting([&[("rcvd_seq_err", 1)], &[]]).remarks_of(tape),
            _ => counting([&[("rcvd_seq_err", 2)], &[]]).remarks_of(tape),
        })
    };
    let none: Vec<String> = Vec::new();
    let named = vec![stuck.to_owned()];
    let lossy = NAK_OF_WHAT_LEFT.replacen("MIDDLE 2", "MIDDLE 2 drop", 1);
    assert_eq!(counted(&lossy), [named.clone(), none.clone(), named.clone()]);
    // One that acknowledges nothing more may be counted or not, and so may that of a Read.
    let first = "0    > WRITE_ONLY 1 ackreq drop
         +300 > WRITE_ONLY 2 ackreq
         5000 < NAK 1
         9000 > WRITE_ONLY 1 ackreq
         +300 > WRITE_ONLY 2 ackreq
         15000 < ACK 2 msn=2";
    let read = "0    > READ 1 bytes=2048 drop
         +300 > READ 3 bytes=1024
         5000 < NAK 1
         9000 > READ 1 bytes=2048
         +300 > READ 3 bytes=1024
         15000 < READ_RESPONSE_FIRST 1 msn=1
         +300 < READ_RESPONSE_LAST 2 msn=1
         +300 < READ_RESPONSE_ONLY 3 msn=2";
    // Nor is one whose PSN is the first of a message: what it acknowledges has completed when it is looked at.
    let second = "0    > WRITE_FIRST 1
         +300 > WRITE_LAST 2 ackreq
         +300 > WRITE_ONLY 3 ackreq drop
         +300 > WRITE_ONLY 4 ackreq
         +5000 < ACK 2 msn=1 drop
         +300 < NAK 3 msn=1
         +5000 > WRITE_ONLY 3 ackreq
         +300 > WRITE_ONLY 4 ackreq
         +5000 < ACK 4 msn=3";
    for tape in [first, read, second] {
        assert_eq!(counted(tape), [none.clone(), none.clone(), named.clone()], "{tape}");
    }
}
