//! Conforming traces that were once called wrong, cut down to what matters.

use dumper::observation::CompletionStatus::RnrRetryExceeded;

use crate::judge::Judge;

/// The NAK for an overtaken Read is still on its way when the Read arrives and is answered.
#[test]
fn a_late_nak_before_the_answer() {
    Judge::new().gives(
        "0    > READ 1 bytes=2048 delay=305
         +304 > FETCH_ADD 3
         5000 < NAK 1
         5300 < READ_RESPONSE_FIRST 1 msn=1
         5600 < READ_RESPONSE_LAST 2 msn=1
         80000000 > FETCH_ADD 3
         +5000 < ATOMIC_ACK 3 msn=2",
        &[],
    );
}

/// One copy of a Send is refused, the next one, already on its way, is taken.
#[test]
fn a_copy_follows_the_refused_one() {
    let mut judge = Judge::new();
    judge.config.traffic.min_retransmit_timeout = 4;
    judge.gives(
        "0     > SEND_FIRST 1
         +300  > SEND_LAST 2 ackreq
         70000 > SEND_FIRST 1      # the timer, as nothing came back
         +300  > SEND_LAST 2 ackreq
         +1000 < RNR 1
         +300  < ACK 1
         +300  < ACK 2 msn=1",
        &[],
    );
}

/// Packets behind a refused request may be called out of order, or not, however long the wait is.
#[test]
fn silence_while_not_ready() {
    for nak in ["", "+300 < NAK 1"] {
        Judge::new().gives(
            &format!(
                "0     > SEND_FIRST 1
                 +300  > SEND_MIDDLE 2 drop
                 +300  > SEND_LAST 3 ackreq
                 5000  < RNR 1
                 {nak}
                 65000000 > SEND_FIRST 1
                 +300  > SEND_MIDDLE 2
                 +300  > SEND_LAST 3 ackreq
                 +5000 < ACK 3 msn=1"
            ),
            &[],
        );
    }
}

/// Two NAKs close together, for reordered packets: the retransmission for the first one starts where the
/// second one points, and then comes the second one's turn.
#[test]
fn two_naks_one_place_to_go_back_to() {
    Judge::new().gives(
        "0     > WRITE_FIRST 1 delay=542
         +541  > WRITE_MIDDLE 2
         +300  > WRITE_MIDDLE 3
         +300  > WRITE_LAST 4 ackreq
         5000  < NAK 1
         5300  < NAK 2
         25000 > WRITE_MIDDLE 2
         +300  > WRITE_MIDDLE 3
         +300  > WRITE_MIDDLE 2
         +300  > WRITE_MIDDLE 3
         +300  > WRITE_LAST 4 ackreq
         35000 < ACK 4 msn=1",
        &[],
    );
}

/// A re-issued Read pushes aside what the responder had not answered yet: that is repeated, too.
#[test]
fn a_reissued_read_comes_first() {
    Judge::new().gives(
        "0     > READ 1 bytes=3072
         +300  > READ 4 bytes=1024
         3000  < READ_RESPONSE_FIRST 1 msn=2
         +300  < READ_RESPONSE_MIDDLE 2 drop
         +300  < READ_RESPONSE_LAST 3 msn=2
         9000  > READ 2 bytes=2048
         +300  > READ 4 bytes=1024
         12000 < READ_RESPONSE_FIRST 2 msn=2
         +300  < READ_RESPONSE_LAST 3 msn=2
         +300  < READ_RESPONSE_ONLY 4 msn=2",
        &[],
    );
}

