//! CNPs and ECN marks.

use dumper::observation::CompletionStatus;
use scoring::thresholds::{
    CNP_BEHIND_DATA, CNP_INTERVAL_PERCENT, CNP_PATIENCE, CNP_WITHHELD_PERCENT, RECEIVER_JITTER,
};

use crate::judge::Judge;

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
    // The other connection's mark does not count.
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

/// The requester is the notification point of Read responses: later requests show that it received the marks, and so do
/// completions of all messages.
#[test]
fn marked_read_responses() {
    let reads = |cnp: &str, then: &str| {
        format!(
            "0    > READ 1 bytes=2048
             3000 < READ_RESPONSE_FIRST 1 msn=1 ecn
             +300 < READ_RESPONSE_LAST 2 msn=1
             {cnp}
             {then}"
        )
    };
    let remark = "cnp-generation/notification-point/ecn-without-cnp/no-cnp c1 @2";
    let (cnp, another) = ("+2000 > CNP", "+200000 > READ 3 bytes=1024\n+3000 < READ_RESPONSE_ONLY 3 msn=2");
    Judge::new().gives(&reads("", another), &[remark]).silent(&reads(cnp, another));
    let mut complete = Judge::new().completing(2_048, CompletionStatus::Success);
    complete.config.traffic.num_msgs_per_qp = 1;
    complete.gives(&reads("", ""), &[remark]).silent(&reads(cnp, ""));
    Judge::new().silent(&reads("", ""));
}

const WITHHELD: &str = "cnp-generation/notification-point/cnp-withheld";

/// Two marks on one QP, one CNP, and a second QP whose CNP refutes every scope that is wider than a QP.
fn second_mark(after: u64) -> String {
    format!(
        "0    > WRITE_ONLY 1 ackreq ecn
         3000 < CNP
         3300 < ACK 1 msn=1
         3500 c2 > WRITE_ONLY 1 ackreq ecn
         6000 c2 < CNP
         6300 c2 < ACK 1 msn=1
         {} > WRITE_ONLY 2 ackreq ecn
         +3000 < ACK 2 msn=2
         200000 > WRITE_ONLY 3 ackreq
         +3000 < ACK 3 msn=3",
        3_000 + after
    )
}

/// 50 µs are configured: a mark later than that, and what clocks may be off, is answered.
#[test]
fn a_mark_without_a_cnp() {
    let due = 50_000 * CNP_WITHHELD_PERCENT / 100;
    Judge::new()
        .gives(&second_mark(due), &[])
        .gives(&second_mark(due + 1), &[&format!("{WITHHELD}/interval c1 @7")]);
    // Switched off, or of a host that discarded packets.
    let mut off = Judge::new();
    off.config.responder.roce.dcqcn_np_enable = false;
    off.gives(&second_mark(due + 1), &[]);
    Judge { discards: [Some(0), Some(1)], ..Judge::new() }.gives(&second_mark(due + 1), &[]);
    // The packet was repeated: it may not have arrived.
    let repeated = second_mark(due + 1)
        .replace("+3000 < ACK 2 msn=2", "80000000 > WRITE_ONLY 2 ackreq\n+3000 < ACK 2 msn=2");
    Judge { discards: [None; 2], ..Judge::new() }.gives(&repeated.replace("200000 >", "+200000 >"), &[]);
}

/// An answer to a later packet says by when a CNP must have come.
#[test]
fn a_cnp_that_comes_late() {
    let text = |cnp: u64| {
        let text = second_mark(100_000).replace("+3000 < ACK 2 msn=2", "106000 < ACK 2 msn=2");
        text.replace("200000 >", &format!("{cnp} < CNP\n200000 >"))
    };
    let latest = 106_000 + RECEIVER_JITTER.0;
    Judge::new().gives(&text(latest), &[]).gives(&text(latest + 1), &[&format!("{WITHHELD}/interval c1 @7")]);
}

/// A scope that one test cannot distinguish is left to another one: a single QP is limited as its address and
/// its port are.
#[test]
fn a_single_qp_tells_no_scope() {
    let both = second_mark(100_000);
    let alone: Vec<&str> = both.lines().filter(|line| !line.contains("c2")).collect();
    Judge::new().gives(&alone.join("\n"), &[]);
}

/// A second QP's first mark has no CNP, as the first one's had one: on the same address, on another one, or on both.
#[test]
fn cnps_withheld_by_scope() {
    use tests::synthetic::{self, Action, Connection, Message, Notifications, Scope, Target, Verb, World};

    for (scope, expected) in [
        (Scope::Qp, None),
        (Scope::Address, Some(("per-destination-ip", scoring::CnpScope::DestinationIp))),
        (Scope::Port, Some(("per-port", scoring::CnpScope::Port))),
    ] {
        let connection = |number: u32| {
            let mut connection = Connection::new(number, vec![Message::new(Verb::Write, 20_000)]);
            connection.requester.address = 1 + 2 * (number as u8 % 2);
            connection
        };
        let mut world = World::of((1..=4).map(connection).collect());
        world.faults = (1..=4)
            .map(|connection| synthetic::Fault { connection, target: Target::Psn(3, 1), action: Action::Ecn })
            .collect();
        world.notifications = Some(Notifications { interval_us: 50, scope, on_loss: false });
        let outcome = synthetic::run(&world);
        let mut judge = Judge::new();
        judge.config.traffic.num_msgs_per_qp = 1;
        let analysis =
            scoring::analyze(&outcome.observation, scoring::Options { config: Some(&judge.config) });
        let found: Vec<&str> =
            analysis.anomalies.kept().iter().map(|anomaly| anomaly.state.as_ref()).collect();
        assert_eq!(found, Vec::from_iter(expected.map(|(state, _)| state)), "{scope:?}");
        if let Some((_, scope)) = expected {
            let limiter = analysis.limiters[1].unwrap();
            assert_eq!(limiter.scope, Some(scope), "{limiter:?}");
        }
    }
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
