//! CNPs and ECN marks.

use scoring::CnpScope;
use scoring::thresholds::{CNP_BEHIND_DATA, CNP_INTERVAL_PERCENT, CNP_PATIENCE};

use crate::violations::Judge;

const TOO_EARLY: &str = "cnp-generation/notification-point/cnp-too-early";

fn scoped(scope: CnpScope) -> Judge {
    Judge { scope, ..Judge::new() }
}

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

/// Both directions of a connection are notified by different hosts: no common interval.
#[test]
fn cnps_of_two_connections_by_scope() {
    scoped(CnpScope::Qp).silent(&two_connections(10_000));
    for (scope, name) in [(CnpScope::DestinationIp, "per-destination-ip"), (CnpScope::Port, "per-port")] {
        scoped(scope).gives(&two_connections(10_000), &[&format!("{TOO_EARLY}/{name} c2 @4")]);
        scoped(scope).gives(&two_connections(50_000), &[]);
        scoped(scope).gives(&one_connection(10_000), &[&format!("{TOO_EARLY}/{name} c1 @4")]);
    }
    scoped(CnpScope::Port).silent(
        "0    > WRITE_ONLY 1 ackreq ecn
         +300 c2 > READ 1 bytes=1024
         5000 < CNP
         +300 < ACK 1 msn=1
         +300 c2 < READ_RESPONSE_ONLY 1 msn=1 ecn
         +300 c2 > CNP",
    );
}

/// Legal to two addresses of the other host, too early for the port.
#[test]
fn cnps_to_two_addresses_by_scope() {
    use scoring::{Options, analyze};
    use tests::synthetic::{self, Action, Connection, Message, Notifications, Scope, Target, Verb, World};

    for (scope, legal) in [(CnpScope::Qp, true), (CnpScope::DestinationIp, true), (CnpScope::Port, false)] {
        let connection = |number: u32| {
            let mut connection = Connection::new(number, vec![Message::new(Verb::Write, 20_000)]);
            connection.requester.address = 1 + 2 * (number as u8 - 1);
            connection
        };
        let mut world = World::of(vec![connection(1), connection(2)]);
        let mark =
            |number| synthetic::Fault { connection: number, target: Target::Psn(3, 1), action: Action::Ecn };
        world.faults = vec![mark(1), mark(2)];
        world.notifications = Some(Notifications { interval_us: 50, scope: Scope::Address, on_loss: false });
        let outcome = synthetic::run(&world);
        let judge = scoped(scope);
        let options = Options { config: Some(&judge.config), cnp_scope: scope };
        let analysis = analyze(&outcome.observation, options);
        assert_eq!(analysis.cnps, 2);
        assert_eq!(analysis.anomalies.is_empty(), legal, "{}", synthetic::anomalies(&analysis));
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