/// Several responses beyond a gap may each make the requester re-issue its Read: the later ones arrive after it
/// has acted on the first.
#[test]
fn a_gap_heard_several_times() {
    Judge::new().gives(
        "0     > READ 1 bytes=4096
         3000  < READ_RESPONSE_FIRST 1 msn=1
         +300  < READ_RESPONSE_MIDDLE 2 drop
         +300  < READ_RESPONSE_MIDDLE 3
         +300  < READ_RESPONSE_LAST 4 msn=1
         9000  > READ 2 bytes=3072
         +300  > READ 2 bytes=3072
         15000 < READ_RESPONSE_FIRST 2 msn=1
         +300  < READ_RESPONSE_MIDDLE 3
         +300  < READ_RESPONSE_LAST 4 msn=1
         +300  < READ_RESPONSE_FIRST 2 msn=1
         +300  < READ_RESPONSE_MIDDLE 3
         +300  < READ_RESPONSE_LAST 4 msn=1",
        &[],
    );
}

/// The timer expires at T, and the repetition passes the switch a little less than T after the first packet.
#[test]
fn links_make_a_timer_look_short() {
    Judge::new().gives(
        "0     > WRITE_ONLY 1 ackreq drop
         67107000 > WRITE_ONLY 1 ackreq    # T is 67.108864 ms
         +5000 < ACK 1 msn=1",
        &[],
    );
}

/// An ACK that overtook an earlier one in the switch, and was lost behind it: the requester knows the earlier.
#[test]
fn the_slower_ack_is_the_one_that_arrives() {
    let judge = Judge { discards: [Some(1), Some(0)], ..Judge::new() };
    judge.gives(
        "0     > WRITE_ONLY 1 ackreq
         +300  > WRITE_ONLY 2 ackreq
         5000  < ACK 1 msn=1 delay=9000
         5300  < ACK 2 msn=2
         80000000 > WRITE_ONLY 2 ackreq
         +5000 < ACK 2 msn=2",
        &[],
    );
}

/// The requester gave up at the RNR NAK; the responder took the next copy and went on, long after.
#[test]
fn answers_after_giving_up() {
    let mut judge = Judge::new().completing(1024, RnrRetryExceeded);
    judge.config.traffic.rnr_retry = 0;
    judge.gives(
        "0        > SEND_ONLY 1 ackreq copies=2
         +300     > WRITE_ONLY 2 ackreq delay=60000000
         +300     > WRITE_ONLY 3 ackreq
         5000     < RNR 1
         +300     < ACK 1 msn=1
         +300     < NAK 2 msn=1
         60010000 < ACK 2 msn=2",
        &[],
    );
}

/// A refused Send arrives in another copy, and something behind it is missing: that is sent when the last wait that an
/// RNR NAK asks for is over.
#[test]
fn a_nak_during_the_wait_for_a_receive() {
    let mut judge = Judge::new();
    judge.config.traffic.min_retransmit_timeout = 4;
    for (second, resumed) in [("", 491_700_000), ("+300 < RNR 1 timer=31 delay=200000000", 691_700_000)] {
        judge.gives(
            &format!(
                "0         > SEND_ONLY 1 ackreq
                 70000     > SEND_ONLY 1 ackreq copies=2
                 +300      > WRITE_FIRST 2 drop
                 +300      > WRITE_LAST 3 ackreq
                 75000     < RNR 1 timer=31
                 {second}
                 +300      < ACK 1 msn=1 delay=200000300
                 +300      < NAK 2 msn=1 delay=200000300
                 {resumed} > WRITE_FIRST 2
                 +300      > WRITE_LAST 3 ackreq
                 +5000     < ACK 3 msn=2"
            ),
            &[],
        );
    }
}

/// One copy of a Send is refused, and perhaps the next one: what is missing behind it need not be called so.
#[test]
fn a_gap_behind_a_copy_that_may_be_refused() {
    Judge::new().gives(
        "0         > SEND_FIRST 1 copies=2
         +300      > SEND_MIDDLE 2
         5000      < RNR 1 timer=31
         +300      < RNR 1 timer=31
         +1000     > SEND_MIDDLE 3 drop
         +300      > SEND_LAST 4 ackreq
         491600000 > SEND_FIRST 1
         +300      > SEND_MIDDLE 2
         +300      > SEND_MIDDLE 3
         +300      > SEND_LAST 4 ackreq
         +5000     < ACK 4 msn=1",
        &[],
    );
}

/// Both copies of a Send are refused, and so is the Read behind them, which is then called missing.
#[test]
fn a_read_behind_refused_copies() {
    Judge::new().gives(
        "0        > SEND_ONLY 1 ackreq copies=2
         5000     < RNR 1
         +300     < RNR 1
         +300     > READ 2 bytes=1024
         500000   > SEND_ONLY 1 ackreq
         +300     > READ 2 bytes=1024 delay=9000000
         +300     > SEND_ONLY 3 ackreq
         505000   < ACK 1 msn=1
         +300     < NAK 2 msn=1
         +2000    > READ 2 bytes=1024
         +300     > SEND_ONLY 3 ackreq
         +5000    < READ_RESPONSE_ONLY 2 msn=2
         +300     < ACK 3 msn=3
         10000000 < READ_RESPONSE_ONLY 2 msn=3",
        &[],
    );
}

/// The timer expires before the ACK arrives, and what is repeated begins behind what that acknowledges.
#[test]
fn an_ack_between_the_expiry_and_what_is_repeated() {
    let mut judge = Judge::new();
    judge.config.traffic.min_retransmit_timeout = 4;
    let acknowledged_at = |time: u32| {
        format!(
            "0      > WRITE_ONLY 1 ackreq
             +300   > WRITE_ONLY 2 ackreq
             {time} < ACK 1 msn=1
             +300   > WRITE_ONLY 3 ackreq
             +1000  > WRITE_ONLY 2 ackreq
             +300   > WRITE_ONLY 3 ackreq
             +5000  < ACK 3 msn=3"
        )
    };
    judge.gives(&acknowledged_at(66_000), &[]);
    // Long before it can have expired.
    judge.gives(
        &acknowledged_at(9_000),
        &["gbn-violation/requester/retransmission-without-cause/flowing c1 @5"],
    );
}

/// A NAK of a packet that has arrived meanwhile: the packets discarded behind it are repeated, while that one
/// is refused.
#[test]
fn going_back_while_an_rnr_nak_is_on_its_way() {
    let repeated_after = |time: u32| {
        format!(
            "0       > SEND_ONLY 1 ackreq delay=1000
             +300    > SEND_ONLY 2 ackreq delay=2000
             +300    > SEND_ONLY 3 ackreq
             +1000   > SEND_ONLY 4 ackreq
             5000    < NAK 1
             +300    < ACK 1 msn=1
             +300    > SEND_ONLY 2 ackreq
             +300    > SEND_ONLY 3 ackreq
             +300    > SEND_ONLY 4 ackreq
             +1000   < NAK 2 msn=1
             +300    < ACK 2 msn=2
             +300    < RNR 3 msn=2 timer=26
             +{time} > SEND_ONLY 3 ackreq
             +300    > SEND_ONLY 4 ackreq
             +1000   < RNR 3 msn=2 timer=26
             +83000000 > SEND_ONLY 3 ackreq
             +300    > SEND_ONLY 4 ackreq
             +5000   < ACK 4 msn=4"
        )
    };
    let mut judge = Judge::new();
    judge.config.traffic.min_retransmit_timeout = 0;
    judge.gives(&repeated_after(300), &[]);
    // By then it has received the RNR NAK.
    judge.gives(
        &repeated_after(30_000_000),
        &["protocol-violation/requester/rnr-wait-short/rnr-heard c1 @13"],
    );
}

/// A NAK of a Read and, with its response on the way, one of the packet behind it: the repeated Read is for
/// either.
#[test]
fn a_nak_of_a_read_and_one_behind_it() {
    let mut judge = Judge::new();
    judge.config.traffic.min_retransmit_timeout = 0;
    judge.gives(
        "0     > READ 1 bytes=1024 delay=1000
         +300  > SEND_ONLY 2 ackreq
         +2000 > READ 3 bytes=1024
         5000  < NAK 1
         +10   < READ_RESPONSE_ONLY 1 msn=1 delay=50000000
         +10   < NAK 2 msn=1
         +1000 > READ 1 bytes=1024
         +10   > SEND_ONLY 2 ackreq
         +10   > READ 3 bytes=1024
         +2000 > READ 1 bytes=1024
         +10   > SEND_ONLY 2 ackreq
         +10   > READ 3 bytes=1024
         +1000 < READ_RESPONSE_ONLY 1 msn=1
         +10   < ACK 2 msn=2
         +10   < READ_RESPONSE_ONLY 3 msn=3
         +2000 < READ_RESPONSE_ONLY 1 msn=3
         +10   < ACK 3 msn=3
         +10   < READ_RESPONSE_ONLY 3 msn=3",
        &[],
    );
}

/// The wait that an RNR NAK asks for runs on while the next one, behind a response that is late, asks for another.
#[test]
fn the_first_of_two_waits() {
    let mut judge = Judge::new();
    judge.config.traffic.min_retransmit_timeout = 25;
    judge.gives(
        "0         > SEND_ONLY 1 ackreq copies=2
         +300      > READ 2 bytes=1024 copies=2
         +300      > SEND_ONLY 3 ackreq
         5000      < RNR 1 timer=0
         260000    < ACK 1 msn=1
         +300      < READ_RESPONSE_ONLY 2 msn=2 delay=10
         +10       < RNR 3 msn=2 timer=0
         655366000 > SEND_ONLY 3 ackreq
         +5000     < ACK 3 msn=3",
        &[],
    );
}

/// A NAK and an expiry at the same time: a retransmission for one leaves the retransmission for the other.
#[test]
fn a_nak_and_an_expiry() {
    let mut judge = Judge::new();
    judge.config.traffic.min_retransmit_timeout = 5;
    judge.gives(
        "0      > READ 1 bytes=1024 delay=1000
         +300   > SEND_ONLY 2 ackreq
         401000 < NAK 1
         +10    < READ_RESPONSE_ONLY 1 msn=1
         +4000  > READ 1 bytes=1024
         +70    > SEND_ONLY 2 ackreq
         +10000 > SEND_ONLY 2 ackreq
         +5000  < READ_RESPONSE_ONLY 1 msn=1
         +10    < ACK 2 msn=2
         +10    < ACK 2 msn=2",
        &[],
    );
}

/// An expiry before the first acknowledgement, and a window that moves twice before the requester retransmits
/// for it: the NAK that comes meanwhile requests nothing more.
#[test]
fn an_expiry_before_an_ack_and_a_nak() {
    let mut judge = Judge::new();
    judge.config.traffic.min_retransmit_timeout = 4;
    judge.config.traffic.max_retransmit_retry = 1;
    judge.gives(
        "0       > SEND_FIRST 1
         +300    > SEND_MIDDLE 2
         +300    > SEND_MIDDLE 3 drop
         +300    > SEND_LAST 4 ackreq
         200000  < ACK 1
         +10     < NAK 3
         +1000   > SEND_MIDDLE 3 drop
         +300    > SEND_LAST 4 ackreq
         +100000 > SEND_MIDDLE 3
         +300    > SEND_LAST 4 ackreq
         +5000   < ACK 4 msn=1",
        &[],
    );
}

/// A NAKed packet has arrived when it is refused with an RNR NAK, and may be NAKed once more.
#[test]
fn a_nak_again_after_a_refusal() {
    Judge::new().gives(
        "0     > SEND_ONLY 1 drop
         +300  > SEND_ONLY 2 ackreq
         5000  < NAK 1
         10000 > SEND_ONLY 1
         15000 < RNR 1
         25000 > SEND_ONLY 2 ackreq
         30000 < NAK 1
         65000000 > SEND_ONLY 1
         +300  > SEND_ONLY 2 ackreq
         +5000 < ACK 2 msn=2",
        &[],
    );
}
